package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"steward/internal/app"
	"steward/internal/config"
	"steward/internal/fault"
	"steward/internal/identity"
)

type importPermissionsCommand struct {
	File   string              `arg:"" help:"CSV or JSON file; - reads the standard input."`
	Mode   identity.ImportMode `env:"-" help:"How a JSON file is laid out: Permissions or Catalog." default:"Permissions"`
	Upsert bool                `env:"-" help:"Update permissions that exist instead of skipping them."`
	DryRun bool                `env:"-" help:"Write nothing and tell what would happen."`
}

func (c *importPermissionsCommand) Run(ctx context.Context, cfg *config.Config) error {
	content, err := readFile(c.File)
	if err != nil {
		return err
	}
	rows, err := identity.ReadPermissionFile(content, c.Mode)
	if err != nil {
		return aboutFile(c.File, err)
	}
	return withApp(ctx, cfg, func(a *app.App) error {
		// The shipped permissions come first: an import must not take their codes.
		if err := a.Bootstrap(ctx); err != nil {
			return err
		}
		result, err := a.Identity.ImportPermissions(ctx, identity.PermissionImport{Mode: c.Mode, Upsert: c.Upsert, DryRun: c.DryRun, Rows: rows})
		if err != nil {
			return err
		}
		return printImport(os.Stdout, result)
	})
}

func readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

// aboutFile says of the file what the API says of its field.
func aboutFile(name string, err error) error {
	if f, ok := fault.From(err); ok && len(f.Fields) > 0 {
		return fmt.Errorf("%s %s", name, f.Fields[0].Message)
	}
	return err
}

// printImport writes the summary and what is wrong with each failed row, which is an error of the
// command.
func printImport(to io.Writer, r identity.ImportResult) error {
	if r.DryRun {
		fmt.Fprintln(to, "This is a dry run: nothing is written.")
	}
	fmt.Fprintf(to, "%d permissions: %d created, %d updated, %d unchanged, %d skipped, %d failed.\n",
		r.Total, r.Created, r.Updated, r.Unchanged, r.Skipped, r.Failed)
	if r.Failed == 0 {
		return nil
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ROW\tCODE\tWHAT IS WRONG")
	for _, row := range r.Rows {
		if row.Outcome == identity.RowFailed {
			fmt.Fprintf(table, "%d\t%q\t%s\n", row.Row, row.Code, strings.Join(row.Errors, "; "))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return fmt.Errorf("%d of %d rows failed; nothing was written", r.Failed, r.Total)
}
