package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

// UserTenant is one tenant that a user is bound to.
type UserTenant struct {
	UserID           uuid.UUID `db:"user_id"`
	TenantID         uuid.UUID `db:"tenant_id"`
	TenantName       string    `db:"tenant_name"`
	TenantIdentifier string    `db:"tenant_identifier"`
	IsDefault        bool      `db:"is_default"`
	IsActive         bool      `db:"is_active"`
	JoinedAt         db.Time   `db:"created_at"`
	Roles            []RoleRef `db:"-"`
}

// RoleRef names a role.
type RoleRef struct {
	ID   uuid.UUID `db:"id"`
	Name string    `db:"name"`
}

// binding is the same as a body would say it.
func (t UserTenant) binding() Binding {
	b := Binding{TenantID: t.TenantID, IsDefault: t.IsDefault}
	for _, r := range t.Roles {
		b.RoleIDs = append(b.RoleIDs, r.ID)
	}
	return b
}

// UserTenants lists the tenants of a user of the caller's tenant, as far as the caller reaches.
func (s *Service) UserTenants(ctx context.Context, id uuid.UUID) ([]UserTenant, error) {
	actor := scope.ActorFrom(ctx)
	if _, err := findMember(ctx, s.db, actor.TenantID, id, false); err != nil {
		return nil, userFault(id, err)
	}
	tenants, err := listUserTenants(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	return withinReach(ctx, s.db, actor, tenants)
}

// AnyUserTenants lists the tenants of any user.
func (s *Service) AnyUserTenants(ctx context.Context, id uuid.UUID) ([]UserTenant, error) {
	if _, err := findUserView(ctx, s.db, id, false); err != nil {
		return nil, userFault(id, err)
	}
	return listUserTenants(ctx, s.db, id)
}

// withinReach leaves out the tenants that the caller must not know of.
func withinReach(ctx context.Context, q db.Queryer, a *scope.Actor, tenants []UserTenant) ([]UserTenant, error) {
	if a.CanAny(adminSystem, manageAllUsers, manageAllTenants) {
		return tenants, nil
	}
	ids := make([]uuid.UUID, len(tenants))
	for i, t := range tenants {
		ids[i] = t.TenantID
	}
	reached, err := listAtOrBelow(ctx, q, a.TenantID, ids)
	if err != nil {
		return nil, fmt.Errorf("look for tenants below %s: %w", a.TenantID, err)
	}
	return slices.DeleteFunc(tenants, func(t UserTenant) bool { return !slices.Contains(reached, t.TenantID) }), nil
}
