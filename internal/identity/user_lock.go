package identity

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

// IsLocked reports whether the account is locked now; an old lockout that was not cleared yet is none.
func (s *Service) IsLocked(v UserView) bool {
	return v.LockoutExpiresAt != nil && v.LockoutExpiresAt.After(s.clock())
}

// UnlockUser lifts the lockout of any account.
func (s *Service) UnlockUser(ctx context.Context, id uuid.UUID) error {
	actor := scope.ActorFrom(ctx)
	return s.db.Write(ctx, func(tx db.Tx) error {
		u, err := lockChangeable(ctx, tx, actor, id, nil)
		if err != nil {
			return err
		}
		if err := deleteLockout(ctx, tx, u.Email); err != nil {
			return err
		}
		return s.audit(ctx, tx, "user.unlocked", id, nil)
	})
}

// StartReset mails a reset link to the owner of any account.
func (s *Service) StartReset(ctx context.Context, id uuid.UUID) error {
	actor := scope.ActorFrom(ctx)
	return s.db.Write(ctx, func(tx db.Tx) error {
		u, err := lockChangeable(ctx, tx, actor, id, nil)
		if err != nil {
			return err
		}
		if err := s.sendReset(ctx, tx, u); err != nil {
			return err
		}
		return s.audit(ctx, tx, "user.password-reset-requested", id, nil)
	})
}
