package identity

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
)

// findRoleByName looks among the tenant's own roles and the system roles; sql.ErrNoRows where there is none.
func findRoleByName(ctx context.Context, q db.Queryer, tenant uuid.UUID, name string) (uuid.UUID, error) {
	return db.One[uuid.UUID](ctx, q, `
		SELECT id FROM roles WHERE name_key = $2 AND (tenant_id = $1 OR tenant_id IS NULL)
		ORDER BY tenant_id IS NULL LIMIT 1`, tenant, strings.ToLower(name))
}

// insertSystemRole does nothing where the role exists.
func insertSystemRole(ctx context.Context, tx db.Tx, id uuid.UUID, name, description string, at db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO roles (id, name, name_key, description, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (name_key) WHERE tenant_id IS NULL DO NOTHING`, id, name, strings.ToLower(name), description, at)
	return err
}

// insertSystemPermission does nothing where the permission exists, so that a changed description stays.
func insertSystemPermission(ctx context.Context, tx db.Tx, id uuid.UUID, p shippedPermission, at db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO permissions (id, code, code_key, description, category, is_system, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, TRUE, $6, $6)
		ON CONFLICT (code_key) DO NOTHING`, id, p.code, strings.ToLower(p.code), p.description, p.category, at)
	return err
}

func insertRolePermission(ctx context.Context, tx db.Tx, role, permission string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO role_permissions (role_id, permission_id)
		SELECT r.id, p.id FROM roles r JOIN permissions p ON p.code_key = $2
		WHERE r.name_key = $1 AND r.tenant_id IS NULL
		ON CONFLICT DO NOTHING`, strings.ToLower(role), strings.ToLower(permission))
	return err
}

// countHolders counts the accounts that hold a system role anywhere.
func countHolders(ctx context.Context, q db.Queryer, role string) (int, error) {
	return db.One[int](ctx, q, `
		SELECT count(*) FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE r.name_key = $1 AND r.tenant_id IS NULL`, strings.ToLower(role))
}

// systemCodes lists the codes of the permissions that a system role holds and those that exist, so
// that a start with nothing to add writes nothing.
func systemCodes(ctx context.Context, q db.Queryer) (map[string]bool, error) {
	codes, err := db.All[string](ctx, q, `
		SELECT r.name_key || ' ' || p.code_key FROM role_permissions rp
		JOIN roles r ON r.id = rp.role_id AND r.tenant_id IS NULL
		JOIN permissions p ON p.id = rp.permission_id
		UNION ALL SELECT code_key FROM permissions`)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(codes))
	for _, code := range codes {
		known[code] = true
	}
	return known, nil
}
