package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/resource"
	"steward/internal/scope"
)

// DeleteUser takes a user out of the caller's tenant; the account goes with the last binding.
func (s *Service) DeleteUser(ctx context.Context, id uuid.UUID, fits resource.Match) error {
	actor := scope.ActorFrom(ctx)
	if err := requireNotSelf(actor, id); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		before, err := lockMember(ctx, tx, actor, id, fits)
		if err != nil {
			return err
		}
		others, err := countOtherBindings(ctx, tx, id, actor.TenantID, false)
		if err != nil {
			return fmt.Errorf("count bindings of user %s: %w", id, err)
		}
		return s.alter(ctx, tx, before.User, func() (bool, error) {
			if others == 0 {
				return true, s.deleteAccount(ctx, tx, before.User)
			}
			return true, s.unbind(ctx, tx, id, actor.TenantID)
		})
	})
}

// DeleteAnyUser deletes any account.
func (s *Service) DeleteAnyUser(ctx context.Context, id uuid.UUID, fits resource.Match) error {
	actor := scope.ActorFrom(ctx)
	if err := requireNotSelf(actor, id); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		before, err := lockChangeable(ctx, tx, actor, id, fits)
		if err != nil {
			return err
		}
		return s.alter(ctx, tx, before, func() (bool, error) { return true, s.deleteAccount(ctx, tx, before) })
	})
}

// deleteAccount marks the account deleted. Its bindings stay, closed and without roles, so that its
// tenants still find it among the deleted.
func (s *Service) deleteAccount(ctx context.Context, tx db.Tx, u User) error {
	tenants, err := listUserTenants(ctx, tx, u.ID)
	if err != nil {
		return err
	}
	slices.SortFunc(tenants, func(a, b UserTenant) int { return compareIDs(a.TenantID, b.TenantID) })
	for _, t := range tenants {
		if err := freePlace(ctx, tx, t.TenantID); err != nil {
			return fmt.Errorf("free a place in tenant %s: %w", t.TenantID, err)
		}
	}
	if err := s.endSessions(ctx, tx, u.ID, endedByAccount); err != nil {
		return err
	}
	if err := markUserDeleted(ctx, tx, u.ID, s.now()); err != nil {
		return fmt.Errorf("delete user %s: %w", u.ID, err)
	}
	return s.auditChange(ctx, tx, "user.deleted", u.ID, auditedUser(u), nil)
}

// unbind takes one binding of a locked account away.
func (s *Service) unbind(ctx context.Context, tx db.Tx, user, tenant uuid.UUID) error {
	present, err := listUserTenants(ctx, tx, user)
	if err != nil {
		return err
	}
	for _, t := range present {
		if t.TenantID != tenant {
			continue
		}
		if err := removeBinding(ctx, tx, user, tenant); err != nil {
			return err
		}
		if err := s.endSessions(ctx, tx, user, endedByBinding); err != nil {
			return err
		}
		return s.auditBinding(ctx, tx, "user.unbound", user, tenant, t.binding().audited(), nil)
	}
	return noUser()
}

// auditBinding notes a change in the trail of the tenant that the user comes to or leaves.
func (s *Service) auditBinding(ctx context.Context, tx db.Tx, action string, user, tenant uuid.UUID, before, after any) error {
	return audit.Write(ctx, tx, audit.Entry{
		Action: action, TargetType: "user", TargetID: user.String(), TenantID: &tenant, Before: before, After: after, At: s.now().Time,
	})
}
