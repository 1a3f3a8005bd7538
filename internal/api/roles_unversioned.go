package api

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/web"
)

// PlainRole is a role as unversioned routes show it.
type PlainRole struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Permissions []string  `json:"permissions" doc:"Codes, in alphabetical order."`
}

func plainRoleOf(r identity.Role) PlainRole {
	return PlainRole{ID: r.ID, Name: r.Name, Description: r.Description, Permissions: r.Codes()}
}

// listedRole adds what only the list tells.
type listedRole struct {
	PlainRole
	UserCount int `json:"userCount" doc:"How many users hold the role in the tenant."`
}

func listedRoleOf(r identity.Role) listedRole {
	return listedRole{PlainRole: plainRoleOf(r), UserCount: r.UserCount}
}

// allRoles answers the whole list at once: the contract gives this route no parameters to page with.
func (a *API) allRoles(ctx context.Context, _ *struct{}) (*web.Reply[web.List[listedRole]], error) {
	roles, err := a.Identity.AllRoles(ctx)
	if err != nil {
		return nil, err
	}
	return web.OK(web.List[listedRole]{
		Items: shown(roles, listedRoleOf), TotalCount: len(roles), Page: 1, PageSize: len(roles), TotalPages: 1,
	}), nil
}

// RoleWords is what both bodies may say of a role; left out or null means nothing is said.
type RoleWords struct {
	Description *string           `json:"description" required:"false" maxLength:"500" doc:"An empty text clears it."`
	Permissions web.Opt[[]string] `json:"permissions,omitzero" required:"false" doc:"Codes of all permissions that the role shall hold, in any case, at most 1000. Left out or null it says nothing, an empty list means none."`
}

func (w RoleWords) change(name *string) identity.RoleChange {
	return identity.RoleChange{Name: name, Description: w.Description, Permissions: identity.PermissionChoice{Codes: w.Permissions.Ptr()}}
}

type addRoleInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100" doc:"Unique in the tenant and among the system roles, in any case."`
		RoleWords
	}
}

func (a *API) addRole(ctx context.Context, in *addRoleInput) (*web.Reply[PlainRole], error) {
	made, err := a.Identity.CreateRole(ctx, uuid.Nil, in.Body.change(&in.Body.Name))
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/roles/"+made.ID.String(), plainRoleOf(made)).WithETag(made.Version()), nil
}

type changeRoleInput struct {
	rolePath
	web.IfMatch
	Body struct {
		Name *string `json:"name" required:"false" minLength:"1" maxLength:"100" doc:"Unique in the tenant and among the system roles, in any case."`
		RoleWords
	}
}

func (a *API) changeRole(ctx context.Context, in *changeRoleInput) (*web.Reply[PlainRole], error) {
	changed, err := a.Identity.UpdateRole(ctx, in.ID.UUID, in.Fits, in.Body.change(in.Body.Name))
	if err != nil {
		return nil, err
	}
	return web.OK(plainRoleOf(changed)).WithETag(changed.Version()), nil
}
