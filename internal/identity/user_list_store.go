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

// viewColumns are the columns of UserView; b is the binding to the tenant looked at.
const viewColumns = `u.id, u.email, u.email_confirmed, u.first_name, u.last_name, u.phone_number, u.profile_picture_url,
	u.password_hash, u.password_changed_at, u.must_change_password, u.app_ids, u.is_active, u.generation,
	u.last_login_at, u.created_at, u.updated_at, u.deleted_at, l.locked_until`

const viewFrom = ` FROM users u LEFT JOIN lockouts l ON l.email_key = u.email_key `

// userFilter is the WHERE of a list of users. Its text is made of constants only.
type userFilter struct {
	join    string
	where   []string
	binding string // whether the binding is active, or TRUE where no tenant is looked at
	args    []any
}

func (f *userFilter) bind(value any) string {
	f.args = append(f.args, value)
	return "$" + strconv.Itoa(len(f.args))
}

func (f *userFilter) add(condition string) { f.where = append(f.where, condition) }

func newUserFilter(query UsersQuery, s resource.Selection, tenant uuid.UUID, now db.Time) *userFilter {
	f := &userFilter{binding: "TRUE"}
	if tenant != uuid.Nil {
		f.join, f.binding = " JOIN bindings b ON b.user_id = u.id AND b.tenant_id = "+f.bind(tenant), "b.is_active"
	}
	if !s.IncludeDeleted {
		f.add("u.deleted_at IS NULL")
	}
	if query.IsActive != nil {
		active := "(u.is_active AND " + f.binding + ")"
		if !*query.IsActive {
			active = "NOT " + active
		}
		f.add(active)
	}
	if query.IsLockedOut != nil {
		f.addLocked(*query.IsLockedOut, now)
	}
	if query.RoleName != "" {
		f.addRole(query.RoleName, tenant)
	}
	if s.Search != "" {
		f.add(resource.SearchSQL("u.search_key", f.bind(resource.SearchPattern(s.Search))))
	}
	return f
}

// addLocked starts from the few lockouts, not from the many users.
func (f *userFilter) addLocked(locked bool, now db.Time) {
	within := "u.email_key IN (SELECT email_key FROM lockouts WHERE locked_until > " + f.bind(now) + ")"
	if !locked {
		within = "NOT (" + within + ")"
	}
	f.add(within)
}

// addRole asks for the role in the tenant, or with no tenant in any active one.
func (f *userFilter) addRole(name string, tenant uuid.UUID) {
	in := "t.is_active AND t.deleted_at IS NULL"
	if tenant != uuid.Nil {
		in = "br.tenant_id = $1"
	}
	f.add(`EXISTS (SELECT 1 FROM binding_roles br
		JOIN roles r ON r.id = br.role_id AND r.name_key = ` + f.bind(strings.ToLower(name)) + `
		JOIN bindings rb ON rb.user_id = br.user_id AND rb.tenant_id = br.tenant_id AND rb.is_active
		JOIN tenants t ON t.id = br.tenant_id
		WHERE br.user_id = u.id AND ` + in + `)`)
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
	text := `SELECT ` + viewColumns + `, ` + f.binding + ` AS binding_active` + viewFrom + f.sql() +
		` ORDER BY ` + order + ` LIMIT ` + f.bind(limit) + ` OFFSET ` + f.bind(offset)
	return db.All[UserView](ctx, q, text, f.args...)
}

// findMember returns sql.ErrNoRows where the account is deleted or not bound to the tenant.
func findMember(ctx context.Context, q db.Queryer, tenant, user uuid.UUID) (UserView, error) {
	return db.One[UserView](ctx, q, `SELECT `+viewColumns+`, b.is_active AS binding_active`+viewFrom+`
		JOIN bindings b ON b.user_id = u.id AND b.tenant_id = $1
		WHERE u.id = $2 AND u.deleted_at IS NULL`, tenant, user)
}

// findUserView returns sql.ErrNoRows where the account does not exist or is deleted.
func findUserView(ctx context.Context, q db.Queryer, user uuid.UUID) (UserView, error) {
	return db.One[UserView](ctx, q, `SELECT `+viewColumns+`, TRUE AS binding_active`+viewFrom+`
		WHERE u.id = $1 AND u.deleted_at IS NULL`, user)
}

// addRoleNames fills in the roles of all users in one query.
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
		WHERE br.tenant_id = $1 AND br.user_id IN (`+db.In(2, len(ids))+`) ORDER BY r.name`, db.Args([]any{tenant}, ids)...)
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
		WHERE b.user_id IN (`+in+`) AND t.deleted_at IS NULL ORDER BY t.name, t.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("list tenants of users: %w", err)
	}
	held, err := db.All[struct {
		UserID   uuid.UUID `db:"user_id"`
		TenantID uuid.UUID `db:"tenant_id"`
		RoleRef
	}](ctx, q, `
		SELECT br.user_id, br.tenant_id, r.id, r.name FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE br.user_id IN (`+in+`) ORDER BY r.name, r.id`, args...)
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
