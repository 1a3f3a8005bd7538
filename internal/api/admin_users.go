package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// adminUserEditDto is any account with its whole matrix of tenants and roles.
type adminUserEditDto struct {
	ID               uuid.UUID          `json:"id"`
	Email            string             `json:"email"`
	FirstName        string             `json:"firstName"`
	LastName         string             `json:"lastName"`
	PhoneNumber      string             `json:"phoneNumber"`
	IsActive         bool               `json:"isActive" doc:"Of the account; a binding may be closed all the same."`
	IsLockedOut      bool               `json:"isLockedOut" doc:"Whether lockoutExpiresAt lies in the future."`
	LockoutExpiresAt *time.Time         `json:"lockoutExpiresAt"`
	CreatedAt        time.Time          `json:"createdAt"`
	UpdatedAt        time.Time          `json:"updatedAt"`
	AppIDs           []string           `json:"appIds"`
	Tenants          []tenantAssignment `json:"tenants"`
	DeletedAt        *time.Time         `json:"deletedAt,omitempty" doc:"Only there on a deleted user, which only includeDeleted shows."`
}

type tenantAssignment struct {
	TenantID  uuid.UUID   `json:"tenantId"`
	RoleIDs   []uuid.UUID `json:"roleIds"`
	IsDefault bool        `json:"isDefault"`
}

func (a *API) adminUserOf(e identity.UserEdit) adminUserEditDto {
	u := adminUserEditDto{
		ID: e.ID, Email: e.Email, FirstName: e.FirstName, LastName: e.LastName, PhoneNumber: e.PhoneNumber, IsActive: e.IsActive,
		IsLockedOut: a.Identity.IsLocked(e.UserView), LockoutExpiresAt: optionalTime(e.LockoutExpiresAt),
		CreatedAt: e.CreatedAt.Time, UpdatedAt: e.UpdatedAt.Time, AppIDs: e.AppIDs,
		Tenants: make([]tenantAssignment, len(e.Tenants)), DeletedAt: optionalTime(e.DeletedAt),
	}
	for i, t := range e.Tenants {
		u.Tenants[i] = tenantAssignment{TenantID: t.TenantID, IsDefault: t.IsDefault, RoleIDs: make([]uuid.UUID, len(t.Roles))}
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

func (a *API) listAnyUsers(ctx context.Context, in *listAnyUsersInput) (*web.Reply[resource.PagedResult[adminUserEditDto]], error) {
	page, err := a.Identity.ListAllUsers(ctx, in.UsersQuery, chosen(in.TenantID))
	if err != nil {
		return nil, err
	}
	return web.OK(resource.MapPage(page, a.adminUserOf)), nil
}

func (a *API) createAnyUser(ctx context.Context, in *createUserInput) (*web.Reply[userDto], error) {
	v, err := a.Identity.CreateAnyUser(ctx, in.Body.user())
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/admin/users/"+v.ID.String(), a.userOf(v)).WithETag(v.Version()), nil
}

func (a *API) getAnyUser(ctx context.Context, in *getUserInput) (*web.Reply[adminUserEditDto], error) {
	return a.adminReply(a.Identity.GetAnyUser(ctx, in.ID.UUID, in.IncludeDeleted))
}

func (a *API) adminReply(e identity.UserEdit, err error) (*web.Reply[adminUserEditDto], error) {
	if err != nil {
		return nil, err
	}
	return web.OK(a.adminUserOf(e)).WithETag(e.Version()), nil
}

type updateAnyUserInput struct {
	ID web.ID `path:"id"`
	web.IfMatch
	Body struct {
		UpdateUserDto
		Tenants web.Opt[[]tenantAssignmentBody] `json:"tenants,omitzero" required:"false" maxItems:"1000" doc:"Replaces all bindings; left out or null leaves them, empty removes them."`
	}
}

func (a *API) updateAnyUser(ctx context.Context, in *updateAnyUserInput) (*web.Reply[adminUserEditDto], error) {
	change := in.Body.change()
	change.Tenants = matrixOf(in.Body.Tenants)
	return a.adminReply(a.Identity.UpdateAnyUser(ctx, in.ID.UUID, in.Fits, change))
}

func (a *API) deleteAnyUser(ctx context.Context, in *deleteUserInput) (*web.Reply[web.None], error) {
	return done(a.Identity.DeleteAnyUser(ctx, in.ID.UUID, in.Fits))
}

func (a *API) anyUserTenants(ctx context.Context, in *userInput) (*web.Reply[[]userTenantDto], error) {
	tenants, err := a.Identity.AnyUserTenants(ctx, in.ID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(userTenantsOf(tenants)), nil
}

// BindingOptions is what both bodies that add a binding say of it.
type BindingOptions struct {
	RoleIDs   []web.ID `json:"roleIds" minItems:"1" doc:"1 to 50 roles; repeated ones count once."`
	IsDefault *bool    `json:"isDefault" required:"false" doc:"Makes this the default tenant in place of another."`
}

type bindTenantInput struct {
	ID   web.ID `path:"id"`
	Body struct {
		TenantID web.ID `json:"tenantId"`
		BindingOptions
	}
}

func (a *API) bindTenant(ctx context.Context, in *bindTenantInput) (*web.Reply[adminUserEditDto], error) {
	e, err := a.Identity.BindTenant(ctx, in.ID.UUID, bindingOf(in.Body.TenantID, in.Body.RoleIDs, in.Body.IsDefault))
	return a.boundReply(e, err)
}

func (a *API) boundReply(e identity.UserEdit, err error) (*web.Reply[adminUserEditDto], error) {
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/admin/users/"+e.ID.String(), a.adminUserOf(e)).WithETag(e.Version()), nil
}

func (a *API) unlockUser(ctx context.Context, in *userInput) (*web.Reply[web.None], error) {
	return done(a.Identity.UnlockUser(ctx, in.ID.UUID))
}

func (a *API) startReset(ctx context.Context, in *userInput) (*web.Reply[web.None], error) {
	return done(a.Identity.StartReset(ctx, in.ID.UUID))
}
