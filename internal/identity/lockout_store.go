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

// holdLockout makes the row where there is none and holds it until the commit, in one statement: a
// row that is looked for after it was made may have been deleted in between.
func holdLockout(ctx context.Context, tx db.Tx, email string, now db.Time) (lockout, error) {
	return db.One[lockout](ctx, tx, `
		INSERT INTO lockouts (email_key, failures, updated_at) VALUES ($1, 0, $2)
		ON CONFLICT (email_key) DO UPDATE SET updated_at = excluded.updated_at
		RETURNING failures, locked_until`, emailKey(email), now)
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
