package fault

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// suffixes is the contract's rule for the status of a code.
var suffixes = []struct {
	suffix string
	status int
}{
	{"_NOT_FOUND", http.StatusNotFound},
	{"_ALREADY_EXISTS", http.StatusConflict},
	{"_ALREADY_ASSIGNED", http.StatusConflict},
	{"_CONFLICT", http.StatusConflict},
	{"_FORBIDDEN", http.StatusForbidden},
	{"_ACCESS_DENIED", http.StatusForbidden},
	{"_UNAUTHORIZED", http.StatusUnauthorized},
	{"_UNPROCESSABLE", http.StatusUnprocessableEntity},
}

// exceptions are the codes whose status the contract or the decisions name one by one.
var exceptions = map[Code]int{
	NotFound: 404, MethodNotAllowed: 405, NotAcceptable: 406, RequestTimeout: 408, Conflict: 409,
	PreconditionFailed: 412, BodyTooLarge: 413, UnsupportedMediaType: 415, RateLimited: 429, Internal: 500, Unavailable: 503,
	Unauthorized: 401, TokenMissing: 401, TokenInvalid: 401, TokenExpired: 401, TokenRevoked: 401, SessionInvalidated: 401,
	InvalidCredentials: 401, AccountDisabled: 401, EmailNotConfirmed: 401, AccountLocked: 423,
	Forbidden: 403, MissingPermission: 403,
	"REPORT_NOT_AVAILABLE": 409, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED": 403,
}

func statusByRule(code Code) int {
	if status, ok := exceptions[code]; ok {
		return status
	}
	for _, s := range suffixes {
		if strings.HasSuffix(string(code), s.suffix) {
			return s.status
		}
	}
	return http.StatusBadRequest
}

func TestEveryCodeHasTheStatusOfItsSuffixOrIsANamedException(t *testing.T) {
	for _, m := range All() {
		if want := statusByRule(m.Code); m.Status != want {
			t.Errorf("%s has the status %d, the rule says %d", m.Code, m.Status, want)
		}
	}
}

func TestCodesAreUniqueAndTold(t *testing.T) {
	form := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`)
	seen := map[Code]bool{}
	for _, m := range All() {
		if seen[m.Code] {
			t.Errorf("%s is listed twice", m.Code)
		}
		seen[m.Code] = true
		if !form.MatchString(string(m.Code)) {
			t.Errorf("%s is not in capitals with underscores", m.Code)
		}
		if m.Title == "" || strings.HasSuffix(m.Title, ".") {
			t.Errorf("%s needs a title without a full stop, has %q", m.Code, m.Title)
		}
	}
}

// The codes of the contract's table for envelopes, and the general ones of statuses that it lacks.
var envelopeCodes = map[Code]bool{
	Validation: true, InvalidCredentials: true, TokenExpired: true, TokenInvalid: true, Unauthorized: true, Forbidden: true,
	NotFound: true, Conflict: true, AccountLocked: true, RateLimited: true, Internal: true, AccountDisabled: true, EmailNotConfirmed: true,
}

func TestEnvelopesShowACodeOfTheSameStatus(t *testing.T) {
	for _, m := range All() {
		shown := m.Code.Meaning().Envelope
		if shown == m.Code {
			continue
		}
		if !envelopeCodes[shown] {
			t.Errorf("%s is shown as %s, which clients of envelopes do not know", m.Code, shown)
		}
		if status := shown.Meaning().Status; status != m.Status {
			t.Errorf("%s (%d) is shown as %s (%d)", m.Code, m.Status, shown, status)
		}
	}
}

func TestAnUnknownCodeIsAFaultOfOurs(t *testing.T) {
	if m := Code("TYPO_NOT_FUOND").Meaning(); m.Code != Internal || m.Status != http.StatusInternalServerError {
		t.Errorf("it means %s %d", m.Code, m.Status)
	}
}
