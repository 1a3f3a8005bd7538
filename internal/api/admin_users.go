package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// adminUserDTO is any account with its whole matrix of tenants and roles (AdminUserEditDto).
type adminUserDTO struct {
	ID               uuid.UUID    `json:"id"`
	Email            string       `json:"email"`
	FirstName        string       `json:"firstName"`
	LastName         string       `json:"lastName"`
	PhoneNumber      string       `json:"phoneNumber"`
	IsActive         bool         `json:"isActive"`
	IsLockedOut      bool         `json:"isLockedOut"`
	LockoutExpiresAt *time.Time   `json:"lockoutExpiresAt"`
	CreatedAt        time.Time    `json:"createdAt"`
	UpdatedAt        time.Time    `json:"updatedAt"`
	AppIDs           []string     `json:"appIds"`
	Tenants          []bindingDTO `json:"tenants"`
}

type bindingDTO struct {
	TenantID  uuid.UUID   `json:"tenantId"`
	RoleIDs   []uuid.UUID `json:"roleIds"`
	IsDefault bool        `json:"isDefault"`
}

func (a *API) adminUserOf(e identity.UserEdit) adminUserDTO {
	u := adminUserDTO{
		ID: e.ID, Email: e.Email, FirstName: e.FirstName, LastName: e.LastName, PhoneNumber: e.PhoneNumber, IsActive: e.IsActive,
		IsLockedOut: a.Identity.IsLocked(e.UserView), LockoutExpiresAt: optionalTime(e.LockoutExpiresAt),
		CreatedAt: e.CreatedAt.Time, UpdatedAt: e.UpdatedAt.Time, AppIDs: e.AppIDs, Tenants: make([]bindingDTO, len(e.Tenants)),
	}
	for i, t := range e.Tenants {
		u.Tenants[i] = bindingDTO{TenantID: t.TenantID, IsDefault: t.IsDefault, RoleIDs: make([]uuid.UUID, len(t.Roles))}
		for j, r := range t.Roles {
			u.Tenants[i].RoleIDs[j] = r.ID
		}
	}
	return u
}

type listAnyUsersInput struct {
	identity.UsersQuery
	TenantID *web.ID `query:"tenantId" doc:"Only users bound to this tenant."`
}

func (a *API) listAnyUsers(ctx context.Context, in *listAnyUsersInput) (*web.Reply[resource.PagedResult[adminUserDTO]], error) {
	page, err := a.Identity.ListAllUsers(ctx, in.UsersQuery, chosen(in.TenantID))
	if err != nil {
		return nil, err
	}
	return web.OK(resource.MapPage(page, a.adminUserOf)), nil
}

func (a *API) createAnyUser(ctx context.Context, in *createUserInput) (*web.Reply[userDTO], error) {
	v, err := a.Identity.CreateAnyUser(ctx, in.Body.user())
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/admin/users/"+v.ID.String(), a.userOf(v)).WithETag(v.Version()), nil
}

func (a *API) getAnyUser(ctx context.Context, in *userInput) (*web.Reply[adminUserDTO], error) {
	return a.adminReply(a.Identity.GetAnyUser(ctx, in.ID.UUID))
}

func (a *API) adminReply(e identity.UserEdit, err error) (*web.Reply[adminUserDTO], error) {
	if err != nil {
		return nil, err
	}
	return web.OK(a.adminUserOf(e)).WithETag(e.Version()), nil
}

type updateAnyUserInput struct {
	ID web.ID `path:"id"`
	web.IfMatch
	Body struct {
		updateUserBody
		Tenants *[]bindingBody `json:"tenants,omitempty" maxItems:"1000" doc:"Replaces all bindings; left out or null leaves them, empty removes them."`
	}
}

func (a *API) updateAnyUser(ctx context.Context, in *updateAnyUserInput) (*web.Reply[adminUserDTO], error) {
	change := in.Body.change()
	if in.Body.Tenants != nil {
		matrix := bindingsOf(*in.Body.Tenants)
		change.Tenants = &matrix
	}
	return a.adminReply(a.Identity.UpdateAnyUser(ctx, in.ID.UUID, in.Fits, change))
}

func (a *API) deleteAnyUser(ctx context.Context, in *deleteInput) (*web.Reply[web.None], error) {
	return done(a.Identity.DeleteAnyUser(ctx, in.ID.UUID, in.Fits))
}

func (a *API) anyUserTenants(ctx context.Context, in *userInput) (*web.Reply[[]userTenantDTO], error) {
	tenants, err := a.Identity.AnyUserTenants(ctx, in.ID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(userTenantsOf(tenants)), nil
}

type bindTenantInput struct {
	ID   web.ID `path:"id"`
	Body struct {
		TenantID  web.ID   `json:"tenantId"`
		RoleIDs   []web.ID `json:"roleIds" minItems:"1" maxItems:"1000" doc:"1 to 50 roles; repeated ones count once."`
		IsDefault bool     `json:"isDefault,omitempty" doc:"Makes this the default tenant in place of another."`
	}
}

func (a *API) bindTenant(ctx context.Context, in *bindTenantInput) (*web.Reply[adminUserDTO], error) {
	e, err := a.Identity.BindTenant(ctx, in.ID.UUID, identity.Binding{TenantID: in.Body.TenantID.UUID, RoleIDs: plainIDs(in.Body.RoleIDs), IsDefault: in.Body.IsDefault})
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/admin/users/"+in.ID.String(), a.adminUserOf(e)).WithETag(e.Version()), nil
}

func (a *API) unlockUser(ctx context.Context, in *userInput) (*web.Reply[web.None], error) {
	return done(a.Identity.UnlockUser(ctx, in.ID.UUID))
}

func (a *API) startReset(ctx context.Context, in *userInput) (*web.Reply[web.None], error) {
	return done(a.Identity.StartReset(ctx, in.ID.UUID))
}
