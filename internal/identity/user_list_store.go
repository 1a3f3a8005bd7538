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

// viewColumns are the columns of UserView, but for that of the binding.
const viewColumns = `u.id, u.email, u.email_confirmed, u.first_name, u.last_name, u.phone_number, u.profile_picture_url,
	u.password_hash, u.password_changed_at, u.must_change_password, u.app_ids, u.is_active, u.generation,
	u.last_login_at, u.created_at, u.updated_at, u.deleted_at, l.locked_until`

const viewFrom = ` FROM users u LEFT JOIN lockouts l ON l.email_key = u.email_key `

// nowMark stands in an order for the present, which is known only when the list is read.
const nowMark = "{now}"

// What lists of users can be sorted by; the aliases are those of viewFrom and of userFilter.
var (
	accountSorting = newUserSorting("u.is_active")
	memberSorting  = newUserSorting("(u.is_active AND b.is_active)")
)

func newUserSorting(active string) resource.Sorting {
	return resource.NewSorting("createdAt", "u.id",
		resource.SortField{Name: "id", SQL: "u.id"},
		resource.SortField{Name: "email", SQL: "u.email_key"},
		resource.SortField{Name: "firstName", SQL: "u.first_name", Text: true},
		resource.SortField{Name: "lastName", SQL: "u.last_name", Text: true},
		resource.SortField{Name: "fullName", SQL: "trim(u.first_name || ' ' || u.last_name)", Text: true},
		resource.SortField{Name: "phoneNumber", SQL: "u.phone_number"},
		resource.SortField{Name: "profilePictureUrl", SQL: "u.profile_picture_url"},
		resource.SortField{Name: "isActive", SQL: active},
		resource.SortField{Name: "emailConfirmed", SQL: "u.email_confirmed"},
		resource.SortField{Name: "isLockedOut", SQL: "coalesce(l.locked_until > " + nowMark + ", FALSE)"},
		resource.SortField{Name: "lockoutExpiresAt", SQL: "l.locked_until", Nullable: true},
		resource.SortField{Name: "createdAt", SQL: "u.created_at"},
		resource.SortField{Name: "updatedAt", SQL: "u.updated_at"},
		resource.SortField{Name: "lastLoginAt", SQL: "u.last_login_at", Nullable: true},
	)
}

// userFilter is the WHERE of a list of users. Its text is made of constants only.
type userFilter struct {
	join    string
	where   []string
	binding string // whether the binding lets the person work in the tenant
	args    []any
	now     db.Time
}

func (f *userFilter) bind(value any) string {
	f.args = append(f.args, value)
	return "$" + strconv.Itoa(len(f.args))
}

func (f *userFilter) add(condition string) { f.where = append(f.where, condition) }

func newUserFilter(query UsersQuery, s resource.Selection, listing userListing, now db.Time) *userFilter {
	f := &userFilter{binding: "TRUE", now: now}
	tenant := ""
	if listing.tenant != uuid.Nil {
		tenant = f.bind(listing.tenant)
		f.join = " JOIN bindings b ON b.user_id = u.id AND b.tenant_id = " + tenant
	}
	if listing.scoped {
		f.binding = "b.is_active"
	}
	if !s.IncludeDeleted {
		f.add("u.deleted_at IS NULL")
	}
	if query.IsActive != nil {
		f.addUnless(!*query.IsActive, "u.is_active AND "+f.binding)
	}
	if query.IsLockedOut != nil { // from the few lockouts, not from the many users
		f.addUnless(!*query.IsLockedOut, "u.email_key IN (SELECT email_key FROM lockouts WHERE locked_until > "+f.bind(now)+")")
	}
	if query.RoleName != "" {
		f.addRole(query.RoleName, tenant)
	}
	if s.Search != "" {
		f.add(resource.SearchSQL("u.search_key", f.bind(resource.SearchPattern(s.Search))))
	}
	return f
}

// addUnless asks for the condition, or for its contrary.
func (f *userFilter) addUnless(contrary bool, condition string) {
	if contrary {
		f.add("NOT (" + condition + ")")
	} else {
		f.add("(" + condition + ")")
	}
}

// addRole asks for the role in the tenant bound to the placeholder, or with none in any active tenant.
func (f *userFilter) addRole(name, tenant string) {
	held := `SELECT br.user_id FROM binding_roles br JOIN roles r ON r.id = br.role_id AND r.name_key = ` + f.bind(roleKey(name))
	if tenant == "" {
		held += ` JOIN tenants t ON t.id = br.tenant_id AND t.is_active AND t.deleted_at IS NULL`
	} else {
		held += ` WHERE br.tenant_id = ` + tenant
	}
	f.add("u.id IN (" + held + ")")
}

func (f *userFilter) sql() string {
	if len(f.where) == 0 {
		return f.join
	}
	return f.join + " WHERE " + strings.Join(f.where, " AND ")
}

func countUsers(ctx context.Context, q db.Queryer, f *userFilter) (int, error) {
	return db.One[int](ctx, q, `SELECT count(*) FROM users u`+f.sql(), f.args...)
}

func listUserViews(ctx context.Context, q db.Queryer, f *userFilter, order string, limit, offset int) ([]UserView, error) {
	text := `SELECT ` + viewColumns + `, ` + f.binding + ` AS binding_active` + viewFrom + f.sql()
	if strings.Contains(order, nowMark) {
		order = strings.ReplaceAll(order, nowMark, f.bind(f.now))
	}
	text += ` ORDER BY ` + order + ` LIMIT ` + f.bind(limit) + ` OFFSET ` + f.bind(offset)
	return db.All[UserView](ctx, q, text, f.args...)
}

// findMember returns sql.ErrNoRows where the account is not bound to the tenant, or is deleted and
// deleted ones do not count.
func findMember(ctx context.Context, q db.Queryer, tenant, user uuid.UUID, deletedToo bool) (UserView, error) {
	return db.One[UserView](ctx, q, `SELECT `+viewColumns+`, b.is_active AS binding_active`+viewFrom+`
		JOIN bindings b ON b.user_id = u.id AND b.tenant_id = $1
		WHERE u.id = $2 AND (u.deleted_at IS NULL OR $3)`, tenant, user, deletedToo)
}

// findUserView is findMember for any account.
func findUserView(ctx context.Context, q db.Queryer, user uuid.UUID, deletedToo bool) (UserView, error) {
	return db.One[UserView](ctx, q, `SELECT `+viewColumns+`, TRUE AS binding_active`+viewFrom+`
		WHERE u.id = $1 AND (u.deleted_at IS NULL OR $2)`, user, deletedToo)
}

// addRoleNames fills in the roles that the users hold in the tenant, in one query for all of them.
func addRoleNames(ctx context.Context, q db.Queryer, tenant uuid.UUID, users []UserView) error {
	ids := make([]uuid.UUID, len(users))
	byID := map[uuid.UUID]*UserView{}
	for i := range users {
		users[i].Roles = []string{}
		ids[i], byID[users[i].ID] = users[i].ID, &users[i]
	}
	held, err := db.All[struct {
		UserID uuid.UUID `db:"user_id"`
		Name   string    `db:"name"`
	}](ctx, q, `
		SELECT br.user_id, r.name FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE br.tenant_id = $1 AND br.user_id IN (`+db.In(2, len(ids))+`) ORDER BY r.name_key, r.id`, db.Args([]any{tenant}, ids)...)
	if err != nil {
		return fmt.Errorf("read roles of users: %w", err)
	}
	for _, h := range held {
		byID[h.UserID].Roles = append(byID[h.UserID].Roles, h.Name)
	}
	return nil
}

// listUserTenants lists the bindings of the users with their roles, by tenant name.
func listUserTenants(ctx context.Context, q db.Queryer, users ...uuid.UUID) ([]UserTenant, error) {
	in, args := db.In(1, len(users)), db.Args(nil, users)
	tenants, err := db.All[UserTenant](ctx, q, `
		SELECT b.user_id, b.tenant_id, t.name AS tenant_name, t.identifier AS tenant_identifier, b.is_default, b.is_active, b.created_at
		FROM bindings b JOIN tenants t ON t.id = b.tenant_id
		WHERE b.user_id IN (`+in+`) AND t.deleted_at IS NULL ORDER BY lower(t.name), t.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("list tenants of users: %w", err)
	}
	held, err := db.All[struct {
		UserID   uuid.UUID `db:"user_id"`
		TenantID uuid.UUID `db:"tenant_id"`
		RoleRef
	}](ctx, q, `
		SELECT br.user_id, br.tenant_id, r.id, r.name FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE br.user_id IN (`+in+`) ORDER BY r.name_key, r.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("list roles of users: %w", err)
	}
	roles := map[[2]uuid.UUID][]RoleRef{}
	for _, h := range held {
		key := [2]uuid.UUID{h.UserID, h.TenantID}
		roles[key] = append(roles[key], h.RoleRef)
	}
	for i := range tenants {
		tenants[i].Roles = append([]RoleRef{}, roles[[2]uuid.UUID{tenants[i].UserID, tenants[i].TenantID}]...)
	}
	return tenants, nil
}
