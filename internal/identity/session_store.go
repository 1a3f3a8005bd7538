package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
)

type sessionRow struct {
	ID         uuid.UUID
	UserID     uuid.UUID
	TenantID   *uuid.UUID
	Generation int64
	AppID      string
	Device     string
	Address    string
	At         db.Time
	ExpiresAt  db.Time
}

func insertSession(ctx context.Context, tx db.Tx, r sessionRow) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO sessions (id, user_id, tenant_id, generation, app_id, device, address, created_at, last_used_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)`,
		r.ID, r.UserID, r.TenantID, r.Generation, r.AppID, r.Device, r.Address, r.At, r.ExpiresAt)
	if err != nil {
		return fmt.Errorf("insert session: %w", err)
	}
	return nil
}

func raiseGeneration(ctx context.Context, tx db.Tx, user uuid.UUID, at db.Time) error {
	_, err := tx.Exec(ctx, `UPDATE users SET generation = generation + 1, sessions_invalid_before = $2 WHERE id = $1`, user, at)
	return err
}

func endUserSessions(ctx context.Context, tx db.Tx, user uuid.UUID, reason string, at db.Time) error {
	_, err := tx.Exec(ctx, `UPDATE sessions SET ended_at = $2, end_reason = $3 WHERE user_id = $1 AND ended_at IS NULL`, user, at, reason)
	return err
}

// endSession reports false where the user has no such session or it has ended.
func endSession(ctx context.Context, tx db.Tx, id, user uuid.UUID, reason string, at db.Time) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE sessions SET ended_at = $3, end_reason = $4
		WHERE id = $1 AND user_id = $2 AND ended_at IS NULL AND expires_at > $3`, id, user, at, reason)
	return n == 1, err
}

func listLiveSessions(ctx context.Context, q db.Queryer, user uuid.UUID, now db.Time, limit int) ([]Session, error) {
	return db.All[Session](ctx, q, `
		SELECT s.id, s.tenant_id, t.name AS tenant_name, s.app_id, s.device, s.address, s.created_at, s.last_used_at, s.expires_at
		FROM sessions s
		JOIN users u ON u.id = s.user_id AND u.generation = s.generation
		LEFT JOIN tenants t ON t.id = s.tenant_id
		WHERE s.user_id = $1 AND s.ended_at IS NULL AND s.expires_at > $2
		ORDER BY s.last_used_at DESC, s.id DESC LIMIT $3`, user, now, limit)
}

func insertRefreshToken(ctx context.Context, tx db.Tx, hash string, session uuid.UUID, at, expires db.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO refresh_tokens (hash, session_id, issued_at, expires_at) VALUES ($1, $2, $3, $4)`,
		hash, session, at, expires)
	if err != nil {
		return fmt.Errorf("insert refresh token: %w", err)
	}
	return nil
}

// spendRefreshToken marks a token used; false where it is unknown, expired or spent. Of two calls at
// once exactly one gets true.
func spendRefreshToken(ctx context.Context, tx db.Tx, hash string, now db.Time) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE refresh_tokens SET spent_at = $2 WHERE hash = $1 AND spent_at IS NULL AND expires_at > $2`, hash, now)
	return n == 1, err
}

type refreshToken struct {
	SessionID  uuid.UUID  `db:"session_id"`
	UserID     uuid.UUID  `db:"user_id"`
	TenantID   *uuid.UUID `db:"tenant_id"`
	Generation int64      `db:"generation"`
	ExpiresAt  db.Time    `db:"expires_at"`
	SpentAt    *db.Time   `db:"spent_at"`
	EndReason  string     `db:"end_reason"`
}

func findRefreshToken(ctx context.Context, q db.Queryer, hash string) (refreshToken, error) {
	return db.One[refreshToken](ctx, q, `
		SELECT r.session_id, s.user_id, s.tenant_id, s.generation, r.expires_at, r.spent_at, s.end_reason
		FROM refresh_tokens r JOIN sessions s ON s.id = r.session_id WHERE r.hash = $1`, hash)
}

// touchSession prolongs a live session; false where it has ended or its user may not go on.
func touchSession(ctx context.Context, tx db.Tx, id uuid.UUID, now, expires db.Time) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE sessions SET last_used_at = $2, expires_at = $3
		WHERE id = $1 AND ended_at IS NULL AND generation = (
			SELECT u.generation FROM users u
			WHERE u.id = sessions.user_id AND u.is_active AND u.deleted_at IS NULL)`, id, now, expires)
	return n == 1, err
}

func setSessionTenant(ctx context.Context, tx db.Tx, id, tenant uuid.UUID) error {
	_, err := tx.Exec(ctx, `UPDATE sessions SET tenant_id = $2 WHERE id = $1`, id, tenant)
	return err
}

// findSessionApp returns the app that a live session was opened for, or ""; sql.ErrNoRows where it
// has ended.
func findSessionApp(ctx context.Context, q db.Queryer, id uuid.UUID) (string, error) {
	return db.One[string](ctx, q, `SELECT app_id FROM sessions WHERE id = $1 AND ended_at IS NULL`, id)
}
