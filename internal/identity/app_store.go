package identity

import (
	"context"
	"strings"

	"steward/internal/db"
)

// isAppClosed reports whether the app is registered and switched off. Apps need not be registered.
func isAppClosed(ctx context.Context, q db.Queryer, app string) (bool, error) {
	n, err := db.One[int](ctx, q, `
		SELECT count(*) FROM apps WHERE app_id_key = $1 AND deleted_at IS NULL AND NOT is_active`, strings.ToLower(app))
	return n > 0, err
}
