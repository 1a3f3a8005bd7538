package identity

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what describes a permission, in characters.
const (
	maxPermissionDescription = 1000
	maxPermissionCategory    = 100
)

// permissionForm is that of a code: <action>:<resource>, or the wildcard.
var permissionForm = regexp.MustCompile(`^(\*|[A-Za-z0-9._-]{1,64}:[A-Za-z0-9._-]{1,64})$`)

func (f *fields) checkPermissionCode(name, code string) {
	switch {
	case code == "":
		f.add(name, "is required")
	case !permissionForm.MatchString(code):
		f.add(name, "must be <action>:<resource>, each of 1 to 64 letters, digits, dots, underscores and hyphens")
	}
}

func (f *fields) checkPermissionChange(c PermissionChange) {
	if c.Description != nil {
		f.checkText("description", *c.Description, maxPermissionDescription, "\n\r\t")
	}
	if c.Category != nil {
		f.checkText("category", *c.Category, maxPermissionCategory, "")
	}
}

// checkText takes any text up to limit characters without control characters other than those allowed.
func (f *fields) checkText(name, text string, limit int, allowed string) {
	isForbidden := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(allowed, r) }
	switch {
	case !utf8.ValidString(text):
		f.add(name, "must be UTF-8")
	case utf8.RuneCountInString(text) > limit:
		f.add(name, "must have at most %d characters", limit)
	case strings.ContainsFunc(text, isForbidden):
		f.add(name, "must not contain control characters")
	}
}

// trimmed takes outer space off, so that two spellings of a category do not differ by what nobody sees.
func (c PermissionChange) trimmed() PermissionChange {
	return PermissionChange{Description: trimmed(c.Description), Category: trimmed(c.Category)}
}

func trimmed(text *string) *string {
	if text == nil {
		return nil
	}
	return new(strings.TrimSpace(*text))
}
