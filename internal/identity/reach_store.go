package identity

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/db"
)

// isBelow reports whether the tenant is a descendant of the other.
func isBelow(ctx context.Context, q db.Queryer, tenant, above uuid.UUID) (bool, error) {
	n, err := db.One[int](ctx, q, `
		WITH RECURSIVE up(id, parent_id, depth) AS (
			SELECT id, parent_id, 0 FROM tenants WHERE id = $1
			UNION ALL
			SELECT t.id, t.parent_id, up.depth + 1 FROM tenants t JOIN up ON t.id = up.parent_id WHERE up.depth < $3)
		SELECT count(*) FROM up WHERE id = $2 AND depth > 0`, tenant, above, maxTenantDepth)
	return n > 0, err
}

// listCodesOfRoles lists the permissions that the roles hold together.
func listCodesOfRoles(ctx context.Context, q db.Queryer, roles []uuid.UUID) ([]string, error) {
	return db.All[string](ctx, q, `
		SELECT DISTINCT p.code FROM role_permissions rp JOIN permissions p ON p.id = rp.permission_id
		WHERE rp.role_id IN (`+db.In(1, len(roles))+`) ORDER BY p.code`, db.Args(nil, roles)...)
}

// listAtOrBelow keeps those of the tenants that are the one above or its descendants.
func listAtOrBelow(ctx context.Context, q db.Queryer, above uuid.UUID, tenants []uuid.UUID) ([]uuid.UUID, error) {
	return db.All[uuid.UUID](ctx, q, `
		WITH RECURSIVE up(origin, id, parent_id, depth) AS (
			SELECT id, id, parent_id, 0 FROM tenants WHERE id IN (`+db.In(3, len(tenants))+`)
			UNION ALL
			SELECT up.origin, t.id, t.parent_id, up.depth + 1 FROM tenants t JOIN up ON t.id = up.parent_id WHERE up.depth < $2)
		SELECT DISTINCT origin FROM up WHERE id = $1`, db.Args([]any{above, maxTenantDepth}, tenants)...)
}

// lockAdministrators makes transactions that take a Super Administrator away come one after the other.
// A lock on the role itself would meet those of everybody who is given it.
func lockAdministrators(ctx context.Context, tx db.Tx) error {
	_, err := db.One[string](ctx, tx, `SELECT name FROM locks WHERE name = 'administrators'`+tx.Dialect().ForUpdate())
	return err
}

// holdsSystemRole reports whether the account holds a system role in any tenant.
func holdsSystemRole(ctx context.Context, q db.Queryer, user uuid.UUID, role string) (bool, error) {
	n, err := db.One[int](ctx, q, `
		SELECT count(*) FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE br.user_id = $1 AND r.tenant_id IS NULL AND r.name_key = $2`, user, roleKey(role))
	return n > 0, err
}

// countActiveHolders counts the accounts that can use a system role somewhere now.
func countActiveHolders(ctx context.Context, q db.Queryer, role string) (int, error) {
	return db.One[int](ctx, q, `
		SELECT count(DISTINCT u.id) FROM roles r
		JOIN binding_roles br ON br.role_id = r.id
		JOIN bindings b ON b.user_id = br.user_id AND b.tenant_id = br.tenant_id AND b.is_active
		JOIN tenants t ON t.id = b.tenant_id AND t.is_active AND t.deleted_at IS NULL
		JOIN users u ON u.id = b.user_id AND u.is_active AND u.deleted_at IS NULL
		WHERE r.name_key = $1 AND r.tenant_id IS NULL`, roleKey(role))
}
