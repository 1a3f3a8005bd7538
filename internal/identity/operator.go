package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"steward/internal/db"
)

// NewAccount is an account made from the command line.
type NewAccount struct {
	Email    string
	FullName string
	Password string // empty: the person gets a mail with a link to choose one
	Role     string // in the default tenant
}

// CreateAccount makes an account in the default tenant on behalf of the operator.
func (s *Service) CreateAccount(ctx context.Context, in NewAccount) (User, error) {
	wrong := fields{}
	wrong.checkEmail("email", in.Email)
	if in.FullName != "" {
		wrong.checkFullName("name", in.FullName)
	}
	if in.Password != "" {
		wrong.checkPassword(s.policy, "password", in.Password)
	}
	if err := wrong.fault(); err != nil {
		return User{}, err
	}
	u, err := s.newUser(in.Email, in.FullName)
	if err != nil {
		return u, err
	}
	u.EmailConfirmed = true
	if in.Password != "" {
		if u.PasswordHash, err = s.hasher.Hash(ctx, in.Password); err != nil {
			return u, err
		}
		u.PasswordChangedAt = &u.CreatedAt
	}
	return u, s.db.Write(ctx, func(tx db.Tx) error { return s.addAccount(ctx, tx, u, in.Role) })
}

func (s *Service) addAccount(ctx context.Context, tx db.Tx, u User, roleName string) error {
	if err := createUser(ctx, tx, u); err != nil {
		return err
	}
	tenant, err := findTenantByIdentifier(ctx, tx, DefaultTenant)
	if err != nil {
		return fmt.Errorf("find default tenant: %w", err)
	}
	role, err := findRoleByName(ctx, tx, tenant.ID, roleName)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("there is no role %q in the default tenant", roleName)
	}
	if err != nil {
		return err
	}
	if err := s.bind(ctx, tx, u.ID, tenant, false, role); err != nil {
		return err
	}
	if u.PasswordHash == "" {
		if err := s.sendInvitation(ctx, tx, u); err != nil {
			return err
		}
	}
	return s.audit(ctx, tx, "user.created", u.ID, map[string]any{"email": u.Email, "role": roleName})
}

// SetPassword gives the account a password chosen by the operator and ends its sessions.
func (s *Service) SetPassword(ctx context.Context, email, password string) error {
	wrong := fields{}
	wrong.checkPassword(s.policy, "password", password)
	if err := wrong.fault(); err != nil {
		return err
	}
	u, err := s.accountByEmail(ctx, email)
	if err != nil {
		return err
	}
	change, err := s.preparePassword(ctx, u, "password", password)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		if err := s.applyPassword(ctx, tx, u, change, "user.password-set"); err != nil {
			return err
		}
		return deleteLockout(ctx, tx, email)
	})
}

// Unlock lifts a lockout.
func (s *Service) Unlock(ctx context.Context, email string) error {
	u, err := s.accountByEmail(ctx, email)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		if err := deleteLockout(ctx, tx, email); err != nil {
			return err
		}
		return s.audit(ctx, tx, "user.unlocked", u.ID, nil)
	})
}

func (s *Service) accountByEmail(ctx context.Context, email string) (User, error) {
	u, err := findUserByEmail(ctx, s.db, email)
	if errors.Is(err, sql.ErrNoRows) {
		return u, fmt.Errorf("no account has the e-mail %s", email)
	}
	return u, err
}
