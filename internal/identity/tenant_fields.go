package identity

import (
	"crypto/rand"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must be known on machines that carry none
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"steward/internal/resource"
)

// TenantSettings is how a tenant tells time and speaks.
type TenantSettings struct {
	Timezone string `json:"timezone" doc:"Name of a zone in the IANA database."`
	Language string `json:"language" doc:"Tag of a language (BCP 47)."`
}

// defaultSettings are those of a tenant that says nothing.
var defaultSettings = TenantSettings{Timezone: "UTC", Language: "en"}

// Value implements driver.Valuer.
func (s TenantSettings) Value() (driver.Value, error) {
	text, err := json.Marshal(s)
	return string(text), err
}

// Scan implements sql.Scanner.
func (s *TenantSettings) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("scan settings of a tenant: cannot read %T", src)
	}
	*s = defaultSettings
	return json.Unmarshal([]byte(text), s)
}

// TenantFields is what a body says of a tenant: nil leaves a field as it is, or at its default in a
// new tenant.
type TenantFields struct {
	Name       *string
	Identifier *string // empty in a new tenant: made from the name
	Domain     *string // empty: none
	Type       *string
	Parent     *uuid.UUID // the nil id: at the top
	IsActive   *bool
	MaxUsers   *int    // 0: no limit
	Timezone   *string // empty: the default
	Language   *string // empty: the default
}

// Bounds of what is said of a tenant.
const (
	maxTenantName = 200
	maxDomain     = 253
)

var (
	hostLabel      = regexp.MustCompile(`^[\p{L}\p{N}]([\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?$`)
	languageTag    = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)
	identifierForm = regexp.MustCompile(`^[A-Za-z0-9_-]{0,100}$`)
)

// check reports everything that is wrong with what was given.
func (f TenantFields) check() error {
	wrong := fields{}
	checkGiven(f.Name, func(name string) { wrong.checkTenantName("name", name) })
	checkGiven(f.Identifier, func(identifier string) {
		if !identifierForm.MatchString(identifier) {
			wrong.add("identifier", "must be made of letters, digits, hyphens and underscores, at most 100")
		}
	})
	checkGiven(f.Domain, func(domain string) { wrong.checkDomain("domain", domain) })
	checkGiven(f.Timezone, func(zone string) { wrong.checkTimezone("settings.timezone", zone) })
	checkGiven(f.Language, func(language string) {
		if language != "" && (len(language) > 35 || !languageTag.MatchString(language)) {
			wrong.add("settings.language", "must be a language tag such as en or pt-BR")
		}
	})
	if f.MaxUsers != nil && *f.MaxUsers < 0 {
		wrong.add("maxUsers", "must be at least 1, or 0 for no limit")
	}
	return wrong.fault()
}

func checkGiven(text *string, check func(string)) {
	if text != nil {
		check(*text)
	}
}

func (f *fields) checkTenantName(field, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		f.add(field, "is required")
	case utf8.RuneCountInString(name) > maxTenantName:
		f.add(field, "must have at most %d characters", maxTenantName)
	case strings.ContainsFunc(name, unicode.IsControl):
		f.add(field, "must not contain control characters")
	}
}

func (f *fields) checkDomain(field, domain string) {
	if domain == "" {
		return
	}
	for label := range strings.SplitSeq(domain, ".") {
		if len(domain) > maxDomain || !hostLabel.MatchString(label) {
			f.add(field, "must be a host name such as acme.example.com")
			return
		}
	}
}

func (f *fields) checkTimezone(field, zone string) {
	if zone == "" {
		return
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		f.add(field, "must be the name of a time zone such as Europe/Berlin")
	}
}

// apply changes the tenant as the fields say, which are checked.
func (f TenantFields) apply(t *Tenant) {
	if f.Name != nil {
		t.Name = strings.TrimSpace(*f.Name)
	}
	resource.Set(&t.Identifier, f.Identifier)
	if f.Domain != nil {
		t.Domain = strings.ToLower(*f.Domain)
	}
	resource.Set(&t.Type, f.Type)
	if f.Parent != nil {
		t.ParentID = optionalID(*f.Parent)
	}
	resource.Set(&t.IsActive, f.IsActive)
	if f.MaxUsers != nil {
		t.MaxUsers = nil
		if *f.MaxUsers > 0 {
			t.MaxUsers = f.MaxUsers
		}
	}
	setOr(&t.Settings.Timezone, f.Timezone, defaultSettings.Timezone)
	setOr(&t.Settings.Language, f.Language, defaultSettings.Language)
}

// setOr is resource.Set for a text that an empty one puts back to its default.
func setOr(field, given *string, initial string) {
	resource.Set(field, given)
	if *field == "" {
		*field = initial
	}
}

const (
	maxSlug = 60
	// numberedSlugs are tried in their order; after so many tenants of one name chance is quicker.
	numberedSlugs = 9
	randomSlugs   = 3
)

// slugsOf lists identifiers for a tenant of the name, the best first.
func slugsOf(name string) []string {
	base := slugOf(name)
	slugs := []string{base}
	for n := 2; n <= numberedSlugs; n++ {
		slugs = append(slugs, base+"-"+strconv.Itoa(n))
	}
	for range randomSlugs {
		slugs = append(slugs, base+"-"+strings.ToLower(rand.Text()[:8]))
	}
	return slugs
}

// letters are those that do not come apart into a Latin letter and an accent.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i")

// slugOf keeps the Latin letters and digits of a name, in lower case and without accents, and puts one
// hyphen for whatever stands between them.
func slugOf(name string) string {
	var slug strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(letters.Replace(strings.ToLower(name))) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			if gap && slug.Len() > 0 {
				slug.WriteByte('-')
			}
			gap = false
			slug.WriteRune(r)
		case !unicode.Is(unicode.Mn, r):
			gap = true
		}
	}
	if slug.Len() == 0 {
		return "tenant" // a name in another script
	}
	return strings.TrimRight(slug.String()[:min(slug.Len(), maxSlug)], "-")
}
