package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// Purposes of the single-use links sent by mail.
const (
	purposeReset   = "reset"
	purposeConfirm = "confirm"
	purposeInvite  = "invite"
)

// RequestPasswordReset mails a link to the owner of the account, if there is one. The caller cannot
// tell: the answer and its time are the same.
func (s *Service) RequestPasswordReset(ctx context.Context, email string) error {
	return s.sameTime(ctx, func() error {
		return s.mailTo(ctx, email, func(tx db.Tx, u User) error {
			if err := s.sendReset(ctx, tx, u); err != nil {
				return err
			}
			return s.audit(ctx, tx, "user.password-reset-requested", u.ID, nil)
		})
	})
}

// ResendConfirmation mails a new confirmation link where an account with the e-mail waits for one.
// The caller cannot tell.
func (s *Service) ResendConfirmation(ctx context.Context, email string) error {
	return s.sameTime(ctx, func() error {
		return s.mailTo(ctx, email, func(tx db.Tx, u User) error {
			if u.EmailConfirmed {
				return nil
			}
			return s.sendConfirmation(ctx, tx, u)
		})
	})
}

// mailTo runs send for the active account with the e-mail, and does nothing where there is none.
func (s *Service) mailTo(ctx context.Context, email string, send func(tx db.Tx, u User) error) error {
	u, err := findUserByEmail(ctx, s.db, email)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !u.IsActive {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find account: %w", err)
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		u, err := lockUser(ctx, tx, u.ID)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !u.IsActive { // gone since it was found
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock account: %w", err)
		}
		return send(tx, u)
	})
}

// newMailToken makes a link's token; it replaces an earlier one for the same purpose.
func (s *Service) newMailToken(ctx context.Context, tx db.Tx, user uuid.UUID, purpose string, ttl time.Duration) (string, error) {
	token, hash := newOpaque()
	now := s.now()
	if err := putMailToken(ctx, tx, user, purpose, hash, now, db.At(now.Add(ttl))); err != nil {
		return "", fmt.Errorf("store %s link: %w", purpose, err)
	}
	return token, nil
}

func badLink() *fault.Fault {
	return fault.Invalid("token", "is not valid any more; ask for a new link")
}

// requireLink finds the account that a link was sent to; a link that is no good is a validation error
// on field token, whatever is wrong with it.
func (s *Service) requireLink(ctx context.Context, q db.Queryer, email, hash string, purposes ...string) (User, error) {
	u, err := findUserByLink(ctx, q, email, hash, s.now(), purposes...)
	if errors.Is(err, sql.ErrNoRows) {
		return u, badLink()
	}
	if err != nil {
		return u, fmt.Errorf("look up link: %w", err)
	}
	return u, nil
}

// PasswordReset is what the page behind a reset or invitation link sends.
type PasswordReset struct {
	Email       string
	Token       string
	NewPassword string
	Encrypted   bool
}

// ResetPassword sets a password by a link's token, ends every session of the account and lifts a
// lockout. A token works once; a wrong one is a validation error on field token.
func (s *Service) ResetPassword(ctx context.Context, in PasswordReset) error {
	password, err := s.newPassword("newPassword", in.NewPassword, in.Encrypted)
	if err != nil {
		return err
	}
	hash := hashOpaque(in.Token)
	u, err := s.requireLink(ctx, s.db, in.Email, hash, purposeReset, purposeInvite)
	if err != nil { // spares the password hash; the delete below decides
		return err
	}
	change, err := s.preparePassword(ctx, u, "newPassword", password)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		// The account first and its link second, as everywhere: two orders could wait for each other.
		if _, err := lockUser(ctx, tx, u.ID); errors.Is(err, sql.ErrNoRows) {
			return badLink()
		} else if err != nil {
			return fmt.Errorf("reset password: %w", err)
		}
		spent, err := spendMailToken(ctx, tx, u.ID, hash, s.now(), purposeReset, purposeInvite)
		if err != nil {
			return err
		}
		if !spent {
			return badLink()
		}
		return s.completeReset(ctx, tx, u, change)
	})
}

func (s *Service) completeReset(ctx context.Context, tx db.Tx, u User, change passwordChange) error {
	if err := s.applyPassword(ctx, tx, u, change, "user.password-reset"); err != nil {
		return err
	}
	// Whoever holds the link reads the mail of that address.
	if err := setEmailConfirmed(ctx, tx, u.ID, s.now()); err != nil {
		return err
	}
	if err := s.acceptInvitations(ctx, tx, u); err != nil {
		return err
	}
	return deleteLockout(ctx, tx, u.Email)
}

// ChangePassword replaces the caller's password and ends every session, this one too. A wrong current
// password is a validation error on that field and counts towards a lockout.
func (s *Service) ChangePassword(ctx context.Context, current, next string, encrypted bool) error {
	u, err := findUser(ctx, s.db, scope.ActorFrom(ctx).UserID)
	if err != nil {
		return fmt.Errorf("find own account: %w", err)
	}
	if err := s.requireUnlocked(ctx, s.db, u.Email); err != nil {
		return err
	}
	password, err := s.newPassword("newPassword", next, encrypted)
	if err != nil {
		return err
	}
	opened, sealed, err := s.openPassword(current, encrypted)
	if err != nil {
		return err
	}
	right, _, err := s.verify(ctx, u.PasswordHash, opened)
	if err != nil {
		return err
	}
	if !right || sealed {
		return s.countFailure(ctx, u.Email, fault.Invalid("currentPassword", "is wrong"))
	}
	change, err := s.preparePassword(ctx, u, "newPassword", password)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		// The account first and its lockout second, as everywhere: two orders could wait for each other.
		now, err := lockUser(ctx, tx, u.ID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("change password: %w", err)
		}
		if now.PasswordHash != u.PasswordHash { // changed or deleted while it was being checked
			return fault.Invalid("currentPassword", "is wrong")
		}
		if err := s.admit(ctx, tx, u.Email); err != nil {
			return err
		}
		return s.applyPassword(ctx, tx, u, change, "user.password-changed")
	})
}

// ConfirmEmail marks the address of an account as its owner's by a link's token.
func (s *Service) ConfirmEmail(ctx context.Context, email, token string) error {
	return s.db.Write(ctx, func(tx db.Tx) error {
		hash := hashOpaque(token)
		u, err := s.requireLink(ctx, tx, email, hash, purposeConfirm)
		if err != nil {
			return err
		}
		spent, err := spendMailToken(ctx, tx, u.ID, hash, s.now(), purposeConfirm)
		if err != nil {
			return err
		}
		if !spent {
			return badLink()
		}
		if err := setEmailConfirmed(ctx, tx, u.ID, s.now()); err != nil {
			return err
		}
		if err := s.audit(ctx, tx, "user.email-confirmed", u.ID, nil); err != nil {
			return err
		}
		return changedUser(ctx, tx, u.ID)
	})
}

// passwordChange is a new password that was hashed and held against the history, ready to be written.
type passwordChange struct{ hash string }

// preparePassword does the slow part outside of a transaction.
func (s *Service) preparePassword(ctx context.Context, u User, field, password string) (passwordChange, error) {
	if s.policy.History > 0 {
		earlier, err := listPasswordHistory(ctx, s.db, u.ID, s.policy.History)
		if err != nil {
			return passwordChange{}, fmt.Errorf("read password history: %w", err)
		}
		for _, hash := range append(earlier, u.PasswordHash) {
			if used, _, err := s.verify(ctx, hash, password); err != nil {
				return passwordChange{}, err
			} else if used {
				return passwordChange{}, fault.Invalid(field, "was used before; choose another")
			}
		}
	}
	hash, err := s.hasher.Hash(ctx, password)
	return passwordChange{hash: hash}, err
}

// applyPassword writes the new password, ends every session and tells the owner.
func (s *Service) applyPassword(ctx context.Context, tx db.Tx, u User, change passwordChange, action string) error {
	now := s.now()
	if s.policy.History > 0 && u.PasswordHash != "" {
		if err := insertPasswordHistory(ctx, tx, u.ID, u.PasswordHash, now); err != nil {
			return fmt.Errorf("keep password history: %w", err)
		}
	}
	if err := setPassword(ctx, tx, u.ID, change.hash, now); err != nil {
		return fmt.Errorf("set password: %w", err)
	}
	// A link that waits in some mailbox must not undo this.
	if err := deleteMailTokens(ctx, tx, u.ID, purposeReset, purposeInvite); err != nil {
		return err
	}
	if err := s.endSessions(ctx, tx, u.ID, endedByPassword); err != nil {
		return err
	}
	if err := s.sendPasswordChanged(ctx, tx, u); err != nil {
		return err
	}
	return s.audit(ctx, tx, action, u.ID, nil)
}
