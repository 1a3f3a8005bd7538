package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"steward/internal/fault"
)

// SocialUser is a person as a social provider knows them.
type SocialUser struct {
	// Issuer and Subject together name the person for good; everything else may change.
	Issuer, Subject string
	Email           string
	// EmailVerified is true only where the provider vouches for the address.
	EmailVerified bool
	Name          string
	PictureURL    string
}

// SocialProvider asks one provider whose access token this is. Implementations return
// errProviderRefused (wrapped) where the token is not good for this application; any other error
// means that the provider could not be asked.
type SocialProvider interface {
	Verify(ctx context.Context, accessToken string) (SocialUser, error)
}

// SocialConfig lists the providers that people may sign in with.
type SocialConfig struct {
	Providers []ProviderConfig
	Timeout   time.Duration // for all calls of one sign-in together; default 10 s
}

// ProviderConfig is one provider.
type ProviderConfig struct {
	Name         string // what clients send as provider, in any case
	Kind         string // google, microsoft, github, facebook or oidc
	ClientID     string // the application that tokens must have been issued for
	ClientSecret string // needed by github and facebook, and by oidc for opaque tokens
	URL          string // the issuer of oidc; for the others empty, or another base address
}

// Social knows the providers by name.
type Social struct {
	providers map[string]SocialProvider
	names     []string
	timeout   time.Duration
}

// socialRetry is what callers are told where the provider did not say.
const socialRetry = 5 * time.Second

var errProviderRefused = errors.New("the provider refused the token")

type providerKind struct {
	address     string // where the provider is, unless configured otherwise
	needsSecret bool
	open        func(ProviderConfig, *http.Client) SocialProvider
}

var providerKinds = map[string]providerKind{
	"google":    {"https://www.googleapis.com", false, newGoogle},
	"microsoft": {"https://graph.microsoft.com", false, newMicrosoft},
	"github":    {githubAddress, true, newGithub},
	"facebook":  {"https://graph.facebook.com", true, newFacebook},
	"oidc":      {"", false, newOIDC},
}

// NewSocial checks the configuration; it calls no provider yet, so that one that is down does not
// keep this program from starting.
func NewSocial(c SocialConfig) (*Social, error) {
	s := &Social{providers: map[string]SocialProvider{}, timeout: orDefault(c.Timeout, 10*time.Second)}
	client := newSocialClient(s.timeout)
	for _, p := range c.Providers {
		provider, err := openProvider(p, client)
		if err != nil {
			return nil, fmt.Errorf("social provider %q: %w", p.Name, err)
		}
		name := strings.ToLower(p.Name)
		if _, taken := s.providers[name]; taken {
			return nil, fmt.Errorf("social provider %q: configured twice", p.Name)
		}
		s.providers[name] = provider
		s.names = append(s.names, name)
	}
	return s, nil
}

func openProvider(p ProviderConfig, client *http.Client) (SocialProvider, error) {
	p.Kind = strings.ToLower(p.Kind)
	kind, known := providerKinds[p.Kind]
	p.URL = orDefault(p.URL, kind.address)
	switch {
	case !known:
		return nil, fmt.Errorf("kind %q is none of google, microsoft, github, facebook, oidc", p.Kind)
	case p.Name == "" || p.ClientID == "":
		return nil, errors.New("needs a name and a client id")
	case kind.needsSecret && p.ClientSecret == "":
		return nil, errors.New("needs a client secret")
	case !trustworthy(p.URL):
		return nil, errors.New("its address must begin with https:// (http:// on loopback only)")
	}
	if p.Kind != "oidc" { // an issuer is compared as it is written
		p.URL = strings.TrimRight(p.URL, "/")
	}
	return kind.open(p, client), nil
}

// Names lists the configured providers in the order of the configuration.
func (s *Social) Names() []string { return append([]string(nil), s.names...) }

// Verify tells who bears the provider's access token. It fails with a VALIDATION_ERROR on provider
// where that is not configured, with INVALID_CREDENTIALS where the provider refuses the token or
// issued it for another application, and with SERVICE_UNAVAILABLE where it cannot be asked.
func (s *Social) Verify(ctx context.Context, provider, accessToken string) (SocialUser, error) {
	asked, ok := s.providers[strings.ToLower(provider)]
	if !ok {
		return SocialUser{}, fault.Invalid("provider", "is not a provider that is configured here")
	}
	if !tokenShaped(accessToken) {
		return SocialUser{}, refusedByProvider(errors.New("the token has no valid form"))
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	user, err := asked.Verify(ctx, accessToken)
	if err == nil {
		user, err = user.tidy()
	}
	if errors.Is(err, errProviderRefused) {
		return SocialUser{}, refusedByProvider(err)
	}
	if err != nil {
		return SocialUser{}, fault.New(fault.Unavailable, "The sign-in provider cannot be reached right now.").
			Because(err).RetryIn(retryAfter(err))
	}
	return user, nil
}

func refusedByProvider(cause error) *fault.Fault {
	return fault.New(fault.InvalidCredentials, "The provider does not accept this token for this application.").Because(cause)
}

// tokenShaped keeps out what could not travel in a header and what no provider would issue.
func tokenShaped(token string) bool {
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	return token != "" && len(token) <= maxTokenBytes && !strings.ContainsFunc(token, unprintable)
}

// tidy drops what cannot be used and refuses a person without a name of their own.
func (u SocialUser) tidy() (SocialUser, error) {
	if u.Subject == "" || len(u.Subject) > 255 || u.Issuer == "" || strings.ContainsFunc(u.Subject, unicode.IsControl) {
		return u, errors.New("the provider named no subject")
	}
	u.Email = strings.TrimSpace(u.Email)
	u.EmailVerified = u.EmailVerified && u.Email != ""
	u.Name = tidyName(u.Name)
	if len(u.PictureURL) > 2048 || !trustworthy(u.PictureURL) {
		u.PictureURL = ""
	}
	return u, nil
}

// tidyName makes of whatever a provider calls a person a name that could have been typed here.
func tidyName(name string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	first, last := splitName(printable)
	return strings.TrimSpace(firstRunes(first, maxNameLength) + " " + firstRunes(last, maxNameLength))
}

func firstRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(n, len(runes))])
}

// trustworthy accepts https, and http only where it does not leave the machine.
func trustworthy(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}
