package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
)

// putMailToken keeps one token per user and purpose: the newest.
func putMailToken(ctx context.Context, tx db.Tx, user uuid.UUID, purpose, hash string, at, expires db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO mail_tokens (user_id, purpose, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (user_id, purpose) DO UPDATE
		SET hash = excluded.hash, created_at = excluded.created_at, expires_at = excluded.expires_at`,
		user, purpose, hash, at, expires)
	return err
}

// findUserByLink returns the account that has the e-mail and was sent the token; sql.ErrNoRows where
// there is none. It is one look-up by the token, so that its time tells nothing about the e-mail.
func findUserByLink(ctx context.Context, q db.Queryer, email, hash string, now db.Time, purposes ...string) (User, error) {
	return db.One[User](ctx, q, `
		SELECT `+userColumns+` FROM users WHERE deleted_at IS NULL AND email_key = $2 AND id = (
			SELECT user_id FROM mail_tokens WHERE hash = $1 AND expires_at > $3 AND purpose IN (`+quoted(purposes)+`))`,
		hash, emailKey(email), now)
}

// spendMailToken reports false where there is no such token; of two calls at once one gets true.
func spendMailToken(ctx context.Context, tx db.Tx, user uuid.UUID, hash string, now db.Time, purposes ...string) (bool, error) {
	n, err := tx.Exec(ctx, `
		DELETE FROM mail_tokens
		WHERE user_id = $1 AND hash = $2 AND expires_at > $3 AND purpose IN (`+quoted(purposes)+`)`, user, hash, now)
	if err != nil {
		return false, fmt.Errorf("spend link: %w", err)
	}
	return n > 0, nil
}

func deleteMailTokens(ctx context.Context, tx db.Tx, user uuid.UUID, purposes ...string) error {
	_, err := tx.Exec(ctx, `DELETE FROM mail_tokens WHERE user_id = $1 AND purpose IN (`+quoted(purposes)+`)`, user)
	if err != nil {
		return fmt.Errorf("drop open links: %w", err)
	}
	return nil
}

// quoted lists purposes, which are constants of this package, as SQL literals.
func quoted(purposes []string) string { return "'" + strings.Join(purposes, "', '") + "'" }
