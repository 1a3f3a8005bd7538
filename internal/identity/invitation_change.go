package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// ResendInvitation mails an open invitation again with a new link, for another seven days; the link of
// the earlier mail stops working.
func (s *Service) ResendInvitation(ctx context.Context, id uuid.UUID) (Invitation, error) {
	actor := scope.ActorFrom(ctx)
	var invitation Invitation
	err := s.db.Write(ctx, func(tx db.Tx) error {
		u, i, err := s.lockInvitation(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		i.SentAt = s.now()
		if err := s.sendLink(ctx, tx, u, &i, actor); err != nil {
			return err
		}
		if err := setInvitationSent(ctx, tx, i); err != nil {
			return fmt.Errorf("renew invitation %s: %w", id, err)
		}
		if err := s.auditInvitation(ctx, tx, "invitation.resent", i, nil); err != nil {
			return err
		}
		invitation, err = s.readInvitation(ctx, tx, actor.TenantID, id)
		return err
	})
	return invitation, err
}

// RevokeInvitation takes back an open invitation: its link stops working and the user leaves the tenant.
// An account that nobody ever used and that has no other tenant is deleted with it. It fails with
// INVITATION_CLOSED_CONFLICT where the invitation was accepted or revoked, however close the race.
func (s *Service) RevokeInvitation(ctx context.Context, id uuid.UUID) error {
	actor := scope.ActorFrom(ctx)
	return s.db.Write(ctx, func(tx db.Tx) error {
		u, i, err := s.lockInvitation(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		if err := setInvitationRevoked(ctx, tx, id, s.now()); err != nil {
			return fmt.Errorf("revoke invitation %s: %w", id, err)
		}
		if err := deleteLink(ctx, tx, u.ID, i.LinkHash); err != nil {
			return fmt.Errorf("drop link of invitation %s: %w", id, err)
		}
		others, err := countOtherBindings(ctx, tx, u.ID, actor.TenantID, false)
		if err != nil {
			return fmt.Errorf("count bindings of user %s: %w", u.ID, err)
		}
		err = s.alter(ctx, tx, u, func() (bool, error) {
			if others == 0 && !u.canSignIn() {
				return true, s.deleteAccount(ctx, tx, u)
			}
			return true, s.unbind(ctx, tx, u.ID, actor.TenantID)
		})
		if err != nil {
			return err
		}
		return s.auditInvitation(ctx, tx, "invitation.revoked", i, nil)
	})
}

// lockInvitation locks the account of an open invitation of the caller's tenant. Whatever opens or
// closes an invitation holds that lock, so its state stays as it is read here.
func (s *Service) lockInvitation(ctx context.Context, tx db.Tx, actor *scope.Actor, id uuid.UUID) (User, Invitation, error) {
	i, err := s.requireInvitation(ctx, tx, actor.TenantID, id)
	if err != nil {
		return User{}, i, err
	}
	u, err := lockUser(ctx, tx, i.UserID)
	if errors.Is(err, sql.ErrNoRows) {
		return u, i, closedInvitation()
	}
	if err != nil {
		return u, i, fmt.Errorf("lock user %s: %w", i.UserID, err)
	}
	if i, err = s.requireInvitation(ctx, tx, actor.TenantID, id); err != nil { // as it is under the lock
		return u, i, err
	}
	if !i.IsOpen() {
		return u, i, closedInvitation()
	}
	return u, i, requireNotAbove(ctx, tx, actor, u.ID)
}

func closedInvitation() *fault.Fault {
	return fault.New(fault.InvitationClosed, "The invitation was accepted or revoked already.")
}

// acceptInvitations notes that the owner of a locked account has got in: nothing is left to be invited to.
func (s *Service) acceptInvitations(ctx context.Context, tx db.Tx, u User) error {
	accepted, err := setInvitationsAccepted(ctx, tx, u.ID, s.now())
	if err != nil {
		return fmt.Errorf("accept invitations of user %s: %w", u.ID, err)
	}
	ctx = scope.WithActor(ctx, &scope.Actor{UserID: u.ID, Email: u.Email})
	for _, i := range accepted {
		if err := s.auditInvitation(ctx, tx, "invitation.accepted", i, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) auditInvitation(ctx context.Context, tx db.Tx, action string, i Invitation, after any) error {
	return audit.Write(ctx, tx, audit.Entry{
		Action: action, TargetType: "invitation", TargetID: i.ID.String(), TenantID: &i.TenantID, After: after, At: s.now().Time,
	})
}
