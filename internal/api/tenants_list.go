package api

import (
	"context"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// tenantTree is by which part of the tree every list, summary and lookup of tenants can be narrowed.
type tenantTree struct {
	Type           string  `query:"type" enum:"Standard,Group"`
	HierarchyScope string  `query:"hierarchyScope" enum:"All,Roots,Children,Descendants" doc:"All where left out. Roots have no parent; Children and Descendants are those of parentTenantId, or of the tenant of the token."`
	ParentTenantID *web.ID `query:"parentTenantId" doc:"Without a hierarchyScope it keeps the tenants right below it."`
}

func (t tenantTree) filter() identity.TenantFilter {
	f := identity.TenantFilter{Type: t.Type, Scope: t.HierarchyScope}
	if t.ParentTenantID != nil {
		f.Parent = &t.ParentTenantID.UUID
	}
	return f
}

type tenantActive struct {
	IsActive *bool `query:"isActive" doc:"Only tenants that are active, or only those that are not."`
}

type listTenantsInput struct {
	resource.Params
	tenantActive
	tenantTree
}

func (a *API) listTenants(ctx context.Context, in *listTenantsInput) (*web.Reply[resource.PagedResult[identity.Tenant]], error) {
	filter := in.filter()
	filter.IsActive = in.IsActive
	page, err := a.Identity.ListTenants(ctx, in.Params, filter)
	if err != nil {
		return nil, err
	}
	return web.OK(page), nil
}

type summariseTenantsInput struct {
	Search string `query:"search" maxLength:"200" doc:"Counts the tenants in whose name, identifier or domain this text occurs, in any case."`
	tenantActive
	tenantTree
}

func (a *API) summariseTenants(ctx context.Context, in *summariseTenantsInput) (*web.Reply[identity.TenantsSummary], error) {
	filter := in.filter()
	filter.Search, filter.IsActive = in.Search, in.IsActive
	summary, err := a.Identity.SummariseTenants(ctx, filter)
	if err != nil {
		return nil, err
	}
	return web.OK(summary), nil
}

type lookupTenantsInput struct {
	lookupParams
	tenantTree
}

func (a *API) lookupTenants(ctx context.Context, in *lookupTenantsInput) (*web.Reply[resource.PagedResult[identity.TenantLookupItem]], error) {
	window, err := in.window()
	if err != nil {
		return nil, err
	}
	filter := in.filter()
	filter.Search, filter.IDs = in.Search, in.ids()
	page, err := a.Identity.LookupTenants(ctx, window, filter)
	if err != nil {
		return nil, err
	}
	return web.OK(page), nil
}

// allTenants answers the whole list at once: the contract gives this route no parameters to page with.
func (a *API) allTenants(ctx context.Context, _ *struct{}) (*web.Reply[web.List[identity.Tenant]], error) {
	tenants, err := a.Identity.AllTenants(ctx)
	if err != nil {
		return nil, err
	}
	return web.OK(web.List[identity.Tenant]{Items: tenants, TotalCount: len(tenants), Page: 1, PageSize: len(tenants), TotalPages: 1}), nil
}
