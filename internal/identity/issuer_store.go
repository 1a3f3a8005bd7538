package identity

import (
	"context"
	"fmt"

	"steward/internal/db"
)

// AgreeOnIssuer returns the issuer that every node of the store puts into tokens. A node that was told
// its public URL decides; nodes that had to guess take over what the first of them guessed, so that
// their tokens are good on each other, and after a restart on another port.
func AgreeOnIssuer(ctx context.Context, d *db.DB, publicURL string, guessed bool) (issuer string, err error) {
	present, err := db.All[string](ctx, d, `SELECT value FROM settings WHERE name = 'issuer'`)
	if err != nil {
		return "", fmt.Errorf("read issuer: %w", err)
	}
	if len(present) > 0 && (guessed || present[0] == publicURL) {
		return present[0], nil
	}
	change := `DO UPDATE SET value = excluded.value`
	if guessed {
		change = `DO UPDATE SET value = settings.value` // the first guess stays, and is returned
	}
	err = d.Write(ctx, func(tx db.Tx) error {
		issuer, err = db.One[string](ctx, tx, `
			INSERT INTO settings (name, value) VALUES ('issuer', $1) ON CONFLICT (name) `+change+` RETURNING value`, publicURL)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store issuer: %w", err)
	}
	return issuer, nil
}
