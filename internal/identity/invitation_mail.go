package identity

import (
	"context"
	"strings"

	"steward/internal/db"
	"steward/internal/scope"
)

// sendLink mails a link to choose a password and notes it in the invitation.
func (s *Service) sendLink(ctx context.Context, tx db.Tx, u User, i *Invitation, from *scope.Actor) error {
	token, err := s.newMailToken(ctx, tx, u.ID, purposeInvite, inviteTokenTTL)
	if err != nil {
		return err
	}
	expires := db.At(i.SentAt.Add(inviteTokenTTL))
	i.LinkHash, i.ExpiresAt = hashOpaque(token), &expires
	return s.send(ctx, tx, u, letter{
		Subject: "Invitation to " + from.TenantName,
		Lines:   append(invitationLines(from, i.Message), "Choose a password to start."),
		Label:   "Accept the invitation",
		Link:    s.pageLink("/invitation", u, token),
		Note:    "The link works once and for seven days. If you do not expect this mail, ignore it.",
	})
}

// sendAdded tells somebody who can sign in already.
func (s *Service) sendAdded(ctx context.Context, tx db.Tx, u User, i Invitation, from *scope.Actor) error {
	return s.send(ctx, tx, u, letter{
		Subject: "You were added to " + from.TenantName,
		Lines:   append(invitationLines(from, i.Message), "Sign in as usual; the new tenant is among those you can choose."),
		Label:   "Open Steward",
		Link:    s.cfg.PublicURL + "/",
		Note:    "If you do not expect this mail, tell your administrator.",
	})
}

// invitationLines say who invites, and what they say, a paragraph for each of their lines.
func invitationLines(from *scope.Actor, message string) []string {
	lines := []string{from.Name + " invites you to " + from.TenantName + "."}
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
