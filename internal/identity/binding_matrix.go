package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

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
		if len(withoutRepeats(b.RoleIDs)) > maxBindingRoles {
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

// move is what becomes of one binding: from nil it is added, to nil it is taken away.
type move struct {
	tenant uuid.UUID
	from   *UserTenant
	to     *Binding
}

// movesTo lists what leads from the present bindings to the matrix, in the order of the tenants' ids.
func movesTo(present []UserTenant, matrix []Binding) []move {
	byTenant := map[uuid.UUID]*move{}
	at := func(tenant uuid.UUID) *move {
		if byTenant[tenant] == nil {
			byTenant[tenant] = &move{tenant: tenant}
		}
		return byTenant[tenant]
	}
	for i := range present {
		at(present[i].TenantID).from = &present[i]
	}
	for i := range matrix {
		at(matrix[i].TenantID).to = &matrix[i]
	}
	moves := make([]move, 0, len(byTenant))
	for _, m := range byTenant {
		moves = append(moves, *m)
	}
	slices.SortFunc(moves, func(a, b move) int { return compareIDs(a.tenant, b.tenant) })
	return moves
}

// comesOrGoes reports whether the user enters or leaves the tenant.
func (m move) comesOrGoes() bool { return m.from == nil || m.to == nil }

func (m move) losesDefault() bool {
	return m.from != nil && m.from.IsDefault && (m.to == nil || !m.to.IsDefault)
}

func (m move) gainsDefault() bool {
	return m.to != nil && m.to.IsDefault && (m.from == nil || !m.from.IsDefault)
}

// roles are those that the move gives and those that it takes. What goes with the whole binding is not
// among the latter.
func (m move) roles() (given, taken []uuid.UUID) {
	switch {
	case m.to == nil:
		return nil, nil
	case m.from == nil:
		return withoutRepeats(m.to.RoleIDs), nil
	}
	held := m.from.binding().RoleIDs
	return without(withoutRepeats(m.to.RoleIDs), held), without(held, m.to.RoleIDs)
}

func (m move) changes() bool {
	given, taken := m.roles()
	return m.comesOrGoes() || m.losesDefault() || m.gainsDefault() || len(given)+len(taken) > 0
}

// replaceMatrix makes the bindings of a locked account those of the matrix, and reports whether they
// were others. Only roles that come new are held against the caller's own permissions, and sessions end
// only where a tenant came or went.
func (s *Service) replaceMatrix(ctx context.Context, tx db.Tx, actor *scope.Actor, user uuid.UUID, matrix Matrix) (bool, error) {
	if matrix == nil {
		return false, nil
	}
	present, err := listUserTenants(ctx, tx, user)
	if err != nil {
		return false, err
	}
	moves := slices.DeleteFunc(movesTo(present, *matrix), func(m move) bool { return !m.changes() })
	if len(moves) == 0 {
		return false, nil
	}
	if err := requireMoves(ctx, tx, actor, moves); err != nil {
		return false, err
	}
	if err := s.makeMoves(ctx, tx, user, moves); err != nil {
		return false, err
	}
	if slices.ContainsFunc(moves, move.comesOrGoes) {
		if err := s.endSessions(ctx, tx, user, endedByBinding); err != nil {
			return false, err
		}
	}
	return true, s.auditMoves(ctx, tx, user, moves)
}

// requireMoves is requireGrants for what the moves give.
func requireMoves(ctx context.Context, q db.Queryer, actor *scope.Actor, moves []move) error {
	var grants []Binding
	for _, m := range moves {
		if m.to != nil {
			given, _ := m.roles()
			grants = append(grants, Binding{TenantID: m.tenant, RoleIDs: given})
		}
	}
	return requireGrants(ctx, q, actor, grants...)
}

func (s *Service) makeMoves(ctx context.Context, tx db.Tx, user uuid.UUID, moves []move) error {
	if slices.ContainsFunc(moves, move.losesDefault) {
		if err := clearDefault(ctx, tx, user); err != nil {
			return fmt.Errorf("move the default of user %s: %w", user, err)
		}
	}
	for _, m := range moves {
		if err := s.makeMove(ctx, tx, user, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) makeMove(ctx context.Context, tx db.Tx, user uuid.UUID, m move) error {
	switch {
	case m.from == nil:
		return s.addBinding(ctx, tx, user, *m.to)
	case m.to == nil:
		return removeBinding(ctx, tx, user, m.tenant)
	}
	given, taken := m.roles()
	if err := deleteBindingRoles(ctx, tx, user, m.tenant, taken); err != nil {
		return err
	}
	if err := giveRoles(ctx, tx, user, m.tenant, given); err != nil {
		return err
	}
	if !m.gainsDefault() {
		return nil
	}
	if err := setDefault(ctx, tx, user, m.tenant); err != nil {
		return fmt.Errorf("move the default of user %s: %w", user, err)
	}
	return nil
}

// auditMoves notes the bindings that changed, by the ids of their tenants.
func (s *Service) auditMoves(ctx context.Context, tx db.Tx, user uuid.UUID, moves []move) error {
	before, after := map[string]any{}, map[string]any{}
	for _, m := range moves {
		if m.from != nil {
			before[m.tenant.String()] = m.from.binding().audited()
		}
		if m.to != nil {
			after[m.tenant.String()] = m.to.audited()
		}
	}
	return s.auditChange(ctx, tx, "user.tenants-changed", user, before, after)
}

// changeRolesHere makes the roles that a user holds in the caller's tenant those given; nil leaves them.
func (s *Service) changeRolesHere(ctx context.Context, tx db.Tx, actor *scope.Actor, user uuid.UUID, roles *[]uuid.UUID) (bool, error) {
	if roles == nil {
		return false, nil
	}
	tenants, err := listUserTenants(ctx, tx, user)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(tenants, func(t UserTenant) bool { return t.TenantID == actor.TenantID })
	if i < 0 {
		return false, noUser()
	}
	m := move{tenant: actor.TenantID, from: &tenants[i], to: &Binding{TenantID: actor.TenantID, RoleIDs: *roles, IsDefault: tenants[i].IsDefault}}
	if !m.changes() {
		return false, nil
	}
	if err := requireMoves(ctx, tx, actor, []move{m}); err != nil {
		return false, err
	}
	if err := s.makeMove(ctx, tx, user, m); err != nil {
		return false, err
	}
	return true, s.auditMoves(ctx, tx, user, []move{m})
}
