package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"steward/internal/config"
	"steward/internal/db"
	"steward/internal/fault"
)

// Registration is what somebody tells who makes an account for themselves.
type Registration struct {
	Email       string
	Password    string
	Encrypted   bool
	FullName    string
	PhoneNumber string
}

// Register makes an account and mails a link that confirms its address. It fails with
// USER_ALREADY_EXISTS where the e-mail is taken and FORBIDDEN where registration is off.
func (s *Service) Register(ctx context.Context, in Registration) (User, error) {
	if s.cfg.Registration == config.RegistrationOff {
		return User{}, fault.New(fault.Forbidden, "Registration is switched off; ask an administrator for an account.")
	}
	in.Email = strings.TrimSpace(in.Email)
	password, err := s.newPassword("password", in.Password, in.Encrypted)
	wrong := fields{}
	wrong.checkEmail("email", in.Email)
	wrong.checkFullName("fullName", in.FullName)
	wrong.checkPhone("phoneNumber", in.PhoneNumber)
	wrong.collect(err)
	if err := wrong.fault(); err != nil {
		return User{}, err
	}
	if _, err := findUserByEmail(ctx, s.db, in.Email); err == nil { // spares the hash; the insert decides
		return User{}, fault.New(fault.UserAlreadyExists, "An account with this e-mail already exists.")
	}
	hash, err := s.hasher.Hash(ctx, password)
	if err != nil {
		return User{}, err
	}
	u, err := s.newUser(in.Email, in.FullName)
	if err != nil {
		return User{}, err
	}
	u.PhoneNumber, u.PasswordHash, u.PasswordChangedAt = in.PhoneNumber, hash, &u.CreatedAt
	err = s.db.Write(ctx, func(tx db.Tx) error {
		if err := s.enrol(ctx, tx, u); err != nil {
			return err
		}
		return s.sendConfirmation(ctx, tx, u)
	})
	return u, err
}

// newUser is an active account as it is before anything else is known of it.
func (s *Service) newUser(email, fullName string) (User, error) {
	id, err := newID()
	if err != nil {
		return User{}, err
	}
	first, last := splitName(fullName)
	now := s.now()
	return User{ID: id, Email: email, FirstName: first, LastName: last, AppIDs: db.Strings{}, IsActive: true, CreatedAt: now, UpdatedAt: now}, nil
}

// enrol inserts an account that its owner made and binds it as the configuration says.
func (s *Service) enrol(ctx context.Context, tx db.Tx, u User) error {
	if err := createUser(ctx, tx, u); err != nil {
		return err
	}
	if s.cfg.Registration == config.RegistrationDefaultTenant {
		if err := s.bindToDefault(ctx, tx, u); err != nil {
			return err
		}
	}
	return s.audit(ctx, tx, "user.registered", u.ID, map[string]any{"email": u.Email, "fullName": u.FullName()})
}

func (s *Service) bindToDefault(ctx context.Context, tx db.Tx, u User) error {
	tenant, err := findTenantByIdentifier(ctx, tx, DefaultTenant)
	if err != nil {
		return fmt.Errorf("find default tenant: %w", err)
	}
	role, err := findRoleByName(ctx, tx, tenant.ID, s.cfg.RegistrationRole)
	if err != nil {
		return fmt.Errorf("find registration role %q: %w", s.cfg.RegistrationRole, err)
	}
	return s.bind(ctx, tx, u.ID, tenant, false, role)
}

// bind lets the user into a tenant that has room, with the roles given.
func (s *Service) bind(ctx context.Context, tx db.Tx, user uuid.UUID, tenant Tenant, isDefault bool, roles ...uuid.UUID) error {
	if err := insertBinding(ctx, tx, user, tenant.ID, isDefault, s.now()); err != nil {
		return err
	}
	for _, role := range roles {
		if err := insertBindingRole(ctx, tx, user, tenant.ID, role); err != nil {
			return fmt.Errorf("give role %s to user %s: %w", role, user, err)
		}
	}
	return requirePlace(ctx, tx, tenant.ID) // last: the tenant's row stays locked until the commit
}

// newPassword opens an encrypted password and holds it against the policy.
func (s *Service) newPassword(field, value string, encrypted bool) (string, error) {
	password, sealed, err := s.openPassword(value, encrypted)
	if err != nil {
		return "", err
	}
	if sealed {
		return "", fault.Invalid(field, "cannot be decrypted; encrypt it for the key with use enc in /.well-known/jwks.json")
	}
	if strings.Contains(password, "\x00") { // as in any other text: see web
		return "", fault.Invalid(field, "must not contain the character NUL")
	}
	wrong := fields{}
	wrong.checkPassword(s.policy, field, password)
	return password, wrong.fault()
}
