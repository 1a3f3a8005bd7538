package identity

import (
	"context"
	"strconv"
	"strings"

	"steward/internal/db"
	"steward/internal/resource"
	"steward/internal/scope"
)

// tenantQuery is the WHERE of a list of tenants. Its text is made of constants only.
type tenantQuery struct {
	conditions []string
	args       []any
	window     string
}

// newTenantQuery keeps the tenants in the caller's reach that the filter asks for.
func newTenantQuery(a *scope.Actor, f TenantFilter) *tenantQuery {
	q := &tenantQuery{}
	if !reachesAllTenants(a) {
		q.add(inTree(q.bind(a.TenantID)))
	}
	if !f.IncludeDeleted {
		q.add("deleted_at IS NULL")
	}
	if f.IsActive != nil {
		q.add("is_active = " + q.bind(*f.IsActive))
	}
	if f.Type != "" {
		q.add("type = " + q.bind(f.Type))
	}
	if f.IDs != nil {
		q.add("id IN (" + db.In(len(q.args)+1, len(f.IDs)) + ")")
		q.args = db.Args(q.args, f.IDs)
	}
	if search := strings.TrimSpace(f.Search); search != "" {
		q.add(resource.SearchSQL("search_key", q.bind(resource.SearchPattern(search))))
	}
	q.addScope(a, f)
	return q
}

func (q *tenantQuery) addScope(a *scope.Actor, f TenantFilter) {
	parent := a.TenantID
	if f.Parent != nil {
		parent = *f.Parent
	}
	switch {
	case f.Scope == TenantsDescendants:
		top := q.bind(parent)
		q.add(inTree(top))
		q.add("id <> " + top)
	case f.Scope == TenantsChildren || f.Parent != nil:
		q.add("parent_id = " + q.bind(parent))
	}
	if f.Scope == TenantsRoots {
		q.add("parent_id IS NULL")
	}
}

// inTree keeps a tenant and all below it. UNION drops what was seen, so that the walk ends.
func inTree(top string) string {
	return `id IN (
		WITH RECURSIVE tree(id) AS (
			SELECT t.id FROM tenants t WHERE t.id = ` + top + `
			UNION
			SELECT t.id FROM tenants t JOIN tree ON t.parent_id = tree.id)
		SELECT id FROM tree)`
}

func (q *tenantQuery) bind(value any) string {
	q.args = append(q.args, value)
	return "$" + strconv.Itoa(len(q.args))
}

func (q *tenantQuery) add(condition string) { q.conditions = append(q.conditions, condition) }

func (q *tenantQuery) limit(size, offset int) {
	q.window = " LIMIT " + q.bind(size) + " OFFSET " + q.bind(offset)
}

func (q *tenantQuery) from() string {
	if len(q.conditions) == 0 {
		return " FROM tenants"
	}
	return " FROM tenants WHERE " + strings.Join(q.conditions, " AND ")
}

func countTenants(ctx context.Context, q db.Queryer, of *tenantQuery) (int, error) {
	return db.One[int](ctx, q, `SELECT count(*)`+of.from(), of.args...)
}

func listTenants[T any](ctx context.Context, q db.Queryer, of *tenantQuery, columns, order string) ([]T, error) {
	return db.All[T](ctx, q, `SELECT `+columns+of.from()+` ORDER BY `+order+of.window, of.args...)
}

func summariseTenants(ctx context.Context, q db.Queryer, of *tenantQuery) (TenantsSummary, error) {
	return db.One[TenantsSummary](ctx, q, `
		SELECT count(*) AS total_tenants,
		       count(*) FILTER (WHERE is_active) AS active_tenants,
		       count(*) FILTER (WHERE NOT is_active) AS inactive_tenants,
		       count(*) FILTER (WHERE type = 'Standard') AS standard_tenants,
		       count(*) FILTER (WHERE type = 'Group') AS group_tenants,
		       COALESCE(sum(user_count), 0) AS total_users`+of.from(), of.args...)
}
