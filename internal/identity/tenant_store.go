package identity

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/db"
)

// Tenant is one customer of the product that Steward serves.
type Tenant struct {
	ID         uuid.UUID `db:"id"`
	Name       string    `db:"name"`
	Identifier string    `db:"identifier"`
	IsActive   bool      `db:"is_active"`
	MaxUsers   *int      `db:"max_users"`
}

// findTenantByIdentifier returns sql.ErrNoRows where there is none.
func findTenantByIdentifier(ctx context.Context, q db.Queryer, identifier string) (Tenant, error) {
	return db.One[Tenant](ctx, q, `
		SELECT id, name, identifier, is_active, max_users FROM tenants
		WHERE identifier_key = $1 AND deleted_at IS NULL`, identifier)
}

// lockTenant makes two transactions that count the tenant's users come one after the other.
func lockTenant(ctx context.Context, tx db.Tx, id uuid.UUID) error {
	_, err := db.One[uuid.UUID](ctx, tx, `SELECT id FROM tenants WHERE id = $1`+tx.Dialect().ForUpdate(), id)
	return err
}

// insertTenant does nothing where the identifier is taken.
func insertTenant(ctx context.Context, tx db.Tx, t Tenant, at db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO tenants (id, name, identifier, identifier_key, created_at, updated_at)
		VALUES ($1, $2, $3, lower($3), $4, $4)
		ON CONFLICT (identifier_key) WHERE deleted_at IS NULL DO NOTHING`, t.ID, t.Name, t.Identifier, at)
	return err
}
