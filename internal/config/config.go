// Package config holds every setting of the program in one struct, filled from flags, the
// environment and a file, and checked before anything starts.
package config

import (
	"time"
)

// Config is all there is to set. A flag --data-dir is STEWARD_DATA_DIR in the environment and
// data-dir in the file; flags win over the environment, the environment over the file.
type Config struct {
	Listen        string        `help:"Address to serve on." default:"127.0.0.1:8080" group:"Server"`
	MetricsListen string        `help:"Address to serve /metrics on; empty: on the main one." group:"Server"`
	PublicURL     string        `help:"Address people reach this service at; token issuer and base of the links in mails. Empty: http:// and the listen address." name:"public-url" group:"Server"`
	ErrorsBase    string        `help:"Base of the problem type URIs. Empty: the public URL and /problems." group:"Server"`
	CORSOrigins   []string      `help:"Origins that browsers may call the API from; * for any." name:"cors-origins" group:"Server"`
	Proxies       []string      `help:"Addresses or networks of proxies whose X-Forwarded-For is believed." name:"trusted-proxies" group:"Server"`
	Timeout       time.Duration `help:"Longest time one request may take." name:"request-timeout" default:"30s" group:"Server"`
	StopGrace     time.Duration `help:"Time that running requests get when the program is told to stop." default:"20s" group:"Server"`

	DataDir       string `help:"Folder for the embedded database and files." default:"./data" group:"Store"`
	DatabaseURL   string `help:"postgres:// address; empty: SQLite in the data folder." name:"database-url" group:"Store"`
	DatabaseConns int    `help:"Most connections to the database; 0: chosen to fit it." group:"Store"`
	MasterKey     string `help:"32 bytes in base64 or hex that wrap every secret in the store." group:"Store"`

	AdminEmail    string `help:"E-mail of the first administrator; first start only." default:"admin@steward.local" group:"First start"`
	AdminPassword string `help:"Password of the first administrator; empty: generated and printed once." group:"First start"`

	Registration          string        `help:"Who may register: default-tenant, no-tenant or off." default:"default-tenant" group:"Sign-in"`
	RegistrationRole      string        `help:"Role that a registered account gets in the default tenant." default:"Member" group:"Sign-in"`
	RequireConfirmedEmail bool          `help:"Refuse sign-in until the e-mail address is confirmed." group:"Sign-in"`
	LockoutAttempts       int           `help:"Wrong passwords in a row that lock an e-mail." default:"5" group:"Sign-in"`
	LockoutDuration       time.Duration `help:"How long a lockout lasts." default:"15m" group:"Sign-in"`
	PasswordRejectCommon  bool          `help:"Refuse the passwords that everybody uses." group:"Sign-in"`
	PasswordExpireDays    int           `help:"Days after which a password must be changed; 0: never." group:"Sign-in"`
	PasswordHistory       int           `help:"Number of earlier passwords that may not be used again." group:"Sign-in"`

	GoogleClientID       string   `help:"Client id at Google." name:"google-client-id" group:"Social sign-in"`
	GoogleURL            string   `help:"Address of Google's endpoints." name:"google-url" group:"Social sign-in" hidden:""`
	MicrosoftClientID    string   `help:"Application id at Microsoft." name:"microsoft-client-id" group:"Social sign-in"`
	MicrosoftURL         string   `help:"Address of Microsoft Graph." name:"microsoft-url" group:"Social sign-in" hidden:""`
	GithubClientID       string   `help:"Client id at GitHub." name:"github-client-id" group:"Social sign-in"`
	GithubClientSecret   string   `help:"Client secret at GitHub." name:"github-client-secret" group:"Social sign-in"`
	GithubURL            string   `help:"Address of GitHub's API." name:"github-url" group:"Social sign-in" hidden:""`
	FacebookClientID     string   `help:"App id at Facebook." name:"facebook-client-id" group:"Social sign-in"`
	FacebookClientSecret string   `help:"App secret at Facebook." name:"facebook-client-secret" group:"Social sign-in"`
	FacebookURL          string   `help:"Address of Facebook's Graph API." name:"facebook-url" group:"Social sign-in" hidden:""`
	OIDC                 []string `help:"Further OpenID Connect issuers, each NAME=https://CLIENT_ID:CLIENT_SECRET@ISSUER." name:"oidc" group:"Social sign-in"`

	MailFrom string `help:"Sender of the mails." default:"Steward <no-reply@steward.local>" group:"Mail"`

	RateLimits        string `help:"on or off." default:"on" group:"Limits"`
	LimitLogin        Rate   `help:"Sign-ins per client address and e-mail." default:"10/m" group:"Limits"`
	LimitLoginAddress Rate   `help:"Sign-ins per client address." default:"60/m" group:"Limits"`
	LimitRegister     Rate   `help:"Registrations per client address." default:"5/m" group:"Limits"`
	LimitReset        Rate   `help:"Password reset requests per client address." default:"3/m" group:"Limits"`
	LimitIdentity     Rate   `help:"Calls per caller and identity route." default:"100/m" group:"Limits"`
	LimitGeneral      Rate   `help:"Calls per caller and any other route." default:"1000/m" group:"Limits"`

	LogLevel     string `help:"debug, info, warn or error." default:"info" group:"Observation"`
	LogFormat    string `help:"text or json." default:"text" group:"Observation"`
	OTLPEndpoint string `help:"OTLP/HTTP address that traces are sent to, e.g. http://localhost:4318; empty: none." name:"otlp-endpoint" group:"Observation"`

	Dev bool `help:"For trying out and for test suites: fixed administrator (${dev_email} / ${dev_password}), no rate limits; loopback only." group:"Server"`

	guessed bool
}

// PublicURLIsGuessed reports whether the public URL was made of the listen address for want of a
// setting: other nodes may have guessed another.
func (c *Config) PublicURLIsGuessed() bool { return c.guessed }

// The administrator of serve --dev.
const (
	DevAdminEmail    = "admin@steward.local"
	DevAdminPassword = "Steward-dev-1"
)

// Registration modes.
const (
	RegistrationDefaultTenant = "default-tenant"
	RegistrationNoTenant      = "no-tenant"
	RegistrationOff           = "off"
)
