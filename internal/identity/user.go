package identity

import (
	"context"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
)

// User is one account. Accounts are global; bindings let them into tenants.
type User struct {
	ID                 uuid.UUID  `db:"id"`
	Email              string     `db:"email"`
	EmailConfirmed     bool       `db:"email_confirmed"`
	FirstName          string     `db:"first_name"`
	LastName           string     `db:"last_name"`
	PhoneNumber        string     `db:"phone_number"`
	ProfilePictureURL  string     `db:"profile_picture_url"`
	PasswordHash       string     `db:"password_hash"`
	PasswordChangedAt  *db.Time   `db:"password_changed_at"`
	MustChangePassword bool       `db:"must_change_password"`
	AppIDs             db.Strings `db:"app_ids"`
	IsActive           bool       `db:"is_active"`
	Generation         int64      `db:"generation"`
	LastLoginAt        *db.Time   `db:"last_login_at"`
	CreatedAt          db.Time    `db:"created_at"`
	UpdatedAt          db.Time    `db:"updated_at"`
}

// FullName is first and last name joined.
func (u User) FullName() string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

// mayUse reports whether the account is open to the app: one without a list is open to every app.
func (u User) mayUse(app string) bool {
	return len(u.AppIDs) == 0 || slices.ContainsFunc(u.AppIDs, func(id string) bool { return strings.EqualFold(id, app) })
}

// displayName is how a person is addressed: by name where one is known.
func displayName(first, last, email string) string {
	if name := strings.TrimSpace(first + " " + last); name != "" {
		return name
	}
	return email
}

// splitName makes the first word the first name.
func splitName(full string) (first, last string) {
	first, last, _ = strings.Cut(strings.Join(strings.Fields(full), " "), " ")
	return first, last
}

// emailKey is what two addresses share when they belong to the same account.
func emailKey(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Bounds of what people type about themselves.
const (
	maxEmailLength = 254
	maxNameLength  = 100
	maxPhoneLength = 32
)

var phonePattern = regexp.MustCompile(`^[0-9+\-() ]*$`)

// fields collects what is wrong with an input, so that a caller hears all of it at once.
type fields []fault.Field

func (f *fields) add(name, format string, args ...any) {
	*f = append(*f, fault.Field{Name: name, Message: fmt.Sprintf(format, args...)})
}

// fault is nil where nothing is wrong.
func (f fields) fault() error {
	if len(f) == 0 {
		return nil
	}
	return fault.InvalidFields(f...)
}

// collect takes over the fields of another refusal.
func (f *fields) collect(err error) {
	if wrong, ok := fault.From(err); ok {
		*f = append(*f, wrong.Fields...)
	}
}

func (f *fields) checkEmail(name, email string) {
	address, err := mail.ParseAddress(email)
	switch {
	case email == "":
		f.add(name, "is required")
	case len(email) > maxEmailLength:
		f.add(name, "must have at most %d characters", maxEmailLength)
	case err != nil || address.Address != email || strings.ContainsFunc(email, unicode.IsControl):
		f.add(name, "must be an e-mail address such as ada@example.com")
	}
}

func (f *fields) checkFullName(name, full string) {
	first, last := splitName(full)
	switch {
	case first == "":
		f.add(name, "is required")
	case utf8.RuneCountInString(first) > maxNameLength || utf8.RuneCountInString(last) > maxNameLength:
		f.add(name, "first and last name must have at most %d characters each", maxNameLength)
	case strings.ContainsFunc(full, unicode.IsControl):
		f.add(name, "must not contain control characters")
	}
}

func (f *fields) checkPhone(name, phone string) {
	if len(phone) > maxPhoneLength || !phonePattern.MatchString(phone) {
		f.add(name, "must be digits with + - ( ) and spaces, at most %d characters", maxPhoneLength)
	}
}

func (f *fields) checkPassword(policy PasswordPolicy, name, password string) {
	if wrong := policy.Check(name, password); wrong != nil {
		f.collect(wrong)
	}
}

// createUser inserts an account and settles a race for the e-mail by the unique key.
func createUser(ctx context.Context, tx db.Tx, u User) error {
	created, err := insertUser(ctx, tx, u)
	if err != nil {
		return err
	}
	if !created {
		return fault.New(fault.UserAlreadyExists, "An account with this e-mail already exists.")
	}
	return nil
}
