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

// CreateUserByNames is CreateUser for clients that know roles by their names.
func (s *Service) CreateUserByNames(ctx context.Context, in NewUser, roles []string) (UserView, error) {
	own := scope.ActorFrom(ctx).TenantID
	if len(roles) > 0 {
		ids, err := rolesByName(ctx, s.db, own, "roles", roles)
		if err != nil {
			return UserView{}, err
		}
		in.Tenants = []Binding{{TenantID: own, RoleIDs: ids}}
	}
	return s.CreateUser(ctx, in)
}

// UpdateUserByNames is UpdateUser for clients that know roles by their names; nil leaves them.
func (s *Service) UpdateUserByNames(ctx context.Context, id uuid.UUID, fits resource.Match, change UserChange, roles *[]string) (UserView, error) {
	if roles != nil {
		ids, err := rolesByName(ctx, s.db, scope.ActorFrom(ctx).TenantID, "roles", *roles)
		if err != nil {
			return UserView{}, err
		}
		change.Roles = &ids
	}
	return s.UpdateUser(ctx, id, fits, change)
}

// AddRoles gives a user of the caller's tenant the named roles beside those they hold.
func (s *Service) AddRoles(ctx context.Context, id uuid.UUID, names []string) (UserView, error) {
	actor := scope.ActorFrom(ctx)
	roles, err := rolesByName(ctx, s.db, actor.TenantID, "roleNames", names)
	if err != nil {
		return UserView{}, err
	}
	var view UserView
	err = s.db.Write(ctx, func(tx db.Tx) error {
		before, err := lockMember(ctx, tx, actor, id, nil)
		if err != nil {
			return err
		}
		held, err := readAccess(ctx, tx, id, actor.TenantID)
		if err != nil {
			return err
		}
		all := withoutRepeats(append(held.roleIDs, roles...))
		if err := s.alter(ctx, tx, before.User, func() (bool, error) { return s.changeRolesHere(ctx, tx, actor, id, &all) }); err != nil {
			return err
		}
		view, err = requireMember(ctx, tx, actor.TenantID, id)
		return err
	})
	return view, err
}

// rolesByName finds the roles of a tenant; names that are none are a validation error on the field.
func rolesByName(ctx context.Context, q db.Queryer, tenant uuid.UUID, field string, names []string) ([]uuid.UUID, error) {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = roleKey(strings.TrimSpace(name))
	}
	if len(withoutRepeats(keys)) > maxBindingRoles {
		return nil, fault.Invalid(field, "must name at most %d roles", maxBindingRoles)
	}
	found, err := findRolesByName(ctx, q, tenant, withoutRepeats(keys))
	if err != nil {
		return nil, fmt.Errorf("look up roles: %w", err)
	}
	ids, wrong := []uuid.UUID{}, fields{}
	for i, key := range keys {
		id, ok := found[key]
		if !ok {
			wrong.add(fmt.Sprintf("%s[%d]", field, i), "is no role of this tenant")
		}
		ids = append(ids, id)
	}
	if len(wrong) > 0 {
		wrong.add(field, "names roles that do not exist in this tenant")
	}
	return withoutRepeats(ids), wrong.fault()
}
