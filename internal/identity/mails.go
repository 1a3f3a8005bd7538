package identity

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"steward/internal/db"
	"steward/internal/notify"
)

// letter is a mail before it is laid out: the same words become its text and its HTML.
type letter struct {
	Subject string
	Name    string
	Lines   []string
	Label   string // of the link, where there is one
	Link    string
	Note    string
}

var letterHTML = template.Must(template.New("letter").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Subject}}</title></head>
<body style="font-family:system-ui,sans-serif;line-height:1.5;color:#1a1a1a;max-width:34rem;margin:2rem auto;padding:0 1rem">
<p>Hello {{.Name}},</p>
{{range .Lines}}<p>{{.}}</p>
{{end}}{{if .Link}}<p><a href="{{.Link}}" style="display:inline-block;padding:.6rem 1.2rem;background:#1f5fbf;color:#fff;border-radius:.4rem;text-decoration:none">{{.Label}}</a></p>
<p style="font-size:.85rem;color:#555">Or copy this address into the browser:<br>{{.Link}}</p>
{{end}}<p style="font-size:.85rem;color:#555">{{.Note}}</p>
</body></html>
`))

func (l letter) text() string {
	parts := append([]string{"Hello " + l.Name + ","}, l.Lines...)
	if l.Link != "" {
		parts = append(parts, l.Label+":\n"+l.Link)
	}
	return strings.Join(append(parts, l.Note), "\n\n") + "\n"
}

func (s *Service) send(ctx context.Context, tx db.Tx, u User, l letter) error {
	l.Name = displayName(u.FirstName, u.LastName, u.Email)
	var html bytes.Buffer
	if err := letterHTML.Execute(&html, l); err != nil {
		return fmt.Errorf("lay out mail %q: %w", l.Subject, err)
	}
	return s.mail.Send(ctx, tx, notify.Mail{To: u.Email, Subject: l.Subject, Text: l.text(), HTML: html.String()})
}

// pageLink is an address on the configured public URL, never on one that a request named.
func (s *Service) pageLink(page string, u User, token string) string {
	return s.cfg.PublicURL + page + "?" + url.Values{"email": {u.Email}, "token": {token}}.Encode()
}

func (s *Service) sendReset(ctx context.Context, tx db.Tx, u User) error {
	token, err := s.newMailToken(ctx, tx, u.ID, purposeReset, resetTokenTTL)
	if err != nil {
		return err
	}
	return s.send(ctx, tx, u, letter{
		Subject: "Reset your password",
		Lines:   []string{"Somebody, hopefully you, asked for a new password for this account."},
		Label:   "Choose a new password",
		Link:    s.pageLink("/reset-password", u, token),
		Note:    "The link works once and for one hour. If you did not ask for it, ignore this mail: your password stays as it is.",
	})
}

func (s *Service) sendConfirmation(ctx context.Context, tx db.Tx, u User) error {
	token, err := s.newMailToken(ctx, tx, u.ID, purposeConfirm, confirmTokenTTL)
	if err != nil {
		return err
	}
	return s.send(ctx, tx, u, letter{
		Subject: "Confirm your e-mail address",
		Lines:   []string{"Please confirm that this address is yours."},
		Label:   "Confirm the address",
		Link:    s.pageLink("/confirm-email", u, token),
		Note:    "The link works once and for seven days. If you have no account here, ignore this mail.",
	})
}

func (s *Service) sendInvitation(ctx context.Context, tx db.Tx, u User) error {
	token, err := s.newMailToken(ctx, tx, u.ID, purposeInvite, inviteTokenTTL)
	if err != nil {
		return err
	}
	return s.send(ctx, tx, u, letter{
		Subject: "Your new account",
		Lines:   []string{"An account was made for you. Choose a password to start."},
		Label:   "Choose a password",
		Link:    s.pageLink("/invitation", u, token),
		Note:    "The link works once and for seven days.",
	})
}

func (s *Service) sendWelcome(ctx context.Context, tx db.Tx, u User) error {
	return s.send(ctx, tx, u, letter{
		Subject: "Welcome",
		Lines:   []string{"An account was made for you. Sign in with this e-mail address and the password that you were told."},
		Label:   "Open Steward",
		Link:    s.cfg.PublicURL + "/",
		Note:    "If you do not expect this mail, tell your administrator.",
	})
}

func (s *Service) sendPasswordChanged(ctx context.Context, tx db.Tx, u User) error {
	return s.send(ctx, tx, u, letter{
		Subject: "Your password was changed",
		Lines:   []string{"The password of this account was just changed, and all its sessions were signed out."},
		Note:    "If that was not you, reset your password now and tell your administrator.",
	})
}
