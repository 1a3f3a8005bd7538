package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// Binding lets a user into a tenant with roles.
type Binding struct {
	TenantID  uuid.UUID
	RoleIDs   []uuid.UUID
	IsDefault bool
}

// maxBindingRoles bounds the roles of one binding, maxBindings the tenants of one body.
const (
	maxBindingRoles = 50
	maxBindings     = 1000
)

// BindTenant adds one tenant to those that the user may enter and leaves the others as they are. It is
// not idempotent: a second call is USER_ALREADY_ASSIGNED and writes nothing. The user's open sessions
// end, since what they may do has changed.
func (s *Service) BindTenant(ctx context.Context, user uuid.UUID, b Binding) (UserEdit, error) {
	actor := scope.ActorFrom(ctx)
	b.RoleIDs = distinct(b.RoleIDs)
	if err := b.checkAdditive(); err != nil {
		return UserEdit{}, err
	}
	var edit UserEdit
	err := s.db.Write(ctx, func(tx db.Tx) error {
		if _, err := requireUserView(ctx, tx, user); err != nil {
			return err
		}
		if _, err := requireTenant(ctx, tx, b.TenantID); err != nil {
			return err
		}
		if err := requireRoles(ctx, tx, b.TenantID, b.RoleIDs); err != nil {
			return err
		}
		if err := requireGrantable(ctx, tx, actor, b.RoleIDs); err != nil {
			return err
		}
		if err := s.addBinding(ctx, tx, user, b); err != nil {
			return err
		}
		if err := s.endSessions(ctx, tx, user, endedByBinding); err != nil {
			return err
		}
		if err := s.audit(ctx, tx, "user.bound", user, b.audited()); err != nil {
			return err
		}
		var err error
		edit, err = requireUserEdit(ctx, tx, user)
		return err
	})
	return edit, err
}

func (b Binding) checkAdditive() error {
	wrong := fields{}
	if b.TenantID == uuid.Nil {
		wrong.add("tenantId", "is required")
	}
	switch {
	case len(b.RoleIDs) == 0:
		wrong.add("roleIds", "must name at least one role")
	case len(b.RoleIDs) > maxBindingRoles:
		wrong.add("roleIds", "must name at most %d roles", maxBindingRoles)
	case slices.Contains(b.RoleIDs, uuid.Nil):
		wrong.add("roleIds", "must not contain an empty id")
	}
	return wrong.fault()
}

func (b Binding) audited() map[string]any {
	return map[string]any{"tenantId": b.TenantID, "roleIds": b.RoleIDs, "isDefault": b.IsDefault}
}

// addBinding writes a binding: already bound comes before full, as the contract orders it.
func (s *Service) addBinding(ctx context.Context, tx db.Tx, user uuid.UUID, b Binding) error {
	if b.IsDefault {
		if err := clearDefault(ctx, tx, user); err != nil {
			return err
		}
	}
	added, err := addBindingRow(ctx, tx, user, b.TenantID, b.IsDefault, s.now())
	if err != nil {
		return err
	}
	if !added {
		return fault.New(fault.UserAlreadyAssigned, "The user is bound to the tenant already.")
	}
	if err := insertBindingRoles(ctx, tx, user, b.TenantID, b.RoleIDs); err != nil {
		return err
	}
	return requirePlace(ctx, tx, b.TenantID) // last: the tenant's row stays locked until the commit
}

// removeBinding takes a binding away; false where there is none.
func removeBinding(ctx context.Context, tx db.Tx, user, tenant uuid.UUID) (bool, error) {
	removed, err := deleteBinding(ctx, tx, user, tenant)
	if err != nil || !removed {
		return removed, err
	}
	return true, freePlace(ctx, tx, tenant)
}

// Matrix is the tenants block of a body: nil leaves the bindings as they are.
type Matrix *[]Binding

// checkMatrix refuses what no store is needed to refuse.
func checkMatrix(matrix []Binding) error {
	wrong := fields{}
	seen, defaults := map[uuid.UUID]bool{}, 0
	if len(matrix) > maxBindings {
		wrong.add("tenants", "must name at most %d tenants", maxBindings)
	}
	for i, b := range matrix {
		if seen[b.TenantID] {
			wrong.add(fmt.Sprintf("tenants[%d].tenantId", i), "must not appear twice")
		}
		if len(distinct(b.RoleIDs)) > maxBindingRoles {
			wrong.add(fmt.Sprintf("tenants[%d].roleIds", i), "must name at most %d roles", maxBindingRoles)
		}
		seen[b.TenantID] = true
		if b.IsDefault {
			defaults++
		}
	}
	if defaults > 1 {
		wrong.add("tenants", "must mark at most one tenant as the default")
	}
	return wrong.fault()
}

// replaceMatrix makes the bindings of the user those of the matrix, and reports whether one was added
// or taken away.
func (s *Service) replaceMatrix(ctx context.Context, tx db.Tx, actor *scope.Actor, user uuid.UUID, matrix []Binding) (moved bool, err error) {
	present, err := listUserTenants(ctx, tx, user)
	if err != nil {
		return false, err
	}
	if err := clearDefault(ctx, tx, user); err != nil {
		return false, err
	}
	for _, b := range matrix {
		i := slices.IndexFunc(present, func(t UserTenant) bool { return t.TenantID == b.TenantID })
		if i < 0 {
			moved = true
			err = s.grantBinding(ctx, tx, actor, user, b)
		} else {
			err = s.changeBinding(ctx, tx, actor, present[i], b)
		}
		if err != nil {
			return moved, err
		}
	}
	for _, t := range present {
		if !slices.ContainsFunc(matrix, func(b Binding) bool { return b.TenantID == t.TenantID }) {
			moved = true
			if _, err := removeBinding(ctx, tx, user, t.TenantID); err != nil {
				return moved, err
			}
		}
	}
	return moved, nil
}

// grantBinding adds a binding under the rules for tenants, roles and escalation.
func (s *Service) grantBinding(ctx context.Context, tx db.Tx, actor *scope.Actor, user uuid.UUID, b Binding) error {
	b.RoleIDs = distinct(b.RoleIDs)
	if _, err := requireTenant(ctx, tx, b.TenantID); err != nil {
		return err
	}
	if err := requireRoles(ctx, tx, b.TenantID, b.RoleIDs); err != nil {
		return err
	}
	if err := requireGrantable(ctx, tx, actor, b.RoleIDs); err != nil {
		return err
	}
	return s.addBinding(ctx, tx, user, b)
}

// changeBinding replaces the roles and the default mark of a binding that exists. Only roles that come
// new are held against the caller's own permissions.
func (s *Service) changeBinding(ctx context.Context, tx db.Tx, actor *scope.Actor, present UserTenant, b Binding) error {
	if err := s.replaceRoles(ctx, tx, actor, present, b.RoleIDs); err != nil {
		return err
	}
	if !b.IsDefault {
		return nil
	}
	return setDefault(ctx, tx, present.UserID, present.TenantID)
}

// replaceRoles makes the roles of a binding those given.
func (s *Service) replaceRoles(ctx context.Context, tx db.Tx, actor *scope.Actor, present UserTenant, roles []uuid.UUID) error {
	roles = distinct(roles)
	if err := requireRoles(ctx, tx, present.TenantID, roles); err != nil {
		return err
	}
	held := make([]uuid.UUID, len(present.Roles))
	for i, r := range present.Roles {
		held[i] = r.ID
	}
	added, removed := without(roles, held), without(held, roles)
	if err := requireGrantable(ctx, tx, actor, added); err != nil {
		return err
	}
	if err := deleteBindingRoles(ctx, tx, present.UserID, present.TenantID, removed); err != nil {
		return err
	}
	return insertBindingRoles(ctx, tx, present.UserID, present.TenantID, added)
}

// requireRoles fails with ROLE_NOT_FOUND unless every role exists and is the tenant's own or a system
// role; which of these it is is not told.
func requireRoles(ctx context.Context, tx db.Tx, tenant uuid.UUID, roles []uuid.UUID) error {
	if len(roles) == 0 {
		return nil
	}
	n, err := countRoles(ctx, tx, tenant, roles)
	if err != nil {
		return fmt.Errorf("look up roles: %w", err)
	}
	if n != len(roles) {
		return fault.New(fault.RoleNotFound, "One of the roles does not exist in the tenant.")
	}
	return nil
}

func distinct(ids []uuid.UUID) []uuid.UUID {
	once := make([]uuid.UUID, 0, len(ids))
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once
}

// without lists the ids that are not among the others.
func without(ids, others []uuid.UUID) []uuid.UUID {
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return slices.Contains(others, id) })
}
