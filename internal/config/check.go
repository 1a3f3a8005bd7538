package config

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Check fills in what depends on other settings and refuses what cannot work, naming the setting and
// what it should be.
func (c *Config) Check() error {
	if c.Dev {
		if err := c.applyDev(); err != nil {
			return err
		}
	}
	if c.PublicURL == "" {
		c.PublicURL, c.guessed = "http://"+c.Listen, true
	}
	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	if c.ErrorsBase == "" {
		c.ErrorsBase = c.PublicURL + "/problems"
	}
	c.ErrorsBase = strings.TrimSuffix(c.ErrorsBase, "/")
	for _, check := range []func() error{c.checkAddresses, c.checkChoices, c.checkNumbers, c.checkStore, c.checkProxies, c.checkPeople} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Refusal is a setting that cannot work.
type Refusal struct{ Setting, Reason string }

// Error names the setting and what it should be, in one line.
func (r *Refusal) Error() string { return "setting " + r.Setting + ": " + r.Reason }

// Refuse says why a setting cannot work, for those that only a look at the world can tell.
func Refuse(setting, format string, args ...any) error {
	return &Refusal{Setting: setting, Reason: fmt.Sprintf(format, args...)}
}

// applyDev makes a server for trying out; nobody outside the machine may reach its known password.
func (c *Config) applyDev() error {
	host, _, err := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return Refuse("dev", "works only on a loopback address, and listen is %q; use 127.0.0.1:8080 or leave --dev out", c.Listen)
	}
	c.AdminEmail, c.AdminPassword = DevAdminEmail, DevAdminPassword
	c.RateLimits = "off"
	return nil
}

func (c *Config) checkAddresses() error {
	for setting, address := range map[string]string{"listen": c.Listen, "metrics-listen": c.MetricsListen} {
		if (setting == "listen" || address != "") && !isHostPort(address) {
			return Refuse(setting, "%q is not host:port, such as 127.0.0.1:8080", address)
		}
	}
	// The public URL first: the base of errors is made of it.
	for _, s := range []struct{ name, address string }{
		{"public-url", c.PublicURL}, {"errors-base", c.ErrorsBase}, {"otlp-endpoint", c.OTLPEndpoint},
	} {
		if s.address != "" && !isAddress(s.address) {
			return Refuse(s.name, "%q is not an address such as https://steward.example.com", s.address)
		}
	}
	for _, origin := range c.CORSOrigins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || !isAddress(origin) || u.Path != "") {
			return Refuse("cors-origins", "%q is neither * nor an origin such as https://app.example.com", origin)
		}
	}
	return nil
}

func isHostPort(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n <= 65535
}

func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

func (c *Config) checkChoices() error {
	for _, choice := range []struct {
		setting, value string
		allowed        []string
	}{
		{"registration", c.Registration, []string{RegistrationDefaultTenant, RegistrationNoTenant, RegistrationOff}},
		{"rate-limits", c.RateLimits, []string{"on", "off"}},
		{"log-level", c.LogLevel, []string{"debug", "info", "warn", "error"}},
		{"log-format", c.LogFormat, []string{"text", "json"}},
	} {
		if !slices.Contains(choice.allowed, choice.value) {
			return Refuse(choice.setting, "%q is not one of %s", choice.value, strings.Join(choice.allowed, ", "))
		}
	}
	return nil
}

func (c *Config) checkNumbers() error {
	for _, number := range []struct {
		setting  string
		n        int64
		from, to int64
	}{
		{"database-conns", int64(c.DatabaseConns), 0, 1000},
		{"lockout-attempts", int64(c.LockoutAttempts), 1, 1000},
		{"password-expire-days", int64(c.PasswordExpireDays), 0, 3650},
		{"password-history", int64(c.PasswordHistory), 0, 50},
		{"lockout-duration (in seconds)", int64(c.LockoutDuration.Seconds()), 1, 30 * 24 * 3600},
		{"request-timeout (in seconds)", int64(c.Timeout.Seconds()), 1, 3600},
		{"stop-grace (in seconds)", int64(c.StopGrace.Seconds()), 0, 3600},
	} {
		if number.n < number.from || number.n > number.to {
			return Refuse(number.setting, "%d is not between %d and %d", number.n, number.from, number.to)
		}
	}
	return nil
}

func (c *Config) checkStore() error {
	if c.DatabaseURL != "" {
		u, err := url.Parse(c.DatabaseURL)
		// The address may hold a password, so the message does not repeat it.
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			return Refuse("database-url", "must be empty (SQLite) or postgres://user:password@host:port/database")
		}
	}
	if c.DataDir == "" {
		return Refuse("data-dir", "must name a folder")
	}
	if c.MasterKey != "" {
		if _, err := DecodeKey(c.MasterKey); err != nil {
			return Refuse("master-key", "%v", err)
		}
	}
	return nil
}

// DecodeKey reads 32 bytes written in base64 or hex.
func DecodeKey(text string) ([]byte, error) {
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString} {
		if key, err := decode(text); err == nil && len(key) == 32 {
			return key, nil
		}
	}
	return nil, fmt.Errorf("must be 32 bytes in base64 or hex (make one with: openssl rand -base64 32)")
}

// ProxyNetworks reads the trusted proxies; a plain address is a network of one.
func (c *Config) ProxyNetworks() ([]netip.Prefix, error) {
	networks := make([]netip.Prefix, 0, len(c.Proxies))
	for _, text := range c.Proxies {
		if address, err := netip.ParseAddr(text); err == nil {
			networks = append(networks, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, Refuse("trusted-proxies", "%q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}

func (c *Config) checkProxies() error {
	_, err := c.ProxyNetworks()
	return err
}

func (c *Config) checkPeople() error {
	if _, err := mail.ParseAddress(c.MailFrom); err != nil {
		return Refuse("mail-from", "%q is not a sender such as Steward <no-reply@example.com>", c.MailFrom)
	}
	if address, err := mail.ParseAddress(c.AdminEmail); err != nil || address.Address != c.AdminEmail {
		return Refuse("admin-email", "%q is not an e-mail address", c.AdminEmail)
	}
	if n := len([]rune(c.AdminPassword)); n != 0 && (n < 8 || n > 128) {
		return Refuse("admin-password", "must have 8 to 128 characters, it has %d", n)
	}
	_, err := c.SocialProviders()
	return err
}
