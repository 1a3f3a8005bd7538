package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
)

// addBindingRow reports false where the user is bound to the tenant already; of two calls at once one
// gets true.
func addBindingRow(ctx context.Context, tx db.Tx, user, tenant uuid.UUID, isDefault bool, at db.Time) (bool, error) {
	n, err := tx.Exec(ctx, `
		INSERT INTO bindings (user_id, tenant_id, is_default, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, tenant_id) DO NOTHING`, user, tenant, isDefault, at)
	if err != nil {
		return false, fmt.Errorf("bind user %s to tenant %s: %w", user, tenant, err)
	}
	return n == 1, nil
}

// deleteBinding takes the roles with it.
func deleteBinding(ctx context.Context, tx db.Tx, user, tenant uuid.UUID) error {
	_, err := tx.Exec(ctx, `DELETE FROM bindings WHERE user_id = $1 AND tenant_id = $2`, user, tenant)
	if err != nil {
		return fmt.Errorf("unbind user %s from tenant %s: %w", user, tenant, err)
	}
	return nil
}

func clearDefault(ctx context.Context, tx db.Tx, user uuid.UUID) error {
	_, err := tx.Exec(ctx, `UPDATE bindings SET is_default = FALSE WHERE user_id = $1 AND is_default`, user)
	return err
}

func setDefault(ctx context.Context, tx db.Tx, user, tenant uuid.UUID) error {
	_, err := tx.Exec(ctx, `UPDATE bindings SET is_default = TRUE WHERE user_id = $1 AND tenant_id = $2`, user, tenant)
	return err
}

func setBindingActive(ctx context.Context, tx db.Tx, user, tenant uuid.UUID, active bool) error {
	_, err := tx.Exec(ctx, `UPDATE bindings SET is_active = $3 WHERE user_id = $1 AND tenant_id = $2`, user, tenant, active)
	return err
}

// countOtherBindings counts the bindings of the user to other tenants; only the active ones where asked.
func countOtherBindings(ctx context.Context, q db.Queryer, user, tenant uuid.UUID, activeOnly bool) (int, error) {
	return db.One[int](ctx, q, `
		SELECT count(*) FROM bindings b JOIN tenants t ON t.id = b.tenant_id AND t.deleted_at IS NULL
		WHERE b.user_id = $1 AND b.tenant_id <> $2 AND (b.is_active OR NOT $3)`, user, tenant, activeOnly)
}

// insertBindingRoles leaves alone what the user holds. It fails on the foreign key where a role is gone.
func insertBindingRoles(ctx context.Context, tx db.Tx, user, tenant uuid.UUID, roles []uuid.UUID) error {
	rows := make([]string, len(roles))
	for i := range roles {
		rows[i] = "($1, $2, " + db.In(i+3, 1) + ")"
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO binding_roles (user_id, tenant_id, role_id) VALUES `+strings.Join(rows, ", ")+`
		ON CONFLICT DO NOTHING`, db.Args([]any{user, tenant}, roles)...)
	return err
}

func deleteBindingRoles(ctx context.Context, tx db.Tx, user, tenant uuid.UUID, roles []uuid.UUID) error {
	if len(roles) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		DELETE FROM binding_roles WHERE user_id = $1 AND tenant_id = $2 AND role_id IN (`+db.In(3, len(roles))+`)`,
		db.Args([]any{user, tenant}, roles)...)
	if err != nil {
		return fmt.Errorf("take roles from user %s: %w", user, err)
	}
	return nil
}

// listLiveTenants keeps those of the ids that name a tenant which is not deleted.
func listLiveTenants(ctx context.Context, q db.Queryer, ids []uuid.UUID) ([]uuid.UUID, error) {
	return db.All[uuid.UUID](ctx, q, `
		SELECT id FROM tenants WHERE deleted_at IS NULL AND id IN (`+db.In(1, len(ids))+`)`, db.Args(nil, ids)...)
}

// findRoleHomes finds the tenant of each role, which is nil for a system role; roles that do not exist
// are missing.
func findRoleHomes(ctx context.Context, q db.Queryer, ids []uuid.UUID) (map[uuid.UUID]*uuid.UUID, error) {
	rows, err := db.All[struct {
		ID       uuid.UUID  `db:"id"`
		TenantID *uuid.UUID `db:"tenant_id"`
	}](ctx, q, `SELECT id, tenant_id FROM roles WHERE id IN (`+db.In(1, len(ids))+`)`, db.Args(nil, ids)...)
	homes := make(map[uuid.UUID]*uuid.UUID, len(rows))
	for _, r := range rows {
		homes[r.ID] = r.TenantID
	}
	return homes, err
}
