package identity

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
)

// holdersOfRole counts who holds the role r in the tenant bound to $1. Deleted accounts hold no roles,
// so an index alone answers it.
const holdersOfRole = `(SELECT count(*) FROM binding_roles br WHERE br.role_id = r.id AND br.tenant_id = $1)`

// roleFilter is the WHERE of a query about the roles of a tenant, whose id is always $1. Its text is
// made of constants only.
type roleFilter struct {
	where []string
	args  []any
}

func newRoleFilter(tenant uuid.UUID, search string) *roleFilter {
	f := &roleFilter{where: []string{ofTenant}, args: []any{tenant}}
	if search != "" {
		f.add(resource.SearchSQL("r.search_key", f.bind(resource.SearchPattern(search))))
	}
	return f
}

func (f *roleFilter) bind(value any) string {
	f.args = append(f.args, value)
	return "$" + strconv.Itoa(len(f.args))
}

func (f *roleFilter) add(condition string) { f.where = append(f.where, condition) }

func (f *roleFilter) addSystem(system bool) {
	if system {
		f.add("r.tenant_id IS NULL")
	} else {
		f.add("r.tenant_id IS NOT NULL")
	}
}

func (f *roleFilter) addIDs(ids []uuid.UUID) {
	f.add("r.id IN (" + db.In(len(f.args)+1, len(ids)) + ")")
	f.args = db.Args(f.args, ids)
}

func (f *roleFilter) sql() string { return " FROM roles r WHERE " + strings.Join(f.where, " AND ") }

// listRoles reads the roles themselves; the rest of the statement, its order and window, comes from
// the caller.
func listRoles(ctx context.Context, q db.Queryer, f *roleFilter, rest string) ([]Role, error) {
	return db.All[Role](ctx, q, `SELECT `+roleColumns+f.sql()+rest, f.args...)
}

// pageOfRoles counts the roles of the filter and reads those of one page, without what they hold.
func pageOfRoles(ctx context.Context, q db.Queryer, f *roleFilter, order string, w resource.Window) (resource.PagedResult[Role], error) {
	var none resource.PagedResult[Role]
	total, err := db.One[int](ctx, q, `SELECT count(*)`+f.sql(), f.args...)
	if err != nil {
		return none, fmt.Errorf("count roles: %w", err)
	}
	offset, found := w.Offset(total)
	if !found {
		return resource.NewPage[Role](nil, total, w), nil
	}
	roles, err := listRoles(ctx, q, f, ` ORDER BY `+order+` LIMIT `+f.bind(w.Size)+` OFFSET `+f.bind(offset))
	if err != nil {
		return none, fmt.Errorf("list roles: %w", err)
	}
	return resource.NewPage(roles, total, w), nil
}

// listRolesOfUser lists what the user holds in the tenant, by name.
func listRolesOfUser(ctx context.Context, q db.Queryer, tenant, user uuid.UUID) ([]Role, error) {
	return db.All[Role](ctx, q, `
		SELECT `+roleColumns+` FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE br.tenant_id = $1 AND br.user_id = $2 ORDER BY r.name_key, r.id`, tenant, user)
}

func summariseRoles(ctx context.Context, q db.Queryer, f *roleFilter) (RolesSummary, error) {
	return db.One[RolesSummary](ctx, q, `
		SELECT count(*) AS total_roles, count(*) FILTER (WHERE x.system) AS system_roles,
		       count(*) FILTER (WHERE NOT x.system) AS custom_roles,
		       count(*) FILTER (WHERE x.holders = 0) AS roles_without_users,
		       CAST(coalesce(sum(x.holders), 0) AS BIGINT) AS total_assignments
		FROM (SELECT r.tenant_id IS NULL AS system, `+holdersOfRole+` AS holders`+f.sql()+`) x`, f.args...)
}

// rolesByID finds the roles of a list, to fill them from a statement about all of them.
func rolesByID(roles []Role) (ids []uuid.UUID, byID map[uuid.UUID]*Role) {
	ids, byID = make([]uuid.UUID, len(roles)), make(map[uuid.UUID]*Role, len(roles))
	for i := range roles {
		ids[i], byID[roles[i].ID] = roles[i].ID, &roles[i]
	}
	return ids, byID
}

// addPermissions fills in what the roles hold, in one statement for all of them.
func addPermissions(ctx context.Context, q db.Queryer, roles []Role) error {
	ids, byID := rolesByID(roles)
	held, err := db.All[struct {
		RoleID uuid.UUID `db:"role_id"`
		RolePermission
	}](ctx, q, `
		SELECT rp.role_id, p.id, p.code FROM role_permissions rp JOIN permissions p ON p.id = rp.permission_id
		WHERE rp.role_id IN (`+db.In(1, len(ids))+`) ORDER BY p.code`, db.Args(nil, ids)...)
	if err != nil {
		return fmt.Errorf("read permissions of roles: %w", err)
	}
	for i := range roles {
		roles[i].Permissions = []RolePermission{}
	}
	for _, h := range held {
		r := byID[h.RoleID]
		r.Permissions = append(r.Permissions, h.RolePermission)
	}
	return nil
}

// addUserCounts counts who holds the roles in the tenant, in one statement for all of them.
func addUserCounts(ctx context.Context, q db.Queryer, tenant uuid.UUID, roles []Role) error {
	ids, byID := rolesByID(roles)
	counts, err := db.All[struct {
		RoleID uuid.UUID `db:"role_id"`
		Users  int       `db:"users"`
	}](ctx, q, `
		SELECT role_id, count(*) AS users FROM binding_roles
		WHERE tenant_id = $1 AND role_id IN (`+db.In(2, len(ids))+`) GROUP BY role_id`, db.Args([]any{tenant}, ids)...)
	if err != nil {
		return fmt.Errorf("count holders of roles: %w", err)
	}
	for _, c := range counts {
		byID[c.RoleID].UserCount = c.Users
	}
	return nil
}
