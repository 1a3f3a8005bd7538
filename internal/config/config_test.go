package config

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// parse fills a Config as the program does.
func parse(t *testing.T, file string, arguments ...string) (Config, error) {
	t.Helper()
	var cli struct{ Config }
	options := []kong.Option{
		kong.DefaultEnvars("STEWARD"), kong.Vars{"dev_email": "", "dev_password": ""},
		kong.Exit(func(int) { t.Fatal("exit") }),
	}
	if file != "" {
		resolver, err := LoadFile(strings.NewReader(file))
		if err != nil {
			return cli.Config, err
		}
		options = append(options, kong.Resolvers(resolver))
	}
	parser, err := kong.New(&cli, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(arguments); err != nil {
		return cli.Config, err
	}
	err = cli.Check()
	return cli.Config, err
}

func TestDefaults(t *testing.T) {
	c, err := parse(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:8080" || c.PublicURL != "http://127.0.0.1:8080" || c.ErrorsBase != "http://127.0.0.1:8080/problems" || c.DataDir != "./data" ||
		c.LimitLogin != (Rate{10, time.Minute}) || c.LimitGeneral != (Rate{1000, time.Minute}) || c.LockoutDuration != 15*time.Minute {
		t.Errorf("unexpected defaults: %+v", c)
	}
}

func TestAFlagWinsOverTheEnvironmentAndThatOverTheFile(t *testing.T) {
	t.Setenv("STEWARD_REGISTRATION", "off")
	t.Setenv("STEWARD_LOG_FORMAT", "json")
	c, err := parse(t, "registration: no-tenant\nlog-format: text\nlockout-attempts: 7\ntrusted-proxies: [10.0.0.1, 10.1.0.0/16]\nlimit-login: 20/m\n", "--log-format", "text")
	if err != nil {
		t.Fatal(err)
	}
	if c.Registration != "off" || c.LogFormat != "text" || c.LockoutAttempts != 7 || len(c.Proxies) != 2 || c.LimitLogin.N != 20 {
		t.Errorf("unexpected configuration: %+v", c)
	}
}

func TestBadSettingsAreNamedInOneLine(t *testing.T) {
	for _, c := range []struct{ argument, names string }{
		{"--listen=nowhere", "listen"},
		{"--listen=127.0.0.1:99999", "listen"},
		{"--errors-base=nope", "errors-base"},
		{"--cors-origins=foo", "cors-origins"},
		{"--public-url=steward.example.com", "public-url"},
		{"--public-url=https://steward.example.com/?a=b", "public-url"},
		{"--database-url=mysql://user:secret@host/db", "database-url"},
		{"--data-dir=", "data-dir"},
		{"--master-key=short", "master-key"},
		{"--registration=maybe", "registration"},
		{"--rate-limits=sometimes", "rate-limits"},
		{"--log-level=loud", "log-level"},
		{"--lockout-attempts=0", "lockout-attempts"},
		{"--lockout-duration=0s", "lockout-duration"},
		{"--database-conns=-1", "database-conns"},
		{"--trusted-proxies=everywhere", "trusted-proxies"},
		{"--limit-login=10", "limit-login"},
		{"--limit-login=0/m", "limit-login"},
		{"--admin-email=nobody", "admin-email"},
		{"--admin-password=short", "admin-password"},
		{"--mail-from=nobody", "mail-from"},
		{"--github-client-id=x", "github-client-secret"},
		{"--oidc=acme=https://issuer.example", "oidc"},
		{"--oidc=acme=http://client:secret@issuer.example", "oidc"},
		{"--oidc=acme=https://a:b@issuer.example,ACME=https://a:b@other.example", "oidc"},
		{"--otlp-endpoint=localhost:4318", "otlp-endpoint"},
	} {
		t.Run(c.argument, func(t *testing.T) {
			_, err := parse(t, "", c.argument)
			if err == nil || !strings.Contains(err.Error(), c.names) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v does not name %s in one line", err, c.names)
			}
			if err != nil && strings.Contains(err.Error(), "secret@") {
				t.Errorf("the message repeats a password: %v", err)
			}
		})
	}
}

func TestAFileWithAnUnknownNameIsRefused(t *testing.T) {
	if _, err := parse(t, "lisen: 127.0.0.1:80\n"); err == nil || !strings.Contains(err.Error(), "lisen") {
		t.Errorf("error %v does not name the typo", err)
	}
	if _, err := parse(t, "{{{"); err == nil || !strings.Contains(err.Error(), "YAML") {
		t.Errorf("error %v does not say that the file is broken", err)
	}
}

func TestDevIsForLoopbackOnly(t *testing.T) {
	c, err := parse(t, "", "--dev")
	if err != nil || c.AdminPassword != DevAdminPassword || c.RateLimits != "off" {
		t.Errorf("dev: %+v, %v", c, err)
	}
	for _, listen := range []string{"0.0.0.0:8080", ":8080", "192.168.1.5:8080", "[::]:8080"} {
		if _, err := parse(t, "", "--dev", "--listen="+listen); err == nil || !strings.Contains(err.Error(), "dev") {
			t.Errorf("dev on %s: %v", listen, err)
		}
	}
}

func TestIssuersAreReadFromOneSetting(t *testing.T) {
	c, err := parse(t, "", "--oidc=acme=https://client:s3cret@issuer.example/realms/a", "--google-client-id=g")
	if err != nil {
		t.Fatal(err)
	}
	providers, err := c.SocialProviders()
	if err != nil || len(providers) != 2 {
		t.Fatal(providers, err)
	}
	if want := (SocialProvider{Name: "acme", Kind: "oidc", ClientID: "client", ClientSecret: "s3cret", URL: "https://issuer.example/realms/a"}); providers[1] != want {
		t.Errorf("%+v", providers[1])
	}
}
