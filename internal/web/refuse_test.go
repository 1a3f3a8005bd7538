package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"steward/internal/db"
	"steward/internal/fault"
)

func fails(err error) func(context.Context, *empty) (*Reply[None], error) {
	return func(context.Context, *empty) (*Reply[None], error) { return nil, err }
}

func TestAProblemTellsEverything(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, problems.Get("/api/v1/things", Public, ""), fails(fault.New(fault.AppNotFound, "There is no app 7.")))
	w := call(t, s.Handler(), "GET", "/api/v1/things?token=secret", "", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	wantStatus(t, w, 404)
	wantEqual(t, "content type", w.Header().Get("Content-Type"), "application/problem+json")
	wantEqual(t, "body", w.Body.String(), `{"type":"https://errors.test/not-found","title":"The app does not exist","status":404,`+
		`"detail":"There is no app 7.","instance":"/api/v1/things","traceId":"4bf92f3577b34da6a3ce929d0e0e4736","code":"APP_NOT_FOUND","errors":[]}`)
}

func TestFaultsHaveTheShapeOfTheRoute(t *testing.T) {
	two := fault.InvalidFields(fault.Field{Name: "email", Message: "is required"}, fault.Field{Name: "email", Message: "is odd"}, fault.Field{Name: "tenants[0].roleIds", Message: "must be an array"})
	for _, c := range []struct {
		name           string
		err            error
		status         int
		slug, code     string
		errors         string
		envelopeCode   string
		envelopeErrors string
	}{
		{"validation", two, 400, "validation", "VALIDATION_ERROR", `{"email":["is required","is odd"],"tenants[0].roleIds":["must be an array"]}`,
			"VALIDATION_ERROR", `[{"field":"email","message":"is required"},{"field":"email","message":"is odd"},{"field":"tenants[0].roleIds","message":"must be an array"}]`},
		{"a wrapped fault", fmt.Errorf("bind: %w", fault.New(fault.Conflict, "Taken.")), 409, "conflict", "CONFLICT", `[]`, "CONFLICT", `[]`},
		{"a code that envelopes shorten", fault.New(fault.CrossTenantForbidden, "Out of reach."), 403, "forbidden", "CROSS_TENANT_FORBIDDEN", `[]`, "FORBIDDEN", `[]`},
		{"a code that envelopes name by its status", fault.New(fault.IdempotencyBusy, "Runs."), 409, "conflict", "IDEMPOTENCY_KEY_CONFLICT", `[]`, "CONFLICT", `[]`},
		{"a bad request", fault.New(fault.BadRequest, "Odd."), 400, "bad-request", "BAD_REQUEST", `[]`, "VALIDATION_ERROR", `[]`},
		{"a precondition", fault.New(fault.PreconditionFailed, "Changed."), 412, "precondition-failed", "PRECONDITION_FAILED", `[]`, "PRECONDITION_FAILED", `[]`},
		{"unprocessable", fault.New(fault.IdempotencyMismatch, "Other."), 422, "unprocessable", "IDEMPOTENCY_KEY_UNPROCESSABLE", `[]`, "IDEMPOTENCY_KEY_UNPROCESSABLE", `[]`},
		{"a lock", fault.New(fault.AccountLocked, "Locked."), 423, "locked", "ACCOUNT_LOCKED", `[]`, "ACCOUNT_LOCKED", `[]`},
		{"a plain error", errors.New("secret cause"), 500, "internal", "INTERNAL_ERROR", `[]`, "INTERNAL_ERROR", `[]`},
		{"a code nobody knows", fault.New("TYPO_NOT_FUOND", "Typo."), 500, "internal", "INTERNAL_ERROR", `[]`, "INTERNAL_ERROR", `[]`},
		{"too slow", fmt.Errorf("query: %w", context.DeadlineExceeded), 503, "unavailable", "SERVICE_UNAVAILABLE", `[]`, "SERVICE_UNAVAILABLE", `[]`},
		{"no store", fmt.Errorf("query: %w", db.ErrClosed), 503, "unavailable", "SERVICE_UNAVAILABLE", `[]`, "SERVICE_UNAVAILABLE", `[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestServer(t, Options{})
			Handle(s, problems.Get("/api/v1/x", Public, ""), fails(c.err))
			Handle(s, envelopes.Get("/api/x", Public, ""), fails(c.err))
			h := s.Handler()
			w := call(t, h, "GET", "/api/v1/x", "")
			wantStatus(t, w, c.status)
			body := decode(t, w)
			wantEqual(t, "type", body["type"], "https://errors.test/"+c.slug)
			wantEqual(t, "code", body["code"], c.code)
			if !strings.HasSuffix(w.Body.String(), `"errors":`+c.errors+`}`) {
				t.Errorf("errors are not %s in %s", c.errors, w.Body)
			}
			wantEqual(t, "has Retry-After", w.Header().Get("Retry-After") != "", c.status == 503)
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the cause leaked: %s", w.Body)
			}
			w = call(t, h, "GET", "/api/x", "")
			wantStatus(t, w, c.status)
			wantEqual(t, "content type", w.Header().Get("Content-Type"), "application/json")
			wantEqual(t, "errorCode", decode(t, w)["errorCode"], c.envelopeCode)
			if !strings.HasPrefix(w.Body.String(), `{"isSuccess":false,`) || !strings.HasSuffix(w.Body.String(), `"errors":`+c.envelopeErrors+`}`) {
				t.Errorf("errors are not %s in %s", c.envelopeErrors, w.Body)
			}
		})
	}
}

func TestARouteMayGiveOneCodeAnotherStatus(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, envelopes.Post("/api/auth/login", Public, "").As(fault.AccountLocked, 401), fails(fault.New(fault.AccountLocked, "Locked.")))
	w := call(t, s.Handler(), "POST", "/api/auth/login", "")
	wantStatus(t, w, 401)
	wantEqual(t, "errorCode", decode(t, w)["errorCode"], "ACCOUNT_LOCKED")
	wantEqual(t, "challenge on a public route", w.Header().Get("WWW-Authenticate"), "")
}

func TestWhatNoRouteAnswers(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, problems.Get("/api/v1/things/{id}", Public, ""), func(context.Context, *getThing) (*Reply[None], error) { return Done(""), nil })
	Handle(s, problems.Delete("/api/v1/things/{id}", Public, ""), func(context.Context, *getThing) (*Reply[None], error) { return Done(""), nil })
	Handle(s, envelopes.Post("/api/auth/login", Public, ""), okHandler)
	h := s.Handler()
	for _, c := range []struct {
		method, path  string
		status        int
		member, code  string
		allow, shapes string
	}{
		{"GET", "/api/v1/nowhere", 404, "code", "NOT_FOUND", "", "application/problem+json"},
		{"GET", "/api/v1", 404, "code", "NOT_FOUND", "", "application/problem+json"},
		{"GET", "/api/nowhere", 404, "errorCode", "NOT_FOUND", "", "application/json"},
		{"GET", "/api/v10/x", 404, "errorCode", "NOT_FOUND", "", "application/json"},
		{"GET", "/nowhere", 404, "code", "NOT_FOUND", "", "application/problem+json"},
		{"PUT", "/api/v1/things/1", 405, "code", "METHOD_NOT_ALLOWED", "GET, HEAD, DELETE", "application/problem+json"},
		{"OPTIONS", "/api/v1/things/1", 405, "code", "METHOD_NOT_ALLOWED", "GET, HEAD, DELETE", "application/problem+json"},
		{"BREW", "/api/v1/things/1", 405, "code", "METHOD_NOT_ALLOWED", "GET, HEAD, DELETE", "application/problem+json"},
		{"BREW", "/api/v1/nowhere", 404, "code", "NOT_FOUND", "", "application/problem+json"},
		{"GET", "/api/auth/login", 405, "errorCode", "METHOD_NOT_ALLOWED", "POST", "application/json"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			w := call(t, h, c.method, c.path, "")
			wantStatus(t, w, c.status)
			wantEqual(t, "code", decode(t, w)[c.member], c.code)
			wantEqual(t, "allow", w.Header().Get("Allow"), c.allow)
			wantEqual(t, "content type", w.Header().Get("Content-Type"), c.shapes)
		})
	}
}

// logLines collects the messages of a log.
func logTo(out *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func TestFaultsOfOursAreLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	s := newTestServer(t, Options{Log: logTo(&log)})
	Handle(s, problems.Get("/api/v1/error", Public, ""), fails(fmt.Errorf("read users: %w", errors.New("disk on fire"))))
	Handle(s, problems.Get("/api/v1/refused", Public, ""), fails(fault.New(fault.NotFound, "No.").Because(errors.New("no row"))))
	Handle(s, envelopes.Get("/api/panic", Public, ""), func(context.Context, *empty) (*Reply[None], error) { panic("boom") })
	h := s.Handler()

	w := call(t, h, "GET", "/api/v1/refused", "")
	wantStatus(t, w, 404)
	if !strings.Contains(log.String(), "level=INFO") || !strings.Contains(log.String(), w.Header().Get("X-Trace-Id")) || strings.Contains(log.String(), "no row") {
		t.Errorf("a refusal is found by its trace id: %s", log.String())
	}

	log.Reset()
	w = call(t, h, "GET", "/api/v1/error", "")
	wantStatus(t, w, 500)
	wantEqual(t, "lines", strings.Count(log.String(), "\n"), 1)
	for _, want := range []string{"level=ERROR", "disk on fire", w.Header().Get("X-Trace-Id")} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log.String())
		}
	}

	log.Reset()
	w = call(t, h, "GET", "/api/panic", "")
	wantStatus(t, w, 500)
	wantEqual(t, "errorCode", decode(t, w)["errorCode"], "INTERNAL_ERROR")
	wantEqual(t, "lines", strings.Count(log.String(), "\n"), 1)
	if !strings.Contains(log.String(), "boom") || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("the panic belongs into the log alone: %s %s", log.String(), w.Body)
	}
}

func TestAnAbortGoesOn(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, problems.Get("/api/v1/abort", Public, ""), func(context.Context, *empty) (*Reply[None], error) { panic(http.ErrAbortHandler) })
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("net/http was not told to abort")
		}
	}()
	call(t, s.Handler(), "GET", "/api/v1/abort", "")
}

func TestAClientThatLeftMakesNoNoise(t *testing.T) {
	var log bytes.Buffer
	s := newTestServer(t, Options{Log: logTo(&log)})
	ctx, leave := context.WithCancel(t.Context())
	Handle(s, problems.Get("/api/v1/slow", Public, ""), func(ctx context.Context, _ *empty) (*Reply[None], error) {
		leave()
		<-ctx.Done()
		return nil, fmt.Errorf("query: %w", ctx.Err())
	})
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/slow", nil).WithContext(ctx))
	wantEqual(t, "body", w.Body.Len(), 0)
	wantEqual(t, "log", log.String(), "")
}

func TestAHandlerHasATimeLimit(t *testing.T) {
	s := newTestServer(t, Options{Timeout: time.Millisecond})
	Handle(s, problems.Get("/api/v1/slow", Public, ""), func(ctx context.Context, _ *empty) (*Reply[None], error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	w := call(t, s.Handler(), "GET", "/api/v1/slow", "")
	wantStatus(t, w, 503)
	wantEqual(t, "Retry-After", w.Header().Get("Retry-After"), "2")
}
