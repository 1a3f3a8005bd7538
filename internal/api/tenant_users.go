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

func (a *API) listTenantUsers(ctx context.Context, in *listTenantUsersInput) (*web.Reply[resource.PagedResult[userDto]], error) {
	page, err := a.Identity.ListTenantUsers(ctx, in.ID.UUID, in.UsersQuery)
	if err != nil {
		return nil, err
	}
	return web.OK(resource.MapPage(page, a.userOf)), nil
}

type addTenantUserInput struct {
	ID   web.ID `path:"id"`
	Body struct {
		UserID web.ID `json:"userId"`
		BindingOptions
	}
}

func (a *API) addTenantUser(ctx context.Context, in *addTenantUserInput) (*web.Reply[adminUserEditDto], error) {
	e, err := a.Identity.BindToReachable(ctx, in.Body.UserID.UUID, bindingOf(in.ID, in.Body.RoleIDs, in.Body.IsDefault))
	return a.boundReply(e, err)
}

type dropTenantUserInput struct {
	ID     web.ID `path:"id"`
	UserID web.ID `path:"userId"`
}

func (a *API) dropTenantUser(ctx context.Context, in *dropTenantUserInput) (*web.Reply[web.None], error) {
	return done(a.Identity.UnbindTenant(ctx, in.ID.UUID, in.UserID.UUID))
}
