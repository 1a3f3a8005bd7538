package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"steward/internal/app"
	"steward/internal/config"
	"steward/internal/identity"
)

type serveCommand struct{}

func (serveCommand) Run(ctx context.Context, cfg *config.Config) error {
	return start(ctx, cfg, func(a *app.App) error {
		// The address first: a password that is shown only once must not be shown in vain.
		if err := a.Listen(); err != nil {
			return err
		}
		if err := a.Bootstrap(ctx); err != nil {
			return err
		}
		return a.Run(ctx)
	})
}

// start joins the program on a store that it makes where there is none, runs fn and closes the store
// whatever happened.
func start(ctx context.Context, cfg *config.Config, fn func(*app.App) error) error {
	a, err := app.New(ctx, app.Options{Config: *cfg, Version: version, Log: newLog(cfg), Out: os.Stdout, Hash: tune()})
	if err != nil {
		return err
	}
	return errors.Join(fn(a), a.Close())
}

// withApp is start for commands that look after a store: a mistyped folder must not become one.
func withApp(ctx context.Context, cfg *config.Config, fn func(*app.App) error) error {
	if err := requireStore(cfg); err != nil {
		return err
	}
	return start(ctx, cfg, fn)
}

func requireStore(cfg *config.Config) error {
	if !app.StoreExists(cfg) {
		return config.Refuse("data-dir", "there is no store in %s; steward serve makes one", cfg.DataDir)
	}
	return nil
}

type migrateCommand struct{}

func (migrateCommand) Run(ctx context.Context, cfg *config.Config) error {
	return start(ctx, cfg, func(*app.App) error {
		fmt.Println("The store is up to date.")
		return nil
	})
}

type userCommand struct {
	Create        userCreateCommand        `cmd:"" help:"Make an account in the default tenant."`
	ResetPassword userResetPasswordCommand `cmd:"" help:"Give an account a new password and end its sessions."`
	Unlock        userUnlockCommand        `cmd:"" help:"Lift a lockout."`
}

type userCreateCommand struct {
	Email    string `arg:"" help:"E-mail of the account."`
	Name     string `help:"Full name." env:"-"`
	Password string `env:"-" help:"Password; without one the person gets a mail with a link to choose it."`
	Role     string `env:"-" help:"Role in the default tenant." default:"Member"`
}

func (c *userCreateCommand) Run(ctx context.Context, cfg *config.Config) error {
	return withApp(ctx, cfg, func(a *app.App) error {
		if err := a.Bootstrap(ctx); err != nil {
			return err
		}
		u, err := a.Identity.CreateAccount(ctx, identity.NewAccount{Email: c.Email, FullName: c.Name, Password: c.Password, Role: c.Role})
		if err != nil {
			return err
		}
		fmt.Printf("Made %s (%s) with the role %s.\n", u.Email, u.ID, c.Role)
		if c.Password == "" {
			fmt.Printf("The mail with the link is in the mailbox: steward mailbox list --to %s\n", u.Email)
		}
		return nil
	})
}

type userResetPasswordCommand struct {
	Email    string `arg:"" help:"E-mail of the account."`
	Password string `env:"-" help:"New password; generated and printed where left out."`
}

func (c *userResetPasswordCommand) Run(ctx context.Context, cfg *config.Config) error {
	return withApp(ctx, cfg, func(a *app.App) error {
		password := c.Password
		if password == "" {
			password = rand.Text()
		}
		if err := a.Identity.SetPassword(ctx, c.Email, password); err != nil {
			return err
		}
		if c.Password == "" {
			fmt.Printf("The new password of %s is %s\n", c.Email, password)
			return nil
		}
		fmt.Printf("The password of %s is set.\n", c.Email)
		return nil
	})
}

type userUnlockCommand struct {
	Email string `arg:"" help:"E-mail of the account."`
}

func (c *userUnlockCommand) Run(ctx context.Context, cfg *config.Config) error {
	return withApp(ctx, cfg, func(a *app.App) error {
		if err := a.Identity.Unlock(ctx, c.Email); err != nil {
			return err
		}
		fmt.Printf("%s is unlocked.\n", c.Email)
		return nil
	})
}

type keysCommand struct {
	Rotate keysRotateCommand `cmd:"" help:"Sign with a new key from now on; tokens signed with the old one stay good."`
}

type keysRotateCommand struct{}

func (keysRotateCommand) Run(ctx context.Context, cfg *config.Config) error {
	return withApp(ctx, cfg, func(a *app.App) error {
		if err := a.Keyring.Rotate(ctx); err != nil {
			return err
		}
		fmt.Println("New keys are in use. The old ones stay published until their last token has ended.")
		return nil
	})
}

type mailboxCommand struct {
	List mailboxListCommand `cmd:"" help:"List the newest messages."`
	Show mailboxShowCommand `cmd:"" help:"Print one message."`
}

type mailboxListCommand struct {
	To  string `env:"-" help:"Only messages to this address."`
	Max int    `env:"-" help:"Most messages to list." default:"20"`
}

func (c *mailboxListCommand) Run(ctx context.Context, cfg *config.Config) error {
	return withApp(ctx, cfg, func(a *app.App) error {
		messages, err := a.Mail.Newest(ctx, c.To, min(max(c.Max, 1), 1000))
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tWHEN\tTO\tSUBJECT")
		for _, m := range messages {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", m.ID, m.CreatedAt.Format(time.DateTime), m.Recipient, m.Subject)
		}
		return table.Flush()
	})
}

type mailboxShowCommand struct {
	ID string `arg:"" help:"Id from the list, or latest."`
}

func (c *mailboxShowCommand) Run(ctx context.Context, cfg *config.Config) error {
	return withApp(ctx, cfg, func(a *app.App) error {
		id, err := c.find(ctx, a)
		if err != nil {
			return err
		}
		m, err := a.Mail.Message(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("there is no message %s", c.ID)
		}
		if err != nil {
			return err
		}
		fmt.Printf("From: %s\nTo: %s\nDate: %s\nSubject: %s\n\n%s", m.Sender, m.Recipient, m.CreatedAt.Format(time.RFC1123Z), m.Subject, m.Text)
		return nil
	})
}

func (c *mailboxShowCommand) find(ctx context.Context, a *app.App) (uuid.UUID, error) {
	if c.ID != "latest" {
		id, err := uuid.Parse(c.ID)
		if err != nil {
			return id, fmt.Errorf("%q is neither an id nor latest", c.ID)
		}
		return id, nil
	}
	newest, err := a.Mail.Newest(ctx, "", 1)
	if err != nil {
		return uuid.Nil, err
	}
	if len(newest) == 0 {
		return uuid.Nil, errors.New("the mailbox is empty")
	}
	return newest[0].ID, nil
}

type backupCommand struct {
	To string `arg:"" name:"file" help:"File to write; it must not exist."`
}

func (c *backupCommand) Run(ctx context.Context, cfg *config.Config) error {
	if err := requireStore(cfg); err != nil {
		return err
	}
	return app.Backup(ctx, *cfg, newLog(cfg), c.To)
}

type openapiCommand struct{}

func (openapiCommand) Run() error {
	document, err := app.OpenAPI(version)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(document)
	return err
}

type versionCommand struct{}

func (versionCommand) Run() error {
	fmt.Println("steward", version)
	return nil
}
