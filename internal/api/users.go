package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// userDto is a user as the administrators of a tenant see them.
type userDto struct {
	ID                uuid.UUID  `json:"id"`
	Email             string     `json:"email"`
	FirstName         string     `json:"firstName"`
	LastName          string     `json:"lastName"`
	FullName          string     `json:"fullName"`
	PhoneNumber       string     `json:"phoneNumber"`
	ProfilePictureURL string     `json:"profilePictureUrl"`
	IsActive          bool       `json:"isActive" doc:"Account and binding together."`
	EmailConfirmed    bool       `json:"emailConfirmed"`
	IsLockedOut       bool       `json:"isLockedOut" doc:"Whether lockoutExpiresAt lies in the future."`
	LockoutExpiresAt  *time.Time `json:"lockoutExpiresAt"`
	Roles             []string   `json:"roles" doc:"Names of the roles in the tenant of the token."`
	AppIDs            []string   `json:"appIds"`
	CreatedAt         time.Time  `json:"createdAt"`
	UpdatedAt         time.Time  `json:"updatedAt" doc:"The last change to the account, its bindings or its roles; signing in does not count."`
	LastLoginAt       *time.Time `json:"lastLoginAt"`
	DeletedAt         *time.Time `json:"deletedAt,omitempty" doc:"Only there on a deleted user, which only includeDeleted shows."`
}

func (a *API) userOf(v identity.UserView) userDto {
	return userDto{
		ID: v.ID, Email: v.Email, FirstName: v.FirstName, LastName: v.LastName, FullName: v.FullName(), PhoneNumber: v.PhoneNumber,
		ProfilePictureURL: v.ProfilePictureURL, IsActive: v.Active(), EmailConfirmed: v.EmailConfirmed,
		IsLockedOut: a.Identity.IsLocked(v), LockoutExpiresAt: optionalTime(v.LockoutExpiresAt),
		Roles: v.Roles, AppIDs: v.AppIDs, CreatedAt: v.CreatedAt.Time, UpdatedAt: v.UpdatedAt.Time,
		LastLoginAt: optionalTime(v.LastLoginAt), DeletedAt: optionalTime(v.DeletedAt),
	}
}

// tenantAssignmentBody is one tenant with the roles held there.
type tenantAssignmentBody struct {
	TenantID  web.ID   `json:"tenantId"`
	RoleIDs   []web.ID `json:"roleIds" doc:"At most 50 roles of the tenant or of the system; repeated ones count once."`
	IsDefault *bool    `json:"isDefault" required:"false" doc:"Marks the user's default tenant; at most one."`
}

func bindingOf(tenant web.ID, roles []web.ID, isDefault *bool) identity.Binding {
	return identity.Binding{TenantID: tenant.UUID, RoleIDs: plainIDs(roles), IsDefault: given(isDefault)}
}

func plainIDs(ids []web.ID) []uuid.UUID {
	plain := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		plain[i] = id.UUID
	}
	return plain
}

// matrixOf is nil where the body says nothing of tenants.
func matrixOf(bodies web.Opt[[]tenantAssignmentBody]) identity.Matrix {
	if bodies.Ptr() == nil {
		return nil
	}
	bindings := make([]identity.Binding, len(bodies.V))
	for i, b := range bodies.V {
		bindings[i] = bindingOf(b.TenantID, b.RoleIDs, b.IsDefault)
	}
	return &bindings
}

// UpdateUserDto is what every body may say of a user; left out or null means nothing is said. Like every
// type that is embedded here it is exported, or the API reference would not see its fields.
type UpdateUserDto struct {
	FirstName   *string           `json:"firstName" required:"false" maxLength:"100" doc:"An empty text clears it."`
	LastName    *string           `json:"lastName" required:"false" maxLength:"100" doc:"An empty text clears it."`
	PhoneNumber *string           `json:"phoneNumber" required:"false" maxLength:"32" doc:"Digits with + - ( ) and spaces; an empty text clears it."`
	AppIDs      web.Opt[[]string] `json:"appIds,omitzero" required:"false" maxItems:"100" doc:"All apps that the account is restricted to; an empty list opens it to every app."`
	IsActive    *bool             `json:"isActive" required:"false"`
}

func (f UpdateUserDto) change() identity.UserChange {
	return identity.UserChange{FirstName: f.FirstName, LastName: f.LastName, PhoneNumber: f.PhoneNumber, AppIDs: f.AppIDs.Ptr(), IsActive: f.IsActive}
}

type createUserDto struct {
	Email               string  `json:"email" minLength:"1" maxLength:"254"`
	Password            *string `json:"password" required:"false" maxLength:"4096" doc:"8 to 128 characters; without one the person gets a mail with a link to choose it."`
	IsPasswordEncrypted *bool   `json:"isPasswordEncrypted" required:"false" doc:"The password is a compact JWE, as at sign-in."`
	UpdateUserDto
	Tenants            web.Opt[[]tenantAssignmentBody] `json:"tenants,omitzero" required:"false" maxItems:"1000"`
	MustChangePassword *bool                           `json:"mustChangePassword" required:"false" doc:"Ask for another password at the first sign-in."`
}

func (b createUserDto) user() identity.NewUser {
	in := identity.NewUser{
		Email: b.Email, Password: given(b.Password), Encrypted: given(b.IsPasswordEncrypted), FirstName: given(b.FirstName), LastName: given(b.LastName),
		PhoneNumber: given(b.PhoneNumber), AppIDs: b.AppIDs.V, IsActive: b.IsActive, MustChangePassword: given(b.MustChangePassword),
	}
	if matrix := matrixOf(b.Tenants); matrix != nil {
		in.Tenants = *matrix
	}
	return in
}

type (
	userInput struct {
		ID web.ID `path:"id"`
	}
	getUserInput struct {
		ID             web.ID `path:"id"`
		IncludeDeleted bool   `query:"includeDeleted" doc:"Answers a deleted user too, to callers who may delete."`
	}
	memberInput struct {
		UserID web.ID `path:"userId"`
	}
	deleteUserInput struct {
		ID web.ID `path:"id"`
		web.IfMatch
	}
	createUserInput struct{ Body createUserDto }
	updateUserInput struct {
		ID web.ID `path:"id"`
		web.IfMatch
		Body UpdateUserDto
	}
	emailPathInput struct {
		Email string `path:"email" maxLength:"254"`
	}
)

func (a *API) listUsers(ctx context.Context, in *identity.UsersQuery) (*web.Reply[resource.PagedResult[userDto]], error) {
	page, err := a.Identity.ListUsers(ctx, *in)
	if err != nil {
		return nil, err
	}
	return web.OK(resource.MapPage(page, a.userOf)), nil
}

func (a *API) getUser(ctx context.Context, in *getUserInput) (*web.Reply[userDto], error) {
	return a.userReply(a.Identity.GetUser(ctx, in.ID.UUID, in.IncludeDeleted))
}

func (a *API) userReply(v identity.UserView, err error) (*web.Reply[userDto], error) {
	if err != nil {
		return nil, err
	}
	return web.OK(a.userOf(v)).WithETag(v.Version()), nil
}

func (a *API) getUserByEmail(ctx context.Context, in *emailPathInput) (*web.Reply[userDto], error) {
	return a.userReply(a.Identity.GetUserByEmail(ctx, in.Email))
}

func (a *API) createUser(ctx context.Context, in *createUserInput) (*web.Reply[userDto], error) {
	v, err := a.Identity.CreateUser(ctx, in.Body.user())
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/users/"+v.ID.String(), a.userOf(v)).WithETag(v.Version()), nil
}

func (a *API) updateUser(ctx context.Context, in *updateUserInput) (*web.Reply[userDto], error) {
	return a.userReply(a.Identity.UpdateUser(ctx, in.ID.UUID, in.Fits, in.Body.change()))
}

func (a *API) deleteUser(ctx context.Context, in *deleteUserInput) (*web.Reply[web.None], error) {
	return done(a.Identity.DeleteUser(ctx, in.ID.UUID, in.Fits))
}

func (a *API) activateUser(ctx context.Context, in *userInput) (*web.Reply[web.None], error) {
	return done(a.Identity.SetUserActive(ctx, in.ID.UUID, true))
}

func (a *API) deactivateUser(ctx context.Context, in *userInput) (*web.Reply[web.None], error) {
	return done(a.Identity.SetUserActive(ctx, in.ID.UUID, false))
}

func (a *API) userPermissions(ctx context.Context, in *memberInput) (*web.Reply[[]string], error) {
	codes, err := a.Identity.UserPermissions(ctx, in.UserID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(codes), nil
}

// userTenantDto is one tenant that a user is bound to.
type userTenantDto struct {
	TenantID         uuid.UUID `json:"tenantId"`
	TenantName       string    `json:"tenantName"`
	TenantIdentifier string    `json:"tenantIdentifier"`
	IsDefault        bool      `json:"isDefault"`
	IsActive         bool      `json:"isActive"`
	Roles            []roleRef `json:"roles"`
	JoinedAt         time.Time `json:"joinedAt"`
}

type roleRef struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

func userTenantsOf(tenants []identity.UserTenant) []userTenantDto {
	list := make([]userTenantDto, len(tenants))
	for i, t := range tenants {
		list[i] = userTenantDto{
			TenantID: t.TenantID, TenantName: t.TenantName, TenantIdentifier: t.TenantIdentifier,
			IsDefault: t.IsDefault, IsActive: t.IsActive, Roles: make([]roleRef, len(t.Roles)), JoinedAt: t.JoinedAt.Time,
		}
		for j, r := range t.Roles {
			list[i].Roles[j] = roleRef(r)
		}
	}
	return list
}

func (a *API) userTenants(ctx context.Context, in *memberInput) (*web.Reply[[]userTenantDto], error) {
	tenants, err := a.Identity.UserTenants(ctx, in.UserID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(userTenantsOf(tenants)), nil
}
