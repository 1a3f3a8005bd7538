package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
)

// lockTree makes transactions that change the tree of tenants come one after the other. Each alone may
// be sound and two together a circle; a lock on the rows that one of them knows would not show it the
// other. Take it before the row of any tenant.
func lockTree(ctx context.Context, tx db.Tx) error {
	if _, err := db.One[string](ctx, tx, `SELECT name FROM locks WHERE name = 'tenant-tree'`+tx.Dialect().ForUpdate()); err != nil {
		return fmt.Errorf("lock the tree of tenants: %w", err)
	}
	return nil
}

// countLevelsAbove counts the tenant and those above it.
func countLevelsAbove(ctx context.Context, q db.Queryer, id uuid.UUID) (int, error) {
	return db.One[int](ctx, q, `
		WITH RECURSIVE up(id, parent_id, depth) AS (
			SELECT id, parent_id, 1 FROM tenants WHERE id = $1
			UNION ALL
			SELECT t.id, t.parent_id, up.depth + 1 FROM tenants t JOIN up ON t.id = up.parent_id WHERE up.depth <= $2)
		SELECT max(depth) FROM up`, id, maxTenantDepth)
}

// countLevelsBelow counts the levels of the tree whose top the tenant is: 1 for one without children,
// or not stored yet.
func countLevelsBelow(ctx context.Context, q db.Queryer, id uuid.UUID) (int, error) {
	return db.One[int](ctx, q, `
		WITH RECURSIVE down(id, depth) AS (
			SELECT id, 1 FROM tenants WHERE id = $1
			UNION ALL
			SELECT t.id, down.depth + 1 FROM tenants t JOIN down ON t.parent_id = down.id
			WHERE t.deleted_at IS NULL AND down.depth <= $2)
		SELECT COALESCE(max(depth), 1) FROM down`, id, maxTenantDepth)
}

func countChildren(ctx context.Context, q db.Queryer, id uuid.UUID) (int, error) {
	return db.One[int](ctx, q, `SELECT count(*) FROM tenants WHERE parent_id = $1 AND deleted_at IS NULL`, id)
}
