package web

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"steward/internal/fault"
	"steward/internal/scope"
)

// tokens are the callers that tests know by name.
type tokens map[string]*scope.Actor

func (t tokens) Authenticate(_ context.Context, bearer string) (*scope.Actor, error) {
	switch bearer {
	case "expired":
		return nil, fault.New(fault.TokenExpired, "The token has expired.")
	case "revoked":
		return nil, fault.New(fault.TokenRevoked, "The session was ended.")
	}
	if actor, ok := t[bearer]; ok {
		return actor, nil
	}
	return nil, fault.New(fault.TokenInvalid, "The token is not valid.")
}

var (
	tenantID = uuid.MustParse("0197a3c2-0000-7000-8000-000000000001")
	callers  = tokens{
		"admin":  {UserID: uuid.MustParse("0197a3c2-0000-7000-8000-00000000000a"), TenantID: tenantID, InTenant: true, Permissions: []string{"*"}},
		"reader": {UserID: uuid.MustParse("0197a3c2-0000-7000-8000-00000000000b"), TenantID: tenantID, InTenant: true, Permissions: []string{"read:things"}},
		"nobody": {UserID: uuid.MustParse("0197a3c2-0000-7000-8000-00000000000c"), TenantID: tenantID, InTenant: true},
		"global": {UserID: uuid.MustParse("0197a3c2-0000-7000-8000-00000000000d")},
	}
	envelopes = Group{Convention: Envelope, Tag: "Old"}
	problems  = Group{Convention: Problem, Tag: "New"}
)

type empty = struct{}

func newTestServer(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Auth == nil {
		o.Auth = callers
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	if o.ErrorsBase == "" {
		o.ErrorsBase = "https://errors.test"
	}
	return New(o)
}

// call sends one request straight to the handler. Headers are pairs of name and value.
func call(t testing.TB, h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	var reader io.Reader = http.NoBody
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func as(token string) []string { return []string{"Authorization", "Bearer " + token} }

func decode(t testing.TB, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("the body is no JSON object: %v\n%s", err, w.Body)
	}
	return body
}

func wantStatus(t testing.TB, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d\n%s", w.Code, status, w.Body)
	}
}

func wantEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// unpack undoes gzip.
func unpack(t testing.TB, packed io.Reader) []byte {
	t.Helper()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

type getThing struct {
	ID string `path:"id"`
}
