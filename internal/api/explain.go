package api

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/web"
)

// permissionExplanationDto tells whether a user may do something, and why.
type permissionExplanationDto struct {
	UserID         uuid.UUID       `json:"userId"`
	TenantID       uuid.UUID       `json:"tenantId"`
	TenantName     string          `json:"tenantName"`
	Permission     string          `json:"permission" doc:"As the catalogue spells it."`
	IsKnown        bool            `json:"isKnown" doc:"Whether the catalogue has the permission."`
	Description    string          `json:"description" doc:"What the catalogue says of it."`
	IsGranted      bool            `json:"isGranted" doc:"Whether a token of the user in the tenant passes a check for the permission now."`
	GrantedBy      []grantDto      `json:"grantedBy" doc:"Those of the user's roles in the tenant that hold the permission, also where something else is missing."`
	Missing        []missingDto    `json:"missing" doc:"What stands in the way; empty where the permission is granted."`
	Explanation    string          `json:"explanation" doc:"All of it in words."`
	HeldRoles      []roleRef       `json:"heldRoles" doc:"All roles of the user in the tenant."`
	SuggestedRoles []suggestionDto `json:"suggestedRoles" doc:"Where no role of the user holds it: roles that do, those that hold least first, at most 10. Empty for callers without read:roles."`
}

type grantDto struct {
	RoleID       uuid.UUID `json:"roleId"`
	RoleName     string    `json:"roleName"`
	IsSystemRole bool      `json:"isSystemRole"`
	Via          string    `json:"via" enum:"permission,wildcard" doc:"Whether the role holds the permission itself or everything."`
	TenantID     uuid.UUID `json:"tenantId" doc:"Tenant in which the user holds the role."`
}

type suggestionDto struct {
	RoleID       uuid.UUID `json:"roleId"`
	RoleName     string    `json:"roleName"`
	IsSystemRole bool      `json:"isSystemRole"`
	Via          string    `json:"via" enum:"permission,wildcard"`
}

type missingDto struct {
	Reason  string `json:"reason" enum:"AccountInactive,TenantInactive,NotBound,BindingInactive,PermissionUnknown,NoRoles,NotInRoles"`
	Message string `json:"message"`
}

type explainInput struct {
	UserID     web.ID  `path:"userId"`
	Permission string  `query:"permission" required:"true" maxLength:"129" doc:"Code of the permission, in any case."`
	TenantID   *web.ID `query:"tenantId" doc:"A tenant in your reach; that of the token where left out."`
}

func (a *API) explainPermission(ctx context.Context, in *explainInput) (*web.Reply[permissionExplanationDto], error) {
	e, err := a.Identity.ExplainPermission(ctx, in.UserID.UUID, in.Permission, chosen(in.TenantID))
	if err != nil {
		return nil, err
	}
	return web.OK(explanationOf(e)), nil
}

func explanationOf(e identity.Explanation) permissionExplanationDto {
	dto := permissionExplanationDto{
		UserID: e.User.ID, TenantID: e.Tenant.ID, TenantName: e.Tenant.Name, Permission: e.Permission,
		IsKnown: e.Known != nil, IsGranted: e.IsGranted(), Explanation: e.Text(),
		GrantedBy: []grantDto{}, Missing: []missingDto{}, HeldRoles: []roleRef{}, SuggestedRoles: []suggestionDto{},
	}
	if e.Known != nil {
		dto.Description = e.Known.Description
	}
	for _, g := range e.GrantedBy {
		dto.GrantedBy = append(dto.GrantedBy, grantDto{RoleID: g.RoleID, RoleName: g.RoleName, IsSystemRole: g.IsSystem, Via: g.Via(), TenantID: e.Tenant.ID})
	}
	for _, m := range e.Missing {
		dto.Missing = append(dto.Missing, missingDto(m))
	}
	for _, r := range e.HeldRoles {
		dto.HeldRoles = append(dto.HeldRoles, roleRef(r))
	}
	for _, g := range e.Suggested {
		dto.SuggestedRoles = append(dto.SuggestedRoles, suggestionDto{RoleID: g.RoleID, RoleName: g.RoleName, IsSystemRole: g.IsSystem, Via: g.Via()})
	}
	return dto
}

const explainDoc = "Answers whether the user may do something in the tenant, through which roles, or else what is missing and which roles would grant it. " +
	"A user who is not bound to the tenant is not found, except by callers with `admin:system` or `manage:all-users`, who are told so in `missing`."

var explanationExample = object{
	"userId": exampleID, "tenantId": exampleTenant, "tenantName": "Default", "permission": "read:users", "isKnown": true, "description": "See users", "isGranted": true,
	"grantedBy": []object{{"roleId": exampleID, "roleName": "Tenant Administrator", "isSystemRole": true, "via": "permission", "tenantId": exampleTenant}},
	"missing":   []object{}, "explanation": "Ada Lovelace has read:users in Default through Tenant Administrator.",
	"heldRoles": []object{{"id": exampleID, "name": "Tenant Administrator"}}, "suggestedRoles": []object{},
}
