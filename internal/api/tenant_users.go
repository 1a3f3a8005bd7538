package api

import (
	"context"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

type listTenantUsersInput struct {
	ID web.ID `path:"id"`
	identity.UsersQuery
}

func (a *API) listTenantUsers(ctx context.Context, in *listTenantUsersInput) (*web.Reply[resource.PagedResult[userDTO]], error) {
	page, err := a.Identity.ListTenantUsers(ctx, in.ID.UUID, in.UsersQuery)
	if err != nil {
		return nil, err
	}
	return web.OK(resource.MapPage(page, a.userOf)), nil
}

type addTenantUserInput struct {
	ID   web.ID `path:"id"`
	Body struct {
		UserID    web.ID   `json:"userId"`
		RoleIDs   []web.ID `json:"roleIds" minItems:"1" maxItems:"1000" doc:"1 to 50 roles; repeated ones count once."`
		IsDefault bool     `json:"isDefault,omitempty" doc:"Makes this the default tenant in place of another."`
	}
}

func (a *API) addTenantUser(ctx context.Context, in *addTenantUserInput) (*web.Reply[adminUserDTO], error) {
	e, err := a.Identity.BindToReachable(ctx, in.Body.UserID.UUID, identity.Binding{TenantID: in.ID.UUID, RoleIDs: plainIDs(in.Body.RoleIDs), IsDefault: in.Body.IsDefault})
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/admin/users/"+in.Body.UserID.String(), a.adminUserOf(e)).WithETag(e.Version()), nil
}

type dropTenantUserInput struct {
	ID     web.ID `path:"id"`
	UserID web.ID `path:"userId"`
}

func (a *API) dropTenantUser(ctx context.Context, in *dropTenantUserInput) (*web.Reply[web.None], error) {
	return done(a.Identity.UnbindTenant(ctx, in.ID.UUID, in.UserID.UUID))
}
