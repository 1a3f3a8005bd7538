package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
	"steward/internal/db"
)

type m = apptest.M

const (
	email    = "ada@example.com"
	password = "correct horse"
)

// newTenant makes a tenant behind the API.
func newTenant(t *testing.T, s *apptest.Server, name string) string {
	t.Helper()
	id, now := uuid.Must(uuid.NewV7()).String(), db.At(s.Clock.Now())
	s.Write(t, `INSERT INTO tenants (id, name, identifier, identifier_key, created_at, updated_at) VALUES ($1, $2, $3, $3, $4, $4)`,
		id, name, strings.ToLower(name), now)
	return id
}

// bind lets a user into a tenant behind the API, as a Member.
func bind(t *testing.T, s *apptest.Server, user, tenant string, isDefault bool) {
	t.Helper()
	s.Write(t, `INSERT INTO bindings (user_id, tenant_id, is_default, created_at) VALUES ($1, $2, $3, $4)`, user, tenant, isDefault, db.At(s.Clock.Now()))
	s.Write(t, `INSERT INTO binding_roles (user_id, tenant_id, role_id) SELECT $1, $2, id FROM roles WHERE name = 'Member' AND tenant_id IS NULL`, user, tenant)
	s.Write(t, `UPDATE tenants SET user_count = user_count + 1 WHERE id = $1`, tenant)
}

// one reads a single value behind the API.
func one[T any](t *testing.T, s *apptest.Server, query string, args ...any) T {
	t.Helper()
	v, err := db.One[T](context.Background(), s.App.Store(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// all reads one column behind the API and joins its values.
func all(t *testing.T, s *apptest.Server, query string) string {
	t.Helper()
	values, err := db.All[string](context.Background(), s.App.Store(), query)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(values, "\n")
}

func defaultTenant(t *testing.T, s *apptest.Server) string {
	t.Helper()
	return one[string](t, s, `SELECT id FROM tenants WHERE identifier = 'default'`)
}

// claimsOf reads a token without checking it.
func claimsOf(t *testing.T, token string) m {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("no token: %s", token)
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims := m{}
	if err := json.Unmarshal(raw, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// each runs the test against a program on each database.
func each(t *testing.T, fn func(t *testing.T, s *apptest.Server)) {
	t.Helper()
	apptest.Each(t, nil, fn)
}

// wantAlive fails where the token is refused on either convention's routes.
func wantAlive(t *testing.T, s *apptest.Server, token string) {
	t.Helper()
	s.Get(t, "/api/auth/me", token).Want(t, http.StatusOK)
}

// wantEnded fails where the token is not refused with the code that each convention has for it.
func wantEnded(t *testing.T, s *apptest.Server, token, code string) {
	t.Helper()
	s.Get(t, "/api/auth/me", token).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
	s.Get(t, "/api/v1/apps", token).WantProblem(t, http.StatusUnauthorized, code)
}
