package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"steward/internal/app/apptest"
)

func refresh(t *testing.T, s *apptest.Server, token string) apptest.Answer {
	t.Helper()
	return s.Post(t, "/api/auth/refresh", "", m{"refreshToken": token})
}

func TestRefreshRotatesThePair(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		first := s.Login(t, email, password)
		a := refresh(t, s, first.Refresh).Want(t, http.StatusOK)
		data := a.Data(t)
		for _, name := range []string{"token", "refreshToken", "expiresAt", "permissions", "isGlobal", "tokenType"} {
			if _, ok := data[name]; !ok {
				t.Errorf("no %s: %s", name, a.Raw)
			}
		}
		second := a.Pair(t)
		if second.Refresh == first.Refresh || second.Token == first.Token {
			t.Error("the pair was not renewed")
		}
		wantAlive(t, s, first.Token)
		wantAlive(t, s, second.Token)
		if claimsOf(t, first.Token)["sid"] != claimsOf(t, second.Token)["sid"] {
			t.Error("refresh left the session")
		}
		if stored := one[int](t, s, `SELECT count(*) FROM refresh_tokens WHERE hash = $1`, first.Refresh); stored != 0 {
			t.Error("the token is stored in the clear")
		}
	})
}

func TestASpentRefreshToken(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		t.Run("is refused within ten seconds and the session lives on", func(t *testing.T) {
			first := s.Login(t, email, password)
			second := refresh(t, s, first.Refresh).Pair(t)
			s.Clock.Advance(9 * time.Second)
			refresh(t, s, first.Refresh).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
			wantAlive(t, s, second.Token)
			refresh(t, s, second.Refresh).Want(t, http.StatusOK)
		})
		t.Run("ends the session when it comes back later", func(t *testing.T) {
			other := s.Login(t, email, password)
			first := s.Login(t, email, password)
			second := refresh(t, s, first.Refresh).Pair(t)
			third := refresh(t, s, second.Refresh).Pair(t)
			wantAlive(t, s, third.Token)
			s.Clock.Advance(11 * time.Second)
			refresh(t, s, first.Refresh).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
			wantEnded(t, s, third.Token, "TOKEN_REVOKED")
			refresh(t, s, third.Refresh).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
			wantAlive(t, s, other.Token)
		})
	})
}

func TestParallelRefreshOfOneTokenSucceedsOnce(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		pair := s.Login(t, email, password)
		statuses := parallel(20, func(int) int { return refresh(t, s, pair.Refresh).Status })
		if count(statuses, http.StatusOK) != 1 || count(statuses, http.StatusUnauthorized) != 19 {
			t.Errorf("want one success: %v", statuses)
		}
		wantAlive(t, s, pair.Token)
	})
}

func TestRefreshRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		pair := s.Login(t, email, password)
		foreign := newTenant(t, s, "Foreign")
		for _, c := range []struct {
			name   string
			body   m
			status int
			code   string
		}{
			{"an unknown token", m{"refreshToken": "never issued"}, 401, "TOKEN_INVALID"},
			{"an access token", m{"refreshToken": pair.Token[:500]}, 401, "TOKEN_INVALID"},
			{"no token", m{}, 400, "VALIDATION_ERROR"},
			{"a tenant that the user is not bound to", m{"refreshToken": pair.Refresh, "tenantId": foreign}, 403, "FORBIDDEN"},
			{"a tenant that does not exist", m{"refreshToken": pair.Refresh, "tenantId": "0192f0c1-7c1e-7d2a-9a52-0a6f2f6f3b10"}, 403, "FORBIDDEN"},
			{"a tenant that is no guid", m{"refreshToken": pair.Refresh, "tenantId": "x"}, 400, "VALIDATION_ERROR"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.Post(t, "/api/auth/refresh", "", c.body).WantEnvelope(t, c.status, c.code)
			})
		}
		t.Run("and a refused call spends nothing", func(t *testing.T) {
			pair = refresh(t, s, pair.Refresh).Want(t, http.StatusOK).Pair(t)
		})
		t.Run("a token of thirty days ago", func(t *testing.T) {
			s.Clock.Advance(31 * 24 * time.Hour)
			refresh(t, s, pair.Refresh).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_EXPIRED")
		})
	})
}

func TestARefreshTokenIsNoAccessToken(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		pair := s.Login(t, email, password)
		s.Get(t, "/api/auth/me", pair.Refresh).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
		s.Get(t, "/api/v1/apps", pair.Refresh).WantProblem(t, http.StatusUnauthorized, "TOKEN_INVALID")
	})
}

func TestRefreshMovesToAnotherTenant(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		user := s.Register(t, email, password)
		other := newTenant(t, s, "Other")
		bind(t, s, user, other, false)
		global := s.Login(t, email, password)
		if claimsOf(t, global.Token)["token_type"] != "Global" {
			t.Fatal("expected a global token")
		}
		a := refresh(t, s, global.Refresh).Want(t, http.StatusOK)
		if a.Data(t)["isGlobal"] != true || a.Data(t)["tokenType"] != "Global" {
			t.Errorf("a global session left by itself: %s", a.Raw)
		}
		a = s.Post(t, "/api/auth/refresh", "", m{"refreshToken": a.Pair(t).Refresh, "tenantId": other}).Want(t, http.StatusOK)
		if a.Data(t)["isGlobal"] != false || claimsOf(t, a.Pair(t).Token)["tenant_id"] != other {
			t.Errorf("not in the other tenant: %s", a.Raw)
		}
		a = refresh(t, s, a.Pair(t).Refresh).Want(t, http.StatusOK)
		if claimsOf(t, a.Pair(t).Token)["tenant_id"] != other {
			t.Error("the session did not stay in the tenant")
		}
	})
}

func TestSwitchTenant(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		user := s.Register(t, email, password)
		other, foreign := newTenant(t, s, "Other"), newTenant(t, s, "Foreign")
		bind(t, s, user, other, true)
		first := s.Post(t, "/api/auth/login", "", m{"email": email, "password": password, "preferredTenantId": foreign}).Want(t, http.StatusOK).Pair(t)

		a := s.Post(t, "/api/auth/switch-tenant", first.Token, m{"tenantId": other}).Want(t, http.StatusOK)
		data := a.Data(t)
		tenant := data["currentTenant"].(m)
		if tenant["id"] != other || tenant["name"] != "Other" || tenant["isDefault"] != true || data["isGlobal"] != false || data["tokenType"] != "Tenant" || data["expiresAt"] == nil {
			t.Errorf("unexpected result: %s", a.Raw)
		}
		second := a.Pair(t)
		wantAlive(t, s, first.Token)
		wantAlive(t, s, second.Token)
		refresh(t, s, first.Refresh).Want(t, http.StatusOK)
		third := s.Post(t, "/api/auth/switch-tenant", second.Token, m{"tenantId": defaultTenant(t, s)}).Want(t, http.StatusOK).Pair(t)
		wantAlive(t, s, third.Token)

		for name, tenant := range map[string]string{"not bound": foreign, "not there": "0192f0c1-7c1e-7d2a-9a52-0a6f2f6f3b10"} {
			t.Run(name, func(t *testing.T) {
				s.Post(t, "/api/auth/switch-tenant", second.Token, m{"tenantId": tenant}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			})
		}
		s.Post(t, "/api/auth/switch-tenant", second.Token, m{}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "tenantId")
		s.Post(t, "/api/auth/switch-tenant", "", m{"tenantId": other}).WantEnvelope(t, http.StatusUnauthorized, "UNAUTHORIZED")
		s.Write(t, `UPDATE bindings SET is_active = FALSE WHERE tenant_id = $1`, other)
		s.Post(t, "/api/auth/switch-tenant", third.Token, m{"tenantId": other}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
	})
}

func TestAGlobalTokenOpensOnlyTheChoice(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		user := s.Register(t, email, password)
		bind(t, s, user, newTenant(t, s, "Other"), false)
		login := func() string { return s.Login(t, email, password).Token }
		global := login()
		for _, c := range []struct {
			method, path string
			status       int
		}{
			{"GET", "/api/auth/me", 200},
			{"GET", "/api/auth/me?include=profile", 200},
			{"GET", "/api/auth/me/complete", 200},
			{"GET", "/api/auth/sessions", 403},
			{"POST", "/api/auth/change-password", 403},
			{"GET", "/api/v1/apps", 403},
			{"POST", "/api/auth/logout", 200},
		} {
			t.Run(c.method+" "+c.path, func(t *testing.T) {
				a := s.Do(t, apptest.Request{Method: c.method, Path: c.path, Token: global}).Want(t, c.status)
				if c.status == http.StatusForbidden {
					code := fmt.Sprint(a.JSON["errorCode"], a.JSON["code"])
					if code != "FORBIDDEN<nil>" && code != "<nil>TENANT_FORBIDDEN" {
						t.Errorf("unexpected code: %s", a.Raw)
					}
				}
			})
		}
	})
}
