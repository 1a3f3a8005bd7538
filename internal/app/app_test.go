package app_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"steward/internal/app"
	"steward/internal/app/apptest"
	"steward/internal/config"
	"steward/internal/db"
)

const (
	email    = "ada@example.com"
	password = "correct horse"
)

func count(t *testing.T, s *apptest.Server, table string) int {
	t.Helper()
	n, err := db.One[int](context.Background(), s.App.Store(), `SELECT count(*) FROM `+table)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPurgeRemovesWhatHasExpiredAndNothingElse(t *testing.T) {
	apptest.Each(t, nil, func(t *testing.T, s *apptest.Server) {
		tables := []string{"sessions", "refresh_tokens", "mail_tokens", "lockouts", "idempotency_keys"}
		fill := func() {
			admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword)
			s.Register(t, email, password)
			s.TryLogin(t, email, "wrong horse")
			s.Do(t, apptest.Request{Method: "POST", Path: "/api/v1/apps", Token: admin.Token, Body: apptest.M{"appId": "a", "name": "A"},
				Header: map[string]string{"Idempotency-Key": "k"}}).Want(t, http.StatusCreated)
		}
		fill()
		if err := s.App.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			if count(t, s, table) == 0 {
				t.Errorf("%s was emptied too early", table)
			}
		}
		s.Clock.Advance(31 * 24 * time.Hour)
		if err := s.App.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			if n := count(t, s, table); n != 0 {
				t.Errorf("%d rows are left in %s", n, table)
			}
		}
		if count(t, s, "users") != 2 || count(t, s, "apps") != 1 {
			t.Error("the purge took what it should keep")
		}
	})
}

func TestPurgeRemovesALargeBacklogInBatches(t *testing.T) {
	apptest.Each(t, nil, func(t *testing.T, s *apptest.Server) {
		s.Write(t, `
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1800)
			INSERT INTO lockouts (email_key, failures, updated_at) SELECT 'user' || i || '@example.com', 1, $1 FROM n`, db.At(s.Clock.Now().Add(-48*time.Hour)))
		if err := s.App.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, "lockouts"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

func TestMetrics(t *testing.T) {
	apptest.Each(t, nil, func(t *testing.T, s *apptest.Server) {
		s.Get(t, "/api/auth/me", s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token)
		text := string(s.Get(t, "/metrics", "").Want(t, http.StatusOK).Raw)
		for _, name := range []string{
			"steward_http_requests_total", `route="/api/auth/me"`, "steward_db_writes_total", "steward_db_read_connections", "steward_session_cache_hits_total",
			"steward_token_cache_misses_total", "steward_password_hashes_waiting", "go_goroutines",
		} {
			if !strings.Contains(text, name) {
				t.Errorf("no %s in the metrics", name)
			}
		}
	})
}

func TestMetricsOnAListenerOfTheirOwn(t *testing.T) {
	s := apptest.Start(t, db.Options{DataDir: t.TempDir()}, func(c *config.Config) { c.MetricsListen = "127.0.0.1:0" })
	s.Get(t, "/metrics", "").Want(t, http.StatusNotFound)
}

func TestReadyTellsTheTruth(t *testing.T) {
	apptest.Each(t, nil, func(t *testing.T, s *apptest.Server) {
		s.Get(t, "/healthz", "").Want(t, http.StatusOK)
		s.Get(t, "/readyz", "").Want(t, http.StatusOK)
		s.Write(t, `UPDATE goose_db_version SET version_id = 0 WHERE version_id > 0`)
		s.Get(t, "/readyz", "").Want(t, http.StatusServiceUnavailable)
		s.Get(t, "/healthz", "").Want(t, http.StatusOK)
	})
}

// collector takes spans as an OTLP/HTTP collector does.
func collector(t *testing.T) (url string, received *atomic.Value) {
	t.Helper()
	received = &atomic.Value{}
	received.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/traces" {
			received.Store(received.Load().(string) + string(body))
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

func TestTracesAreSentToACollector(t *testing.T) {
	url, received := collector(t)
	store := db.Options{DataDir: t.TempDir()}
	cfg := apptest.Defaults(store)
	cfg.OTLPEndpoint = url
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	program, err := app.New(t.Context(), app.Options{Config: cfg, Version: "test", Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	request := httptest.NewRequest(http.MethodGet, "/api/auth/me", nil)
	request.Header.Set("traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")
	recorder := httptest.NewRecorder()
	program.Handler().ServeHTTP(recorder, request)
	if got := recorder.Header().Get("X-Trace-Id"); got != traceID {
		t.Errorf("trace id %q, want the caller's", got)
	}
	if err := program.Close(); err != nil { // sends what waits
		t.Fatal(err)
	}
	if text := received.Load().(string); !strings.Contains(text, "GET /api/auth/me") || !strings.Contains(text, "steward") {
		t.Errorf("no span arrived: %q", text)
	}
}

func TestTheTraceIDIsTheCallersWithoutACollectorToo(t *testing.T) {
	s := apptest.Start(t, db.Options{DataDir: t.TempDir()}, nil)
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	a := s.Do(t, apptest.Request{Method: "GET", Path: "/api/v1/apps", Header: map[string]string{"traceparent": "00-" + traceID + "-00f067aa0ba902b7-01"}})
	if a.Header.Get("X-Trace-Id") != traceID || a.JSON["traceId"] != traceID {
		t.Errorf("trace id %q and %v", a.Header.Get("X-Trace-Id"), a.JSON["traceId"])
	}
}

func TestSecretsInTheStoreAreWrappedByTheMasterKey(t *testing.T) {
	const master = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	apptest.Each(t, nil, func(t *testing.T, s *apptest.Server) {
		pair := s.Login(t, apptest.AdminEmail, apptest.AdminPassword)
		wrapped := apptest.Start(t, s.Store, func(c *config.Config) { c.MasterKey = master })
		wrapped.Get(t, "/api/auth/me", pair.Token).Want(t, http.StatusOK)
		n, err := db.One[int](t.Context(), s.App.Store(), `SELECT count(*) FROM keys WHERE private LIKE 'plain:%'`)
		if err != nil || n != 0 {
			t.Errorf("%d keys lie in the clear, %v", n, err)
		}
		cfg := s.Config
		cfg.MasterKey = ""
		if _, err := app.New(t.Context(), app.Options{Config: cfg, Log: discard}); err == nil || !strings.Contains(strings.ToLower(err.Error()), "master") {
			t.Errorf("a start without the key: %v", err)
		}
	})
}

var discard = slog.New(slog.DiscardHandler)
