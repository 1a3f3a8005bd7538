package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"steward/internal/app/apptest"
	"steward/internal/config"
)

func TestForgedTokensAreRefused(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		good := s.Login(t, email, password).Token
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		claims, header := jwt.MapClaims(claimsOf(t, good)), headerOf(t, good)
		forge := func(method jwt.SigningMethod, kid any, signWith any) string {
			token := jwt.NewWithClaims(method, claims)
			token.Header["kid"] = kid
			text, err := token.SignedString(signWith)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		parts := strings.Split(good, ".")
		changed := parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(decoded(t, parts[1]), `"Member"`, `"Super Administrator"`, 1))) + "." + parts[2]
		for name, token := range map[string]string{
			"alg none":                       forge(jwt.SigningMethodNone, header["kid"], jwt.UnsafeAllowNoneSignatureType),
			"no signature":                   parts[0] + "." + parts[1] + ".",
			"another key under our key's id": forge(jwt.SigningMethodES256, header["kid"], key),
			"another key under its own id":   forge(jwt.SigningMethodES256, "unknown", key),
			"a secret key":                   forge(jwt.SigningMethodHS256, header["kid"], []byte("secret")),
			"changed claims":                 changed,
			"two parts":                      parts[0] + "." + parts[1],
			"no token at all":                "garbage",
			"a very long one":                strings.Repeat("a", 20_000),
		} {
			t.Run(name, func(t *testing.T) {
				s.Get(t, "/api/auth/me", token).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
				s.Get(t, "/api/v1/apps", token).WantProblem(t, http.StatusUnauthorized, "TOKEN_INVALID")
			})
		}
		t.Run("a token of another issuer with the same keys", func(t *testing.T) {
			other := apptest.Start(t, s.Store, func(c *config.Config) { c.PublicURL = "https://other.test" })
			other.Get(t, "/api/auth/me", good).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
		})
		t.Run("another scheme", func(t *testing.T) {
			s.Do(t, apptest.Request{Method: "GET", Path: "/api/auth/me", Header: map[string]string{"Authorization": "Basic " + good}}).
				WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
		})
		wantAlive(t, s, good)
	})
}

func headerOf(t *testing.T, token string) m {
	t.Helper()
	header := m{}
	if err := json.Unmarshal([]byte(decoded(t, strings.Split(token, ".")[0])), &header); err != nil {
		t.Fatal(err)
	}
	return header
}

func decoded(t *testing.T, text string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestKeysRotateWithNoTokenRefused(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		old := s.Login(t, email, password).Token
		if err := s.App.Keyring.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		fresh := s.Login(t, email, password).Token
		if headerOf(t, old)["kid"] == headerOf(t, fresh)["kid"] {
			t.Error("the key did not change")
		}
		wantAlive(t, s, old)
		wantAlive(t, s, fresh)
		s.Clock.Advance(59 * time.Minute)
		if err := s.App.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantAlive(t, s, old)
	})
}

func limited(c *config.Config) { c.RateLimits = "on" }

func TestRateLimits(t *testing.T) {
	apptest.Each(t, limited, func(t *testing.T, s *apptest.Server) {
		call := func(path string, body any, header map[string]string) apptest.Answer {
			return s.Do(t, apptest.Request{Method: "POST", Path: path, Body: body, Header: header})
		}
		for _, c := range []struct {
			name, path string
			n          int
			body       any
		}{
			{"ten logins a minute for one e-mail", "/api/auth/login", 10, m{"email": "a@example.com", "password": "x"}},
			{"five registrations a minute", "/api/auth/register", 5, m{}},
			{"three reset requests a minute", "/api/auth/request-password-reset", 3, m{"email": "a@example.com"}},
			{"a hundred of the rest", "/api/auth/confirm-email", 100, m{"email": "a@example.com", "token": "x"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.Clock.Advance(2 * time.Minute)
				for i := range c.n {
					a := call(c.path, c.body, map[string]string{"X-Forwarded-For": "203.0.113." + strconv.Itoa(i)})
					if a.Status == http.StatusTooManyRequests || a.Header.Get("RateLimit-Limit") == "" || a.Header.Get("RateLimit-Remaining") == "" || a.Header.Get("RateLimit-Reset") == "" {
						t.Fatalf("call %d: %d %v", i+1, a.Status, a.Header)
					}
				}
				a := call(c.path, c.body, map[string]string{"X-Forwarded-For": "203.0.113.200"}).WantEnvelope(t, http.StatusTooManyRequests, "RATE_LIMITED")
				if a.Header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
				s.Clock.Advance(50 * time.Second)
				call(c.path, c.body, nil).WantEnvelope(t, http.StatusTooManyRequests, "RATE_LIMITED")
				s.Clock.Advance(11 * time.Second)
				if call(c.path, c.body, nil).Status == http.StatusTooManyRequests {
					t.Error("the window did not move on")
				}
			})
		}
		t.Run("sixty logins a minute for one address", func(t *testing.T) {
			s.Clock.Advance(2 * time.Minute)
			for i := range 60 {
				call("/api/auth/login", m{"email": strconv.Itoa(i) + "@example.com", "password": "x"}, nil).WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
			}
			call("/api/auth/login", m{"email": "last@example.com", "password": "x"}, nil).WantEnvelope(t, http.StatusTooManyRequests, "RATE_LIMITED")
		})
		t.Run("callers are told apart by their token", func(t *testing.T) {
			s.Clock.Advance(2 * time.Minute)
			s.Register(t, email, password)
			admin, user := s.Login(t, apptest.AdminEmail, apptest.AdminPassword), s.Login(t, email, password)
			for range 100 {
				s.Get(t, "/api/auth/me", admin.Token).Want(t, http.StatusOK)
			}
			s.Get(t, "/api/auth/me", admin.Token).WantEnvelope(t, http.StatusTooManyRequests, "RATE_LIMITED")
			s.Get(t, "/api/auth/me", user.Token).Want(t, http.StatusOK)
			s.Get(t, "/api/auth/sessions", admin.Token).Want(t, http.StatusOK)
		})
	})
}

func TestATrustedProxyNamesTheClient(t *testing.T) {
	apptest.Each(t, func(c *config.Config) { limited(c); c.Proxies = []string{"127.0.0.1"} }, func(t *testing.T, s *apptest.Server) {
		from := func(address string) int {
			return s.Do(t, apptest.Request{Method: "POST", Path: "/api/auth/request-password-reset", Body: m{"email": email}, Header: map[string]string{"X-Forwarded-For": address}}).Status
		}
		for range 3 {
			if status := from("198.51.100.1, 203.0.113.9"); status != http.StatusOK {
				t.Fatal(status)
			}
		}
		// What the client wrote before the proxy's own entry counts for nothing.
		if status := from("198.51.100.77, 203.0.113.9"); status != http.StatusTooManyRequests {
			t.Errorf("spoofed: %d", status)
		}
		if status := from("203.0.113.10"); status != http.StatusOK {
			t.Errorf("another client: %d", status)
		}
	})
}

func TestLimitsHoldForTheCluster(t *testing.T) {
	apptest.Each(t, limited, func(t *testing.T, a *apptest.Server) {
		b := apptest.Start(t, a.Store, limited)
		statuses := parallel(40, func(i int) int {
			node := []*apptest.Server{a, b}[i%2]
			return node.TryLogin(t, email, "wrong horse").Status
		})
		if n := count(statuses, http.StatusUnauthorized); n != 10 {
			t.Errorf("%d logins were let through on two nodes, want 10", n)
		}
	})
}

func TestUnknownPathsAndMethods(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Get(t, "/api/nothing", "").WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
		s.Get(t, "/api/v1/nothing", "").WantProblem(t, http.StatusNotFound, "NOT_FOUND")
		a := s.Get(t, "/api/auth/login", "").WantEnvelope(t, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		if a.Header.Get("Allow") != "POST" {
			t.Errorf("Allow: %q", a.Header.Get("Allow"))
		}
		s.Do(t, apptest.Request{Method: "PATCH", Path: "/api/v1/apps"}).WantProblem(t, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	})
}

func TestNoSecretReachesTheAuditLog(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		pair := s.Login(t, email, password)
		s.TryLogin(t, email, "wrong horse")
		requestReset(t, s, email)
		_, token := s.Link(t, email)
		reset(t, s, email, token, newPassword).Want(t, http.StatusOK)
		s.Post(t, "/api/auth/logout", s.Login(t, email, newPassword).Token, m{}).Want(t, http.StatusOK)
		actions, rows := all(t, s, `SELECT action FROM audit_log`), all(t, s, `SELECT coalesce(before, '') || coalesce(after, '') FROM audit_log`)
		for _, action := range []string{"user.registered", "user.signed-in", "sign-in.failed", "user.password-reset-requested", "user.password-reset", "user.signed-out"} {
			if !strings.Contains(actions, action) {
				t.Errorf("no %s in %s", action, actions)
			}
		}
		for name, secret := range map[string]string{"password": password, "new password": newPassword, "token": token, "access token": pair.Token, "refresh token": pair.Refresh, "hash": "$argon2id$"} {
			if strings.Contains(rows, secret) {
				t.Errorf("the audit log holds the %s", name)
			}
		}
	})
}

func TestSpellingsOfOneAddress(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		for _, path := range []string{"/api/v1/apps/", "/api/v1/%61pps", "/api/auth/me/"} {
			s.Get(t, path, token).Want(t, http.StatusOK)
		}
		s.Get(t, "/api", "").WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
		s.Get(t, "/api/v1/apps?search=%zz", token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "query")
		s.Get(t, "/api/auth/me?include=nonsense", token).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "include")
		s.Get(t, "/api/auth/me?include=PROFILE", token).Want(t, http.StatusOK)
	})
}

func TestARouteWithoutABodyTakesAnEmptyOneOnly(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		for _, body := range []string{"", "{}", " { } "} {
			token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
			s.Do(t, apptest.Request{Method: "POST", Path: "/api/auth/logout", Token: token, Body: body, Header: map[string]string{"Content-Type": "text/plain"}}).Want(t, http.StatusOK)
		}
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		s.Post(t, "/api/auth/logout", token, "garbage").WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "body")
		s.Post(t, "/api/auth/logout", token, strings.Repeat(" ", 2<<20)).WantEnvelope(t, http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
		wantAlive(t, s, token)
	})
}

func TestAnEffectWhoseAnswerWasLostIsNotRepeated(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		create := func(app string) apptest.Answer {
			return s.Do(t, apptest.Request{Method: "POST", Path: "/api/v1/apps", Token: token, Body: m{"appId": app, "name": app}, Header: map[string]string{"Idempotency-Key": app}})
		}
		create("lost").Want(t, http.StatusCreated)
		// The program died after the effect was durable and before the answer was kept.
		s.Write(t, `UPDATE idempotency_keys SET status = 1, body = ''`)
		s.Write(t, `DELETE FROM apps`)
		s.Clock.Advance(2 * time.Minute)
		create("lost").WantProblem(t, http.StatusConflict, "IDEMPOTENCY_KEY_CONFLICT")
		if n := one[int](t, s, `SELECT count(*) FROM apps`); n != 0 {
			t.Errorf("the call was done again: %d apps", n)
		}
		// It died before anything was written: then the call may run.
		s.Write(t, `UPDATE idempotency_keys SET status = 0`)
		create("lost").Want(t, http.StatusCreated)
		if replayed := create("lost").Want(t, http.StatusCreated); replayed.Header.Get("Idempotency-Replayed") != "true" {
			t.Error("not replayed")
		}
	})
}

func TestAReplayedProblemCarriesTheTraceOfItsOwnRequest(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		s.Post(t, "/api/v1/apps", token, m{"appId": "taken", "name": "Taken"}).Want(t, http.StatusCreated)
		for range 2 {
			a := s.Do(t, apptest.Request{Method: "POST", Path: "/api/v1/apps", Token: token, Body: m{"appId": "taken", "name": "Taken"}, Header: map[string]string{"Idempotency-Key": "k"}}).
				WantProblem(t, http.StatusConflict, "APP_ALREADY_EXISTS")
			if a.JSON["traceId"] != a.Header.Get("X-Trace-Id") {
				t.Errorf("trace id %v in the body, %s in the header", a.JSON["traceId"], a.Header.Get("X-Trace-Id"))
			}
		}
	})
}

func TestTheTypeOfAProblemIsAPage(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		problem := s.Get(t, "/api/v1/nothing", "").WantProblem(t, http.StatusNotFound, "NOT_FOUND").JSON["type"].(string)
		page := s.Get(t, strings.TrimPrefix(problem, apptest.PublicURL), "").Want(t, http.StatusOK)
		if !strings.Contains(string(page.Raw), "APP_NOT_FOUND") {
			t.Errorf("the page does not list the codes: %s", page.Raw)
		}
	})
}
