package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/scope"
	"steward/internal/web"
)

type meInput struct {
	web.Bearer
	Include string `query:"include" enum:"profile" doc:"profile for the profile form."`
}

// currentUser is the basic form, as the token has it.
type currentUser struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	Email       string    `json:"email"`
	Roles       []string  `json:"roles"`
	Permissions []string  `json:"permissions"`
}

// userProfile is the profile form, as the store has it.
type userProfile struct {
	ID                uuid.UUID        `json:"id"`
	Email             string           `json:"email"`
	FullName          string           `json:"fullName"`
	PhoneNumber       string           `json:"phoneNumber"`
	ProfilePictureURL string           `json:"profilePictureUrl"`
	EmailConfirmed    bool             `json:"emailConfirmed"`
	Roles             []string         `json:"roles"`
	Permissions       []string         `json:"permissions"`
	Tenants           []switchedTenant `json:"tenants"`
	CreatedAt         time.Time        `json:"createdAt"`
	LastLoginAt       *time.Time       `json:"lastLoginAt"`
}

func (a *API) me(ctx context.Context, in *meInput) (*web.Reply[web.OneOf[currentUser, userProfile]], error) {
	if in.Include == "profile" {
		p, err := a.Identity.Profile(ctx)
		if err != nil {
			return nil, err
		}
		return web.OK(web.Second[currentUser](profileOf(p))), nil
	}
	c, err := a.Identity.Claims(in.Token())
	if err != nil {
		return nil, err
	}
	return web.OK(web.First[currentUser, userProfile](currentUser{
		ID: c.UserID, Name: c.Name, Email: c.Email, Roles: c.Roles, Permissions: c.Permissions,
	})), nil
}

func (a *API) meComplete(ctx context.Context, _ *struct{}) (*web.Reply[userProfile], error) {
	p, err := a.Identity.Profile(ctx)
	if err != nil {
		return nil, err
	}
	return web.OK(profileOf(p)), nil
}

func profileOf(p *identity.Profile) userProfile {
	u := p.User
	profile := userProfile{
		ID: u.ID, Email: u.Email, FullName: u.FullName(), PhoneNumber: u.PhoneNumber,
		ProfilePictureURL: u.ProfilePictureURL, EmailConfirmed: u.EmailConfirmed,
		Roles: p.Roles, Permissions: p.Permissions, Tenants: make([]switchedTenant, len(p.Tenants)),
		CreatedAt: u.CreatedAt.Time,
	}
	for i, t := range p.Tenants {
		profile.Tenants[i] = switchedTenant(t)
	}
	if u.LastLoginAt != nil {
		profile.LastLoginAt = &u.LastLoginAt.Time
	}
	return profile
}

type session struct {
	ID         uuid.UUID  `json:"id"`
	TenantID   *uuid.UUID `json:"tenantId" doc:"null where no tenant was chosen yet."`
	TenantName *string    `json:"tenantName"`
	AppID      string     `json:"appId" doc:"App that the session was opened for, or empty."`
	Device     string     `json:"device" doc:"What the client calls itself."`
	Address    string     `json:"address" doc:"Where the session was opened from."`
	IsCurrent  bool       `json:"isCurrent" doc:"The session of this call."`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt time.Time  `json:"lastUsedAt" doc:"When it was last refreshed."`
	ExpiresAt  time.Time  `json:"expiresAt"`
}

func (a *API) sessions(ctx context.Context, _ *struct{}) (*web.Reply[web.List[session]], error) {
	own, err := a.Identity.OwnSessions(ctx)
	if err != nil {
		return nil, err
	}
	current := scope.ActorFrom(ctx).SessionID
	items := make([]session, len(own))
	for i, s := range own {
		items[i] = session{
			ID: s.ID, TenantID: s.TenantID, TenantName: s.TenantName, AppID: s.AppID, Device: s.Device, Address: s.Address,
			IsCurrent: s.ID == current, CreatedAt: s.CreatedAt.Time, LastUsedAt: s.LastUsedAt.Time, ExpiresAt: s.ExpiresAt.Time,
		}
	}
	return web.OK(web.List[session]{Items: items, TotalCount: len(items), Page: 1, PageSize: len(items), TotalPages: 1}), nil
}

type sessionInput struct {
	ID uuid.UUID `path:"id" format:"uuid"`
}

func (a *API) endSession(ctx context.Context, in *sessionInput) (*web.Reply[web.None], error) {
	if err := a.Identity.EndOwnSession(ctx, in.ID); err != nil {
		return nil, err
	}
	return web.Done("The session is ended."), nil
}
