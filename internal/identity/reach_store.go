package identity

import (
	"context"
	"strings"

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

// lockSystemRole puts transactions about the holders of a system role into one order.
func lockSystemRole(ctx context.Context, tx db.Tx, role string) error {
	_, err := db.One[uuid.UUID](ctx, tx, `SELECT id FROM roles WHERE name_key = $1 AND tenant_id IS NULL`+tx.Dialect().ForUpdate(), strings.ToLower(role))
	return err
}

// countActiveHolders counts the accounts that can use a system role somewhere now.
func countActiveHolders(ctx context.Context, q db.Queryer, role string) (int, error) {
	return db.One[int](ctx, q, `
		SELECT count(DISTINCT u.id) FROM roles r
		JOIN binding_roles br ON br.role_id = r.id
		JOIN bindings b ON b.user_id = br.user_id AND b.tenant_id = br.tenant_id AND b.is_active
		JOIN tenants t ON t.id = b.tenant_id AND t.is_active AND t.deleted_at IS NULL
		JOIN users u ON u.id = b.user_id AND u.is_active AND u.deleted_at IS NULL
		WHERE r.name_key = $1 AND r.tenant_id IS NULL`, strings.ToLower(role))
}
