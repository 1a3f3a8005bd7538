package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

// SetUserActive lets a user of the caller's tenant in, or keeps them out.
func (s *Service) SetUserActive(ctx context.Context, id uuid.UUID, active bool) error {
	actor := scope.ActorFrom(ctx)
	if err := (UserChange{IsActive: &active}).requireAllowed(actor, id); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		before, err := lockMember(ctx, tx, actor, id, nil)
		if err != nil {
			return err
		}
		return s.alter(ctx, tx, before.User, func() (bool, error) { return s.switchHere(ctx, tx, actor, before, active) })
	})
}

// changeActiveHere is switchHere for a body that may say nothing new.
func (s *Service) changeActiveHere(ctx context.Context, tx db.Tx, actor *scope.Actor, before UserView, active *bool) (bool, error) {
	if active == nil || *active == before.Active() {
		return false, nil
	}
	return s.switchHere(ctx, tx, actor, before, *active)
}

// switchHere opens or closes the binding to the caller's tenant, and with it the account: it closes
// where no other way in is left, and opens in any case.
func (s *Service) switchHere(ctx context.Context, tx db.Tx, actor *scope.Actor, before UserView, active bool) (bool, error) {
	after := before
	after.BindingActive = active
	others, err := countOtherBindings(ctx, tx, before.ID, actor.TenantID, true)
	if err != nil {
		return false, fmt.Errorf("count bindings of user %s: %w", before.ID, err)
	}
	if active || others == 0 {
		after.IsActive = active
	}
	if after.BindingActive == before.BindingActive && after.IsActive == before.IsActive {
		return false, nil
	}
	if err := setBindingActive(ctx, tx, before.ID, actor.TenantID, active); err != nil {
		return false, fmt.Errorf("switch binding of user %s: %w", before.ID, err)
	}
	if err := s.setAccountActive(ctx, tx, before.User, after.IsActive); err != nil {
		return false, err
	}
	return true, s.auditChange(ctx, tx, switched(active), before.ID, auditedActive(before), auditedActive(after))
}

// changeActive opens or closes the account itself and leaves its bindings as they are.
func (s *Service) changeActive(ctx context.Context, tx db.Tx, before User, active *bool) (bool, error) {
	if active == nil || *active == before.IsActive {
		return false, nil
	}
	if err := s.setAccountActive(ctx, tx, before, *active); err != nil {
		return false, err
	}
	return true, s.auditChange(ctx, tx, switched(*active), before.ID,
		map[string]any{"isActive": before.IsActive}, map[string]any{"isActive": *active})
}

// setAccountActive switches the account; one that closes loses its sessions.
func (s *Service) setAccountActive(ctx context.Context, tx db.Tx, before User, active bool) error {
	if active == before.IsActive {
		return nil
	}
	if err := setUserActive(ctx, tx, before.ID, active); err != nil {
		return fmt.Errorf("switch account %s: %w", before.ID, err)
	}
	if active {
		return nil
	}
	return s.endSessions(ctx, tx, before.ID, endedByAccount)
}

// switched is the name of the change in the audit log.
func switched(active bool) string {
	if active {
		return "user.activated"
	}
	return "user.deactivated"
}

func auditedActive(v UserView) map[string]any {
	return map[string]any{"isActive": v.IsActive, "isActiveInTenant": v.BindingActive}
}
