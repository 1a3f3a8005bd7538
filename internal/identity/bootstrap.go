package identity

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"steward/internal/config"
	"steward/internal/db"
)

// FirstAdministrator is told once, when the account is made.
type FirstAdministrator struct {
	Email    string
	Password string
	// Generated is false where the configuration gave the password.
	Generated bool
}

// Bootstrap makes sure that the store has the default tenant, the shipped permissions and the system
// roles, and on the first start one Super Administrator, which it returns. Several nodes may call it
// at once.
func (s *Service) Bootstrap(ctx context.Context) (*FirstAdministrator, error) {
	known, err := systemCodes(ctx, s.db)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	if !isComplete(known) {
		if err := s.db.Write(ctx, func(tx db.Tx) error { return s.install(ctx, tx) }); err != nil {
			return nil, fmt.Errorf("bootstrap: %w", err)
		}
	}
	if err := s.checkRegistrationRole(ctx); err != nil {
		return nil, err
	}
	holders, err := countHolders(ctx, s.db, roleSuperAdministrator)
	if err != nil || holders > 0 {
		return nil, err
	}
	return s.firstAdministrator(ctx)
}

// checkRegistrationRole refuses a role that nobody could be given before anybody asks for it.
func (s *Service) checkRegistrationRole(ctx context.Context) error {
	tenant, err := findTenantByIdentifier(ctx, s.db, DefaultTenant)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // an administrator has renamed it: registration tells
	}
	if err != nil {
		return fmt.Errorf("find default tenant: %w", err)
	}
	_, err = findRoleByName(ctx, s.db, tenant.ID, s.cfg.RegistrationRole)
	if errors.Is(err, sql.ErrNoRows) {
		return config.Refuse("registration-role", "%q is no role of the default tenant", s.cfg.RegistrationRole)
	}
	return err
}

func isComplete(known map[string]bool) bool {
	for _, p := range shippedPermissions {
		if !known[p.code] {
			return false
		}
		for _, role := range p.holders {
			if !known[strings.ToLower(role)+" "+p.code] {
				return false
			}
		}
	}
	return true
}

// install adds what is missing; each statement does nothing where its row exists.
func (s *Service) install(ctx context.Context, tx db.Tx) error {
	now := s.now()
	id, err := newID()
	if err != nil {
		return err
	}
	tenant := newTenant(id, now)
	tenant.Name, tenant.Identifier = "Default", DefaultTenant
	if _, err := insertTenant(ctx, tx, tenant); err != nil {
		return fmt.Errorf("install default tenant: %w", err)
	}
	for _, role := range systemRoles {
		if id, err = newID(); err != nil {
			return err
		}
		if err := insertSystemRole(ctx, tx, id, role.name, role.description, now); err != nil {
			return fmt.Errorf("install role %s: %w", role.name, err)
		}
	}
	for _, p := range shippedPermissions {
		if err := s.installPermission(ctx, tx, p, now); err != nil {
			return fmt.Errorf("install permission %s: %w", p.code, err)
		}
	}
	return nil
}

func (s *Service) installPermission(ctx context.Context, tx db.Tx, p shippedPermission, now db.Time) error {
	id, err := newID()
	if err != nil {
		return err
	}
	if err := insertSystemPermission(ctx, tx, id, p, now); err != nil {
		return err
	}
	for _, role := range p.holders {
		if err := insertRolePermission(ctx, tx, role, p.code); err != nil {
			return err
		}
	}
	return nil
}

// firstAdministrator makes the account; nil where another node was first.
func (s *Service) firstAdministrator(ctx context.Context) (*FirstAdministrator, error) {
	admin := &FirstAdministrator{Email: s.cfg.AdminEmail, Password: s.cfg.AdminPassword}
	if admin.Password == "" {
		admin.Password, admin.Generated = rand.Text(), true
	}
	made, err := s.createAdministrator(ctx, admin)
	if err != nil {
		return nil, fmt.Errorf("make the first administrator: %w", err)
	}
	if !made {
		return nil, nil
	}
	return admin, nil
}

func (s *Service) createAdministrator(ctx context.Context, admin *FirstAdministrator) (made bool, err error) {
	hash, err := s.hasher.Hash(ctx, admin.Password)
	if err != nil {
		return false, err
	}
	u, err := s.newUser(admin.Email, "Super Administrator")
	if err != nil {
		return false, err
	}
	u.PasswordHash, u.PasswordChangedAt, u.EmailConfirmed = hash, &u.CreatedAt, true
	err = s.db.Write(ctx, func(tx db.Tx) error {
		if made, err = insertUser(ctx, tx, u); err != nil || !made {
			return err
		}
		tenant, err := findTenantByIdentifier(ctx, tx, DefaultTenant)
		if err != nil {
			return fmt.Errorf("find default tenant: %w", err)
		}
		role, err := findRoleByName(ctx, tx, tenant.ID, roleSuperAdministrator)
		if err != nil {
			return fmt.Errorf("find role: %w", err)
		}
		if err := s.bind(ctx, tx, u.ID, tenant, true, role); err != nil {
			return err
		}
		return s.audit(ctx, tx, "user.created", u.ID, map[string]any{"email": u.Email, "role": roleSuperAdministrator})
	})
	return made, err
}
