package identity

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/db"
)

// listUserIDsByEmail lists the account that has the e-mail and those that had it. Each half has an index
// of its own.
func listUserIDsByEmail(ctx context.Context, q db.Queryer, email string) ([]uuid.UUID, error) {
	return db.All[uuid.UUID](ctx, q, `
		SELECT id FROM users WHERE email_key = $1 AND deleted_at IS NULL
		UNION ALL SELECT id FROM users WHERE email_key = $1 AND deleted_at IS NOT NULL`, emailKey(email))
}
