package api

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"steward/internal/identity"
	"steward/internal/web"
)

type loginInput struct {
	AppID string `header:"X-App-Id" maxLength:"100" doc:"The app that the caller signs in to; wins over requestedAppId."`
	Body  struct {
		Email               string  `json:"email" minLength:"1" maxLength:"254" doc:"E-mail of the account."`
		Password            string  `json:"password" minLength:"1" maxLength:"4096" doc:"The password, or a compact JWE (RSA-OAEP-256, A256GCM) of it."`
		IsPasswordEncrypted *bool   `json:"isPasswordEncrypted,omitempty" default:"true" doc:"Whether the password may be a JWE. A value that is none is taken as it stands."`
		PreferredTenantID   *web.ID `json:"preferredTenantId,omitempty" doc:"Tenant to enter, if the account is bound to it."`
		RequestedAppID      string  `json:"requestedAppId,omitempty" maxLength:"100" doc:"The app that the caller signs in to."`
	}
}

// LimitKey makes the limit hold per address and e-mail.
func (in *loginInput) LimitKey() string { return strings.ToLower(in.Body.Email) }

type loginResult struct {
	Token                       string                      `json:"token" doc:"Access token, to be sent as Authorization: Bearer."`
	RefreshToken                string                      `json:"refreshToken" doc:"Good for one refresh."`
	ExpiresAt                   time.Time                   `json:"expiresAt" doc:"When the access token ends."`
	Permissions                 []string                    `json:"permissions" doc:"What the caller may do in the current tenant."`
	IsFirstLogin                bool                        `json:"isFirstLogin"`
	MustChangePassword          bool                        `json:"mustChangePassword"`
	DaysUntilPasswordExpiration *int                        `json:"daysUntilPasswordExpiration" doc:"null where passwords do not expire."`
	IsGlobal                    bool                        `json:"isGlobal" doc:"The token opens only the choice of a tenant."`
	RequiresTenantSelection     bool                        `json:"requiresTenantSelection" doc:"The caller must choose a tenant."`
	TokenType                   string                      `json:"tokenType" enum:"Tenant,Global"`
	CurrentTenant               web.Nullable[currentTenant] `json:"currentTenant" doc:"null with a global token."`
	SmartAutoSwitched           bool                        `json:"smartAutoSwitched" doc:"The tenant is the default of a caller with several who named none."`
}

type currentTenant struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	IsDefault   bool      `json:"isDefault"`
	Permissions []string  `json:"permissions"`
}

func loginResultOf(g identity.Grant) loginResult {
	r := loginResult{
		Token: g.Token, RefreshToken: g.RefreshToken, ExpiresAt: g.ExpiresAt, Permissions: g.Permissions,
		IsFirstLogin: g.IsFirstLogin, MustChangePassword: g.MustChangePassword, DaysUntilPasswordExpiration: g.DaysUntilExpiration,
		IsGlobal: g.IsGlobal(), RequiresTenantSelection: g.RequiresTenantSelection, TokenType: g.TokenType(),
		SmartAutoSwitched: g.SmartAutoSwitched,
	}
	if t := g.Tenant; t != nil {
		r.CurrentTenant.V = &currentTenant{ID: t.ID, Name: t.Name, IsDefault: t.IsDefault, Permissions: g.Permissions}
	}
	return r
}

func (a *API) login(ctx context.Context, in *loginInput) (*web.Reply[loginResult], error) {
	g, err := a.Identity.Login(ctx, identity.Login{
		Email: in.Body.Email, Password: in.Body.Password,
		Encrypted:       in.Body.IsPasswordEncrypted == nil || *in.Body.IsPasswordEncrypted,
		PreferredTenant: chosen(in.Body.PreferredTenantID), AppID: firstOf(in.AppID, in.Body.RequestedAppID),
	})
	if err != nil {
		return nil, err
	}
	return web.OK(loginResultOf(g)), nil
}

type socialInput struct {
	AppID string `header:"X-App-Id" maxLength:"100" doc:"The app that the caller signs in to."`
	Body  struct {
		Provider          string  `json:"provider" minLength:"1" maxLength:"50" doc:"google, microsoft, github, facebook or the name of a configured issuer."`
		AccessToken       string  `json:"accessToken" minLength:"1" maxLength:"16384" doc:"Token that the provider issued for this application."`
		PreferredTenantID *web.ID `json:"preferredTenantId,omitempty" doc:"Tenant to enter, if the account is bound to it."`
	}
}

func (a *API) socialLogin(ctx context.Context, in *socialInput) (*web.Reply[loginResult], error) {
	g, err := a.Identity.SocialLogin(ctx, identity.SocialLogin{
		Provider: in.Body.Provider, AccessToken: in.Body.AccessToken,
		PreferredTenant: chosen(in.Body.PreferredTenantID), AppID: in.AppID,
	})
	if err != nil {
		return nil, err
	}
	return web.OK(loginResultOf(g)), nil
}

type registerInput struct {
	Body struct {
		Email               string `json:"email" minLength:"1" maxLength:"254"`
		Password            string `json:"password" minLength:"1" maxLength:"4096" doc:"8 to 128 characters."`
		IsPasswordEncrypted bool   `json:"isPasswordEncrypted,omitempty" doc:"The password is a compact JWE, as at sign-in."`
		FullName            string `json:"fullName" minLength:"1" maxLength:"201" doc:"The first word is the first name."`
		PhoneNumber         string `json:"phoneNumber,omitempty" maxLength:"32" doc:"Digits with + - ( ) and spaces."`
	}
}

type registeredUser struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"email"`
	FullName  string    `json:"fullName"`
	CreatedAt time.Time `json:"createdAt"`
}

func (a *API) register(ctx context.Context, in *registerInput) (*web.Reply[registeredUser], error) {
	u, err := a.Identity.Register(ctx, identity.Registration{
		Email: in.Body.Email, Password: in.Body.Password, Encrypted: in.Body.IsPasswordEncrypted,
		FullName: in.Body.FullName, PhoneNumber: in.Body.PhoneNumber,
	})
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/users/"+u.ID.String(), registeredUser{ID: u.ID, Email: u.Email, FullName: u.FullName(), CreatedAt: u.CreatedAt.Time}), nil
}

type refreshInput struct {
	Body struct {
		RefreshToken string  `json:"refreshToken" minLength:"1" maxLength:"512"`
		TenantID     *web.ID `json:"tenantId,omitempty" doc:"Tenant to move the session to."`
	}
}

type refreshResult struct {
	Token        string    `json:"token"`
	RefreshToken string    `json:"refreshToken"`
	ExpiresAt    time.Time `json:"expiresAt"`
	Permissions  []string  `json:"permissions"`
	IsGlobal     bool      `json:"isGlobal"`
	TokenType    string    `json:"tokenType" enum:"Tenant,Global"`
}

func (a *API) refresh(ctx context.Context, in *refreshInput) (*web.Reply[refreshResult], error) {
	g, err := a.Identity.Refresh(ctx, in.Body.RefreshToken, chosen(in.Body.TenantID))
	if err != nil {
		return nil, err
	}
	return web.OK(refreshResult{
		Token: g.Token, RefreshToken: g.RefreshToken, ExpiresAt: g.ExpiresAt,
		Permissions: g.Permissions, IsGlobal: g.IsGlobal(), TokenType: g.TokenType(),
	}), nil
}

type switchInput struct {
	Body struct {
		TenantID web.ID `json:"tenantId" doc:"Tenant to enter."`
	}
}

type switchResult struct {
	Token         string         `json:"token"`
	RefreshToken  string         `json:"refreshToken"`
	ExpiresAt     time.Time      `json:"expiresAt"`
	IsGlobal      bool           `json:"isGlobal"`
	TokenType     string         `json:"tokenType" enum:"Tenant,Global"`
	CurrentTenant switchedTenant `json:"currentTenant"`
}

type switchedTenant struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	IsDefault bool      `json:"isDefault"`
}

func (a *API) switchTenant(ctx context.Context, in *switchInput) (*web.Reply[switchResult], error) {
	g, err := a.Identity.SwitchTenant(ctx, in.Body.TenantID.UUID)
	if err != nil {
		return nil, err
	}
	return web.OK(switchResult{
		Token: g.Token, RefreshToken: g.RefreshToken, ExpiresAt: g.ExpiresAt, IsGlobal: g.IsGlobal(), TokenType: g.TokenType(),
		CurrentTenant: switchedTenant(*g.Tenant),
	}), nil
}

func (a *API) logout(ctx context.Context, _ *struct{}) (*web.Reply[web.None], error) {
	if err := a.Identity.Logout(ctx); err != nil {
		return nil, err
	}
	return web.Done("You are signed out everywhere."), nil
}

// chosen is the nil id where none was given.
func chosen(id *web.ID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return id.UUID
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
