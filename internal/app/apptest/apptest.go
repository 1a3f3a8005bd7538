// Package apptest runs the whole program in a test, on both databases, and calls it over HTTP.
package apptest

import (
	"context"
	"crypto"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"steward/internal/app"
	"steward/internal/config"
	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/identity"
	"steward/internal/notify"
)

// The administrator of every program under test.
const (
	AdminEmail    = config.DevAdminEmail
	AdminPassword = config.DevAdminPassword
)

// PublicURL is an address that nothing listens on, so that a link taken from a request would show.
const PublicURL = "https://steward.test"

// Server is one running program.
type Server struct {
	URL    string
	App    *app.App
	Clock  *Clock
	Store  db.Options // to look behind the API, or to start a second node
	Config config.Config
}

// Each runs fn against a program on each database. Limits are off unless change switches them on.
func Each(t *testing.T, change func(*config.Config), fn func(t *testing.T, s *Server)) {
	t.Helper()
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) { fn(t, Start(t, store, change)) })
}

// Start runs a program on the store until the test ends.
func Start(t testing.TB, store db.Options, change func(*config.Config)) *Server {
	t.Helper()
	s := &Server{Clock: &Clock{}, Store: store, Config: Defaults(store)}
	if change != nil {
		change(&s.Config)
	}
	if err := s.Config.Check(); err != nil {
		t.Fatal(err)
	}
	var err error
	s.App, err = app.New(t.Context(), app.Options{
		Config: s.Config, Version: "test", Now: s.Clock.Now,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		// What a hash costs is measured elsewhere; here it only slows the tests down.
		Hash: identity.HasherOptions{Memory: 64, Time: 1}, NewKey: newKeys(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.App.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.App.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(s.App.Handler())
	t.Cleanup(listener.Close)
	s.URL = listener.URL
	return s
}

// sharedKey is the first key for passwords of every program under test.
var sharedKey = sync.OnceValues(func() (crypto.Signer, error) { return identity.GenerateKey("enc") })

// newKeys makes keys as the program does, but the first for passwords is the shared one: making it is
// most of what a start costs.
func newKeys() func(use string) (crypto.Signer, error) {
	first := true
	return func(use string) (crypto.Signer, error) {
		if use == "enc" && first {
			first = false
			return sharedKey()
		}
		return identity.GenerateKey(use)
	}
}

// Defaults is a configuration for tests on the store.
func Defaults(store db.Options) config.Config {
	perMinute := func(n int) config.Rate { return config.Rate{N: n, Window: time.Minute} }
	return config.Config{
		Listen: "127.0.0.1:0", PublicURL: PublicURL, Timeout: 30 * time.Second, StopGrace: 5 * time.Second,
		DataDir: orTemp(store.DataDir), DatabaseURL: store.URL, DatabaseConns: 10,
		AdminEmail: AdminEmail, AdminPassword: AdminPassword,
		Registration: config.RegistrationDefaultTenant, RegistrationRole: "Member",
		LockoutAttempts: 5, LockoutDuration: 15 * time.Minute, MailFrom: "Steward <no-reply@steward.test>",
		RateLimits: "off", LimitLogin: perMinute(10), LimitLoginAddress: perMinute(60), LimitRegister: perMinute(5),
		LimitReset: perMinute(3), LimitIdentity: perMinute(100), LimitGeneral: perMinute(1000),
		LogLevel: "warn", LogFormat: "text",
	}
}

func orTemp(dir string) string {
	if dir == "" {
		return "unused" // PostgreSQL: nothing is kept in files yet
	}
	return dir
}

// Mail returns the newest message to the address.
func (s *Server) Mail(t testing.TB, to string) notify.Message {
	t.Helper()
	messages, err := s.App.Mail.Newest(context.Background(), to, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(messages) == 0 {
		t.Fatalf("no mail to %s", to)
	}
	return messages[0]
}

// Write changes the store behind the API, for states that no route of this release makes.
func (s *Server) Write(t testing.TB, statement string, args ...any) {
	t.Helper()
	err := s.App.Store().Write(context.Background(), func(tx db.Tx) error {
		_, err := tx.Exec(context.Background(), statement, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Clock is the real time plus what the test has moved it by.
type Clock struct {
	mu  sync.Mutex
	off time.Duration
}

// Now is the present as the program sees it.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.off)
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += d
}
