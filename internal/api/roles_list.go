package api

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// rolePage shows each role of a page as the route does.
func rolePage[T any](page resource.PagedResult[identity.Role], show func(identity.Role) T) *web.Reply[resource.PagedResult[T]] {
	return web.OK(resource.NewPage(shown(page.Items, show), page.TotalCount, resource.Window{Page: page.PageNumber, Size: page.PageSize}))
}

func shown[T any](roles []identity.Role, show func(identity.Role) T) []T {
	items := make([]T, len(roles))
	for i, r := range roles {
		items[i] = show(r)
	}
	return items
}

func (a *API) listRoles(ctx context.Context, in *identity.RolesQuery) (*web.Reply[resource.PagedResult[roleWithUserCountDto]], error) {
	page, err := a.Identity.ListRoles(ctx, *in)
	if err != nil {
		return nil, err
	}
	return rolePage(page, roleWithUserCountDtoOf), nil
}

// roleTenant names the tenant whose roles are asked for.
type roleTenant struct {
	TenantID web.ID `path:"tenantId"`
}

type listTenantRolesInput struct {
	roleTenant
	identity.RolesQuery
}

func (a *API) listTenantRoles(ctx context.Context, in *listTenantRolesInput) (*web.Reply[resource.PagedResult[roleWithUserCountDto]], error) {
	page, err := a.Identity.ListRolesOf(ctx, in.TenantID.UUID, in.RolesQuery)
	if err != nil {
		return nil, err
	}
	return rolePage(page, roleWithUserCountDtoOf), nil
}

type roleLookupItemDto struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
}

func roleLookupItemOf(r identity.Role) roleLookupItemDto {
	return roleLookupItemDto{ID: r.ID, Name: r.Name, Description: r.Description}
}

type lookupRolesInput struct {
	lookupParams
	IncludeSystemRoles bool `query:"includeSystemRoles" default:"true" doc:"false keeps the tenant's own roles only."`
}

func (in lookupRolesInput) lookup() (identity.RoleLookup, error) {
	window, err := in.window()
	return identity.RoleLookup{Window: window, Search: in.Search, WithoutSystem: !in.IncludeSystemRoles, IDs: in.ids()}, err
}

func (a *API) lookupRoles(ctx context.Context, in *lookupRolesInput) (*web.Reply[resource.PagedResult[roleLookupItemDto]], error) {
	lookup, err := in.lookup()
	if err != nil {
		return nil, err
	}
	page, err := a.Identity.LookupRoles(ctx, lookup)
	if err != nil {
		return nil, err
	}
	return rolePage(page, roleLookupItemOf), nil
}

type lookupTenantRolesInput struct {
	roleTenant
	lookupRolesInput
}

func (a *API) lookupTenantRoles(ctx context.Context, in *lookupTenantRolesInput) (*web.Reply[resource.PagedResult[roleLookupItemDto]], error) {
	lookup, err := in.lookup()
	if err != nil {
		return nil, err
	}
	page, err := a.Identity.LookupRolesOf(ctx, in.TenantID.UUID, lookup)
	if err != nil {
		return nil, err
	}
	return rolePage(page, roleLookupItemOf), nil
}

type summariseRolesInput struct {
	Search string `query:"search" maxLength:"200" doc:"Counts the roles in whose name or description this text occurs, in any case."`
}

func (a *API) summariseRoles(ctx context.Context, in *summariseRolesInput) (*web.Reply[identity.RolesSummary], error) {
	summary, err := a.Identity.SummariseRoles(ctx, in.Search)
	if err != nil {
		return nil, err
	}
	return web.OK(summary), nil
}

type userRolesInput struct {
	UserID web.ID `path:"userId"`
}

func (a *API) userRoles(ctx context.Context, in *userRolesInput) (*web.Reply[[]RoleDto], error) {
	roles, err := a.Identity.UserRoles(ctx, in.UserID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(shown(roles, roleDtoOf)), nil
}
