package api_test

import (
	"net/http"
	"strings"
	"testing"

	"steward/internal/app/apptest"
	"steward/internal/config"
)

func TestRegister(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		a := s.Post(t, "/api/auth/register", "", m{"email": email, "password": password, "fullName": "Ada King Lovelace", "phoneNumber": "+44 (20) 7946-0958"}).Want(t, http.StatusCreated)
		data := a.Data(t)
		if a.JSON["success"] != true || a.JSON["isSuccess"] != nil || data["email"] != email || data["fullName"] != "Ada King Lovelace" || data["createdAt"] == nil || data["id"] == nil || len(data) != 4 {
			t.Errorf("unexpected answer: %s", a.Raw)
		}
		profile := s.Get(t, "/api/auth/me/complete", s.Login(t, email, password).Token).Data(t)
		if profile["phoneNumber"] != "+44 (20) 7946-0958" || profile["emailConfirmed"] != false || len(profile["tenants"].([]any)) != 1 {
			t.Errorf("unexpected profile: %v", profile)
		}
		if first := one[string](t, s, `SELECT first_name FROM users WHERE email = $1`, email); first != "Ada" {
			t.Errorf("first name %q", first)
		}
		if hash := one[string](t, s, `SELECT password_hash FROM users WHERE email = $1`, email); !strings.HasPrefix(hash, "$argon2id$") {
			t.Errorf("stored password %q", hash)
		}
		s.Post(t, "/api/auth/register", "", m{"email": strings.ToUpper(email), "password": password, "fullName": "Eve"}).WantEnvelope(t, http.StatusConflict, "CONFLICT")
		link, _ := s.Link(t, email)
		if !strings.HasPrefix(link.String(), apptest.PublicURL+"/confirm-email?") {
			t.Errorf("link %s", link)
		}
	})
}

func TestRegisterRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		good := func(change m) m {
			body := m{"email": "new@example.com", "password": password, "fullName": "New Person"}
			for name, value := range change {
				body[name] = value
			}
			return body
		}
		for _, c := range []struct {
			name  string
			body  m
			field string
		}{
			{"no e-mail", good(m{"email": nil}), "email"},
			{"an e-mail without a domain", good(m{"email": "ada"}), "email"},
			{"an e-mail with a name", good(m{"email": "Ada <ada@example.com>"}), "email"},
			{"an e-mail with a line break", good(m{"email": "ada@example.com\r\nBcc: eve@example.com"}), "email"},
			{"a very long e-mail", good(m{"email": strings.Repeat("a", 250) + "@example.com"}), "email"},
			{"a short password", good(m{"password": "1234567"}), "password"},
			{"a long password", good(m{"password": strings.Repeat("ä", 129)}), "password"},
			{"no name", good(m{"fullName": "  "}), "fullName"},
			{"a long name", good(m{"fullName": strings.Repeat("a", 101)}), "fullName"},
			{"a phone number with letters", good(m{"phoneNumber": "call me"}), "phoneNumber"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.Post(t, "/api/auth/register", "", c.body).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
			})
		}
		t.Run("all that is wrong is told at once", func(t *testing.T) {
			s.Post(t, "/api/auth/register", "", m{"email": "x", "password": "y", "fullName": "z", "phoneNumber": "w"}).
				WantField(t, "email").WantField(t, "password").WantField(t, "phoneNumber")
		})
		t.Run("and nothing is written", func(t *testing.T) {
			if n := one[int](t, s, `SELECT count(*) FROM users`); n != 1 {
				t.Errorf("%d users, want the administrator alone", n)
			}
		})
		t.Run("a password at the limits is fine", func(t *testing.T) {
			s.Register(t, "short@example.com", "12345678")
			s.Register(t, "long@example.com", strings.Repeat("ä", 128))
			s.Login(t, "long@example.com", strings.Repeat("ä", 128))
		})
	})
}

func TestParallelRegistrationsOfOneEmail(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		statuses := parallel(10, func(int) int {
			return s.Post(t, "/api/auth/register", "", m{"email": email, "password": password, "fullName": "Ada"}).Status
		})
		if count(statuses, http.StatusCreated) != 1 || count(statuses, http.StatusConflict) != 9 {
			t.Errorf("want one account: %v", statuses)
		}
	})
}

func TestRegistrationModes(t *testing.T) {
	t.Run("off", func(t *testing.T) {
		apptest.Each(t, func(c *config.Config) { c.Registration = config.RegistrationOff }, func(t *testing.T, s *apptest.Server) {
			s.Post(t, "/api/auth/register", "", m{"email": email, "password": password, "fullName": "Ada"}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
		})
	})
	t.Run("without a tenant", func(t *testing.T) {
		apptest.Each(t, func(c *config.Config) { c.Registration = config.RegistrationNoTenant }, func(t *testing.T, s *apptest.Server) {
			s.Register(t, email, password)
			data := s.TryLogin(t, email, password).Want(t, http.StatusOK).Data(t)
			if data["isGlobal"] != true || data["requiresTenantSelection"] != false {
				t.Errorf("unexpected login: %v", data)
			}
		})
	})
	t.Run("another role", func(t *testing.T) {
		apptest.Each(t, func(c *config.Config) { c.RegistrationRole = "tenant administrator" }, func(t *testing.T, s *apptest.Server) {
			s.Register(t, email, password)
			if roles := claimsOf(t, s.Login(t, email, password).Token)["roles"].([]any); len(roles) != 1 || roles[0] != "Tenant Administrator" {
				t.Errorf("roles %v", roles)
			}
		})
	})
	t.Run("a full tenant", func(t *testing.T) {
		each(t, func(t *testing.T, s *apptest.Server) {
			s.Write(t, `UPDATE tenants SET max_users = 3`) // the administrator is one of them
			statuses := parallel(8, func(i int) int {
				return s.Post(t, "/api/auth/register", "", m{"email": string(rune('a'+i)) + "@example.com", "password": password, "fullName": "Ada"}).Status
			})
			if count(statuses, http.StatusCreated) != 2 || count(statuses, http.StatusBadRequest) != 6 {
				t.Errorf("want two places: %v", statuses)
			}
			if n := one[int](t, s, `SELECT count(*) FROM users`); n != 3 {
				t.Errorf("%d accounts, want 3: a refused one was half written", n)
			}
		})
	})
}
