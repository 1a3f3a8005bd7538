package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// NewUser is an account that an administrator makes. A nil field was left out.
type NewUser struct {
	Email              string
	Password           string // empty: the person gets a mail with a link to choose one
	Encrypted          bool
	FirstName          string
	LastName           string
	FullName           string // in place of the two above: the first word is the first name
	PhoneNumber        string
	AppIDs             []string
	IsActive           *bool
	MustChangePassword bool
	SendWelcome        bool
	Tenants            []Binding
}

// CreateUser makes an account in the caller's tenant, as a Member unless the body names roles. It fails
// with CROSS_TENANT_FORBIDDEN where the body names another tenant.
func (s *Service) CreateUser(ctx context.Context, in NewUser) (UserView, error) {
	own := scope.ActorFrom(ctx).TenantID
	u, password, err := s.prepareUser(in)
	if err != nil {
		return UserView{}, err
	}
	for _, b := range in.Tenants {
		if b.TenantID != own {
			return UserView{}, fault.New(fault.CrossTenantForbidden, "You can add users to your own tenant only.")
		}
	}
	return s.createUser(ctx, u, password, in.SendWelcome, func(tx db.Tx) error {
		if len(in.Tenants) > 0 {
			return s.grantAll(ctx, tx, u.ID, in.Tenants)
		}
		return s.bindMember(ctx, tx, u.ID, own)
	})
}

// CreateAnyUser makes an account with the bindings that the body names, or with none.
func (s *Service) CreateAnyUser(ctx context.Context, in NewUser) (UserView, error) {
	u, password, err := s.prepareUser(in)
	if err != nil {
		return UserView{}, err
	}
	return s.createUser(ctx, u, password, in.SendWelcome, func(tx db.Tx) error { return s.grantAll(ctx, tx, u.ID, in.Tenants) })
}

// createUser hashes the password outside of the transaction that writes. The account comes before its
// bindings there: so do those that people make for themselves, and two orders could wait for each other.
func (s *Service) createUser(ctx context.Context, u User, password string, welcome bool, bind func(tx db.Tx) error) (UserView, error) {
	var view UserView
	if password != "" {
		var err error
		if u.PasswordHash, err = s.hasher.Hash(ctx, password); err != nil {
			return view, err
		}
		u.PasswordChangedAt = &u.CreatedAt
	}
	err := s.db.Write(ctx, func(tx db.Tx) error {
		if err := createUser(ctx, tx, u); err != nil {
			return err
		}
		if err := bind(tx); err != nil {
			return err
		}
		if err := s.greet(ctx, tx, u, welcome); err != nil {
			return err
		}
		if err := s.audit(ctx, tx, "user.created", u.ID, auditedUser(u)); err != nil {
			return err
		}
		found, err := findUserView(ctx, tx, u.ID, false)
		if err != nil {
			return userFault(u.ID, err)
		}
		view, err = withRoleNames(ctx, tx, scope.ActorFrom(ctx).TenantID, found)
		return err
	})
	return view, err
}

// greet mails a link to choose a password where none was given, a link to confirm the address where
// nobody gets in without, and a welcome where one was asked for.
func (s *Service) greet(ctx context.Context, tx db.Tx, u User, welcome bool) error {
	if u.PasswordHash == "" {
		return s.sendInvitation(ctx, tx, u)
	}
	if s.cfg.RequireConfirmedEmail {
		if err := s.sendConfirmation(ctx, tx, u); err != nil {
			return err
		}
	}
	if welcome {
		return s.sendWelcome(ctx, tx, u)
	}
	return nil
}

// prepareUser checks the body as far as no store is needed, and opens the password.
func (s *Service) prepareUser(in NewUser) (u User, password string, err error) {
	in.Email = strings.TrimSpace(in.Email)
	wrong := fields{}
	wrong.checkEmail("email", in.Email)
	wrong.checkName("firstName", in.FirstName)
	wrong.checkName("lastName", in.LastName)
	if in.FullName != "" {
		wrong.checkFullName("fullName", in.FullName)
	}
	wrong.checkPhone("phoneNumber", in.PhoneNumber)
	wrong.checkApps("appIds", in.AppIDs)
	wrong.collect(checkMatrix(in.Tenants))
	if in.Password != "" {
		password, err = s.newPassword("password", in.Password, in.Encrypted)
		wrong.collect(err)
	}
	if err := wrong.fault(); err != nil {
		return u, "", err
	}
	if u, err = s.newUser(in.Email, in.FullName); err != nil {
		return u, "", err
	}
	if in.FullName == "" {
		u.FirstName, u.LastName = strings.TrimSpace(in.FirstName), strings.TrimSpace(in.LastName)
	}
	u.PhoneNumber, u.AppIDs, u.MustChangePassword = in.PhoneNumber, in.AppIDs, in.MustChangePassword
	resource.Set(&u.IsActive, in.IsActive)
	return u, password, nil
}

// grantAll binds a new account, under the rules for tenants, roles, escalation and capacity.
func (s *Service) grantAll(ctx context.Context, tx db.Tx, user uuid.UUID, matrix []Binding) error {
	if err := requireGrants(ctx, tx, scope.ActorFrom(ctx), matrix...); err != nil {
		return err
	}
	for _, b := range inOrder(matrix) {
		if err := s.addBinding(ctx, tx, user, b); err != nil {
			return err
		}
	}
	return nil
}

// bindMember is what a body that names no roles asks for. The program chose the role, so the caller
// need not hold what it holds.
func (s *Service) bindMember(ctx context.Context, tx db.Tx, user, tenant uuid.UUID) error {
	role, err := findRoleByName(ctx, tx, tenant, roleMember)
	if err != nil {
		return fmt.Errorf("find role %s: %w", roleMember, err)
	}
	return s.addBinding(ctx, tx, user, Binding{TenantID: tenant, RoleIDs: []uuid.UUID{role}})
}
