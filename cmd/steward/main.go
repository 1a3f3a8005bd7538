// Command steward runs the back office and looks after its store.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"steward/internal/app"
	"steward/internal/config"
)

// version is set when a release is built.
var version = "0.1.0-dev"

type commandLine struct {
	config.Config
	File kong.ConfigFlag `name:"config" help:"YAML file with settings." placeholder:"FILE" env:"STEWARD_CONFIG"`

	Serve   serveCommand   `cmd:"" help:"Serve the API and the pages."`
	Migrate migrateCommand `cmd:"" help:"Bring the store to the version of this program and exit."`
	User    userCommand    `cmd:"" help:"Look after accounts."`
	Keys    keysCommand    `cmd:"" help:"Look after the keys that sign tokens."`
	Mailbox mailboxCommand `cmd:"" help:"Read the built-in mailbox."`
	Backup  backupCommand  `cmd:"" help:"Copy the SQLite store to a file, also while it is in use."`
	OpenAPI openapiCommand `cmd:"" name:"openapi" help:"Print the OpenAPI document."`
	Version versionCommand `cmd:"" help:"Print the version."`
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
		fmt.Fprintln(os.Stderr, "steward:", oneLine(err))
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(&cli.Config); err != nil {
		fmt.Fprintln(os.Stderr, "steward:", oneLine(err))
		os.Exit(1)
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// open joins the program for one command.
func open(ctx context.Context, cfg *config.Config) (*app.App, error) {
	return app.New(ctx, app.Options{Config: *cfg, Version: version, Log: newLog(cfg), Out: os.Stdout})
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
