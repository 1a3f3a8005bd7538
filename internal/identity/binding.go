package identity

import (
	"bytes"
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
	return s.bindTenant(ctx, user, b, func(db.Tx) error { return nil })
}

// bindTenant refuses in the order of the contract; admit is asked before anything is looked up.
func (s *Service) bindTenant(ctx context.Context, user uuid.UUID, b Binding, admit func(tx db.Tx) error) (UserEdit, error) {
	b.RoleIDs = withoutRepeats(b.RoleIDs)
	if err := b.checkAdditive(); err != nil {
		return UserEdit{}, err
	}
	var edit UserEdit
	err := s.db.Write(ctx, func(tx db.Tx) error {
		if err := admit(tx); err != nil {
			return err
		}
		u, err := lockAccount(ctx, tx, user)
		if err != nil {
			return err
		}
		if err := requireGrants(ctx, tx, scope.ActorFrom(ctx), b); err != nil {
			return err
		}
		if err := s.alter(ctx, tx, u, func() (bool, error) { return true, s.bindLate(ctx, tx, user, b) }); err != nil {
			return err
		}
		edit, err = requireUserEdit(ctx, tx, user)
		return err
	})
	return edit, err
}

// bindLate adds a binding to an account that may have open sessions.
func (s *Service) bindLate(ctx context.Context, tx db.Tx, user uuid.UUID, b Binding) error {
	if err := s.addBinding(ctx, tx, user, b); err != nil {
		return err
	}
	if err := s.endSessions(ctx, tx, user, endedByBinding); err != nil {
		return err
	}
	return s.auditBinding(ctx, tx, "user.bound", user, b.TenantID, nil, b.audited())
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
	roles := slices.SortedFunc(slices.Values(withoutRepeats(b.RoleIDs)), compareIDs)
	return map[string]any{"roleIds": append([]uuid.UUID{}, roles...), "isDefault": b.IsDefault}
}

// addBinding writes a binding of a locked account. The place is taken first, so that the tenant's row
// is locked for writing before the binding refers to it; that the user is bound already is told before
// that the tenant is full, as the contract orders it.
func (s *Service) addBinding(ctx context.Context, tx db.Tx, user uuid.UUID, b Binding) error {
	full := requirePlace(ctx, tx, b.TenantID)
	if _, refused := fault.From(full); full != nil && !refused {
		return full
	}
	if b.IsDefault {
		if err := clearDefault(ctx, tx, user); err != nil {
			return fmt.Errorf("move the default of user %s: %w", user, err)
		}
	}
	added, err := addBindingRow(ctx, tx, user, b.TenantID, b.IsDefault, s.now())
	if err != nil {
		return err
	}
	if !added {
		return fault.New(fault.UserAlreadyAssigned, "The user is bound to the tenant already.")
	}
	if full != nil {
		return full
	}
	return giveRoles(ctx, tx, user, b.TenantID, withoutRepeats(b.RoleIDs))
}

// removeBinding takes a binding away and frees its place.
func removeBinding(ctx context.Context, tx db.Tx, user, tenant uuid.UUID) error {
	if err := freePlace(ctx, tx, tenant); err != nil {
		return fmt.Errorf("free a place in tenant %s: %w", tenant, err)
	}
	return deleteBinding(ctx, tx, user, tenant)
}

// giveRoles adds roles to a binding. One that was deleted since it was looked up is ROLE_NOT_FOUND, by
// the foreign key.
func giveRoles(ctx context.Context, tx db.Tx, user, tenant uuid.UUID, roles []uuid.UUID) error {
	if len(roles) == 0 {
		return nil
	}
	err := insertBindingRoles(ctx, tx, user, tenant, roles)
	if db.IsForeignKey(err) {
		return noRole().Because(err)
	}
	if err != nil {
		return fmt.Errorf("give roles to user %s: %w", user, err)
	}
	return nil
}

// requireGrants fails with TENANT_NOT_FOUND, ROLE_NOT_FOUND or ROLE_ASSIGNMENT_ESCALATION_BLOCKED, in
// this order, unless the caller may give every role of the bindings in its tenant.
func requireGrants(ctx context.Context, q db.Queryer, actor *scope.Actor, bindings ...Binding) error {
	if err := requireTenants(ctx, q, bindings); err != nil {
		return err
	}
	if err := requireRoles(ctx, q, bindings...); err != nil {
		return err
	}
	return requireGrantable(ctx, q, actor, rolesOf(bindings))
}

func requireTenants(ctx context.Context, q db.Queryer, bindings []Binding) error {
	ids := make([]uuid.UUID, len(bindings))
	for i, b := range bindings {
		ids[i] = b.TenantID
	}
	known, err := listLiveTenants(ctx, q, ids)
	if err != nil {
		return fmt.Errorf("look up tenants: %w", err)
	}
	if missing := without(ids, known); len(missing) > 0 {
		return fault.New(fault.TenantNotFound, "There is no tenant with the id %s.", missing[0])
	}
	return nil
}

// requireRoles fails with ROLE_NOT_FOUND unless every role exists and is its tenant's own or a system
// role; which of these it is is not told.
func requireRoles(ctx context.Context, q db.Queryer, bindings ...Binding) error {
	homes, err := findRoleHomes(ctx, q, rolesOf(bindings))
	if err != nil {
		return fmt.Errorf("look up roles: %w", err)
	}
	for _, b := range bindings {
		for _, role := range b.RoleIDs {
			if home, ok := homes[role]; !ok || home != nil && *home != b.TenantID {
				return noRole()
			}
		}
	}
	return nil
}

func noRole() *fault.Fault {
	return fault.New(fault.RoleNotFound, "One of the roles does not exist in the tenant.")
}

func rolesOf(bindings []Binding) []uuid.UUID {
	var roles []uuid.UUID
	for _, b := range bindings {
		roles = append(roles, b.RoleIDs...)
	}
	return withoutRepeats(roles)
}

// without lists the ids that are not among the others.
func without(ids, others []uuid.UUID) []uuid.UUID {
	known := make(map[uuid.UUID]bool, len(others))
	for _, id := range others {
		known[id] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return known[id] })
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// inOrder sorts bindings by tenant, which is the order in which tenants are locked.
func inOrder(bindings []Binding) []Binding {
	return slices.SortedFunc(slices.Values(bindings), func(a, b Binding) int { return compareIDs(a.TenantID, b.TenantID) })
}
