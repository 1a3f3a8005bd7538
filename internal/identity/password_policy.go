package identity

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"steward/internal/fault"
)

// PasswordPolicy says which passwords are accepted. The zero value asks for 8 to 128 characters and
// nothing else.
type PasswordPolicy struct {
	Min, Max     int  // in characters, not bytes; zero: 8 and 128
	RejectCommon bool // refuse what everybody uses
	ExpireDays   int  // zero: a password never expires
	History      int  // how many earlier passwords may not come back
}

// Check tells what is wrong with a new password, as a fault about the field, or nil. The message
// never repeats the password.
func (p PasswordPolicy) Check(field, password string) *fault.Fault {
	shortest, longest := orDefault(p.Min, 8), orDefault(p.Max, 128)
	length := utf8.RuneCountInString(password)
	switch {
	case !utf8.ValidString(password):
		return fault.Invalid(field, "must be valid UTF-8 text")
	case length < shortest || length > longest:
		return fault.Invalid(field, "must have %d to %d characters", shortest, longest)
	case p.RejectCommon && isCommonPassword(password):
		return fault.Invalid(field, "is one of the passwords that are guessed first; choose another")
	}
	return nil
}

//go:embed commonpasswords.txt
var commonPasswordText string

var commonPasswords = sync.OnceValue(func() map[string]bool {
	common := map[string]bool{}
	for line := range strings.Lines(commonPasswordText) {
		if word := strings.TrimSpace(line); word != "" && !strings.HasPrefix(word, "# ") {
			common[strings.ToLower(word)] = true
		}
	}
	return common
})

// isCommonPassword ignores case: PASSWORD1 is guessed as soon as password1.
func isCommonPassword(password string) bool { return commonPasswords()[strings.ToLower(password)] }
