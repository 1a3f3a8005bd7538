package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"
)

// openID is any issuer that speaks OpenID Connect. What it offers is discovered at the first
// sign-in, and again as long as that fails.
type openID struct {
	ProviderConfig
	client    *http.Client
	found     atomic.Pointer[openIDIssuer]
	discovery singleflight.Group
}

// openIDIssuer is what discovery found.
type openIDIssuer struct {
	verifier      *oidc.IDTokenVerifier
	UserInfo      string   `json:"userinfo_endpoint"`
	Introspection string   `json:"introspection_endpoint"`
	ClientAuth    []string `json:"introspection_endpoint_auth_methods_supported"`
	KeySet        string   `json:"jwks_uri"`
}

func newOIDC(c ProviderConfig, client *http.Client) SocialProvider {
	return &openID{ProviderConfig: c, client: client}
}

// Verify implements SocialProvider. A JWT is verified by the issuer's keys, any other token by its
// introspection endpoint; the userinfo endpoint must accept it in either case.
func (p *openID) Verify(ctx context.Context, token string) (SocialUser, error) {
	issuer, err := p.discover(ctx)
	if err != nil {
		return SocialUser{}, err
	}
	check := p.introspect
	if looksLikeJWT(token) {
		check = p.verifyJWT
	}
	subject, err := check(ctx, issuer, token)
	if err != nil {
		return SocialUser{}, err
	}
	var info userInfo
	if err := getJSON(ctx, p.client, issuer.UserInfo, token, &info); err != nil {
		return SocialUser{}, err
	}
	if subject != "" && subject != info.Subject {
		return SocialUser{}, fmt.Errorf("%w: two answers name two people", errProviderRefused)
	}
	return info.user(p.URL), nil
}

// discover reads what the issuer offers. Callers at once share one reading, which outlives them.
func (p *openID) discover(ctx context.Context) (*openIDIssuer, error) {
	if found := p.found.Load(); found != nil {
		return found, nil
	}
	done := p.discovery.DoChan("", func() (any, error) { return nil, p.readDiscovery() })
	select {
	case result := <-done:
		return p.found.Load(), result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *openID) readDiscovery() error {
	// The library keeps the context for later reading of the keys, so it must not be a request's.
	ctx := oidc.ClientContext(context.Background(), p.client)
	provider, err := oidc.NewProvider(ctx, p.URL)
	if err != nil {
		return fmt.Errorf("discover the issuer: %w", brief(err))
	}
	found := &openIDIssuer{}
	if err := provider.Claims(found); err != nil {
		return fmt.Errorf("discover the issuer: %w", err)
	}
	if !trustworthy(found.UserInfo) || found.Introspection != "" && !trustworthy(found.Introspection) {
		return errors.New("discover the issuer: it names no safe userinfo or introspection endpoint")
	}
	keys := issuerKeys{oidc.NewRemoteKeySet(ctx, found.KeySet)}
	found.verifier = oidc.NewVerifier(p.URL, keys, &oidc.Config{
		SkipClientIDCheck:    true, // access tokens name the client elsewhere: see issuedTo
		SupportedSigningAlgs: []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA},
	})
	p.found.Store(found)
	return nil
}

// tokenParties is where tokens and introspection answers say whom a token was issued to and for.
type tokenParties struct {
	Audience audience `json:"aud"`
	Party    string   `json:"azp"`
	ClientID string   `json:"client_id"`
}

// issuedTo goes by the client where one is named; the audience may then be an API of the issuer.
func (t tokenParties) issuedTo(client string) bool {
	if t.Party == "" && t.ClientID == "" {
		return slices.Contains(t.Audience, client)
	}
	return (t.Party == "" || t.Party == client) && (t.ClientID == "" || t.ClientID == client)
}

func (p *openID) verifyJWT(ctx context.Context, issuer *openIDIssuer, token string) (subject string, err error) {
	var trouble error
	verified, err := issuer.verifier.Verify(context.WithValue(ctx, keyTrouble{}, &trouble), token)
	if trouble != nil {
		return "", fmt.Errorf("read the issuer's keys: %w", trouble)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errProviderRefused, err)
	}
	var parties tokenParties
	if err := verified.Claims(&parties); err != nil || !parties.issuedTo(p.ClientID) {
		return "", fmt.Errorf("%w: issued for another application", errProviderRefused)
	}
	return verified.Subject, nil
}

func (p *openID) introspect(ctx context.Context, issuer *openIDIssuer, token string) (subject string, err error) {
	if issuer.Introspection == "" || p.ClientSecret == "" {
		return "", fmt.Errorf("%w: it is opaque, and there is no introspection endpoint or no client secret", errProviderRefused)
	}
	r, err := p.introspectionRequest(ctx, issuer, token)
	if err != nil {
		return "", err
	}
	var info struct {
		tokenParties
		Active  bool   `json:"active"`
		Subject string `json:"sub"`
		Issuer  string `json:"iss"`
	}
	err = askJSON(p.client, r, &info)
	switch {
	case errors.Is(err, errProviderRefused): // a bad token is told in a successful answer
		return "", misconfigured(err)
	case err != nil:
		return "", err
	case !info.Active || info.Issuer != "" && info.Issuer != p.URL:
		return "", errProviderRefused
	case !info.issuedTo(p.ClientID):
		return "", fmt.Errorf("%w: issued for another application", errProviderRefused)
	}
	return info.Subject, nil
}

// introspectionRequest authenticates in the way of OAuth: by the header, or in the form where the
// issuer knows only that.
func (p *openID) introspectionRequest(ctx context.Context, issuer *openIDIssuer, token string) (*http.Request, error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	inForm := len(issuer.ClientAuth) > 0 && !slices.Contains(issuer.ClientAuth, "client_secret_basic")
	if inForm {
		form.Set("client_id", p.ClientID)
		form.Set("client_secret", p.ClientSecret)
	}
	r, err := formRequest(ctx, issuer.Introspection, form)
	if err == nil && !inForm {
		r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.ClientSecret))
	}
	return r, err
}

// issuerKeys tells a failure to read the keys, which passes, from a signature that is wrong.
type issuerKeys struct{ keys oidc.KeySet }

// keyTrouble is the context key under which a caller leaves room for such a failure, since the
// library flattens errors to text.
type keyTrouble struct{}

// VerifySignature implements oidc.KeySet.
func (k issuerKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.keys.VerifySignature(ctx, token)
	if cause := errors.Unwrap(err); cause != nil { // only a failed reading wraps a cause
		if trouble, ok := ctx.Value(keyTrouble{}).(*error); ok {
			*trouble = brief(cause)
		}
	}
	return payload, err
}

func looksLikeJWT(token string) bool {
	first, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	return err == nil && strings.Count(token, ".") == 2 && json.Valid(text)
}

// audience is one name or a list of them.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}
