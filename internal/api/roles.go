package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/web"
)

// RoleDto is a role as v1 routes show it. Like every type that is embedded here it is exported, or the
// API reference would not see its fields.
type RoleDto struct {
	ID            uuid.UUID   `json:"id"`
	TenantID      *uuid.UUID  `json:"tenantId" doc:"null for a system role."`
	Name          string      `json:"name"`
	Description   string      `json:"description"`
	IsSystemRole  bool        `json:"isSystemRole" doc:"Shipped, good in every tenant, and never changed."`
	Permissions   []string    `json:"permissions" doc:"Codes, in alphabetical order."`
	PermissionIDs []uuid.UUID `json:"permissionIds" doc:"Ids, in the order of permissions."`
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt" doc:"The last change to the role itself; users who come and go do not count."`
}

func roleDtoOf(r identity.Role) RoleDto {
	dto := RoleDto{
		ID: r.ID, TenantID: r.TenantID, Name: r.Name, Description: r.Description, IsSystemRole: r.IsSystem(),
		Permissions: r.Codes(), PermissionIDs: make([]uuid.UUID, len(r.Permissions)),
		CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time,
	}
	for i, p := range r.Permissions {
		dto.PermissionIDs[i] = p.ID
	}
	return dto
}

// roleWithUserCountDto adds who holds it.
type roleWithUserCountDto struct {
	RoleDto
	UserCount int `json:"userCount" doc:"How many users hold the role in the tenant."`
}

func roleWithUserCountDtoOf(r identity.Role) roleWithUserCountDto {
	return roleWithUserCountDto{RoleDto: roleDtoOf(r), UserCount: r.UserCount}
}

type rolePath struct {
	ID web.ID `path:"id"`
}

func (a *API) getRole(ctx context.Context, in *rolePath) (*web.Reply[roleWithUserCountDto], error) {
	role, err := a.Identity.GetRole(ctx, in.ID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(roleWithUserCountDtoOf(role)).WithETag(role.Version()), nil
}

// RoleOptions is what every body may say of a role; left out or null means nothing is said.
type RoleOptions struct {
	Description   *string           `json:"description" required:"false" maxLength:"500" doc:"An empty text clears it."`
	PermissionIDs web.Opt[[]web.ID] `json:"permissionIds,omitzero" required:"false" doc:"All permissions that the role shall hold, at most 1000; repeated ids count once. Left out or null it says nothing, an empty list means none."`
}

func (o RoleOptions) change(name *string) identity.RoleChange {
	change := identity.RoleChange{Name: name, Description: o.Description}
	if given := o.PermissionIDs.Ptr(); given != nil {
		ids := make([]uuid.UUID, len(*given))
		for i, id := range *given {
			ids[i] = id.UUID
		}
		change.Permissions.IDs = &ids
	}
	return change
}

type createRoleInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100" doc:"Unique in the tenant and among the system roles, in any case."`
		RoleOptions
		TenantID *web.ID `json:"tenantId" required:"false" doc:"Tenant that the role shall belong to: another one than that of the token only with admin:system."`
	}
}

func (a *API) createRole(ctx context.Context, in *createRoleInput) (*web.Reply[RoleDto], error) {
	role, err := a.Identity.CreateRole(ctx, chosen(in.Body.TenantID), in.Body.change(&in.Body.Name))
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/roles/"+role.ID.String(), roleDtoOf(role)).WithETag(role.Version()), nil
}

type updateRoleInput struct {
	rolePath
	web.IfMatch
	Body struct {
		Name *string `json:"name" required:"false" minLength:"1" maxLength:"100" doc:"Unique in the tenant and among the system roles, in any case."`
		RoleOptions
	}
}

func (a *API) updateRole(ctx context.Context, in *updateRoleInput) (*web.Reply[RoleDto], error) {
	role, err := a.Identity.UpdateRole(ctx, in.ID.UUID, in.Fits, in.Body.change(in.Body.Name))
	if err != nil {
		return nil, err
	}
	return web.OK(roleDtoOf(role)).WithETag(role.Version()), nil
}

type deleteRoleInput struct {
	rolePath
	web.IfMatch
}

// deleteRole answers both conventions: the message is shown on envelope routes only.
func (a *API) deleteRole(ctx context.Context, in *deleteRoleInput) (*web.Reply[web.None], error) {
	if err := a.Identity.DeleteRole(ctx, in.ID.UUID, in.Fits); err != nil {
		return nil, err
	}
	return web.Done("The role is deleted."), nil
}
