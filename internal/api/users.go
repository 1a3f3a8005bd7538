package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// userDTO is a user of the tenant of the token.
type userDTO struct {
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
	UpdatedAt         time.Time  `json:"updatedAt"`
	LastLoginAt       *time.Time `json:"lastLoginAt"`
}

func (a *API) userOf(v identity.UserView) userDTO {
	u := userDTO{
		ID: v.ID, Email: v.Email, FirstName: v.FirstName, LastName: v.LastName, FullName: v.FullName(), PhoneNumber: v.PhoneNumber,
		ProfilePictureURL: v.ProfilePictureURL, IsActive: v.Active(), EmailConfirmed: v.EmailConfirmed,
		IsLockedOut: a.Identity.IsLocked(v), LockoutExpiresAt: optionalTime(v.LockoutExpiresAt),
		Roles: v.Roles, AppIDs: v.AppIDs, CreatedAt: v.CreatedAt.Time, UpdatedAt: v.UpdatedAt.Time, LastLoginAt: optionalTime(v.LastLoginAt),
	}
	return u
}

// bindingBody is one tenant with the roles held there.
type bindingBody struct {
	TenantID  web.ID   `json:"tenantId"`
	RoleIDs   []web.ID `json:"roleIds" maxItems:"1000"`
	IsDefault bool     `json:"isDefault,omitempty" doc:"Marks the user's default tenant; at most one."`
}

func (b bindingBody) binding() identity.Binding {
	return identity.Binding{TenantID: b.TenantID.UUID, RoleIDs: plainIDs(b.RoleIDs), IsDefault: b.IsDefault}
}

func plainIDs(ids []web.ID) []uuid.UUID {
	plain := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		plain[i] = id.UUID
	}
	return plain
}

func bindingsOf(bodies []bindingBody) []identity.Binding {
	bindings := make([]identity.Binding, len(bodies))
	for i, b := range bodies {
		bindings[i] = b.binding()
	}
	return bindings
}

type createUserBody struct {
	Email               string        `json:"email" minLength:"1" maxLength:"254"`
	Password            string        `json:"password,omitempty" maxLength:"4096" doc:"8 to 128 characters; without one the person gets a mail with a link to choose it."`
	IsPasswordEncrypted bool          `json:"isPasswordEncrypted,omitempty" doc:"The password is a compact JWE, as at sign-in."`
	FirstName           string        `json:"firstName,omitempty" maxLength:"100"`
	LastName            string        `json:"lastName,omitempty" maxLength:"100"`
	PhoneNumber         string        `json:"phoneNumber,omitempty" maxLength:"32" doc:"Digits with + - ( ) and spaces."`
	Tenants             []bindingBody `json:"tenants,omitempty" maxItems:"1000"`
	AppIDs              []string      `json:"appIds,omitempty" maxItems:"100" doc:"Apps that the account is restricted to; none for all."`
	IsActive            *bool         `json:"isActive,omitempty" doc:"True where left out."`
	MustChangePassword  bool          `json:"mustChangePassword,omitempty" doc:"Ask for another password at the first sign-in."`
}

func (b createUserBody) user() identity.NewUser {
	return identity.NewUser{
		Email: b.Email, Password: b.Password, Encrypted: b.IsPasswordEncrypted, FirstName: b.FirstName, LastName: b.LastName,
		PhoneNumber: b.PhoneNumber, AppIDs: b.AppIDs, IsActive: b.IsActive, MustChangePassword: b.MustChangePassword,
		Tenants: bindingsOf(b.Tenants),
	}
}

type updateUserBody struct {
	FirstName   *string   `json:"firstName,omitempty" maxLength:"100" doc:"An empty text clears it."`
	LastName    *string   `json:"lastName,omitempty" maxLength:"100" doc:"An empty text clears it."`
	PhoneNumber *string   `json:"phoneNumber,omitempty" maxLength:"32" doc:"An empty text clears it."`
	AppIDs      *[]string `json:"appIds,omitempty" maxItems:"100" doc:"Replaces the list; empty opens the account to every app."`
	IsActive    *bool     `json:"isActive,omitempty"`
}

func (b updateUserBody) change() identity.UserChange {
	return identity.UserChange{FirstName: b.FirstName, LastName: b.LastName, PhoneNumber: b.PhoneNumber, AppIDs: b.AppIDs, IsActive: b.IsActive}
}

type (
	userInput struct {
		ID web.ID `path:"id"`
	}
	memberInput struct {
		UserID web.ID `path:"userId"`
	}
	deleteInput struct {
		ID web.ID `path:"id"`
		web.IfMatch
	}
	createUserInput struct{ Body createUserBody }
	updateUserInput struct {
		ID web.ID `path:"id"`
		web.IfMatch
		Body updateUserBody
	}
	emailPathInput struct {
		Email string `path:"email" maxLength:"254"`
	}
)

func (a *API) listUsers(ctx context.Context, in *identity.UsersQuery) (*web.Reply[resource.PagedResult[userDTO]], error) {
	page, err := a.Identity.ListUsers(ctx, *in)
	if err != nil {
		return nil, err
	}
	return web.OK(resource.MapPage(page, a.userOf)), nil
}

func (a *API) getUser(ctx context.Context, in *userInput) (*web.Reply[userDTO], error) {
	v, err := a.Identity.GetUser(ctx, in.ID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(a.userOf(v)).WithETag(v.Version()), nil
}

func (a *API) getUserByEmail(ctx context.Context, in *emailPathInput) (*web.Reply[userDTO], error) {
	v, err := a.Identity.GetUserByEmail(ctx, in.Email)
	if err != nil {
		return nil, err
	}
	return web.OK(a.userOf(v)).WithETag(v.Version()), nil
}

func (a *API) createUser(ctx context.Context, in *createUserInput) (*web.Reply[userDTO], error) {
	v, err := a.Identity.CreateUser(ctx, in.Body.user())
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/users/"+v.ID.String(), a.userOf(v)).WithETag(v.Version()), nil
}

func (a *API) updateUser(ctx context.Context, in *updateUserInput) (*web.Reply[userDTO], error) {
	v, err := a.Identity.UpdateUser(ctx, in.ID.UUID, in.Fits, in.Body.change())
	if err != nil {
		return nil, err
	}
	return web.OK(a.userOf(v)).WithETag(v.Version()), nil
}

func (a *API) deleteUser(ctx context.Context, in *deleteInput) (*web.Reply[web.None], error) {
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

// userTenantDTO is one tenant that a user is bound to.
type userTenantDTO struct {
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

func userTenantsOf(tenants []identity.UserTenant) []userTenantDTO {
	list := make([]userTenantDTO, len(tenants))
	for i, t := range tenants {
		list[i] = userTenantDTO{
			TenantID: t.TenantID, TenantName: t.TenantName, TenantIdentifier: t.TenantIdentifier,
			IsDefault: t.IsDefault, IsActive: t.IsActive, Roles: make([]roleRef, len(t.Roles)), JoinedAt: t.JoinedAt.Time,
		}
		for j, r := range t.Roles {
			list[i].Roles[j] = roleRef(r)
		}
	}
	return list
}

func (a *API) userTenants(ctx context.Context, in *memberInput) (*web.Reply[[]userTenantDTO], error) {
	tenants, err := a.Identity.UserTenants(ctx, in.UserID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(userTenantsOf(tenants)), nil
}
