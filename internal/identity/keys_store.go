package identity

import (
	"context"
	"fmt"

	"steward/internal/db"
)

type keyRow struct {
	ID        string   `db:"id"`
	Use       string   `db:"use"`
	Private   string   `db:"private"`
	IsCurrent bool     `db:"is_current"`
	CreatedAt db.Time  `db:"created_at"`
	RetireAt  *db.Time `db:"retire_at"`
}

func (r keyRow) equal(o keyRow) bool {
	sameRetirement := (r.RetireAt == nil) == (o.RetireAt == nil) && (r.RetireAt == nil || r.RetireAt.Equal(o.RetireAt.Time))
	return r.ID == o.ID && r.Private == o.Private && r.IsCurrent == o.IsCurrent && sameRetirement
}

// listKeys has the current ones first, then the latest.
func listKeys(ctx context.Context, q db.Queryer) ([]keyRow, error) {
	rows, err := db.All[keyRow](ctx, q, `SELECT id, use, private, is_current, created_at, retire_at FROM keys
		ORDER BY is_current DESC, created_at DESC, id`)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return rows, nil
}

const insertKeySQL = `INSERT INTO keys (id, use, private, is_current, created_at) VALUES ($1, $2, $3, $4, $5)`

func insertKey(ctx context.Context, tx db.Tx, r keyRow) (int64, error) {
	return tx.Exec(ctx, insertKeySQL, r.ID, r.Use, r.Private, r.IsCurrent, r.CreatedAt)
}

// insertMissingKey writes nothing where the use has a current key already.
func insertMissingKey(ctx context.Context, tx db.Tx, r keyRow) (int64, error) {
	return tx.Exec(ctx, insertKeySQL+` ON CONFLICT DO NOTHING`, r.ID, r.Use, r.Private, r.IsCurrent, r.CreatedAt)
}

func retireKey(ctx context.Context, tx db.Tx, use string, at db.Time) error {
	_, err := tx.Exec(ctx, `UPDATE keys SET is_current = FALSE, retire_at = $1 WHERE use = $2 AND is_current`, at, use)
	return err
}

func setPrivateKey(ctx context.Context, tx db.Tx, id, private string) error {
	_, err := tx.Exec(ctx, `UPDATE keys SET private = $1 WHERE id = $2`, private, id)
	return err
}

func deleteRetiredKeys(ctx context.Context, tx db.Tx, now db.Time) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM keys WHERE NOT is_current AND retire_at <= $1`, now)
}
