package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	PhoneNumber        string
	AppIDs             []string
	IsActive           *bool
	MustChangePassword bool
	SendWelcome        bool
	Tenants            []Binding
}

// Bounds of the apps that one account may be restricted to.
const (
	maxUserApps  = 100
	maxAppLength = 100
)

// CreateUser makes an account in the caller's tenant, as a Member unless the body names roles. It fails
// with CROSS_TENANT_FORBIDDEN where the body names another tenant.
func (s *Service) CreateUser(ctx context.Context, in NewUser) (UserView, error) {
	own := scope.ActorFrom(ctx).TenantID
	for _, b := range in.Tenants {
		if b.TenantID != own {
			return UserView{}, fault.New(fault.CrossTenantForbidden, "You can add users to your own tenant only.")
		}
	}
	return s.createUser(ctx, in, func(tx db.Tx, u User) error {
		if len(in.Tenants) > 0 {
			return s.grantAll(ctx, tx, u.ID, in.Tenants)
		}
		return s.bindMember(ctx, tx, u.ID, own)
	})
}

// CreateAnyUser makes an account with the bindings that the body names, or with none.
func (s *Service) CreateAnyUser(ctx context.Context, in NewUser) (UserView, error) {
	return s.createUser(ctx, in, func(tx db.Tx, u User) error { return s.grantAll(ctx, tx, u.ID, in.Tenants) })
}

func (s *Service) createUser(ctx context.Context, in NewUser, bind func(tx db.Tx, u User) error) (UserView, error) {
	u, err := s.prepareUser(ctx, in)
	if err != nil {
		return UserView{}, err
	}
	tenant := scope.ActorFrom(ctx).TenantID
	view := UserView{User: u, BindingActive: true}
	err = s.db.Write(ctx, func(tx db.Tx) error {
		if err := createUser(ctx, tx, u); err != nil {
			return err
		}
		if err := bind(tx, u); err != nil {
			return err
		}
		if err := s.greet(ctx, tx, u, in.SendWelcome); err != nil {
			return err
		}
		views := []UserView{view}
		if err := addRoleNames(ctx, tx, tenant, views); err != nil {
			return err
		}
		view = views[0]
		return s.audit(ctx, tx, "user.created", u.ID, auditedUser(u))
	})
	return view, err
}

// greet mails a link to choose a password where none was given, and a welcome where one was asked for.
func (s *Service) greet(ctx context.Context, tx db.Tx, u User, welcome bool) error {
	switch {
	case u.PasswordHash == "":
		return s.sendInvitation(ctx, tx, u)
	case welcome:
		return s.sendWelcome(ctx, tx, u)
	}
	return nil
}

// prepareUser checks the body and hashes the password, all of it outside of a transaction.
func (s *Service) prepareUser(ctx context.Context, in NewUser) (User, error) {
	wrong := fields{}
	wrong.checkEmail("email", in.Email)
	wrong.checkName("firstName", in.FirstName)
	wrong.checkName("lastName", in.LastName)
	wrong.checkPhone("phoneNumber", in.PhoneNumber)
	wrong.checkApps("appIds", in.AppIDs)
	wrong.collect(checkMatrix(in.Tenants))
	password := ""
	if in.Password != "" {
		var err error
		password, err = s.newPassword("password", in.Password, in.Encrypted)
		wrong.collect(err)
	}
	if err := wrong.fault(); err != nil {
		return User{}, err
	}
	u, err := s.newUser(in.Email, "")
	if err != nil {
		return u, err
	}
	u.FirstName, u.LastName, u.PhoneNumber = strings.TrimSpace(in.FirstName), strings.TrimSpace(in.LastName), in.PhoneNumber
	u.AppIDs, u.MustChangePassword = in.AppIDs, in.MustChangePassword
	resource.Set(&u.IsActive, in.IsActive)
	if password == "" {
		return u, nil
	}
	u.PasswordChangedAt = &u.CreatedAt
	u.PasswordHash, err = s.hasher.Hash(ctx, password)
	return u, err
}

func (s *Service) grantAll(ctx context.Context, tx db.Tx, user uuid.UUID, bindings []Binding) error {
	actor := scope.ActorFrom(ctx)
	for _, b := range bindings {
		if err := s.grantBinding(ctx, tx, actor, user, b); err != nil {
			return err
		}
	}
	return nil
}

// bindMember is what a body that names no roles asks for. The program chose the role, so the caller
// need not hold what it holds.
func (s *Service) bindMember(ctx context.Context, tx db.Tx, user, tenantID uuid.UUID) error {
	role, err := findRoleByName(ctx, tx, tenantID, roleMember)
	if err != nil {
		return fmt.Errorf("find role %s: %w", roleMember, err)
	}
	return s.addBinding(ctx, tx, user, Binding{TenantID: tenantID, RoleIDs: []uuid.UUID{role}})
}

// UserChange is what an update changes; nil leaves a field as it is.
type UserChange struct {
	FirstName   *string
	LastName    *string
	PhoneNumber *string
	AppIDs      *[]string
	IsActive    *bool
	Tenants     Matrix       // admin only
	Roles       *[]uuid.UUID // those in the caller's tenant
}

func (c UserChange) check() error {
	wrong := fields{}
	if c.FirstName != nil {
		wrong.checkName("firstName", *c.FirstName)
	}
	if c.LastName != nil {
		wrong.checkName("lastName", *c.LastName)
	}
	if c.PhoneNumber != nil {
		wrong.checkPhone("phoneNumber", *c.PhoneNumber)
	}
	if c.AppIDs != nil {
		wrong.checkApps("appIds", *c.AppIDs)
	}
	if c.Tenants != nil {
		wrong.collect(checkMatrix(*c.Tenants))
	}
	return wrong.fault()
}

func (c UserChange) apply(u *User) {
	resource.Set(&u.FirstName, c.FirstName)
	resource.Set(&u.LastName, c.LastName)
	resource.Set(&u.PhoneNumber, c.PhoneNumber)
	if c.AppIDs != nil {
		u.AppIDs = *c.AppIDs
	}
}

// UpdateUser changes a user of the caller's tenant. Whether the account is active is, here, whether
// the person may enter this tenant.
func (s *Service) UpdateUser(ctx context.Context, id uuid.UUID, fits resource.Match, change UserChange) (UserView, error) {
	actor := scope.ActorFrom(ctx)
	if err := change.check(); err != nil {
		return UserView{}, err
	}
	var view UserView
	err := s.db.Write(ctx, func(tx db.Tx) error {
		u, err := s.lockMember(ctx, tx, actor, id, fits)
		if err != nil {
			return err
		}
		if err := s.writeChange(ctx, tx, u, change); err != nil {
			return err
		}
		if change.Roles != nil {
			if err := s.setRolesHere(ctx, tx, actor, id, *change.Roles); err != nil {
				return err
			}
		}
		if change.IsActive != nil {
			if err := s.setActiveHere(ctx, tx, actor, id, *change.IsActive); err != nil {
				return err
			}
		}
		view, err = requireMember(ctx, tx, actor.TenantID, id)
		return err
	})
	return view, err
}

// lockMember locks a user of the caller's tenant whom the caller may change.
func (s *Service) lockMember(ctx context.Context, tx db.Tx, actor *scope.Actor, id uuid.UUID, fits resource.Match) (User, error) {
	if _, err := requireMember(ctx, tx, actor.TenantID, id); err != nil {
		return User{}, err
	}
	return s.lockChangeable(ctx, tx, actor, id, fits)
}

// lockChangeable locks an account whom the caller may change, in the version that the caller has seen.
func (s *Service) lockChangeable(ctx context.Context, tx db.Tx, actor *scope.Actor, id uuid.UUID, fits resource.Match) (User, error) {
	if _, err := requireUserView(ctx, tx, id); err != nil {
		return User{}, err
	}
	u, err := lockUser(ctx, tx, id)
	if err != nil {
		return u, fmt.Errorf("lock user %s: %w", id, err)
	}
	if fits != nil && !fits(u.Version()) {
		return u, fault.New(fault.PreconditionFailed, "The user was changed since you read it.")
	}
	return u, requireNotAbove(ctx, tx, actor, id)
}

// writeChange writes the plain fields, the audit entry and the word to the other nodes.
func (s *Service) writeChange(ctx context.Context, tx db.Tx, before User, change UserChange) error {
	after := before
	change.apply(&after)
	after.UpdatedAt = s.later(before.UpdatedAt)
	if err := updateUser(ctx, tx, after); err != nil {
		return fmt.Errorf("update user %s: %w", before.ID, err)
	}
	if err := s.auditChange(ctx, tx, "user.updated", before.ID, auditedUser(before), auditedUser(after)); err != nil {
		return err
	}
	return changedUser(ctx, tx, before.ID)
}

// later is now, or just after the last change: a version never comes twice.
func (s *Service) later(last db.Time) db.Time {
	now := s.now()
	if !now.After(last.Time) {
		return db.At(last.Add(time.Microsecond))
	}
	return now
}

// setRolesHere replaces the roles that a user holds in the caller's tenant.
func (s *Service) setRolesHere(ctx context.Context, tx db.Tx, actor *scope.Actor, user uuid.UUID, roles []uuid.UUID) error {
	tenants, err := listUserTenants(ctx, tx, user)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tenants, func(t UserTenant) bool { return t.TenantID == actor.TenantID })
	if i < 0 {
		return noUser()
	}
	if err := s.replaceRoles(ctx, tx, actor, tenants[i], roles); err != nil {
		return err
	}
	if err := requireAdministratorLeft(ctx, tx); err != nil {
		return err
	}
	if err := s.audit(ctx, tx, "user.roles-changed", user, map[string]any{"tenantId": actor.TenantID, "roleIds": roles}); err != nil {
		return err
	}
	return changedUser(ctx, tx, user)
}

// SetUserActive lets a user of the caller's tenant in, or keeps them out.
func (s *Service) SetUserActive(ctx context.Context, id uuid.UUID, active bool) error {
	actor := scope.ActorFrom(ctx)
	return s.db.Write(ctx, func(tx db.Tx) error {
		if _, err := s.lockMember(ctx, tx, actor, id, nil); err != nil {
			return err
		}
		return s.setActiveHere(ctx, tx, actor, id, active)
	})
}

// setActiveHere switches the binding to the caller's tenant, and with it the account: off where no
// other way in is left, on in any case.
func (s *Service) setActiveHere(ctx context.Context, tx db.Tx, actor *scope.Actor, user uuid.UUID, active bool) error {
	if !active {
		if err := requireNotSelf(actor, user); err != nil {
			return err
		}
	}
	if err := setBindingActive(ctx, tx, user, actor.TenantID, active); err != nil {
		return err
	}
	others, err := countOtherBindings(ctx, tx, user, actor.TenantID, true)
	if err != nil {
		return err
	}
	if active || others == 0 {
		return s.setAccountActive(ctx, tx, user, active)
	}
	return s.afterDeactivation(ctx, tx, user, map[string]any{"tenantId": actor.TenantID})
}

// setAccountActive switches the account itself; off ends its sessions.
func (s *Service) setAccountActive(ctx context.Context, tx db.Tx, user uuid.UUID, active bool) error {
	changed, err := setUserActive(ctx, tx, user, active, s.now())
	if err != nil {
		return fmt.Errorf("switch account %s: %w", user, err)
	}
	if active {
		if err := s.audit(ctx, tx, "user.activated", user, nil); err != nil {
			return err
		}
		return changedUser(ctx, tx, user)
	}
	if changed {
		if err := s.endSessions(ctx, tx, user, endedByAccount); err != nil {
			return err
		}
	}
	return s.afterDeactivation(ctx, tx, user, nil)
}

func (s *Service) afterDeactivation(ctx context.Context, tx db.Tx, user uuid.UUID, after any) error {
	if err := requireAdministratorLeft(ctx, tx); err != nil {
		return err
	}
	if err := s.audit(ctx, tx, "user.deactivated", user, after); err != nil {
		return err
	}
	return changedUser(ctx, tx, user)
}

// UpdateAnyUser changes any account; a matrix replaces all its bindings.
func (s *Service) UpdateAnyUser(ctx context.Context, id uuid.UUID, fits resource.Match, change UserChange) (UserEdit, error) {
	actor := scope.ActorFrom(ctx)
	if err := change.check(); err != nil {
		return UserEdit{}, err
	}
	var edit UserEdit
	err := s.db.Write(ctx, func(tx db.Tx) error {
		u, err := s.lockChangeable(ctx, tx, actor, id, fits)
		if err != nil {
			return err
		}
		if change.IsActive != nil && !*change.IsActive {
			if err := requireNotSelf(actor, id); err != nil {
				return err
			}
		}
		if err := s.writeChange(ctx, tx, u, change); err != nil {
			return err
		}
		if change.Tenants != nil {
			if err := s.applyMatrix(ctx, tx, actor, id, *change.Tenants); err != nil {
				return err
			}
		}
		if change.IsActive != nil && *change.IsActive != u.IsActive {
			if err := s.setAccountActive(ctx, tx, id, *change.IsActive); err != nil {
				return err
			}
		}
		edit, err = requireUserEdit(ctx, tx, id)
		return err
	})
	return edit, err
}

// applyMatrix replaces the bindings; sessions end only where a tenant came or went.
func (s *Service) applyMatrix(ctx context.Context, tx db.Tx, actor *scope.Actor, user uuid.UUID, matrix []Binding) error {
	moved, err := s.replaceMatrix(ctx, tx, actor, user, matrix)
	if err != nil {
		return err
	}
	if err := requireAdministratorLeft(ctx, tx); err != nil {
		return err
	}
	if moved {
		if err := s.endSessions(ctx, tx, user, endedByBinding); err != nil {
			return err
		}
	}
	audited := make([]map[string]any, len(matrix))
	for i, b := range matrix {
		audited[i] = b.audited()
	}
	return s.audit(ctx, tx, "user.tenants-changed", user, map[string]any{"tenants": audited})
}

// DeleteUser takes a user out of the caller's tenant; the account goes with the last binding.
func (s *Service) DeleteUser(ctx context.Context, id uuid.UUID, fits resource.Match) error {
	actor := scope.ActorFrom(ctx)
	if err := requireNotSelf(actor, id); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		if _, err := s.lockMember(ctx, tx, actor, id, fits); err != nil {
			return err
		}
		others, err := countOtherBindings(ctx, tx, id, actor.TenantID, false)
		if err != nil {
			return err
		}
		if others == 0 {
			return s.deleteAccount(ctx, tx, id)
		}
		return s.unbind(ctx, tx, id, actor.TenantID)
	})
}

// DeleteAnyUser deletes any account.
func (s *Service) DeleteAnyUser(ctx context.Context, id uuid.UUID, fits resource.Match) error {
	actor := scope.ActorFrom(ctx)
	if err := requireNotSelf(actor, id); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		if _, err := s.lockChangeable(ctx, tx, actor, id, fits); err != nil {
			return err
		}
		return s.deleteAccount(ctx, tx, id)
	})
}

// unbind takes one binding away.
func (s *Service) unbind(ctx context.Context, tx db.Tx, user, tenant uuid.UUID) error {
	if _, err := removeBinding(ctx, tx, user, tenant); err != nil {
		return err
	}
	if err := requireAdministratorLeft(ctx, tx); err != nil {
		return err
	}
	if err := s.endSessions(ctx, tx, user, endedByBinding); err != nil {
		return err
	}
	return s.audit(ctx, tx, "user.unbound", user, map[string]any{"tenantId": tenant})
}

// deleteAccount marks the account deleted. Its bindings stay, closed and without roles, so that its
// tenants still find it among the deleted.
func (s *Service) deleteAccount(ctx context.Context, tx db.Tx, user uuid.UUID) error {
	tenants, err := listUserTenants(ctx, tx, user)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		if err := freePlace(ctx, tx, t.TenantID); err != nil {
			return err
		}
	}
	if err := markUserDeleted(ctx, tx, user, s.now()); err != nil {
		return fmt.Errorf("delete user %s: %w", user, err)
	}
	if err := requireAdministratorLeft(ctx, tx); err != nil {
		return err
	}
	if err := s.endSessions(ctx, tx, user, endedByAccount); err != nil {
		return err
	}
	return s.audit(ctx, tx, "user.deleted", user, nil)
}

// auditedUser is the part of an account that the audit log shows.
func auditedUser(u User) map[string]any {
	return map[string]any{
		"email": u.Email, "firstName": u.FirstName, "lastName": u.LastName, "phoneNumber": u.PhoneNumber,
		"appIds": u.AppIDs, "isActive": u.IsActive,
	}
}

func (f *fields) checkName(name, text string) {
	switch {
	case utf8.RuneCountInString(text) > maxNameLength:
		f.add(name, "must have at most %d characters", maxNameLength)
	case strings.ContainsFunc(text, unicode.IsControl):
		f.add(name, "must not contain control characters")
	}
}

func (f *fields) checkApps(name string, apps []string) {
	if len(apps) > maxUserApps {
		f.add(name, "must name at most %d apps", maxUserApps)
	}
	for i, app := range apps {
		if app == "" || len(app) > maxAppLength {
			f.add(fmt.Sprintf("%s[%d]", name, i), "must have 1 to %d characters", maxAppLength)
		}
	}
}
