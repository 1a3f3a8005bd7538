package api

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// permissionDetailsDto is a permission as v1 routes show it.
type permissionDetailsDto identity.Permission

func permissionDetailsOf(all []identity.Permission) []permissionDetailsDto {
	items := make([]permissionDetailsDto, len(all))
	for i, p := range all {
		items[i] = permissionDetailsDto(p)
	}
	return items
}

func permissionReply(p identity.Permission) *web.Reply[permissionDetailsDto] {
	return web.OK(permissionDetailsDto(p)).WithETag(p.Version())
}

func (a *API) listPermissions(ctx context.Context, in *identity.PermissionsQuery) (*web.Reply[resource.PagedResult[permissionDetailsDto]], error) {
	page, err := a.Identity.ListPermissions(ctx, *in)
	if err != nil {
		return nil, err
	}
	return web.OK(resource.NewPage(permissionDetailsOf(page.Items), page.TotalCount, resource.Window{Page: page.PageNumber, Size: page.PageSize})), nil
}

type permissionCatalogGroupDto struct {
	Category        string                 `json:"category" doc:"Empty for permissions that have none."`
	PermissionCount int                    `json:"permissionCount" doc:"How many permissions of the category match."`
	Permissions     []permissionDetailsDto `json:"permissions" doc:"Those that match, by code."`
}

func (a *API) permissionCatalog(ctx context.Context, in *identity.CatalogQuery) (*web.Reply[resource.PagedResult[permissionCatalogGroupDto]], error) {
	page, err := a.Identity.PermissionCatalog(ctx, *in)
	if err != nil {
		return nil, err
	}
	groups := make([]permissionCatalogGroupDto, len(page.Items))
	for i, g := range page.Items {
		groups[i] = permissionCatalogGroupDto{Category: g.Category, PermissionCount: len(g.Permissions), Permissions: permissionDetailsOf(g.Permissions)}
	}
	return web.OK(resource.NewPage(groups, page.TotalCount, resource.Window{Page: page.PageNumber, Size: page.PageSize})), nil
}

type permissionCategorySuggestionResultDto struct {
	Items []permissionCategorySuggestionDto `json:"items"`
}

type permissionCategorySuggestionDto struct {
	Category        string `json:"category"`
	PermissionCount int    `json:"permissionCount"`
}

func (a *API) permissionCategories(ctx context.Context, in *identity.CategoriesQuery) (*web.Reply[permissionCategorySuggestionResultDto], error) {
	categories, err := a.Identity.SuggestCategories(ctx, *in)
	if err != nil {
		return nil, err
	}
	result := permissionCategorySuggestionResultDto{}
	for _, c := range categories {
		result.Items = append(result.Items, permissionCategorySuggestionDto{Category: c.Name, PermissionCount: c.PermissionCount})
	}
	return web.OK(result), nil
}

type permissionPath struct {
	ID web.ID `path:"id"`
}

func (a *API) getPermission(ctx context.Context, in *permissionPath) (*web.Reply[permissionDetailsDto], error) {
	p, err := a.Identity.GetPermission(ctx, in.ID.UUID)
	if err != nil {
		return nil, err
	}
	return permissionReply(p), nil
}

type permissionCodePath struct {
	Code string `path:"code" doc:"In any case; the colon may be sent as %3A."`
}

func (a *API) getPermissionByCode(ctx context.Context, in *permissionCodePath) (*web.Reply[permissionDetailsDto], error) {
	p, err := a.Identity.GetPermissionByCode(ctx, in.Code)
	if err != nil {
		return nil, err
	}
	return permissionReply(p), nil
}

type createPermissionDto struct {
	Code        string `json:"code" minLength:"1" pattern:"^(\\*|[A-Za-z0-9._-]{1,64}:[A-Za-z0-9._-]{1,64})$" patternDescription:"<action>:<resource>, each of 1 to 64 letters, digits, dots, underscores and hyphens" doc:"Unique in any case; it never changes."`
	Description string `json:"description" required:"false" nullable:"true" maxLength:"1000"`
	Category    string `json:"category" required:"false" nullable:"true" maxLength:"100" doc:"Heading under which the catalogue lists it."`
}

type createPermissionInput struct{ Body createPermissionDto }

func (a *API) createPermission(ctx context.Context, in *createPermissionInput) (*web.Reply[permissionDetailsDto], error) {
	p, err := a.Identity.CreatePermission(ctx, identity.NewPermission{Code: in.Body.Code, Description: in.Body.Description, Category: in.Body.Category})
	if err != nil {
		return nil, err
	}
	return web.Created(permissionLocation(p.ID), permissionDetailsDto(p)).WithETag(p.Version()), nil
}

func permissionLocation(id uuid.UUID) string { return "/api/v1/permissions/" + id.String() }

type updatePermissionDto struct {
	Description *string `json:"description" required:"false" maxLength:"1000" doc:"An empty text clears it."`
	Category    *string `json:"category" required:"false" maxLength:"100" doc:"An empty text clears it. That of a system permission cannot be changed."`
}

type updatePermissionInput struct {
	permissionPath
	web.IfMatch
	Body updatePermissionDto
}

func (a *API) updatePermission(ctx context.Context, in *updatePermissionInput) (*web.Reply[permissionDetailsDto], error) {
	p, err := a.Identity.UpdatePermission(ctx, in.ID.UUID, in.Fits, identity.PermissionChange(in.Body))
	if err != nil {
		return nil, err
	}
	return permissionReply(p), nil
}

type deletePermissionInput struct {
	permissionPath
	web.IfMatch
}

func (a *API) deletePermission(ctx context.Context, in *deletePermissionInput) (*web.Reply[web.None], error) {
	if err := a.Identity.DeletePermission(ctx, in.ID.UUID, in.Fits); err != nil {
		return nil, err
	}
	return web.Done(""), nil
}
