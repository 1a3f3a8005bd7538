// Package app joins the rooms by hand, starts them and stops them.
package app

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"steward/internal/api"
	"steward/internal/config"
	"steward/internal/db"
	"steward/internal/identity"
	"steward/internal/notify"
	"steward/internal/resource"
	"steward/internal/web"
)

// answerFloor hides whether an account exists in calls that may not tell; it is well above what a
// write of the store takes.
const answerFloor = 150 * time.Millisecond

// Options is what an App is made of.
type Options struct {
	Config  config.Config // checked
	Version string
	Log     *slog.Logger
	Now     func() time.Time // nil: the clock
	Out     io.Writer        // where people are told things; nil: nowhere
	Hash    identity.HasherOptions
	NewKey  func(use string) (crypto.Signer, error) // nil: fresh keys
}

// App is the whole program: every room, joined.
type App struct {
	Identity *identity.Service
	Mail     *notify.Service
	Keyring  *identity.Keyring

	cfg     config.Config
	log     *slog.Logger
	out     io.Writer
	db      *db.DB
	issuer  string
	signer  *identity.Signer
	server  *web.Server
	tracing *tracing

	listeners map[net.Listener]*http.Server
	address   string
}

// StoreExists reports whether the embedded store was made already; with PostgreSQL the server answers
// for that.
func StoreExists(c *config.Config) bool { return c.DatabaseURL != "" || db.Exists(c.DataDir) }

// New opens and migrates the store and joins the rooms. It serves nothing yet.
func New(ctx context.Context, o Options) (*App, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	a := &App{cfg: o.Config, log: o.Log, out: o.Out}
	var err error
	a.db, err = db.Open(ctx, db.Options{URL: o.Config.DatabaseURL, DataDir: o.Config.DataDir, Log: o.Log, MaxConns: o.Config.DatabaseConns})
	if err != nil {
		return nil, err
	}
	if err := a.join(ctx, o); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) join(ctx context.Context, o Options) error {
	if err := a.db.Migrate(ctx); err != nil {
		return err
	}
	hasher, err := a.joinIdentity(ctx, o)
	if err != nil {
		return err
	}
	if a.tracing, err = startTracing(ctx, o.Config.OTLPEndpoint, o.Version); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	a.register(registry, hasher)
	proxies, err := o.Config.ProxyNetworks()
	if err != nil {
		return err
	}
	a.server = web.New(web.Options{
		Log: o.Log, Auth: a.Identity, DB: a.db, Version: o.Version, Now: o.Now, Registry: registry, Tracer: a.tracing.provider(),
		PublicURL: o.Config.PublicURL, ErrorsBase: o.Config.ErrorsBase, TrustedProxies: proxies, CORSOrigins: o.Config.CORSOrigins,
		Timeout: o.Config.Timeout, Limits: limits(o.Config), LimitsOff: o.Config.RateLimits == "off",
		Ready: a.ready, MetricsElsewhere: o.Config.MetricsListen != "",
	})
	routes(a.Identity, a.db, o.Now, a.issuer).Mount(a.server)
	return a.db.Start(context.WithoutCancel(ctx))
}

func (a *App) joinIdentity(ctx context.Context, o Options) (*identity.Hasher, error) {
	vault, err := identity.NewVault(o.Config.MasterKey)
	if err != nil {
		return nil, err
	}
	if a.issuer, err = identity.AgreeOnIssuer(ctx, a.db, o.Config.PublicURL, o.Config.PublicURLIsGuessed()); err != nil {
		return nil, err
	}
	if a.Keyring, err = identity.OpenKeyring(ctx, identity.KeyringOptions{DB: a.db, Vault: vault, Log: o.Log, Now: o.Now, Generate: o.NewKey}); err != nil {
		return nil, err
	}
	social, err := newSocial(o.Config)
	if err != nil {
		return nil, err
	}
	hasher := identity.NewHasher(o.Hash)
	a.signer = identity.NewSigner(identity.SignerOptions{Keyring: a.Keyring, Issuer: a.issuer, Now: o.Now})
	a.Mail = notify.New(a.db, o.Config.MailFrom, o.Now)
	a.Identity = identity.New(identity.Options{
		DB: a.db, Mail: a.Mail, Hasher: hasher, Keyring: a.Keyring, Signer: a.signer, Social: social,
		Log: o.Log, Now: o.Now, Config: o.Config, AnswerFloor: answerFloor,
	})
	return hasher, nil
}

func newSocial(c config.Config) (*identity.Social, error) {
	providers, err := c.SocialProviders()
	if err != nil {
		return nil, err
	}
	social := identity.SocialConfig{}
	for _, p := range providers {
		social.Providers = append(social.Providers, identity.ProviderConfig(p))
	}
	return identity.NewSocial(social)
}

func routes(service *identity.Service, d *db.DB, now func() time.Time, issuer string) *api.API {
	return &api.API{Identity: service, Apps: resource.New(d, now, identity.Apps), APIKeys: resource.New(d, now, service.APIKeys()), Issuer: issuer}
}

func limits(c config.Config) map[string]web.Limit {
	return map[string]web.Limit{
		"login":         web.Limit(c.LimitLogin),
		"login-address": web.Limit(c.LimitLoginAddress),
		"register":      web.Limit(c.LimitRegister),
		"reset":         web.Limit(c.LimitReset),
		"identity":      web.Limit(c.LimitIdentity),
		"general":       web.Limit(c.LimitGeneral),
	}
}

// OpenAPI is the document of every route; it needs no store.
func OpenAPI(version string) ([]byte, error) {
	server := web.New(web.Options{Version: version, PublicURL: "http://127.0.0.1:8080", ErrorsBase: "http://127.0.0.1:8080/problems"})
	routes(nil, nil, time.Now, "").Mount(server)
	return server.OpenAPI()
}

// Bootstrap prepares an empty store and tells the operator how to sign in, once.
func (a *App) Bootstrap(ctx context.Context) error {
	admin, err := a.Identity.Bootstrap(ctx)
	if err != nil || admin == nil {
		return err
	}
	if admin.Generated || a.cfg.Dev {
		fmt.Fprintf(a.out, "\n  First start: an administrator was made. The password is shown only now.\n\n    e-mail:   %s\n    password: %s\n\n", admin.Email, admin.Password)
		return nil
	}
	fmt.Fprintf(a.out, "\n  First start: the administrator %s was made with the password you gave.\n\n", admin.Email)
	return nil
}

// Handler serves the API and the pages.
func (a *App) Handler() http.Handler { return a.server.Handler() }

// Backup copies a SQLite store to a file while it is in use. It changes nothing, the schema neither:
// a backup is made before an upgrade.
func Backup(ctx context.Context, c config.Config, log *slog.Logger, file string) error {
	d, err := db.Open(ctx, db.Options{URL: c.DatabaseURL, DataDir: c.DataDir, Log: log, MaxConns: c.DatabaseConns})
	if err != nil {
		return err
	}
	return errors.Join(d.Backup(ctx, file), d.Close())
}

// ready tells whether requests can be answered: the store is there and has the schema of this program.
func (a *App) ready(ctx context.Context) error {
	if err := a.db.Ping(ctx); err != nil {
		return err
	}
	return a.db.Migrated(ctx)
}

// Close sends what is still to be sent and lets go of the store. What was answered is on disk already.
func (a *App) Close() error {
	var err error
	if a.tracing != nil {
		err = a.tracing.stop()
	}
	return errors.Join(err, a.db.Close())
}

// Store is for tests that look behind the API.
func (a *App) Store() *db.DB { return a.db }
