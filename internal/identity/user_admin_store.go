package identity

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
)

// searchKey is what searches for users look into.
func (u User) searchKey() string { return resource.SearchKey(u.Email, u.FullName()) }

// updateUser writes the fields that an administrator can change.
func updateUser(ctx context.Context, tx db.Tx, u User) error {
	_, err := tx.Exec(ctx, `
		UPDATE users SET first_name = $2, last_name = $3, phone_number = $4, app_ids = $5, search_key = $6, updated_at = $7
		WHERE id = $1`, u.ID, u.FirstName, u.LastName, u.PhoneNumber, u.AppIDs, u.searchKey(), u.UpdatedAt)
	return err
}

// setUserActive reports whether that changed anything.
func setUserActive(ctx context.Context, tx db.Tx, id uuid.UUID, active bool, at db.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE users SET is_active = $2, updated_at = $3 WHERE id = $1 AND is_active <> $2`, id, active, at)
	return n == 1, err
}

func markUserDeleted(ctx context.Context, tx db.Tx, id uuid.UUID, at db.Time) error {
	for _, statement := range []string{
		`UPDATE users SET deleted_at = $2, updated_at = $2 WHERE id = $1`,
		`UPDATE bindings SET is_active = FALSE, is_default = FALSE WHERE user_id = $1 AND $2 = $2`,
		`DELETE FROM binding_roles WHERE user_id = $1 AND $2 = $2`,
		`DELETE FROM user_identities WHERE user_id = $1 AND $2 = $2`,
		`DELETE FROM mail_tokens WHERE user_id = $1 AND $2 = $2`,
	} {
		if _, err := tx.Exec(ctx, statement, id, at); err != nil {
			return err
		}
	}
	return nil
}

// findRolesByName finds roles among the tenant's own and the system roles, by their names in lower case.
func findRolesByName(ctx context.Context, q db.Queryer, tenant uuid.UUID, names []string) (map[string]uuid.UUID, error) {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = strings.ToLower(name)
	}
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
