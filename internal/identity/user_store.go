package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
)

const userColumns = `id, email, email_confirmed, first_name, last_name, phone_number, profile_picture_url,
	password_hash, password_changed_at, must_change_password, app_ids, is_active, generation,
	last_login_at, created_at, updated_at`

// findUserByEmail returns sql.ErrNoRows where no account that is not deleted has the e-mail.
func findUserByEmail(ctx context.Context, q db.Queryer, email string) (User, error) {
	return db.One[User](ctx, q, `SELECT `+userColumns+` FROM users WHERE email_key = $1 AND deleted_at IS NULL`, emailKey(email))
}

// findUser returns sql.ErrNoRows where no such account exists or it is deleted.
func findUser(ctx context.Context, q db.Queryer, id uuid.UUID) (User, error) {
	return db.One[User](ctx, q, `SELECT `+userColumns+` FROM users WHERE id = $1 AND deleted_at IS NULL`, id)
}

// lockUser is findUser for a transaction that goes on to change the account or its sessions: two of
// them about one account come one after the other.
func lockUser(ctx context.Context, tx db.Tx, id uuid.UUID) (User, error) {
	return db.One[User](ctx, tx, `SELECT `+userColumns+` FROM users WHERE id = $1 AND deleted_at IS NULL`+tx.Dialect().ForUpdate(), id)
}

// insertUser reports false where the e-mail is taken.
func insertUser(ctx context.Context, tx db.Tx, u User) (bool, error) {
	n, err := tx.Exec(ctx, `
		INSERT INTO users (id, email, email_key, email_confirmed, first_name, last_name, phone_number,
			profile_picture_url, password_hash, password_changed_at, must_change_password, app_ids, is_active,
			search_key, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)
		ON CONFLICT (email_key) WHERE deleted_at IS NULL DO NOTHING`,
		u.ID, u.Email, emailKey(u.Email), u.EmailConfirmed, u.FirstName, u.LastName, u.PhoneNumber,
		u.ProfilePictureURL, u.PasswordHash, u.PasswordChangedAt, u.MustChangePassword, u.AppIDs, u.IsActive,
		u.searchKey(), u.CreatedAt)
	if err != nil {
		return false, fmt.Errorf("insert user: %w", err)
	}
	return n == 1, nil
}

func setLastLogin(ctx context.Context, tx db.Tx, id uuid.UUID, at db.Time) error {
	_, err := tx.Exec(ctx, `UPDATE users SET last_login_at = $2 WHERE id = $1`, id, at)
	return err
}

// setRehash stores the same password hashed anew; it is no change of the password.
func setRehash(ctx context.Context, tx db.Tx, id uuid.UUID, hash string) error {
	_, err := tx.Exec(ctx, `UPDATE users SET password_hash = $2 WHERE id = $1`, id, hash)
	return err
}

func setPassword(ctx context.Context, tx db.Tx, id uuid.UUID, hash string, at db.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE users SET password_hash = $2, password_changed_at = $3, must_change_password = FALSE, updated_at = $3
		WHERE id = $1`, id, hash, at)
	return err
}

func setEmailConfirmed(ctx context.Context, tx db.Tx, id uuid.UUID, at db.Time) error {
	_, err := tx.Exec(ctx, `UPDATE users SET email_confirmed = TRUE, updated_at = $2 WHERE id = $1 AND NOT email_confirmed`, id, at)
	return err
}

func insertPasswordHistory(ctx context.Context, tx db.Tx, id uuid.UUID, hash string, at db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO password_history (user_id, hash, created_at) VALUES ($1, $2, $3)
		ON CONFLICT DO NOTHING`, id, hash, at)
	return err
}

// listPasswordHistory returns the newest earlier hashes first.
func listPasswordHistory(ctx context.Context, q db.Queryer, id uuid.UUID, limit int) ([]string, error) {
	return db.All[string](ctx, q, `
		SELECT hash FROM password_history WHERE user_id = $1 ORDER BY created_at DESC LIMIT $2`, id, limit)
}

// findIdentity returns the account linked to a person at a social provider.
func findIdentity(ctx context.Context, q db.Queryer, issuer, subject string) (uuid.UUID, error) {
	return db.One[uuid.UUID](ctx, q, `SELECT user_id FROM user_identities WHERE issuer = $1 AND subject = $2`, issuer, subject)
}

// insertIdentity reports false where the person at the provider is linked already.
func insertIdentity(ctx context.Context, tx db.Tx, issuer, subject string, user uuid.UUID, at db.Time) (bool, error) {
	n, err := tx.Exec(ctx, `
		INSERT INTO user_identities (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING`, issuer, subject, user, at)
	return n == 1, err
}
