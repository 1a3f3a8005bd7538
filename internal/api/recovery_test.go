package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"steward/internal/app/apptest"
	"steward/internal/config"
)

const newPassword = "battery staple"

func requestReset(t *testing.T, s *apptest.Server, email string) apptest.Answer {
	t.Helper()
	return s.Post(t, "/api/auth/request-password-reset", "", m{"email": email})
}

func reset(t *testing.T, s *apptest.Server, email, token, next string) apptest.Answer {
	t.Helper()
	return s.Post(t, "/api/auth/reset-password", "", m{"email": email, "token": token, "newPassword": next})
}

func TestPasswordReset(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		pair := s.Login(t, email, password)
		for range 6 {
			s.TryLogin(t, email, "wrong horse")
		}
		a := s.Do(t, apptest.Request{Method: "POST", Path: "/api/auth/request-password-reset", Body: m{"email": email},
			Header: map[string]string{"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"}}).Want(t, http.StatusOK)
		if a.JSON["isSuccess"] != true || a.JSON["message"] == "" {
			t.Errorf("unexpected answer: %s", a.Raw)
		}
		link, token := s.Link(t, email)
		if !strings.HasPrefix(link.String(), apptest.PublicURL+"/reset-password?") || link.Query().Get("email") != email {
			t.Fatalf("link %s", link)
		}
		if one[int](t, s, `SELECT count(*) FROM mail_tokens WHERE hash = $1`, token) != 0 {
			t.Error("the token is stored in the clear")
		}
		reset(t, s, email, token, newPassword).Want(t, http.StatusOK)
		wantEnded(t, s, pair.Token, "SESSION_INVALIDATED")
		refresh(t, s, pair.Refresh).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
		s.TryLogin(t, email, password).WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		wantAlive(t, s, s.Login(t, email, newPassword).Token) // and the lockout is gone
		if mail := s.Mail(t, email); mail.Subject != "Your password was changed" {
			t.Errorf("last mail: %s", mail.Subject)
		}
		reset(t, s, email, token, "third password").WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
	})
}

func TestPasswordResetTellsNobodyWhoHasAnAccount(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		before := one[int](t, s, `SELECT count(*) FROM mailbox`)
		timed := func(email string) (string, time.Duration) {
			start := time.Now()
			a := requestReset(t, s, email).Want(t, http.StatusOK)
			return string(a.Raw), time.Since(start)
		}
		known, knownTime := timed(email)
		unknown, unknownTime := timed("nobody@example.com")
		if known != unknown {
			t.Errorf("answers differ: %s and %s", known, unknown)
		}
		const floor = 150 * time.Millisecond
		if knownTime < floor || unknownTime < floor {
			t.Errorf("answers came too early to hide anything: %s, %s", knownTime, unknownTime)
		}
		if n := one[int](t, s, `SELECT count(*) FROM mailbox`) - before; n != 1 {
			t.Errorf("%d mails, want one", n)
		}
	})
}

func TestBadResets(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		s.Register(t, "eve@example.com", password)
		requestReset(t, s, email)
		_, old := s.Link(t, email)
		requestReset(t, s, email)
		_, token := s.Link(t, email)
		for _, c := range []struct {
			name, email, token, password, field string
		}{
			{"a made-up token", email, "made-up", newPassword, "token"},
			{"an older token", email, old, newPassword, "token"},
			{"somebody else's token", "eve@example.com", token, newPassword, "token"},
			{"an unknown e-mail", "nobody@example.com", token, newPassword, "token"},
			{"a short password", email, token, "short", "newPassword"},
			{"no token", email, "", newPassword, "token"},
		} {
			t.Run(c.name, func(t *testing.T) {
				reset(t, s, c.email, c.token, c.password).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
			})
		}
		t.Run("of parallel ones with the same token one succeeds", func(t *testing.T) {
			statuses := parallel(8, func(int) int { return reset(t, s, email, token, newPassword).Status })
			if count(statuses, http.StatusOK) != 1 || count(statuses, http.StatusBadRequest) != 7 {
				t.Errorf("want one success: %v", statuses)
			}
		})
		t.Run("a token older than an hour", func(t *testing.T) {
			requestReset(t, s, email)
			_, token := s.Link(t, email)
			s.Clock.Advance(time.Hour + time.Second)
			reset(t, s, email, token, newPassword).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
		})
	})
}

func TestChangePassword(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		pair, other := s.Login(t, email, password), s.Login(t, email, password)
		change := func(current, next string) apptest.Answer {
			return s.Post(t, "/api/auth/change-password", pair.Token, m{"currentPassword": current, "newPassword": next})
		}
		change("wrong horse", newPassword).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "currentPassword")
		change(password, "short").WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "newPassword")
		change("", newPassword).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "currentPassword")
		s.Post(t, "/api/auth/change-password", "", m{}).WantEnvelope(t, http.StatusUnauthorized, "UNAUTHORIZED")

		change(password, newPassword).Want(t, http.StatusOK)
		wantEnded(t, s, pair.Token, "SESSION_INVALIDATED")
		wantEnded(t, s, other.Token, "SESSION_INVALIDATED")
		s.TryLogin(t, email, password).WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		pair = s.Login(t, email, newPassword)
		if s.Mail(t, email).Subject != "Your password was changed" {
			t.Error("no mail about the change")
		}

		for range 5 { // guesses here count like guesses at the door
			change("wrong horse", password).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR")
		}
		change(newPassword, password).WantEnvelope(t, http.StatusLocked, "ACCOUNT_LOCKED")
		s.TryLogin(t, email, newPassword).WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_LOCKED")
	})
}

func TestPasswordPolicies(t *testing.T) {
	apptest.Each(t, func(c *config.Config) { c.PasswordHistory, c.PasswordRejectCommon = 2, true }, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		current := password
		change := func(next string) apptest.Answer {
			token := s.Login(t, email, current).Token
			a := s.Post(t, "/api/auth/change-password", token, m{"currentPassword": current, "newPassword": next})
			if a.Status == http.StatusOK {
				current = next
			}
			return a
		}
		change("password123").WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "newPassword")
		change(password).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "newPassword")
		change("second password").Want(t, http.StatusOK)
		change(password).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "newPassword")
		s.Clock.Advance(time.Second)
		change("a third password").Want(t, http.StatusOK)
		s.Clock.Advance(time.Second)
		change("a fourth password").Want(t, http.StatusOK)
		change(password).Want(t, http.StatusOK) // two others lie between
	})
}

func TestConfirmEmail(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		_, first := s.Link(t, email)
		resend := func(email string) apptest.Answer {
			return s.Post(t, "/api/auth/resend-confirmation", "", m{"email": email}).Want(t, http.StatusOK)
		}
		if string(resend(email).Raw) != string(resend("nobody@example.com").Raw) {
			t.Error("the answer tells who has an account")
		}
		_, token := s.Link(t, email)
		confirm := func(token string) apptest.Answer {
			return s.Post(t, "/api/auth/confirm-email", "", m{"email": email, "token": token})
		}
		confirm(first).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
		confirm("made-up").WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
		reset(t, s, email, token, newPassword).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
		confirm(token).Want(t, http.StatusOK)
		confirm(token).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
		mails := one[int](t, s, `SELECT count(*) FROM mailbox`)
		resend(email)
		if one[int](t, s, `SELECT count(*) FROM mailbox`) != mails {
			t.Error("a confirmed address was asked again")
		}
	})
}
