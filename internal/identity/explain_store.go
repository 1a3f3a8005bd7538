package identity

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

// grantColumns reads a RoleGrant of the role r; a code and the wildcard may both be held, and then the
// code counts.
const grantColumns = `r.id, r.name, (r.tenant_id IS NULL) AS is_system, max(CASE WHEN p.code_key = $2 THEN 1 ELSE 0 END) = 1 AS is_direct`

func listHeldRoles(ctx context.Context, q db.Queryer, user, tenant uuid.UUID) ([]RoleRef, error) {
	return db.All[RoleRef](ctx, q, `
		SELECT r.id, r.name FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE br.user_id = $1 AND br.tenant_id = $2 ORDER BY r.name_key, r.id`, user, tenant)
}

// listGrantingRoles lists those of the user's roles in the tenant that hold the permission.
func listGrantingRoles(ctx context.Context, q db.Queryer, user, tenant uuid.UUID, code string) ([]RoleGrant, error) {
	return db.All[RoleGrant](ctx, q, `
		SELECT `+grantColumns+` FROM binding_roles br
		JOIN roles r ON r.id = br.role_id
		JOIN role_permissions rp ON rp.role_id = r.id
		JOIN permissions p ON p.id = rp.permission_id AND p.code_key IN ($2, $4)
		WHERE br.user_id = $1 AND br.tenant_id = $3
		GROUP BY r.id, r.name, r.name_key, r.tenant_id ORDER BY r.name_key, r.id`, user, codeKey(code), tenant, scope.Wildcard)
}

// listRolesWith lists roles of the tenant that hold the permission: the least powerful first, and those
// that hold everything last.
func listRolesWith(ctx context.Context, q db.Queryer, tenant uuid.UUID, code string, limit int) ([]RoleGrant, error) {
	return db.All[RoleGrant](ctx, q, `
		SELECT `+grantColumns+` FROM roles r
		JOIN role_permissions rp ON rp.role_id = r.id
		JOIN permissions p ON p.id = rp.permission_id AND p.code_key IN ($2, $3)
		WHERE `+ofTenant+`
		GROUP BY r.id, r.name, r.name_key, r.tenant_id
		ORDER BY max(CASE WHEN p.code_key = $3 THEN 1 ELSE 0 END),
			(SELECT count(*) FROM role_permissions held WHERE held.role_id = r.id), r.name_key, r.id
		LIMIT $4`, tenant, codeKey(code), scope.Wildcard, limit)
}
