package identity

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
)

// searchKey is what searches for users look into.
func (u User) searchKey() string { return resource.SearchKey(u.Email, u.FullName()) }

// updateUser writes the fields that an administrator can change.
func updateUser(ctx context.Context, tx db.Tx, u User) error {
	_, err := tx.Exec(ctx, `
		UPDATE users SET first_name = $2, last_name = $3, phone_number = $4, app_ids = $5, search_key = $6
		WHERE id = $1`, u.ID, u.FirstName, u.LastName, u.PhoneNumber, u.AppIDs, u.searchKey())
	return err
}

// touchUser gives the account a new version.
func touchUser(ctx context.Context, tx db.Tx, id uuid.UUID, at db.Time) error {
	_, err := tx.Exec(ctx, `UPDATE users SET updated_at = $2 WHERE id = $1`, id, at)
	return err
}

func setUserActive(ctx context.Context, tx db.Tx, id uuid.UUID, active bool) error {
	_, err := tx.Exec(ctx, `UPDATE users SET is_active = $2 WHERE id = $1`, id, active)
	return err
}

// markUserDeleted also takes away whatever could let the person in again.
func markUserDeleted(ctx context.Context, tx db.Tx, id uuid.UUID, at db.Time) error {
	if _, err := tx.Exec(ctx, `UPDATE users SET deleted_at = $2, is_active = FALSE WHERE id = $1`, id, at); err != nil {
		return err
	}
	for _, statement := range []string{
		`UPDATE bindings SET is_active = FALSE, is_default = FALSE WHERE user_id = $1`,
		`DELETE FROM binding_roles WHERE user_id = $1`,
		`DELETE FROM user_identities WHERE user_id = $1`,
		`DELETE FROM mail_tokens WHERE user_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// findRolesByName finds roles among the tenant's own and the system roles, by their keys.
func findRolesByName(ctx context.Context, q db.Queryer, tenant uuid.UUID, keys []string) (map[string]uuid.UUID, error) {
	rows, err := db.All[struct {
		ID  uuid.UUID `db:"id"`
		Key string    `db:"name_key"`
	}](ctx, q, `
		SELECT id, name_key FROM roles WHERE (tenant_id = $1 OR tenant_id IS NULL) AND name_key IN (`+db.In(2, len(keys))+`)`,
		db.Args([]any{tenant}, keys)...)
	found := make(map[string]uuid.UUID, len(rows))
	for _, r := range rows {
		found[r.Key] = r.ID
	}
	return found, err
}
