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

// deleteUsers is the permission to remove users, and so to see deleted ones.
const deleteUsers = "delete:users"

// UserView is an account as a tenant's administrators see it.
type UserView struct {
	User
	LockoutExpiresAt *db.Time `db:"locked_until"`
	// BindingActive is whether the account may enter the tenant; true where no tenant is looked at.
	BindingActive bool     `db:"binding_active"`
	DeletedAt     *db.Time `db:"deleted_at"`
	// Roles are the names of the roles held in the tenant that is looked at.
	Roles []string `db:"-"`
}

// Active is account and binding together: only with both can the person work in the tenant.
func (v UserView) Active() bool { return v.IsActive && v.BindingActive }

// Version is the ETag of the account: a change of its bindings and roles counts, signing in does not.
func (u User) Version() string { return resource.Version(u.ID, u.UpdatedAt) }

// UsersQuery is what a list of users takes (UsersQueryParameters).
type UsersQuery struct {
	resource.Params
	IsActive    *bool  `query:"isActive" doc:"Only users whose isActive is this."`
	RoleName    string `query:"roleName" maxLength:"100" doc:"Only users who hold the role, in any case of letters."`
	IsLockedOut *bool  `query:"isLockedOut" doc:"Only accounts that are locked now, or only those that are not."`
}

// userListing is which accounts a list is about and how it shows them.
type userListing struct {
	tenant uuid.UUID // those bound to it; nil: all
	// scoped makes isActive account and binding together, and shows the roles held in the tenant.
	scoped bool
	// mayDelete are the permissions of which one lets the caller see deleted accounts.
	mayDelete []string
}

func (l userListing) sorting() resource.Sorting {
	if l.scoped {
		return memberSorting
	}
	return accountSorting
}

// ListUsers lists the users of the tenant of the caller's token.
func (s *Service) ListUsers(ctx context.Context, query UsersQuery) (resource.PagedResult[UserView], error) {
	return s.listMembers(ctx, query, scope.ActorFrom(ctx).TenantID)
}

func (s *Service) listMembers(ctx context.Context, query UsersQuery, tenant uuid.UUID) (resource.PagedResult[UserView], error) {
	page, err := s.listUsers(ctx, query, userListing{tenant: tenant, scoped: true, mayDelete: []string{deleteUsers}})
	if err != nil {
		return page, err
	}
	return page, addRoleNames(ctx, s.db, tenant, page.Items)
}

// ListAllUsers lists the users of every tenant, or of the one named, each with the matrix of tenants.
func (s *Service) ListAllUsers(ctx context.Context, query UsersQuery, tenant uuid.UUID) (resource.PagedResult[UserEdit], error) {
	page, err := s.listUsers(ctx, query, userListing{tenant: tenant, mayDelete: []string{adminSystem, manageAllUsers}})
	if err != nil {
		return resource.PagedResult[UserEdit]{}, err
	}
	byUser, err := tenantsByUser(ctx, s.db, page.Items)
	return resource.MapPage(page, func(v UserView) UserEdit {
		return UserEdit{UserView: v, Tenants: byUser[v.ID]}
	}), err
}

func (s *Service) listUsers(ctx context.Context, query UsersQuery, listing userListing) (resource.PagedResult[UserView], error) {
	var none resource.PagedResult[UserView]
	selection, err := query.Select(listing.sorting())
	if err != nil {
		return none, err
	}
	if selection.IncludeDeleted && !scope.ActorFrom(ctx).CanAny(listing.mayDelete...) {
		return none, fault.New(fault.MissingPermission, "includeDeleted needs the permission %s.", listing.mayDelete[0])
	}
	filter := newUserFilter(query, selection, listing, s.now())
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
	return resource.NewPage(users, total, selection.Window), nil
}

// GetUser reads a user of the caller's tenant; USER_NOT_FOUND for everybody else. A deleted one is
// shown only where asked for, to a caller who may delete.
func (s *Service) GetUser(ctx context.Context, id uuid.UUID, includeDeleted bool) (UserView, error) {
	if includeDeleted {
		if err := resource.MaySeeDeleted(ctx, deleteUsers); err != nil {
			return UserView{}, err
		}
	}
	return readMember(ctx, s.db, scope.ActorFrom(ctx).TenantID, id, includeDeleted)
}

// GetUserByEmail is GetUser by e-mail.
func (s *Service) GetUserByEmail(ctx context.Context, email string) (UserView, error) {
	u, err := findUserByEmail(ctx, s.db, email)
	if err != nil {
		return UserView{}, userFault(u.ID, err)
	}
	return s.GetUser(ctx, u.ID, false)
}

func userFault(id uuid.UUID, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return noUser()
	}
	return fmt.Errorf("read user %s: %w", id, err)
}

func noUser() *fault.Fault { return fault.New(fault.UserNotFound, "There is no such user.") }

// requireMember reads an account that is bound to the tenant, or fails with USER_NOT_FOUND.
func requireMember(ctx context.Context, q db.Queryer, tenant, id uuid.UUID) (UserView, error) {
	return readMember(ctx, q, tenant, id, false)
}

func readMember(ctx context.Context, q db.Queryer, tenant, id uuid.UUID, deletedToo bool) (UserView, error) {
	v, err := findMember(ctx, q, tenant, id, deletedToo)
	if err != nil {
		return v, userFault(id, err)
	}
	return withRoleNames(ctx, q, tenant, v)
}

// withRoleNames is addRoleNames for one user.
func withRoleNames(ctx context.Context, q db.Queryer, tenant uuid.UUID, v UserView) (UserView, error) {
	views := []UserView{v}
	err := addRoleNames(ctx, q, tenant, views)
	return views[0], err
}

// UserPermissions lists what a user of the caller's tenant may do there.
func (s *Service) UserPermissions(ctx context.Context, id uuid.UUID) ([]string, error) {
	tenant := scope.ActorFrom(ctx).TenantID
	if _, err := findMember(ctx, s.db, tenant, id, false); err != nil {
		return nil, userFault(id, err)
	}
	a, err := readAccess(ctx, s.db, id, tenant)
	return a.permissions, err
}

// UserEdit is an account with its whole matrix of tenants and roles.
type UserEdit struct {
	UserView
	Tenants []UserTenant
}

// GetAnyUser reads any account with its matrix; USER_NOT_FOUND where it does not exist, or is deleted
// and not asked for.
func (s *Service) GetAnyUser(ctx context.Context, id uuid.UUID, includeDeleted bool) (UserEdit, error) {
	return readUserEdit(ctx, s.db, id, includeDeleted)
}

func requireUserEdit(ctx context.Context, q db.Queryer, id uuid.UUID) (UserEdit, error) {
	return readUserEdit(ctx, q, id, false)
}

func readUserEdit(ctx context.Context, q db.Queryer, id uuid.UUID, deletedToo bool) (UserEdit, error) {
	v, err := findUserView(ctx, q, id, deletedToo)
	if err != nil {
		return UserEdit{}, userFault(id, err)
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
