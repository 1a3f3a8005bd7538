package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
)

// listOpenTenants lists the tenants that the user may enter now: active ones, by active bindings.
func listOpenTenants(ctx context.Context, q db.Queryer, user uuid.UUID) ([]Membership, error) {
	return db.All[Membership](ctx, q, `
		SELECT t.id, t.name, b.is_default FROM bindings b JOIN tenants t ON t.id = b.tenant_id
		WHERE b.user_id = $1 AND b.is_active AND t.is_active AND t.deleted_at IS NULL
		ORDER BY t.name, t.id`, user)
}

// findOpenTenant returns sql.ErrNoRows where the user may not enter the tenant now.
func findOpenTenant(ctx context.Context, q db.Queryer, user, tenant uuid.UUID) (Membership, error) {
	return db.One[Membership](ctx, q, `
		SELECT t.id, t.name, b.is_default FROM bindings b JOIN tenants t ON t.id = b.tenant_id
		WHERE b.user_id = $1 AND b.tenant_id = $2 AND b.is_active AND t.is_active AND t.deleted_at IS NULL`, user, tenant)
}

func insertBinding(ctx context.Context, tx db.Tx, user, tenant uuid.UUID, isDefault bool, at db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO bindings (user_id, tenant_id, is_default, created_at) VALUES ($1, $2, $3, $4)`,
		user, tenant, isDefault, at)
	if err != nil {
		return fmt.Errorf("bind user %s to tenant %s: %w", user, tenant, err)
	}
	return nil
}

// insertBindingRole fails with ROLE_NOT_FOUND where the role was deleted in this moment.
func insertBindingRole(ctx context.Context, tx db.Tx, user, tenant, role uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO binding_roles (user_id, tenant_id, role_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		user, tenant, role)
	if db.IsForeignKey(err) {
		return fault.New(fault.RoleNotFound, "One of the roles does not exist in the tenant.").Because(err)
	}
	if err != nil {
		return fmt.Errorf("give role %s to user %s: %w", role, user, err)
	}
	return nil
}
