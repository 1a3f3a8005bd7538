package identity

import (
	"context"

	"steward/internal/db"
)

// findLockout returns sql.ErrNoRows where nothing is counted for the e-mail; lock is "" or the
// dialect's ForUpdate.
func findLockout(ctx context.Context, q db.Queryer, email, lock string) (lockout, error) {
	return db.One[lockout](ctx, q, `SELECT failures, locked_until FROM lockouts WHERE email_key = $1`+lock, emailKey(email))
}

// ensureLockout makes the row that attempts queue up on.
func ensureLockout(ctx context.Context, tx db.Tx, email string, now db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO lockouts (email_key, failures, updated_at) VALUES ($1, 0, $2) ON CONFLICT DO NOTHING`, emailKey(email), now)
	return err
}

func setLockout(ctx context.Context, tx db.Tx, email string, l lockout, now db.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE lockouts SET failures = $2, locked_until = $3, updated_at = $4 WHERE email_key = $1`,
		emailKey(email), l.Failures, l.LockedUntil, now)
	return err
}

func deleteLockout(ctx context.Context, tx db.Tx, email string) error {
	_, err := tx.Exec(ctx, `DELETE FROM lockouts WHERE email_key = $1`, emailKey(email))
	return err
}
