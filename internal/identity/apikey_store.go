package identity

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"steward/internal/db"
)

// findAPIKeyRef finds deleted keys too, so that they hear why they are refused; sql.ErrNoRows where there
// never was such a key.
func findAPIKeyRef(ctx context.Context, q db.Queryer, hash string) (apiKeyRef, error) {
	return db.One[apiKeyRef](ctx, q, `SELECT id, tenant_id, created_by FROM api_keys WHERE hash = $1`, hash)
}

// apiKeyRow is all that decides whether a key is good and what it may do.
type apiKeyRow struct {
	Permissions   db.Strings     `db:"permissions"`
	IsActive      bool           `db:"is_active"`
	ExpiresAt     *db.Time       `db:"expires_at"`
	LastUsedAt    *db.Time       `db:"last_used_at"`
	DeletedAt     *db.Time       `db:"deleted_at"`
	UserActive    bool           `db:"user_active"`
	UserDeletedAt *db.Time       `db:"user_deleted_at"`
	Email         string         `db:"email"`
	FirstName     string         `db:"first_name"`
	LastName      string         `db:"last_name"`
	BindingActive sql.NullBool   `db:"binding_active"`
	TenantActive  sql.NullBool   `db:"tenant_active"`
	TenantName    sql.NullString `db:"tenant_name"`
}

func readAPIKey(ctx context.Context, q db.Queryer, id uuid.UUID) (apiKeyRow, error) {
	return db.One[apiKeyRow](ctx, q, `
		SELECT k.permissions, k.is_active, k.expires_at, k.last_used_at, k.deleted_at,
		       u.is_active AS user_active, u.deleted_at AS user_deleted_at, u.email, u.first_name, u.last_name,
		       b.is_active AS binding_active, t.is_active AS tenant_active, t.name AS tenant_name
		FROM api_keys k
		JOIN users u ON u.id = k.created_by
		LEFT JOIN bindings b ON b.user_id = k.created_by AND b.tenant_id = k.tenant_id
		LEFT JOIN tenants t ON t.id = b.tenant_id AND t.deleted_at IS NULL
		WHERE k.id = $1`, id)
}

// setKeysUsed leaves alone the keys whose last use was written after since, be it by another node.
func setKeysUsed(ctx context.Context, tx db.Tx, ids []uuid.UUID, at, since db.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE api_keys SET last_used_at = $1
		WHERE (last_used_at IS NULL OR last_used_at <= $2) AND id IN (`+db.In(3, len(ids))+`)`, db.Args([]any{at, since}, ids)...)
	return err
}
