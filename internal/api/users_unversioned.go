package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// plainUser is a user as unversioned routes show it.
type plainUser struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"email"`
	FullName  string    `json:"fullName"`
	Roles     []string  `json:"roles"`
	IsActive  bool      `json:"isActive"`
	CreatedAt time.Time `json:"createdAt"`
}

func plainUserOf(v identity.UserView) plainUser {
	return plainUser{ID: v.ID, Email: v.Email, FullName: v.FullName(), Roles: v.Roles, IsActive: v.Active(), CreatedAt: v.CreatedAt.Time}
}

type plainUsersInput struct {
	Page          int    `query:"page" minimum:"1" maximum:"2147483647" default:"1"`
	PageSize      int    `query:"pageSize" minimum:"1" maximum:"100" default:"20"`
	Search        string `query:"search" maxLength:"200" doc:"Keeps the users in whose name or e-mail this text occurs, in any case."`
	Role          string `query:"role" maxLength:"100" doc:"Only users who hold the role."`
	IsActive      *bool  `query:"isActive"`
	SortBy        string `query:"sortBy" maxLength:"64"`
	SortDirection string `query:"sortDirection" enum:"asc,desc,Ascending,Descending"`
}

func (in plainUsersInput) query() identity.UsersQuery {
	return identity.UsersQuery{
		Params:   resource.Params{Page: in.Page, PageSize: in.PageSize, Search: in.Search, SortBy: in.SortBy, SortDirection: in.SortDirection},
		IsActive: in.IsActive, RoleName: in.Role,
	}
}

func (a *API) plainUsers(ctx context.Context, in *plainUsersInput) (*web.Reply[web.List[plainUser]], error) {
	page, err := a.Identity.ListUsers(ctx, in.query())
	if err != nil {
		return nil, err
	}
	shown := resource.MapPage(page, plainUserOf)
	return web.OK(web.List[plainUser]{Items: shown.Items, TotalCount: shown.TotalCount, Page: shown.PageNumber, PageSize: shown.PageSize, TotalPages: shown.TotalPages}), nil
}

func (a *API) plainUser(ctx context.Context, in *userInput) (*web.Reply[plainUser], error) {
	return plainReply(a.Identity.GetUser(ctx, in.ID.UUID, false))
}

func plainReply(v identity.UserView, err error) (*web.Reply[plainUser], error) {
	if err != nil {
		return nil, err
	}
	return web.OK(plainUserOf(v)).WithETag(v.Version()), nil
}

type addUserInput struct {
	Body struct {
		Email            string            `json:"email" minLength:"1" maxLength:"254"`
		Password         *string           `json:"password" required:"false" maxLength:"4096" doc:"8 to 128 characters; without one the person gets a mail with a link to choose it."`
		FullName         *string           `json:"fullName" required:"false" maxLength:"201" doc:"The first word is the first name."`
		Roles            web.Opt[[]string] `json:"roles,omitzero" required:"false" doc:"Names of at most 50 roles; Member where left out or empty."`
		SendWelcomeEmail *bool             `json:"sendWelcomeEmail" required:"false"`
	}
}

func (a *API) addUser(ctx context.Context, in *addUserInput) (*web.Reply[plainUser], error) {
	v, err := a.Identity.CreateUserByNames(ctx, identity.NewUser{
		Email: in.Body.Email, Password: given(in.Body.Password), FullName: given(in.Body.FullName), SendWelcome: given(in.Body.SendWelcomeEmail),
	}, in.Body.Roles.V)
	if err != nil {
		return nil, err
	}
	return web.Created("/api/users/"+v.ID.String(), plainUserOf(v)).WithETag(v.Version()), nil
}

type changeUserInput struct {
	ID web.ID `path:"id"`
	web.IfMatch
	Body struct {
		FullName    *string           `json:"fullName" required:"false" maxLength:"201" doc:"The first word is the first name; an empty text clears both."`
		PhoneNumber *string           `json:"phoneNumber" required:"false" maxLength:"32" doc:"Digits with + - ( ) and spaces; an empty text clears it."`
		IsActive    *bool             `json:"isActive" required:"false"`
		Roles       web.Opt[[]string] `json:"roles,omitzero" required:"false" doc:"Names of all roles that the user shall hold in this tenant, at most 50."`
	}
}

func (a *API) changeUser(ctx context.Context, in *changeUserInput) (*web.Reply[plainUser], error) {
	change := identity.UserChange{FullName: in.Body.FullName, PhoneNumber: in.Body.PhoneNumber, IsActive: in.Body.IsActive}
	return plainReply(a.Identity.UpdateUserByNames(ctx, in.ID.UUID, in.Fits, change, in.Body.Roles.Ptr()))
}

func (a *API) dropUser(ctx context.Context, in *deleteUserInput) (*web.Reply[web.None], error) {
	if err := a.Identity.DeleteUser(ctx, in.ID.UUID, in.Fits); err != nil {
		return nil, err
	}
	return web.Done("The user is removed."), nil
}

type addRolesInput struct {
	UserID web.ID `path:"userId"`
	Body   struct {
		RoleNames []string `json:"roleNames" minItems:"1" doc:"Names of at most 50 roles, in any case of letters."`
	}
}

func (a *API) addRoles(ctx context.Context, in *addRolesInput) (*web.Reply[plainUser], error) {
	v, err := a.Identity.AddRoles(ctx, in.UserID.UUID, in.Body.RoleNames)
	if err != nil {
		return nil, err
	}
	return web.OK(plainUserOf(v)).WithMessage("The roles are assigned."), nil
}
