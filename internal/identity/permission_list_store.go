package identity

import (
	"context"

	"steward/internal/db"
	"steward/internal/resource"
)

func newPermissionFilter(search, category string) *permissionFilter {
	f := &permissionFilter{}
	if search != "" {
		f.add(resource.SearchSQL("p.search_key", f.bind(resource.SearchPattern(search))))
	}
	if category != "" {
		f.add("p.category_key = " + f.bind(categoryKey(category)))
	}
	return f
}

// addCategories keeps the permissions of the categories of one page.
func (f *permissionFilter) addCategories(categories []Category) {
	from := len(f.args) + 1
	for _, c := range categories {
		f.bind(c.key())
	}
	f.add("p.category_key IN (" + db.In(from, len(categories)) + ")")
}

func countPermissions(ctx context.Context, q db.Queryer, f *permissionFilter) (int, error) {
	return db.One[int](ctx, q, `SELECT count(*) FROM permissions p`+f.sql(), f.args...)
}

func listPermissions(ctx context.Context, q db.Queryer, f *permissionFilter, roles countedRoles, order string, limit, offset int) ([]Permission, error) {
	text := f.selectSQL(roles) + ` ORDER BY ` + order + ` LIMIT ` + f.bind(limit) + ` OFFSET ` + f.bind(offset)
	return db.All[Permission](ctx, q, text, f.args...)
}

// listAllPermissions has no limit: the catalogue is as small as the program and its apps are.
func listAllPermissions(ctx context.Context, q db.Queryer, f *permissionFilter, roles countedRoles) ([]Permission, error) {
	text := f.selectSQL(roles) + ` ORDER BY p.code_key`
	return db.All[Permission](ctx, q, text, f.args...)
}

func countCategories(ctx context.Context, q db.Queryer, f *permissionFilter) (int, error) {
	return db.One[int](ctx, q, `SELECT count(DISTINCT p.category_key) FROM permissions p`+f.sql(), f.args...)
}

// listCategories shows one spelling of each category where the permissions that match differ in it.
func listCategories(ctx context.Context, q db.Queryer, f *permissionFilter, order string, limit, offset int) ([]Category, error) {
	text := `SELECT min(p.category) AS name, count(*) AS permission_count FROM permissions p` + f.sql() +
		` GROUP BY p.category_key ORDER BY ` + order + ` LIMIT ` + f.bind(limit) + ` OFFSET ` + f.bind(offset)
	return db.All[Category](ctx, q, text, f.args...)
}
