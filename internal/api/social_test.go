package api_test

import (
	"net/http"
	"testing"

	"steward/internal/app/apptest"
	"steward/internal/config"
	"steward/internal/identity/socialtest"
)

// withProviders points every provider at the test's own.
func withProviders(p *socialtest.Server) func(*config.Config) {
	return func(c *config.Config) {
		c.GoogleClientID, c.GoogleURL = socialtest.ClientID, p.URL("google")
		c.MicrosoftClientID, c.MicrosoftURL = socialtest.ClientID, p.URL("microsoft")
		c.GithubClientID, c.GithubClientSecret, c.GithubURL = socialtest.ClientID, socialtest.ClientSecret, p.URL("github")
	}
}

func socialLogin(t *testing.T, s *apptest.Server, provider, token string) apptest.Answer {
	t.Helper()
	return s.Post(t, "/api/auth/social-login", "", m{"provider": provider, "accessToken": token})
}

func TestSocialLogin(t *testing.T) {
	providers := socialtest.New(t)
	ada := socialtest.User{Subject: "1001", Email: email, EmailVerified: true, Name: "Ada Lovelace"}
	apptest.Each(t, withProviders(providers), func(t *testing.T, s *apptest.Server) {
		t.Run("makes an account for a new person and knows them again", func(t *testing.T) {
			a := socialLogin(t, s, "google", providers.Token("google", ada)).Want(t, http.StatusOK)
			if a.Data(t)["isFirstLogin"] != true || a.Data(t)["tokenType"] != "Tenant" {
				t.Errorf("unexpected result: %s", a.Raw)
			}
			profile := s.Get(t, "/api/auth/me/complete", a.Pair(t).Token).Data(t)
			if profile["email"] != email || profile["emailConfirmed"] != true || profile["fullName"] != "Ada Lovelace" {
				t.Errorf("unexpected profile: %v", profile)
			}
			again := socialLogin(t, s, "Google", providers.Token("google", ada)).Want(t, http.StatusOK)
			if claimsOf(t, again.Pair(t).Token)["sub"] != claimsOf(t, a.Pair(t).Token)["sub"] {
				t.Error("the same person got another account")
			}
		})
		t.Run("links another provider to an account with a confirmed address", func(t *testing.T) {
			a := socialLogin(t, s, "github", providers.Token("github", ada)).Want(t, http.StatusOK)
			if one[int](t, s, `SELECT count(*) FROM user_identities`) != 2 || a.Data(t)["isFirstLogin"] != false {
				t.Errorf("not linked: %s", a.Raw)
			}
		})
		t.Run("does not hand over an account whose address was never confirmed", func(t *testing.T) {
			s.Register(t, "victim@example.com", password)
			socialLogin(t, s, "google", providers.Token("google", socialtest.User{Subject: "1002", Email: "victim@example.com", EmailVerified: true})).
				WantEnvelope(t, http.StatusConflict, "CONFLICT")
		})
		t.Run("does not trust an address that the provider did not verify", func(t *testing.T) {
			socialLogin(t, s, "google", providers.Token("google", socialtest.User{Subject: "1003", Email: "new@example.com"})).
				WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		})
		t.Run("refuses a token issued for another application", func(t *testing.T) {
			socialLogin(t, s, "google", providers.TokenFor("google", ada, "another-app")).WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		})
		t.Run("refuses a token that the provider does not know", func(t *testing.T) {
			socialLogin(t, s, "google", "made-up").WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		})
		t.Run("names the field for a provider that is not there", func(t *testing.T) {
			for _, provider := range []string{"facebook", "nowhere"} {
				socialLogin(t, s, provider, "x").WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "provider")
			}
		})
		t.Run("asks to come back while the provider is down", func(t *testing.T) {
			providers.Behave("google", socialtest.Down)
			defer providers.Behave("google", socialtest.Well)
			a := socialLogin(t, s, "google", providers.Token("google", ada)).WantEnvelope(t, http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE")
			if a.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		})
		t.Run("refuses a disabled account", func(t *testing.T) {
			s.Write(t, `UPDATE users SET is_active = FALSE WHERE email_key = $1`, email)
			socialLogin(t, s, "google", providers.Token("google", ada)).WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_DISABLED")
		})
	})
}

func TestParallelFirstSocialLoginsMakeOneAccount(t *testing.T) {
	providers := socialtest.New(t)
	ada := socialtest.User{Subject: "1001", Email: email, EmailVerified: true, Name: "Ada Lovelace"}
	apptest.Each(t, withProviders(providers), func(t *testing.T, s *apptest.Server) {
		token := providers.Token("google", ada)
		statuses := parallel(8, func(int) int { return socialLogin(t, s, "google", token).Status })
		if count(statuses, http.StatusOK) != 8 || one[int](t, s, `SELECT count(*) FROM users WHERE email_key = $1`, email) != 1 {
			t.Errorf("statuses %v", statuses)
		}
	})
}

func TestSocialLoginMakesNoAccountWhereRegistrationIsOff(t *testing.T) {
	providers := socialtest.New(t)
	apptest.Each(t, func(c *config.Config) { withProviders(providers)(c); c.Registration = config.RegistrationOff }, func(t *testing.T, s *apptest.Server) {
		token := providers.Token("google", socialtest.User{Subject: "1", Email: email, EmailVerified: true})
		socialLogin(t, s, "google", token).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
	})
}
