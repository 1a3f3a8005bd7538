package identity

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
)

// codeKey is what two codes share that name the same permission.
func codeKey(code string) string { return strings.ToLower(code) }

// categoryKey is what two spellings of a category share.
func categoryKey(category string) string { return strings.ToLower(category) }

// permissionFilter is a statement about permissions in the making: its WHERE and its arguments. The
// text is made of constants only.
type permissionFilter struct {
	where []string
	args  []any
}

func (f *permissionFilter) bind(value any) string {
	f.args = append(f.args, value)
	return "$" + strconv.Itoa(len(f.args))
}

// row binds the values of one row.
func (f *permissionFilter) row(values ...any) string {
	f.args = append(f.args, values...)
	return "(" + db.In(len(f.args)-len(values)+1, len(values)) + ")"
}

func (f *permissionFilter) add(condition string) { f.where = append(f.where, condition) }

func (f *permissionFilter) sql() string {
	if len(f.where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.where, " AND ")
}

// selectSQL reads the permissions, and counts the roles of each in the same statement.
func (f *permissionFilter) selectSQL(roles countedRoles) string {
	return `SELECT p.id, p.code, p.description, p.category, p.is_system, p.created_at, p.updated_at,
		(SELECT count(*) FROM role_permissions rp JOIN roles r ON r.id = rp.role_id WHERE rp.permission_id = p.id
		AND (` + f.bind(roles.all) + ` OR r.tenant_id IS NULL OR r.tenant_id = ` + f.bind(roles.tenant) + `)) AS role_count
		FROM permissions p` + f.sql()
}

// findPermission returns sql.ErrNoRows where there is none.
func findPermission(ctx context.Context, q db.Queryer, roles countedRoles, id uuid.UUID, lock string) (Permission, error) {
	f := &permissionFilter{}
	f.add("p.id = " + f.bind(id))
	text := f.selectSQL(roles) + lock
	return db.One[Permission](ctx, q, text, f.args...)
}

// findPermissionByCode returns sql.ErrNoRows where there is none.
func findPermissionByCode(ctx context.Context, q db.Queryer, roles countedRoles, code string) (Permission, error) {
	f := &permissionFilter{}
	f.add("p.code_key = " + f.bind(codeKey(code)))
	text := f.selectSQL(roles)
	return db.One[Permission](ctx, q, text, f.args...)
}

// How many permissions one statement looks up and how many it writes. More gain nothing: SQLite takes a
// time for each placeholder that grows with their number.
const (
	lookupBatch = 200
	writeBatch  = 16
)

// listPermissionsByCode reads the permissions that have one of the codes, by code key. With a lock they
// stay as they are until the commit, and two calls that lock the same take turns.
func listPermissionsByCode(ctx context.Context, q db.Queryer, keys []string, lock string) (map[string]Permission, error) {
	found := map[string]Permission{}
	for batch := range slices.Chunk(keys, lookupBatch) {
		some, err := db.All[Permission](ctx, q, `
			SELECT id, code, description, category, is_system, created_at, updated_at, 0 AS role_count
			FROM permissions WHERE code_key IN (`+db.In(1, len(batch))+`) ORDER BY code_key`+lock, db.Args(nil, batch)...)
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			found[codeKey(p.Code)] = p
		}
	}
	return found, nil
}

// insertPermissions tells how many were new: the codes of the others are taken.
func insertPermissions(ctx context.Context, tx db.Tx, permissions ...Permission) (int, error) {
	return writePermissions(ctx, tx, permissions, `ON CONFLICT (code_key) DO NOTHING`)
}

// insertSystemPermission leaves description and category of one that exists, which may have been
// changed. One that somebody made before the program shipped it becomes a system permission.
func insertSystemPermission(ctx context.Context, tx db.Tx, id uuid.UUID, shipped shippedPermission, at db.Time) error {
	p := Permission{ID: id, Code: shipped.code, Description: shipped.description, Category: shipped.category, IsSystem: true, CreatedAt: at, UpdatedAt: at}
	_, err := writePermissions(ctx, tx, []Permission{p}, `
		ON CONFLICT (code_key) DO UPDATE SET code = excluded.code, is_system = TRUE, updated_at = excluded.updated_at
		WHERE NOT permissions.is_system`)
	return err
}

func writePermissions(ctx context.Context, tx db.Tx, permissions []Permission, onConflict string) (written int, err error) {
	for batch := range slices.Chunk(permissions, writeBatch) {
		f := &permissionFilter{}
		rows := make([]string, len(batch))
		for i, p := range batch {
			rows[i] = f.row(p.ID, p.Code, codeKey(p.Code), p.Description, p.Category, categoryKey(p.Category), permissionSearchKey(p),
				p.IsSystem, p.CreatedAt, p.UpdatedAt)
		}
		n, err := tx.Exec(ctx, `
			INSERT INTO permissions (id, code, code_key, description, category, category_key, search_key, is_system, created_at, updated_at)
			VALUES `+strings.Join(rows, ", ")+` `+onConflict, f.args...)
		if err != nil {
			return written, err
		}
		written += int(n)
	}
	return written, nil
}

// updatePermissions writes permissions that the transaction has locked. They are there, so none is
// inserted, and the ids that would be needed for that are used for nothing.
func updatePermissions(ctx context.Context, tx db.Tx, permissions ...Permission) error {
	candidates := slices.Clone(permissions)
	for i := range candidates {
		candidates[i].ID = uuid.New()
	}
	_, err := writePermissions(ctx, tx, candidates, `
		ON CONFLICT (code_key) DO UPDATE SET description = excluded.description, category = excluded.category,
			category_key = excluded.category_key, search_key = excluded.search_key, updated_at = excluded.updated_at`)
	return err
}

func permissionSearchKey(p Permission) string {
	return resource.SearchKey(p.Code, p.Description, p.Category)
}

// deletePermission fails on the foreign key while a role holds the permission.
func deletePermission(ctx context.Context, tx db.Tx, id uuid.UUID) error {
	_, err := tx.Exec(ctx, `DELETE FROM permissions WHERE id = $1`, id)
	return err
}
