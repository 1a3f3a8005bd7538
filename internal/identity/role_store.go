package identity

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
)

const roleColumns = `r.id, r.tenant_id, r.name, r.description, r.created_at, r.updated_at`

// ofTenant keeps the roles that exist in the tenant bound to $1: its own and the system roles.
const ofTenant = `(r.tenant_id = $1 OR r.tenant_id IS NULL)`

// roleKey is what two names share that cannot stand side by side in one tenant.
func roleKey(name string) string { return strings.ToLower(name) }

// findRole returns sql.ErrNoRows where the role is neither the tenant's own nor a system role.
func findRole(ctx context.Context, q db.Queryer, tenant, id uuid.UUID, lock string) (Role, error) {
	return db.One[Role](ctx, q, `SELECT `+roleColumns+` FROM roles r WHERE `+ofTenant+` AND r.id = $2`+lock, tenant, id)
}

// findRoleByName looks among the tenant's own roles and the system roles; sql.ErrNoRows where there is none.
func findRoleByName(ctx context.Context, q db.Queryer, tenant uuid.UUID, name string) (uuid.UUID, error) {
	return db.One[uuid.UUID](ctx, q, `
		SELECT id FROM roles WHERE name_key = $2 AND (tenant_id = $1 OR tenant_id IS NULL)
		ORDER BY tenant_id IS NULL LIMIT 1`, tenant, roleKey(name))
}

// isSystemName tells whether a system role has the name. These never change, so no lock is needed.
func isSystemName(ctx context.Context, q db.Queryer, name string) (bool, error) {
	n, err := db.One[int](ctx, q, `SELECT count(*) FROM roles WHERE tenant_id IS NULL AND name_key = $1`, roleKey(name))
	return n > 0, err
}

// insertRole fails on the unique key where the tenant has a role with the name.
func insertRole(ctx context.Context, tx db.Tx, r Role) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO roles (id, tenant_id, name, name_key, description, search_key, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
		r.ID, r.TenantID, r.Name, roleKey(r.Name), r.Description, resource.SearchKey(r.Name, r.Description), r.CreatedAt)
	return err
}

// updateRole fails like insertRole.
func updateRole(ctx context.Context, tx db.Tx, r Role) error {
	_, err := tx.Exec(ctx, `
		UPDATE roles SET name = $3, name_key = $4, description = $5, search_key = $6, updated_at = $7
		WHERE id = $1 AND tenant_id = $2`,
		r.ID, r.TenantID, r.Name, roleKey(r.Name), r.Description, resource.SearchKey(r.Name, r.Description), r.UpdatedAt)
	return err
}

// deleteRole takes the list of permissions with it, and fails on the foreign key while somebody holds
// the role.
func deleteRole(ctx context.Context, tx db.Tx, tenant, id uuid.UUID) error {
	_, err := tx.Exec(ctx, `DELETE FROM roles WHERE id = $1 AND tenant_id = $2`, id, tenant)
	return err
}

// findPermissions reads the permissions that have one of the values in the column.
func findPermissions[T any](ctx context.Context, q db.Queryer, column string, values []T) ([]RolePermission, error) {
	return db.All[RolePermission](ctx, q, `
		SELECT id, code FROM permissions WHERE `+column+` IN (`+db.In(1, len(values))+`) ORDER BY code`, db.Args(nil, values)...)
}

// insertRolePermissions tells how many of the permissions exist.
func insertRolePermissions(ctx context.Context, tx db.Tx, role uuid.UUID, permissions []uuid.UUID) (int, error) {
	n, err := tx.Exec(ctx, `
		INSERT INTO role_permissions (role_id, permission_id)
		SELECT $1, id FROM permissions WHERE id IN (`+db.In(2, len(permissions))+`)`, db.Args([]any{role}, permissions)...)
	return int(n), err
}

func deleteRolePermissions(ctx context.Context, tx db.Tx, role uuid.UUID, permissions []uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM role_permissions WHERE role_id = $1 AND permission_id IN (`+db.In(2, len(permissions))+`)`,
		db.Args([]any{role}, permissions)...)
	return err
}

// insertSystemRole does nothing where the role exists.
func insertSystemRole(ctx context.Context, tx db.Tx, id uuid.UUID, name, description string, at db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO roles (id, name, name_key, description, search_key, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $6)
		ON CONFLICT (name_key) WHERE tenant_id IS NULL DO NOTHING`,
		id, name, roleKey(name), description, resource.SearchKey(name, description), at)
	return err
}

func insertRolePermission(ctx context.Context, tx db.Tx, role, permission string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO role_permissions (role_id, permission_id)
		SELECT r.id, p.id FROM roles r JOIN permissions p ON p.code_key = $2
		WHERE r.name_key = $1 AND r.tenant_id IS NULL
		ON CONFLICT DO NOTHING`, roleKey(role), codeKey(permission))
	return err
}

// countHolders counts the accounts that hold a system role anywhere.
func countHolders(ctx context.Context, q db.Queryer, role string) (int, error) {
	return db.One[int](ctx, q, `
		SELECT count(*) FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE r.name_key = $1 AND r.tenant_id IS NULL`, roleKey(role))
}

// systemCodes lists the codes of the permissions that a system role holds and those that exist, so
// that a start with nothing to add writes nothing.
func systemCodes(ctx context.Context, q db.Queryer) (map[string]bool, error) {
	codes, err := db.All[string](ctx, q, `
		SELECT r.name_key || ' ' || p.code_key FROM role_permissions rp
		JOIN roles r ON r.id = rp.role_id AND r.tenant_id IS NULL
		JOIN permissions p ON p.id = rp.permission_id
		UNION ALL SELECT code_key FROM permissions WHERE is_system`)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(codes))
	for _, code := range codes {
		known[code] = true
	}
	return known, nil
}
