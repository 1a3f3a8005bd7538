package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// Every change of an account begins with the lock on its row, goes on to rows of tenants in the order
// of their ids, and ends with that of the administrators: one order for all, so that none of them wait
// for each other.

// lockAccount locks an account, or fails with USER_NOT_FOUND.
func lockAccount(ctx context.Context, tx db.Tx, id uuid.UUID) (User, error) {
	u, err := lockUser(ctx, tx, id)
	if err != nil {
		return u, userFault(id, err)
	}
	return u, nil
}

// lockChangeable locks an account that the caller may change, in the version that the caller has seen.
func lockChangeable(ctx context.Context, tx db.Tx, actor *scope.Actor, id uuid.UUID, fits resource.Match) (User, error) {
	u, err := lockAccount(ctx, tx, id)
	if err != nil {
		return u, err
	}
	return u, requireChangeable(ctx, tx, actor, u, fits)
}

// lockMember is lockChangeable for a user of the caller's tenant; USER_NOT_FOUND for everybody else.
func lockMember(ctx context.Context, tx db.Tx, actor *scope.Actor, id uuid.UUID, fits resource.Match) (UserView, error) {
	u, err := lockAccount(ctx, tx, id)
	if err != nil {
		return UserView{}, err
	}
	v, err := findMember(ctx, tx, actor.TenantID, id, false)
	if err != nil {
		return v, userFault(id, err)
	}
	return v, requireChangeable(ctx, tx, actor, u, fits)
}

func requireChangeable(ctx context.Context, tx db.Tx, actor *scope.Actor, u User, fits resource.Match) error {
	if err := requireNotAbove(ctx, tx, actor, u.ID); err != nil {
		return err
	}
	if fits != nil && !fits(u.Version()) {
		return fault.New(fault.PreconditionFailed, "The user was changed since the version that If-Match names.")
	}
	return nil
}

// alter runs the steps that change a locked account; each reports whether it did. If one did, the
// account has a new version, every node forgets what it knew of it, and an active Super Administrator
// is still there, or all of it fails with LAST_ADMINISTRATOR_CONFLICT.
func (s *Service) alter(ctx context.Context, tx db.Tx, u User, steps ...func() (bool, error)) error {
	administrator, err := holdsSystemRole(ctx, tx, u.ID, roleSuperAdministrator)
	if err != nil {
		return fmt.Errorf("look for administrator: %w", err)
	}
	changed := false
	for _, step := range steps {
		did, err := step()
		if err != nil {
			return err
		}
		changed = changed || did
	}
	if !changed {
		return nil
	}
	if err := touchUser(ctx, tx, u.ID, s.later(u.UpdatedAt)); err != nil {
		return fmt.Errorf("touch user %s: %w", u.ID, err)
	}
	if administrator {
		if err := requireAdministratorLeft(ctx, tx); err != nil {
			return err
		}
	}
	return changedUser(ctx, tx, u.ID)
}

// later is now, or just after the last change: a version never comes twice.
func (s *Service) later(last db.Time) db.Time {
	now := s.now()
	if !now.After(last.Time) {
		return db.At(last.Add(time.Microsecond))
	}
	return now
}
