// Command steward runs the back office and looks after its store.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"steward/internal/config"
)

// version is set when a release is built.
var version = "0.1.0-dev"

type commandLine struct {
	config.Config
	File config.File `name:"config" help:"YAML file with settings." placeholder:"FILE" env:"STEWARD_CONFIG"`

	Serve             serveCommand             `cmd:"" help:"Serve the API and the pages."`
	Migrate           migrateCommand           `cmd:"" help:"Bring the store to the version of this program and exit."`
	User              userCommand              `cmd:"" help:"Look after accounts."`
	Keys              keysCommand              `cmd:"" help:"Look after the keys that sign tokens."`
	Mailbox           mailboxCommand           `cmd:"" help:"Read the built-in mailbox."`
	ImportPermissions importPermissionsCommand `cmd:"" help:"Add permissions of a CSV or JSON file to the catalogue, all or none."`
	Backup            backupCommand            `cmd:"" help:"Copy the SQLite store to a file, also while it is in use."`
	OpenAPI           openapiCommand           `cmd:"" name:"openapi" help:"Print the OpenAPI document."`
	Version           versionCommand           `cmd:"" help:"Print the version."`
}

// exitUsage is the exit code of a command line or a setting that cannot work.
const exitUsage = 2

func main() {
	cli := &commandLine{}
	parser := kong.Must(cli,
		kong.Name("steward"), kong.Description("The back office of a multi-tenant product."),
		kong.DefaultEnvars("STEWARD"), kong.Configuration(config.LoadFile),
		kong.Vars{"dev_email": config.DevAdminEmail, "dev_password": config.DevAdminPassword},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	command, err := parser.Parse(os.Args[1:])
	if err == nil {
		err = cli.Check()
	}
	if err != nil {
		fail(err, exitUsage)
	}
	for _, name := range config.Unknown(parser.Model, os.Environ()) {
		newLog(&cli.Config).Warn("the variable is no setting of this version", "name", name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(&cli.Config); err != nil {
		var refusal *config.Refusal
		if errors.As(err, &refusal) {
			fail(err, exitUsage)
		}
		fail(err, 1)
	}
}

// fail ends the program with one line about why.
func fail(err error, code int) {
	fmt.Fprintln(os.Stderr, "steward:", strings.ReplaceAll(err.Error(), "\n", "; "))
	os.Exit(code)
}

func newLog(cfg *config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // checked with the configuration
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
