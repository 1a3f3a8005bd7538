package identity

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
	"steward/internal/scope"
)

// UserChange is what an update changes; nil leaves a field as it is.
type UserChange struct {
	FirstName   *string
	LastName    *string
	FullName    *string // in place of the two above
	PhoneNumber *string
	AppIDs      *[]string
	IsActive    *bool
	Tenants     Matrix       // of UpdateAnyUser
	Roles       *[]uuid.UUID // of UpdateUser: those in the caller's tenant
}

func (c UserChange) check() error {
	wrong := fields{}
	if c.FirstName != nil {
		wrong.checkName("firstName", *c.FirstName)
	}
	if c.LastName != nil {
		wrong.checkName("lastName", *c.LastName)
	}
	if c.FullName != nil && *c.FullName != "" {
		wrong.checkFullName("fullName", *c.FullName)
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

// apply changes the plain fields.
func (c UserChange) apply(u *User) {
	resource.Set(&u.FirstName, trimmed(c.FirstName))
	resource.Set(&u.LastName, trimmed(c.LastName))
	if c.FullName != nil {
		u.FirstName, u.LastName = splitName(*c.FullName)
	}
	resource.Set(&u.PhoneNumber, c.PhoneNumber)
	if c.AppIDs != nil {
		u.AppIDs = append(db.Strings{}, *c.AppIDs...)
	}
}

// requireAllowed fails where callers would keep themselves out.
func (c UserChange) requireAllowed(a *scope.Actor, user uuid.UUID) error {
	if c.IsActive == nil || *c.IsActive {
		return nil
	}
	return requireNotSelf(a, user)
}

// UpdateUser changes a user of the caller's tenant. Whether the account is active is, here, whether
// the person may work in this tenant. A body that changes nothing writes nothing.
func (s *Service) UpdateUser(ctx context.Context, id uuid.UUID, fits resource.Match, change UserChange) (UserView, error) {
	actor := scope.ActorFrom(ctx)
	if err := change.check(); err != nil {
		return UserView{}, err
	}
	if err := change.requireAllowed(actor, id); err != nil {
		return UserView{}, err
	}
	var view UserView
	err := s.db.Write(ctx, func(tx db.Tx) error {
		before, err := lockMember(ctx, tx, actor, id, fits)
		if err != nil {
			return err
		}
		err = s.alter(ctx, tx, before.User,
			func() (bool, error) { return s.changeFields(ctx, tx, before.User, change) },
			func() (bool, error) { return s.changeRolesHere(ctx, tx, actor, id, change.Roles) },
			func() (bool, error) { return s.changeActiveHere(ctx, tx, actor, before, change.IsActive) })
		if err != nil {
			return err
		}
		view, err = requireMember(ctx, tx, actor.TenantID, id)
		return err
	})
	return view, err
}

// UpdateAnyUser changes any account; a matrix replaces all its bindings. A body that changes nothing
// writes nothing.
func (s *Service) UpdateAnyUser(ctx context.Context, id uuid.UUID, fits resource.Match, change UserChange) (UserEdit, error) {
	actor := scope.ActorFrom(ctx)
	if err := change.check(); err != nil {
		return UserEdit{}, err
	}
	if err := change.requireAllowed(actor, id); err != nil {
		return UserEdit{}, err
	}
	var edit UserEdit
	err := s.db.Write(ctx, func(tx db.Tx) error {
		before, err := lockChangeable(ctx, tx, actor, id, fits)
		if err != nil {
			return err
		}
		err = s.alter(ctx, tx, before,
			func() (bool, error) { return s.changeFields(ctx, tx, before, change) },
			func() (bool, error) { return s.replaceMatrix(ctx, tx, actor, id, change.Tenants) },
			func() (bool, error) { return s.changeActive(ctx, tx, before, change.IsActive) })
		if err != nil {
			return err
		}
		edit, err = requireUserEdit(ctx, tx, id)
		return err
	})
	return edit, err
}

// changeFields writes the plain fields, and reports whether there was anything to write.
func (s *Service) changeFields(ctx context.Context, tx db.Tx, before User, change UserChange) (bool, error) {
	after := before
	change.apply(&after)
	if reflect.DeepEqual(before, after) {
		return false, nil
	}
	if err := updateUser(ctx, tx, after); err != nil {
		return false, fmt.Errorf("update user %s: %w", before.ID, err)
	}
	return true, s.auditChange(ctx, tx, "user.updated", before.ID, auditedUser(before), auditedUser(after))
}

// auditedUser is the part of an account that the audit log shows.
func auditedUser(u User) map[string]any {
	return map[string]any{
		"email": u.Email, "firstName": u.FirstName, "lastName": u.LastName, "phoneNumber": u.PhoneNumber,
		"appIds": append([]string{}, u.AppIDs...), "isActive": u.IsActive,
	}
}

// Bounds of the apps that one account may be restricted to.
const (
	maxUserApps  = 100
	maxAppLength = 100
)

func (f *fields) checkName(name, text string) { f.checkText(name, text, maxNameLength, "") }

func (f *fields) checkApps(name string, apps []string) {
	if len(apps) > maxUserApps {
		f.add(name, "must name at most %d apps", maxUserApps)
		return
	}
	for i, app := range apps {
		at := fmt.Sprintf("%s[%d]", name, i)
		if strings.TrimSpace(app) == "" {
			f.add(at, "must not be empty")
		}
		f.checkText(at, app, maxAppLength, "")
	}
}
