package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// UserView is an account as a tenant's administrators see it.
type UserView struct {
	User
	LockoutExpiresAt *db.Time `db:"locked_until"`
	// BindingActive is whether the account may enter the tenant; true where no tenant is looked at.
	BindingActive bool     `db:"binding_active"`
	DeletedAt     *db.Time `db:"deleted_at"`
	// Roles are the names of the roles held in the tenant of the caller's token.
	Roles []string `db:"-"`
}

// Active is account and binding together: only with both can the person work in the tenant.
func (v UserView) Active() bool { return v.IsActive && v.BindingActive }

// Version is the ETag of the account.
func (u User) Version() string { return resource.Version(u.ID, u.UpdatedAt) }

// UsersQuery is what a list of users takes (UsersQueryParameters).
type UsersQuery struct {
	resource.Params
	IsActive    *bool  `query:"isActive" doc:"Only accounts that are active, or only those that are not."`
	RoleName    string `query:"roleName" maxLength:"100" doc:"Only accounts that hold the role, in any case."`
	IsLockedOut *bool  `query:"isLockedOut" doc:"Only accounts that are locked now, or only those that are not."`
}

// userSorting names what lists of users can be sorted by; the aliases are those of userListFrom.
var userSorting = resource.NewSorting("createdAt", "u.id",
	resource.SortField{Name: "id", SQL: "u.id"},
	resource.SortField{Name: "email", SQL: "u.email_key"},
	resource.SortField{Name: "firstName", SQL: "u.first_name", Text: true},
	resource.SortField{Name: "lastName", SQL: "u.last_name", Text: true},
	resource.SortField{Name: "fullName", SQL: "u.first_name || ' ' || u.last_name", Text: true},
	resource.SortField{Name: "phoneNumber", SQL: "u.phone_number"},
	resource.SortField{Name: "profilePictureUrl", SQL: "u.profile_picture_url"},
	resource.SortField{Name: "isActive", SQL: "u.is_active"},
	resource.SortField{Name: "emailConfirmed", SQL: "u.email_confirmed"},
	resource.SortField{Name: "isLockedOut", SQL: "l.locked_until", Nullable: true},
	resource.SortField{Name: "lockoutExpiresAt", SQL: "l.locked_until", Nullable: true},
	resource.SortField{Name: "createdAt", SQL: "u.created_at"},
	resource.SortField{Name: "updatedAt", SQL: "u.updated_at"},
	resource.SortField{Name: "lastLoginAt", SQL: "u.last_login_at", Nullable: true},
)

// ListUsers lists the users of the tenant of the caller's token.
func (s *Service) ListUsers(ctx context.Context, query UsersQuery) (resource.PagedResult[UserView], error) {
	return s.listUsers(ctx, query, scope.ActorFrom(ctx).TenantID, "delete:users")
}

// ListAllUsers lists the users of every tenant, or of the one named. Roles are those in the tenant of
// the caller's token.
func (s *Service) ListAllUsers(ctx context.Context, query UsersQuery, tenant uuid.UUID) (resource.PagedResult[UserEdit], error) {
	page, err := s.listUsers(ctx, query, tenant, adminSystem, manageAllUsers)
	if err != nil {
		return resource.PagedResult[UserEdit]{}, err
	}
	byUser, err := tenantsByUser(ctx, s.db, page.Items)
	return resource.MapPage(page, func(v UserView) UserEdit {
		return UserEdit{UserView: v, Tenants: byUser[v.ID]}
	}), err
}

func (s *Service) listUsers(ctx context.Context, query UsersQuery, tenant uuid.UUID, mayDelete ...string) (resource.PagedResult[UserView], error) {
	var none resource.PagedResult[UserView]
	selection, err := query.Select(userSorting)
	if err != nil {
		return none, err
	}
	if selection.IncludeDeleted && !scope.ActorFrom(ctx).CanAny(mayDelete...) {
		return none, fault.New(fault.MissingPermission, "includeDeleted needs the permission %s.", mayDelete[0])
	}
	filter := newUserFilter(query, selection, tenant, s.now())
	total, err := countUsers(ctx, s.db, filter)
	if err != nil {
		return none, fmt.Errorf("count users: %w", err)
	}
	offset, found := selection.Offset(total)
	if !found {
		return resource.NewPage[UserView](nil, total, selection.Window), nil
	}
	users, err := listUserViews(ctx, s.db, filter, selection.Order.SQL(), selection.Size, offset)
	if err != nil {
		return none, fmt.Errorf("list users: %w", err)
	}
	if err := addRoleNames(ctx, s.db, scope.ActorFrom(ctx).TenantID, users); err != nil {
		return none, err
	}
	return resource.NewPage(users, total, selection.Window), nil
}

// GetUser reads a user of the caller's tenant; USER_NOT_FOUND for everybody else.
func (s *Service) GetUser(ctx context.Context, id uuid.UUID) (UserView, error) {
	return requireMember(ctx, s.db, scope.ActorFrom(ctx).TenantID, id)
}

// GetUserByEmail is GetUser by e-mail.
func (s *Service) GetUserByEmail(ctx context.Context, email string) (UserView, error) {
	u, err := findUserByEmail(ctx, s.db, email)
	if errors.Is(err, sql.ErrNoRows) {
		return UserView{}, noUser()
	}
	if err != nil {
		return UserView{}, fmt.Errorf("find user by e-mail: %w", err)
	}
	return s.GetUser(ctx, u.ID)
}

func noUser() *fault.Fault { return fault.New(fault.UserNotFound, "There is no such user.") }

// requireMember reads an account that is bound to the tenant, or fails with USER_NOT_FOUND.
func requireMember(ctx context.Context, q db.Queryer, tenant, id uuid.UUID) (UserView, error) {
	v, err := findMember(ctx, q, tenant, id)
	if errors.Is(err, sql.ErrNoRows) {
		return v, noUser()
	}
	if err != nil {
		return v, fmt.Errorf("read user %s: %w", id, err)
	}
	views := []UserView{v}
	err = addRoleNames(ctx, q, tenant, views)
	return views[0], err
}

// UserPermissions lists what a user of the caller's tenant may do there.
func (s *Service) UserPermissions(ctx context.Context, id uuid.UUID) ([]string, error) {
	tenant := scope.ActorFrom(ctx).TenantID
	if _, err := requireMember(ctx, s.db, tenant, id); err != nil {
		return nil, err
	}
	a, err := readAccess(ctx, s.db, id, tenant)
	return a.permissions, err
}

// UserTenant is one tenant that a user is bound to.
type UserTenant struct {
	UserID           uuid.UUID `db:"user_id"`
	TenantID         uuid.UUID `db:"tenant_id"`
	TenantName       string    `db:"tenant_name"`
	TenantIdentifier string    `db:"tenant_identifier"`
	IsDefault        bool      `db:"is_default"`
	IsActive         bool      `db:"is_active"`
	JoinedAt         db.Time   `db:"created_at"`
	Roles            []RoleRef `db:"-"`
}

// RoleRef names a role.
type RoleRef struct {
	ID   uuid.UUID `db:"id"`
	Name string    `db:"name"`
}

// UserTenants lists the tenants of a user of the caller's tenant. A caller who does not reach all
// tenants sees only the one that they share.
func (s *Service) UserTenants(ctx context.Context, id uuid.UUID) ([]UserTenant, error) {
	actor := scope.ActorFrom(ctx)
	if _, err := requireMember(ctx, s.db, actor.TenantID, id); err != nil {
		return nil, err
	}
	tenants, err := listUserTenants(ctx, s.db, id)
	if err != nil || actor.CanAny(adminSystem, manageAllUsers) {
		return tenants, err
	}
	own := []UserTenant{}
	for _, t := range tenants {
		if t.TenantID == actor.TenantID {
			own = append(own, t)
		}
	}
	return own, nil
}

// AnyUserTenants lists the tenants of any user.
func (s *Service) AnyUserTenants(ctx context.Context, id uuid.UUID) ([]UserTenant, error) {
	if _, err := requireUserView(ctx, s.db, id); err != nil {
		return nil, err
	}
	return listUserTenants(ctx, s.db, id)
}

// UserEdit is an account with its whole matrix of tenants and roles.
type UserEdit struct {
	UserView
	Tenants []UserTenant
}

// GetAnyUser reads any account with its matrix; USER_NOT_FOUND where it does not exist or is deleted.
func (s *Service) GetAnyUser(ctx context.Context, id uuid.UUID) (UserEdit, error) {
	return requireUserEdit(ctx, s.db, id)
}

func requireUserView(ctx context.Context, q db.Queryer, id uuid.UUID) (UserView, error) {
	v, err := findUserView(ctx, q, id)
	if errors.Is(err, sql.ErrNoRows) {
		return v, noUser()
	}
	if err != nil {
		return v, fmt.Errorf("read user %s: %w", id, err)
	}
	return v, nil
}

func requireUserEdit(ctx context.Context, q db.Queryer, id uuid.UUID) (UserEdit, error) {
	v, err := requireUserView(ctx, q, id)
	if err != nil {
		return UserEdit{}, err
	}
	tenants, err := listUserTenants(ctx, q, id)
	return UserEdit{UserView: v, Tenants: tenants}, err
}

// tenantsByUser reads the matrices of a page of users, in two queries for all of them.
func tenantsByUser(ctx context.Context, q db.Queryer, users []UserView) (map[uuid.UUID][]UserTenant, error) {
	ids := make([]uuid.UUID, len(users))
	for i, u := range users {
		ids[i] = u.ID
	}
	tenants, err := listUserTenants(ctx, q, ids...)
	byUser := map[uuid.UUID][]UserTenant{}
	for _, t := range tenants {
		byUser[t.UserID] = append(byUser[t.UserID], t)
	}
	return byUser, err
}
