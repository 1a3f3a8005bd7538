package identity

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"steward/internal/fault"
	"steward/internal/identity/socialtest"
)

// openSocial configures all providers of the server, changed as the test likes.
func openSocial(t *testing.T, server *socialtest.Server, change func(*ProviderConfig)) *Social {
	t.Helper()
	var c SocialConfig
	for _, p := range server.Config() {
		config := ProviderConfig(p)
		if change != nil {
			change(&config)
		}
		c.Providers = append(c.Providers, config)
	}
	social, err := NewSocial(c)
	if err != nil {
		t.Fatal(err)
	}
	return social
}

var ada = socialtest.User{
	Subject: "4711", Email: "ada@example.com", EmailVerified: true, Name: "Ada Lovelace", Picture: "https://pictures.example/ada.png",
}

func TestSocialUsers(t *testing.T) {
	server := socialtest.New(t)
	social := openSocial(t, server, nil)
	want := map[string]SocialUser{
		"google":    {Issuer: "https://accounts.google.com", PictureURL: ada.Picture},
		"microsoft": {Issuer: "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"},
		"github":    {Issuer: server.URL("github"), PictureURL: ada.Picture},
		"facebook":  {Issuer: "https://www.facebook.com", PictureURL: ada.Picture},
		"oidc":      {Issuer: server.URL("oidc"), PictureURL: ada.Picture},
	}
	for kind, user := range want {
		t.Run(kind, func(t *testing.T) {
			user.Subject, user.Email, user.EmailVerified, user.Name = "4711", "ada@example.com", true, "Ada Lovelace"
			for _, name := range []string{kind, strings.ToUpper(kind)} {
				got, err := social.Verify(t.Context(), name, server.Token(kind, ada))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(user, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	if got := social.Names(); !cmp.Equal(got, socialtest.Kinds) {
		t.Errorf("names %v", got)
	}
}

func TestUnverifiedEmailsAreNotVouchedFor(t *testing.T) {
	server := socialtest.New(t)
	social := openSocial(t, server, nil)
	unverified := ada
	unverified.EmailVerified = false
	for _, kind := range socialtest.Kinds {
		t.Run(kind, func(t *testing.T) {
			user, err := social.Verify(t.Context(), kind, server.Token(kind, unverified))
			if err != nil || user.EmailVerified || user.Subject != "4711" {
				t.Errorf("got %+v, %v", user, err)
			}
		})
	}
}

func TestSocialRefusals(t *testing.T) {
	server := socialtest.New(t)
	social := openSocial(t, server, nil)
	for _, kind := range socialtest.Kinds {
		revoked := server.Token(kind, ada)
		server.Revoke(revoked)
		for name, token := range map[string]string{
			"a token for another application": server.TokenFor(kind, ada, "another-app"),
			"a token that was revoked":        revoked,
			"a made-up token":                 "made-up",
			"a made-up JWT":                   "eyJhbGciOiJFUzI1NiJ9.e30.AAAA",
			"no token":                        "",
			"a token with a line end":         server.Token(kind, ada) + "\r\nX: y",
			"a token with letters of a kind":  "tökén",
			"an endless token":                strings.Repeat("x", 1<<20),
		} {
			t.Run(kind+" refuses "+name, func(t *testing.T) {
				_, err := social.Verify(t.Context(), kind, token)
				checkCode(t, err, fault.InvalidCredentials)
				checkSecrecy(t, err, token)
			})
		}
	}
	for _, name := range []string{"", "myspace", "google "} {
		_, err := social.Verify(t.Context(), name, "token")
		if f, ok := fault.From(err); !ok || f.Code != fault.Validation || f.Fields[0].Name != "provider" {
			t.Errorf("provider %q: %v", name, err)
		}
	}
}

// checkSecrecy makes sure that no error, not even its cause, carries a token or a secret to the log.
func checkSecrecy(t *testing.T, err error, token string) {
	t.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	if len(token) > 20 && strings.Contains(text, token) || strings.Contains(text, socialtest.ClientSecret) || strings.Contains(text, "steward+test") {
		t.Errorf("the error tells a secret: %.300s", text)
	}
}

func TestProvidersInTrouble(t *testing.T) {
	for name, tc := range map[string]struct {
		mood  socialtest.Mood
		retry time.Duration
	}{
		"answers 503":                 {socialtest.Down, socialRetry},
		"asks for patience":           {socialtest.Busy, 7 * time.Second},
		"answers too much":            {socialtest.Huge, socialRetry},
		"answers half a JSON":         {socialtest.Garbled, socialRetry},
		"redirects to somewhere else": {socialtest.Elsewhere, socialRetry},
	} {
		for _, kind := range socialtest.Kinds {
			t.Run(kind+" "+name, func(t *testing.T) {
				server := socialtest.New(t)
				social := openSocial(t, server, nil)
				token := server.Token(kind, ada)
				server.Behave(kind, tc.mood)
				_, err := social.Verify(t.Context(), kind, token)
				checkUnavailable(t, err, token)
				if f, _ := fault.From(err); kind != "oidc" && f != nil && f.RetryAfter != tc.retry {
					t.Errorf("come back after %v, want %v", f.RetryAfter, tc.retry)
				}
				if server.Strayed() > 0 {
					t.Error("the token was sent to another host")
				}
				server.Behave(kind, socialtest.Well)
				if _, err := social.Verify(t.Context(), kind, token); err != nil {
					t.Errorf("once it is well again: %v", err)
				}
			})
		}
	}
}

func checkUnavailable(t *testing.T, err error, token string) {
	t.Helper()
	f, ok := fault.From(err)
	if !ok || f.Code != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("got %v, want SERVICE_UNAVAILABLE with a time to come back", err)
	}
	checkSecrecy(t, err, token)
}

func TestProvidersThatHangAreGivenUp(t *testing.T) {
	server := socialtest.New(t)
	social := openSocial(t, server, nil)
	social.timeout = 50 * time.Millisecond
	for _, kind := range socialtest.Kinds {
		t.Run(kind, func(t *testing.T) {
			token := server.Token(kind, ada)
			server.Behave(kind, socialtest.Hanging)
			_, err := social.Verify(t.Context(), kind, token)
			checkUnavailable(t, err, token)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := social.Verify(ctx, "google", "token")
	checkUnavailable(t, err, "token")
}

func TestUnreachableProviders(t *testing.T) {
	server := socialtest.New(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	social := openSocial(t, server, func(c *ProviderConfig) { c.URL = gone.URL })
	for _, kind := range socialtest.Kinds {
		t.Run(kind, func(t *testing.T) {
			token := server.Token(kind, ada)
			_, err := social.Verify(t.Context(), kind, token)
			checkUnavailable(t, err, token)
		})
	}
}

func TestWrongClientCredentialsAreOurFault(t *testing.T) {
	server := socialtest.New(t)
	social := openSocial(t, server, func(c *ProviderConfig) { c.ClientSecret = "wrong" })
	for kind, token := range map[string]string{
		"github":   server.Token("github", ada),
		"facebook": server.Token("facebook", ada),
		"oidc":     server.OpaqueToken(ada, socialtest.ClientID),
	} {
		t.Run(kind, func(t *testing.T) {
			_, err := social.Verify(t.Context(), kind, token)
			checkUnavailable(t, err, token)
			if !strings.Contains(err.Error(), "client credentials") {
				t.Errorf("the log should say what is wrong: %v", err)
			}
		})
	}
}

func TestOpenIDTokens(t *testing.T) {
	server := socialtest.New(t)
	social := openSocial(t, server, nil)
	claims := func(c map[string]any) string { return server.TokenWith(ada, c) }
	for _, tc := range []struct {
		name, token string
		good        bool
	}{
		{"issued to us, for an API of the issuer", claims(nil), true},
		{"the client is named as in RFC 9068", claims(map[string]any{"azp": nil, "client_id": socialtest.ClientID}), true},
		{"only the audience names us", claims(map[string]any{"azp": nil, "aud": []string{"other", socialtest.ClientID}}), true},
		{"the audience is us, but another client got it", claims(map[string]any{"azp": "other", "aud": socialtest.ClientID}), false},
		{"two claims name two clients", claims(map[string]any{"client_id": "other"}), false},
		{"nobody is named", claims(map[string]any{"azp": nil}), false},
		{"expired", claims(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), false},
		{"no expiry", claims(map[string]any{"exp": nil}), false},
		{"another issuer", claims(map[string]any{"iss": "https://elsewhere.example"}), false},
		{"another subject than the userinfo endpoint tells", claims(map[string]any{"sub": "4712"}), false},
		{"opaque", server.OpaqueToken(ada, socialtest.ClientID), true},
		{"opaque, for another application", server.OpaqueToken(ada, "other"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user, err := social.Verify(t.Context(), "oidc", tc.token)
			if tc.good && (err != nil || user.Subject != "4711") {
				t.Errorf("got %+v, %v", user, err)
			}
			if !tc.good {
				checkCode(t, err, fault.InvalidCredentials)
			}
		})
	}
	t.Run("after the issuer rotated its keys", func(t *testing.T) {
		old := claims(nil)
		server.RotateKeys()
		if _, err := social.Verify(t.Context(), "oidc", claims(nil)); err != nil {
			t.Error(err)
		}
		_, err := social.Verify(t.Context(), "oidc", old)
		checkCode(t, err, fault.InvalidCredentials)
	})
	t.Run("opaque without a client secret", func(t *testing.T) {
		public := openSocial(t, server, func(c *ProviderConfig) {
			if c.Kind == "oidc" {
				c.ClientSecret = ""
			}
		})
		_, err := public.Verify(t.Context(), "oidc", server.OpaqueToken(ada, socialtest.ClientID))
		checkCode(t, err, fault.InvalidCredentials)
	})
}

// Discovery succeeded, then the issuer goes down: the keys cannot be read for an unknown one.
func TestIssuerKeysOutOfReach(t *testing.T) {
	server := socialtest.New(t)
	social := openSocial(t, server, nil)
	if _, err := social.Verify(t.Context(), "oidc", server.Token("oidc", ada)); err != nil {
		t.Fatal(err)
	}
	server.RotateKeys()
	token := server.Token("oidc", ada)
	for _, mood := range []socialtest.Mood{socialtest.Down, socialtest.Garbled, socialtest.Elsewhere} {
		server.Behave("oidc", mood)
		_, err := social.Verify(t.Context(), "oidc", token)
		checkUnavailable(t, err, token)
	}
}

func TestSocialConfiguration(t *testing.T) {
	good := ProviderConfig{Name: "corp", Kind: "oidc", ClientID: "id", URL: "https://id.corp.example"}
	for _, tc := range []struct {
		name   string
		change func(*ProviderConfig)
		good   bool
	}{
		{"an issuer", func(*ProviderConfig) {}, true},
		{"google needs no address and no secret", func(c *ProviderConfig) { c.Kind, c.URL = "google", "" }, true},
		{"kinds in any case", func(c *ProviderConfig) { c.Kind = "OIDC" }, true},
		{"an unknown kind", func(c *ProviderConfig) { c.Kind = "myspace" }, false},
		{"no name", func(c *ProviderConfig) { c.Name = "" }, false},
		{"no client id", func(c *ProviderConfig) { c.ClientID = "" }, false},
		{"an issuer without an address", func(c *ProviderConfig) { c.URL = "" }, false},
		{"an address without a host", func(c *ProviderConfig) { c.URL = "id.corp.example" }, false},
		{"tokens in the clear over the network", func(c *ProviderConfig) { c.URL = "http://id.corp.example" }, false},
		{"tokens in the clear on this machine", func(c *ProviderConfig) { c.URL = "http://127.0.0.1:9000" }, true},
		{"github without a secret", func(c *ProviderConfig) { c.Kind, c.URL = "github", "" }, false},
		{"facebook without a secret", func(c *ProviderConfig) { c.Kind, c.URL = "facebook", "" }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := good
			tc.change(&c)
			if _, err := NewSocial(SocialConfig{Providers: []ProviderConfig{c}}); (err == nil) != tc.good {
				t.Errorf("got %v", err)
			}
		})
	}
	twice := good
	twice.Name = "CORP"
	if _, err := NewSocial(SocialConfig{Providers: []ProviderConfig{good, twice}}); err == nil {
		t.Error("two providers share a name")
	}
}
