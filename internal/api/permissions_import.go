package api

import (
	"context"

	"steward/internal/identity"
	"steward/internal/web"
)

// maxImportFile is how large the form with a file may be.
const maxImportFile = 10 << 20

type permissionImportRequestDto identity.PermissionDocument

type permissionImportResultDto identity.ImportResult

// importOptions says how an import goes.
type importOptions struct {
	Mode   string `query:"mode" enum:"Permissions,Catalog" default:"Permissions" doc:"How the permissions are laid out, in any case."`
	Upsert bool   `query:"upsert" doc:"Updates permissions that exist, which are skipped otherwise."`
	DryRun bool   `query:"dryRun" doc:"Writes nothing and tells what would happen."`
}

func (a *API) runImport(ctx context.Context, o importOptions, rows []identity.PermissionRow) (*web.Reply[permissionImportResultDto], error) {
	result, err := a.Identity.ImportPermissions(ctx, identity.PermissionImport{Mode: o.mode(), Upsert: o.Upsert, DryRun: o.DryRun, Rows: rows})
	if err != nil {
		return nil, err
	}
	return web.OK(permissionImportResultDto(result)), nil
}

func (o importOptions) mode() identity.ImportMode { return identity.ImportMode(o.Mode) }

type importPermissionsInput struct {
	importOptions
	Body permissionImportRequestDto
}

func (a *API) importPermissions(ctx context.Context, in *importPermissionsInput) (*web.Reply[permissionImportResultDto], error) {
	rows, err := identity.PermissionDocument(in.Body).Rows(in.mode())
	if err != nil {
		return nil, err
	}
	return a.runImport(ctx, in.importOptions, rows)
}

type importPermissionFileInput struct {
	importOptions
	File web.Upload `form:"file" doc:"CSV (RFC 4180, UTF-8) whose first line names the columns code, description and category in any order, or JSON as the import by body takes it. Which of the two is told by the content."`
}

func (a *API) importPermissionFile(ctx context.Context, in *importPermissionFileInput) (*web.Reply[permissionImportResultDto], error) {
	rows, err := identity.ReadPermissionFile(in.File.Content, in.mode())
	if err != nil {
		return nil, err
	}
	return a.runImport(ctx, in.importOptions, rows)
}

type importTemplateInput struct {
	Format string `query:"format" enum:"Csv,Json" default:"Csv" doc:"In any case."`
	Mode   string `query:"mode" enum:"Permissions,Catalog" default:"Permissions" doc:"In any case. The CSV file of both modes has the same columns."`
}

func (a *API) importTemplate(_ context.Context, in *importTemplateInput) (*web.Reply[web.File], error) {
	mode, name := identity.ImportMode(in.Mode), "permissions"
	if mode == identity.ImportCatalog {
		name = "permission-catalog"
	}
	file := web.File{Name: name + ".csv", ContentType: "text/csv"}
	var err error
	if in.Format == "Json" {
		file.Name, file.ContentType = name+".json", "application/json"
		file.Content, err = identity.PermissionTemplateJSON(mode)
	} else {
		file.Content, err = identity.PermissionTemplateCSV()
	}
	if err != nil {
		return nil, err
	}
	return web.OK(file), nil
}
