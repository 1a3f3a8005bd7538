package config

import (
	"net"
	"net/url"
	"strings"
)

// SocialProvider is one way to sign in with an account held elsewhere.
type SocialProvider struct {
	Name         string // what clients send as provider
	Kind         string // google, microsoft, github, facebook or oidc
	ClientID     string
	ClientSecret string
	URL          string // the issuer for oidc; else empty for the provider's own address
}

// SocialProviders lists the providers that are configured.
func (c *Config) SocialProviders() ([]SocialProvider, error) {
	var configured []SocialProvider
	for _, p := range []SocialProvider{
		{"google", "google", c.GoogleClientID, "", c.GoogleURL},
		{"microsoft", "microsoft", c.MicrosoftClientID, "", c.MicrosoftURL},
		{"github", "github", c.GithubClientID, c.GithubClientSecret, c.GithubURL},
		{"facebook", "facebook", c.FacebookClientID, c.FacebookClientSecret, c.FacebookURL},
	} {
		if p.ClientID == "" {
			continue
		}
		if needsSecret := p.Kind == "github" || p.Kind == "facebook"; needsSecret && p.ClientSecret == "" {
			return nil, Refuse(p.Kind+"-client-secret", "is needed beside %s-client-id", p.Kind)
		}
		configured = append(configured, p)
	}
	for _, text := range c.OIDC {
		p, err := parseIssuer(text)
		if err != nil {
			return nil, err
		}
		configured = append(configured, p)
	}
	return configured, checkProviders(configured)
}

// checkProviders refuses a name that is used twice, and addresses that a token must not be sent to.
func checkProviders(providers []SocialProvider) error {
	seen := map[string]bool{}
	for _, p := range providers {
		setting := p.Kind
		if p.Kind != "oidc" {
			setting += "-url"
		}
		if name := strings.ToLower(p.Name); seen[name] {
			return Refuse("oidc", "the name %q is used twice", p.Name)
		} else {
			seen[name] = true
		}
		if p.URL != "" && !isPrivateToTheWire(p.URL) {
			return Refuse(setting, "the address of %s must begin with https:// (http:// on loopback only)", p.Name)
		}
	}
	return nil
}

func isPrivateToTheWire(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// parseIssuer reads NAME=https://CLIENT_ID:CLIENT_SECRET@ISSUER; the message never repeats the secret.
func parseIssuer(text string) (SocialProvider, error) {
	name, address, found := strings.Cut(text, "=")
	issuer, err := url.Parse(address)
	if !found || name == "" || err != nil || issuer.Host == "" || issuer.User == nil || issuer.User.Username() == "" {
		return SocialProvider{}, Refuse("oidc", "each issuer is written NAME=https://CLIENT_ID:CLIENT_SECRET@ISSUER")
	}
	secret, _ := issuer.User.Password()
	p := SocialProvider{Name: name, Kind: "oidc", ClientID: issuer.User.Username(), ClientSecret: secret}
	issuer.User = nil
	p.URL = issuer.String()
	return p, nil
}
