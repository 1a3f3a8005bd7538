package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"steward/internal/app/apptest"
	"steward/internal/config"
	"steward/internal/db"
	"steward/internal/db/dbtest"
)

func TestLogoutEndsEverySession(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		first, second := s.Login(t, email, password), s.Login(t, email, password)
		a := s.Do(t, apptest.Request{Method: "POST", Path: "/api/auth/logout", Token: first.Token}).Want(t, http.StatusOK)
		if a.JSON["isSuccess"] != true || a.JSON["message"] == "" {
			t.Errorf("unexpected answer: %s", a.Raw)
		}
		for _, pair := range []apptest.Pair{first, second} {
			wantEnded(t, s, pair.Token, "TOKEN_REVOKED")
			refresh(t, s, pair.Refresh).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
		}
		s.Do(t, apptest.Request{Method: "POST", Path: "/api/auth/logout", Token: first.Token}).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
		s.Do(t, apptest.Request{Method: "POST", Path: "/api/auth/logout"}).WantEnvelope(t, http.StatusUnauthorized, "UNAUTHORIZED")
		wantAlive(t, s, s.Login(t, email, password).Token)
	})
}

func TestALoginRightAfterALogoutIsValid(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		for range 20 {
			old := s.Login(t, email, password)
			s.Post(t, "/api/auth/logout", old.Token, m{}).Want(t, http.StatusOK)
			fresh := s.Login(t, email, password)
			wantAlive(t, s, fresh.Token)
			wantEnded(t, s, old.Token, "TOKEN_REVOKED")
		}
	})
}

func TestLoginsThatRaceWithLogouts(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		out := s.Login(t, email, password)
		pairs := parallel(16, func(i int) apptest.Pair {
			if i == 8 {
				s.Post(t, "/api/auth/logout", out.Token, m{}).Want(t, http.StatusOK)
				return out
			}
			return s.Login(t, email, password)
		})
		// Each session is either before the logout or after it, and says the same on every call.
		for i, pair := range pairs {
			status := s.Get(t, "/api/auth/me", pair.Token).Status
			refreshed := refresh(t, s, pair.Refresh).Status
			if status != refreshed || i == 8 && status != http.StatusUnauthorized {
				t.Errorf("session %d: me %d, refresh %d", i, status, refreshed)
			}
		}
	})
}

func TestOwnSessions(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		s.Register(t, "eve@example.com", password)
		first := s.Login(t, email, password)
		s.Clock.Advance(time.Second)
		second := s.Do(t, apptest.Request{Method: "POST", Path: "/api/auth/login", Body: m{"email": email, "password": password},
			Header: map[string]string{"User-Agent": "Phone/1.0"}}).Pair(t)
		eve := s.Login(t, "eve@example.com", password)

		a := s.Get(t, "/api/auth/sessions", first.Token).Want(t, http.StatusOK)
		items := a.Data(t)["items"].([]any)
		if len(items) != 2 || a.JSON["totalCount"] != 2.0 || len(a.JSON["items"].([]any)) != 2 {
			t.Fatalf("want two sessions, inside data and at the top: %s", a.Raw)
		}
		newest := items[0].(m)
		if newest["device"] != "Phone/1.0" || newest["address"] != "127.0.0.1" || newest["isCurrent"] != false || newest["tenantName"] != "Default" || items[1].(m)["isCurrent"] != true {
			t.Errorf("unexpected sessions: %s", a.Raw)
		}
		id := newest["id"].(string)
		end := func(token, id string) apptest.Answer {
			return s.Do(t, apptest.Request{Method: "DELETE", Path: "/api/auth/sessions/" + id, Token: token})
		}
		end(eve.Token, id).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
		wantAlive(t, s, second.Token)
		end(first.Token, "x").WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
		end(first.Token, id).Want(t, http.StatusOK)
		wantEnded(t, s, second.Token, "TOKEN_REVOKED")
		refresh(t, s, second.Refresh).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
		wantAlive(t, s, first.Token)
		end(first.Token, id).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
	})
}

func TestMe(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		id := s.Register(t, email, password)
		pair := s.Login(t, email, password)
		t.Run("the basic form comes from the token", func(t *testing.T) {
			a := s.Get(t, "/api/auth/me", pair.Token).Want(t, http.StatusOK)
			data := a.Data(t)
			claims := claimsOf(t, pair.Token)
			if len(data) != 5 || data["id"] != id || data["name"] != "Test Person" || data["email"] != email ||
				fmt.Sprint(data["roles"]) != "[Member]" || fmt.Sprint(data["permissions"]) != fmt.Sprint(claims["permissions"]) {
				t.Errorf("unexpected user: %s", a.Raw)
			}
		})
		t.Run("the profile form has two addresses", func(t *testing.T) {
			a, b := s.Get(t, "/api/auth/me?include=profile", pair.Token).Want(t, http.StatusOK), s.Get(t, "/api/auth/me/complete", pair.Token).Want(t, http.StatusOK)
			if string(a.Raw) != string(b.Raw) {
				t.Errorf("%s differs from %s", a.Raw, b.Raw)
			}
			data := a.Data(t)
			for _, name := range []string{"id", "email", "fullName", "phoneNumber", "profilePictureUrl", "emailConfirmed", "roles", "permissions", "tenants", "createdAt", "lastLoginAt"} {
				if _, ok := data[name]; !ok {
					t.Errorf("no %s: %s", name, a.Raw)
				}
			}
			tenant := data["tenants"].([]any)[0].(m)
			if data["fullName"] != "Test Person" || data["emailConfirmed"] != false || tenant["name"] != "Default" || tenant["isDefault"] != false || len(tenant) != 3 {
				t.Errorf("unexpected profile: %s", a.Raw)
			}
		})
		t.Run("the profile is never stale after a write", func(t *testing.T) {
			before := s.Get(t, "/api/auth/me/complete", pair.Token).Data(t)["lastLoginAt"]
			s.Clock.Advance(time.Second)
			s.Login(t, email, password)
			if after := s.Get(t, "/api/auth/me/complete", pair.Token).Data(t)["lastLoginAt"]; after == before {
				t.Error("lastLoginAt did not move")
			}
			_, token := s.Link(t, email)
			s.Post(t, "/api/auth/confirm-email", "", m{"email": email, "token": token}).Want(t, http.StatusOK)
			if s.Get(t, "/api/auth/me/complete", pair.Token).Data(t)["emailConfirmed"] != true {
				t.Error("emailConfirmed is stale")
			}
		})
		t.Run("the profile is cached", func(t *testing.T) {
			s.Write(t, `UPDATE users SET phone_number = '123' WHERE id = $1`, id) // nobody was told
			if s.Get(t, "/api/auth/me/complete", pair.Token).Data(t)["phoneNumber"] != "" {
				t.Error("the store was read again")
			}
			s.Clock.Advance(30*time.Minute + time.Second)
			if s.Get(t, "/api/auth/me/complete", pair.Token).Data(t)["phoneNumber"] != "123" {
				t.Error("the cache is older than half an hour")
			}
		})
		t.Run("an expired token", func(t *testing.T) {
			s.Clock.Advance(time.Hour)
			s.Get(t, "/api/auth/me", pair.Token).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_EXPIRED")
			s.Get(t, "/api/v1/apps", pair.Token).WantProblem(t, http.StatusUnauthorized, "TOKEN_EXPIRED")
		})
		t.Run("no token", func(t *testing.T) {
			s.Get(t, "/api/auth/me", "").WantEnvelope(t, http.StatusUnauthorized, "UNAUTHORIZED")
			s.Get(t, "/api/v1/apps", "").WantProblem(t, http.StatusUnauthorized, "TOKEN_MISSING")
		})
	})
}

func TestStateBehindTheTokenDecides(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		for _, c := range []struct {
			name, change string
			status       int
			code         string
		}{
			{"a deactivated account", `UPDATE users SET is_active = FALSE WHERE email_key = $1`, 401, "SESSION_INVALIDATED"},
			{"a deleted account", `UPDATE users SET deleted_at = created_at WHERE email_key = $1`, 401, "SESSION_INVALIDATED"},
			{"a deactivated binding", `UPDATE bindings SET is_active = FALSE WHERE user_id = (SELECT id FROM users WHERE email_key = $1)`, 403, "TENANT_FORBIDDEN"},
			{"a lost binding", `DELETE FROM bindings WHERE user_id = (SELECT id FROM users WHERE email_key = $1)`, 403, "TENANT_FORBIDDEN"},
			{"a lost role", `DELETE FROM binding_roles WHERE user_id = (SELECT id FROM users WHERE email_key = $1)`, 403, "MISSING_PERMISSION"},
		} {
			t.Run(c.name, func(t *testing.T) {
				who := strings.ReplaceAll(c.name, " ", "-") + "@example.com"
				user := s.Register(t, who, password)
				s.Write(t, `INSERT INTO binding_roles (user_id, tenant_id, role_id) SELECT b.user_id, b.tenant_id, r.id FROM bindings b, roles r WHERE b.user_id = $1 AND r.name = 'Super Administrator'`, user)
				pair := s.Login(t, who, password)
				s.Get(t, "/api/v1/apps", pair.Token).Want(t, http.StatusOK)
				s.Write(t, c.change, who)
				s.Clock.Advance(2 * time.Minute) // the change was made behind the program's back
				s.Get(t, "/api/v1/apps", pair.Token).WantProblem(t, c.status, c.code)
			})
		}
	})
}

func TestChangesReachAnotherNodeWithinASecond(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		a := apptest.Start(t, store, nil)
		b := apptest.Start(t, store, func(c *config.Config) {})
		a.Register(t, email, password)
		pair := a.Login(t, email, password)
		wantAlive(t, b, pair.Token)
		b.Get(t, "/api/auth/me/complete", pair.Token).Want(t, http.StatusOK)
		a.Post(t, "/api/auth/logout", pair.Token, m{}).Want(t, http.StatusOK)
		told := time.Now()
		for b.Get(t, "/api/auth/me", pair.Token).Status != http.StatusUnauthorized {
			if time.Since(told) > time.Second {
				t.Fatal("the other node still lets the token in after a second")
			}
		}
		wantEnded(t, b, pair.Token, "TOKEN_REVOKED")
	})
}

func TestDiscovery(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		a := s.Get(t, "/.well-known/openid-configuration", "").Want(t, http.StatusOK)
		if a.JSON["issuer"] != apptest.PublicURL || a.JSON["jwks_uri"] != apptest.PublicURL+"/.well-known/jwks.json" {
			t.Errorf("unexpected metadata: %s", a.Raw)
		}
		var set struct{ Keys []m }
		if err := json.Unmarshal(s.Get(t, "/.well-known/jwks.json", "").Raw, &set); err != nil {
			t.Fatal(err)
		}
		for _, key := range set.Keys {
			if key["d"] != nil || key["p"] != nil {
				t.Error("a private key is published")
			}
		}
	})
}
