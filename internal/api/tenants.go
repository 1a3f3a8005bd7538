package api

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/fault"
	"steward/internal/identity"
	"steward/internal/web"
)

// TenantOptions is what both bodies may say of a tenant; left out or null means nothing is said.
type TenantOptions struct {
	Domain         *string        `json:"domain" required:"false" maxLength:"253" doc:"Host name of the tenant; an empty text means none."`
	Type           *string        `json:"type" required:"false" enum:"Standard,Group" doc:"Standard in a new tenant that does not say."`
	ParentTenantID *string        `json:"parentTenantId" required:"false" pattern:"^$|^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$" patternDescription:"a UUID, or empty for none" doc:"A tenant of the type Group; an empty text means none."`
	IsActive       *bool          `json:"isActive" required:"false" doc:"True in a new tenant that does not say."`
	MaxUsers       *int           `json:"maxUsers" required:"false" minimum:"0" maximum:"2147483647" doc:"How many users may be bound; 0 means no limit. Fewer than there are keeps newcomers out and sends nobody away."`
	Settings       *settingsInput `json:"settings" required:"false"`
}

type settingsInput struct {
	Timezone *string `json:"timezone" required:"false" maxLength:"64" doc:"Name of a zone in the IANA database; an empty text means UTC."`
	Language *string `json:"language" required:"false" maxLength:"35" doc:"Tag of a language (BCP 47); an empty text means en."`
}

type createTenant struct {
	Name       string  `json:"name" minLength:"1" maxLength:"200"`
	Identifier *string `json:"identifier" required:"false" pattern:"^[A-Za-z0-9_-]{0,100}$" patternDescription:"made of letters, digits, hyphens and underscores, at most 100" doc:"Unique, in any case. Made from the name where left out or empty."`
	TenantOptions
}

type createTenantInput struct{ Body createTenant }

type updateTenant struct {
	Name       *string `json:"name" required:"false" minLength:"1" maxLength:"200"`
	Identifier *string `json:"identifier" required:"false" pattern:"^[A-Za-z0-9_-]{1,100}$" patternDescription:"made of letters, digits, hyphens and underscores, at most 100" doc:"Unique, in any case. The default tenant keeps its own."`
	TenantOptions
}

type updateTenantInput struct {
	tenantPath
	web.IfMatch
	Body updateTenant
}

type tenantPath struct {
	ID web.ID `path:"id"`
}

// fields is what the body says, with the name and the identifier that each body has in its own way.
func (o TenantOptions) fields(name, identifier *string) (identity.TenantFields, error) {
	f := identity.TenantFields{
		Name: name, Identifier: identifier, Domain: o.Domain, Type: o.Type, IsActive: o.IsActive, MaxUsers: o.MaxUsers,
	}
	if o.Settings != nil {
		f.Timezone, f.Language = o.Settings.Timezone, o.Settings.Language
	}
	if o.ParentTenantID == nil {
		return f, nil
	}
	f.Parent = &uuid.UUID{}
	if *o.ParentTenantID == "" {
		return f, nil
	}
	parent, err := uuid.Parse(*o.ParentTenantID)
	if err != nil || parent == uuid.Nil {
		return f, fault.Invalid("parentTenantId", "must be the id of a tenant, or empty for none")
	}
	f.Parent = &parent
	return f, nil
}

func (a *API) createTenant(ctx context.Context, in *createTenantInput) (*web.Reply[identity.Tenant], error) {
	fields, err := in.Body.fields(&in.Body.Name, in.Body.Identifier)
	if err != nil {
		return nil, err
	}
	t, err := a.Identity.CreateTenant(ctx, fields)
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/tenants/"+t.ID.String(), t).WithETag(t.Version()), nil
}

type getTenantInput struct {
	tenantPath
	IncludeDeleted bool `query:"includeDeleted" doc:"Answers a deleted tenant too, to callers who may delete."`
}

func (a *API) getTenant(ctx context.Context, in *getTenantInput) (*web.Reply[identity.Tenant], error) {
	t, err := a.Identity.GetTenant(ctx, in.ID.UUID, in.IncludeDeleted)
	if err != nil {
		return nil, err
	}
	return web.OK(t).WithETag(t.Version()), nil
}

func (a *API) updateTenant(ctx context.Context, in *updateTenantInput) (*web.Reply[identity.Tenant], error) {
	fields, err := in.Body.fields(in.Body.Name, in.Body.Identifier)
	if err != nil {
		return nil, err
	}
	t, err := a.Identity.UpdateTenant(ctx, in.ID.UUID, in.Fits, fields)
	if err != nil {
		return nil, err
	}
	return web.OK(t).WithETag(t.Version()), nil
}

type deleteTenantInput struct {
	tenantPath
	web.IfMatch
}

func (a *API) deleteTenant(ctx context.Context, in *deleteTenantInput) (*web.Reply[web.None], error) {
	if err := a.Identity.DeleteTenant(ctx, in.ID.UUID, in.Fits); err != nil {
		return nil, err
	}
	return web.Done(""), nil
}

func (a *API) currentTenant(ctx context.Context, _ *struct{}) (*web.Reply[identity.Tenant], error) {
	t, err := a.Identity.CurrentTenant(ctx)
	if err != nil {
		return nil, err
	}
	return web.OK(t).WithETag(t.Version()), nil
}
