package identity

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
)

const tenantColumns = `id, name, identifier, domain, type, parent_id, is_active, max_users, user_count, settings,
	created_at, updated_at, deleted_at`

// findTenant returns sql.ErrNoRows where no such tenant exists; one that was deleted counts only where
// asked for.
func findTenant(ctx context.Context, q db.Queryer, id uuid.UUID, deletedToo bool) (Tenant, error) {
	return db.One[Tenant](ctx, q, `SELECT `+tenantColumns+` FROM tenants WHERE id = $1 AND (deleted_at IS NULL OR $2)`, id, deletedToo)
}

// findTenantByIdentifier returns sql.ErrNoRows where there is none.
func findTenantByIdentifier(ctx context.Context, q db.Queryer, identifier string) (Tenant, error) {
	return db.One[Tenant](ctx, q, `SELECT `+tenantColumns+` FROM tenants WHERE identifier_key = $1 AND deleted_at IS NULL`,
		strings.ToLower(identifier))
}

// lockTenant is findTenant for a transaction that goes on to change the tenant.
func lockTenant(ctx context.Context, tx db.Tx, id uuid.UUID) (Tenant, error) {
	return db.One[Tenant](ctx, tx, `SELECT `+tenantColumns+` FROM tenants WHERE id = $1 AND deleted_at IS NULL`+tx.Dialect().ForUpdate(), id)
}

// insertTenant reports false where the identifier is taken.
func insertTenant(ctx context.Context, tx db.Tx, t Tenant) (bool, error) {
	n, err := tx.Exec(ctx, `
		INSERT INTO tenants (id, name, identifier, identifier_key, domain, type, parent_id, is_active, max_users, settings,
			search_key, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
		ON CONFLICT (identifier_key) WHERE deleted_at IS NULL DO NOTHING`,
		t.ID, t.Name, t.Identifier, strings.ToLower(t.Identifier), t.Domain, t.Type, t.ParentID, t.IsActive, t.MaxUsers, t.Settings,
		t.searchKey(), t.CreatedAt)
	return n == 1, err
}

// updateTenant writes what a body may change; the count of users is not among it. A taken identifier
// is an error that db.IsUnique knows.
func updateTenant(ctx context.Context, tx db.Tx, t Tenant) error {
	_, err := tx.Exec(ctx, `
		UPDATE tenants SET name = $2, identifier = $3, identifier_key = $4, domain = $5, type = $6, parent_id = $7,
			is_active = $8, max_users = $9, settings = $10, search_key = $11, updated_at = $12
		WHERE id = $1 AND deleted_at IS NULL`,
		t.ID, t.Name, t.Identifier, strings.ToLower(t.Identifier), t.Domain, t.Type, t.ParentID,
		t.IsActive, t.MaxUsers, t.Settings, t.searchKey(), t.UpdatedAt)
	return err
}

// buryTenant reports false where users are bound to the tenant.
func buryTenant(ctx context.Context, tx db.Tx, id uuid.UUID, at db.Time) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE tenants SET deleted_at = $2, updated_at = $2
		WHERE id = $1 AND deleted_at IS NULL AND user_count = 0`, id, at)
	return n == 1, err
}

// takePlace counts one more user of the tenant. It reports false, and counts nothing, where the tenant
// is full or deleted. The row's own condition decides, so two calls for the last place cannot both
// have it, and none can bind to a tenant that another transaction deletes.
func takePlace(ctx context.Context, tx db.Tx, tenant uuid.UUID) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE tenants SET user_count = user_count + 1
		WHERE id = $1 AND deleted_at IS NULL AND (max_users IS NULL OR user_count < max_users)`, tenant)
	return n == 1, err
}

// freePlace counts one user of the tenant less: call it for every binding that was removed.
func freePlace(ctx context.Context, tx db.Tx, tenant uuid.UUID) error {
	_, err := tx.Exec(ctx, `UPDATE tenants SET user_count = user_count - 1 WHERE id = $1`, tenant)
	return err
}

// searchKey is what search looks into.
func (t Tenant) searchKey() string { return resource.SearchKey(t.Name, t.Identifier, t.Domain) }
