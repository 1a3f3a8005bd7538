package identity

import (
	"context"
	"strings"

	"steward/internal/fault"
	"steward/internal/resource"
)

// App is an application whose users sign in here. Apps belong to no tenant.
type App struct {
	resource.Record
	AppID       string `json:"appId" db:"app_id" doc:"What clients send as X-App-Id."`
	AppKey      string `json:"-" db:"app_id_key"` // unique among apps that are not deleted
	Name        string `json:"name" db:"name"`
	Description string `json:"description" db:"description"`
	IsActive    bool   `json:"isActive" db:"is_active" doc:"Nobody signs in to an app that is not active."`
	resource.SoftDeletable
}

// CreateApp is the body that makes an app.
type CreateApp struct {
	AppID       string `json:"appId" minLength:"1" maxLength:"100" pattern:"^[A-Za-z0-9._-]*$" patternDescription:"made of letters, digits, dots, underscores and hyphens" doc:"Unique, in any case."`
	Name        string `json:"name" minLength:"1" maxLength:"200" pattern:"^$|\\S" patternDescription:"more than spaces"`
	Description string `json:"description" required:"false" maxLength:"1000"`
	IsActive    *bool  `json:"isActive" required:"false" doc:"True where left out."`
}

// UpdateApp is the body that changes an app; what is left out or null stays as it is.
type UpdateApp struct {
	AppID       *string `json:"appId" required:"false" minLength:"1" maxLength:"100" pattern:"^[A-Za-z0-9._-]*$" patternDescription:"made of letters, digits, dots, underscores and hyphens"`
	Name        *string `json:"name" required:"false" minLength:"1" maxLength:"200" pattern:"^$|\\S" patternDescription:"more than spaces"`
	Description *string `json:"description" required:"false" maxLength:"1000" doc:"An empty text clears it."`
	IsActive    *bool   `json:"isActive" required:"false"`
}

// AppQuery is what the list of apps takes.
type AppQuery struct {
	resource.Params
	IsActive *bool `query:"isActive" doc:"Only apps that are active, or only those that are not."`
}

// Apps declares the resource.
var Apps = resource.Definition[App, CreateApp, UpdateApp, AppQuery]{
	Name:          "apps",
	Singular:      "app",
	Table:         "apps",
	Search:        []string{"appId", "name"},
	NotFound:      fault.AppNotFound,
	AlreadyExists: fault.AppAlreadyExists,
	New:           newApp,
	Apply:         applyApp,
	Examples: resource.Examples[CreateApp, UpdateApp]{
		Create: CreateApp{AppID: "payroll", Name: "Payroll", Description: "Salaries and payslips"},
		Update: UpdateApp{Name: new("Payroll and expenses")},
	},
}

func newApp(_ context.Context, body CreateApp) (App, error) {
	app := App{AppID: body.AppID, Name: body.Name, Description: body.Description, IsActive: true}
	resource.Set(&app.IsActive, body.IsActive)
	app.normalise()
	return app, nil
}

func applyApp(_ context.Context, app *App, body UpdateApp) error {
	resource.Set(&app.AppID, body.AppID)
	resource.Set(&app.Name, body.Name)
	resource.Set(&app.Description, body.Description)
	resource.Set(&app.IsActive, body.IsActive)
	app.normalise()
	return nil
}

func (a *App) normalise() {
	a.AppKey = strings.ToLower(a.AppID)
	a.Name = strings.TrimSpace(a.Name)
}
