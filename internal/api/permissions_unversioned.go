package api

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/web"
)

// permission is a permission as unversioned routes show it.
type permission struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name" doc:"The code."`
	Description string    `json:"description"`
	Category    string    `json:"category"`
}

func permissionOf(p identity.Permission) permission {
	return permission{ID: p.ID, Name: p.Code, Description: p.Description, Category: p.Category}
}

// allPermissions answers the whole list at once: the contract gives this route no parameters to page
// with.
func (a *API) allPermissions(ctx context.Context, _ *struct{}) (*web.Reply[web.List[permission]], error) {
	all, err := a.Identity.AllPermissions(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]permission, len(all))
	for i, p := range all {
		items[i] = permissionOf(p)
	}
	return web.OK(web.List[permission]{Items: items, TotalCount: len(items), Page: 1, PageSize: len(items), TotalPages: 1}), nil
}

type addPermissionInput struct {
	Body struct {
		Name        string `json:"name" minLength:"1" pattern:"^(\\*|[A-Za-z0-9._-]{1,64}:[A-Za-z0-9._-]{1,64})$" patternDescription:"<action>:<resource>, each of 1 to 64 letters, digits, dots, underscores and hyphens" doc:"The code; unique in any case."`
		Description string `json:"description" required:"false" nullable:"true" maxLength:"1000"`
		Category    string `json:"category" required:"false" nullable:"true" maxLength:"100" doc:"Heading under which the catalogue lists it."`
	}
}

func (a *API) addPermission(ctx context.Context, in *addPermissionInput) (*web.Reply[permission], error) {
	p, err := a.Identity.CreatePermission(ctx, identity.NewPermission{Code: in.Body.Name, Description: in.Body.Description, Category: in.Body.Category})
	if err != nil {
		return nil, err
	}
	return web.Created(permissionLocation(p.ID), permissionOf(p)).WithETag(p.Version()), nil
}
