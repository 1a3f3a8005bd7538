package identity

import (
	"context"
	"fmt"

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

// deleteBinding takes the roles with it; false where there is no binding.
func deleteBinding(ctx context.Context, tx db.Tx, user, tenant uuid.UUID) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM bindings WHERE user_id = $1 AND tenant_id = $2`, user, tenant)
	if err != nil {
		return false, fmt.Errorf("unbind user %s from tenant %s: %w", user, tenant, err)
	}
	return n == 1, nil
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

func insertBindingRoles(ctx context.Context, tx db.Tx, user, tenant uuid.UUID, roles []uuid.UUID) error {
	for _, role := range roles {
		if err := insertBindingRole(ctx, tx, user, tenant, role); err != nil {
			return fmt.Errorf("give role %s to user %s: %w", role, user, err)
		}
	}
	return nil
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

// countRoles counts those of the roles that may be given in the tenant, and keeps them from being
// deleted until the transaction ends.
func countRoles(ctx context.Context, tx db.Tx, tenant uuid.UUID, roles []uuid.UUID) (int, error) {
	found, err := db.All[uuid.UUID](ctx, tx, `
		SELECT id FROM roles WHERE (tenant_id = $1 OR tenant_id IS NULL) AND id IN (`+db.In(2, len(roles))+`) ORDER BY id`,
		db.Args([]any{tenant}, roles)...)
	return len(found), err
}
