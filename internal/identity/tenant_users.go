package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
	"steward/internal/scope"
)

// ListTenantUsers lists the users of a tenant in the caller's reach, with the roles they hold there.
func (s *Service) ListTenantUsers(ctx context.Context, tenant uuid.UUID, query UsersQuery) (resource.PagedResult[UserView], error) {
	if err := requireReachable(ctx, s.db, tenant); err != nil {
		return resource.PagedResult[UserView]{}, err
	}
	return s.listMembers(ctx, query, tenant)
}

// requireReachable fails with TENANT_NOT_FOUND or, for a tenant that exists, CROSS_TENANT_FORBIDDEN.
func requireReachable(ctx context.Context, q db.Queryer, tenant uuid.UUID) error {
	if _, err := requireTenant(ctx, q, tenant); err != nil {
		return err
	}
	return requireReach(ctx, q, scope.ActorFrom(ctx), tenant)
}

// BindToReachable is BindTenant for callers whose permissions end with their reach: a tenant beyond it
// is CROSS_TENANT_FORBIDDEN, and the answer shows only the tenants that they reach.
func (s *Service) BindToReachable(ctx context.Context, user uuid.UUID, b Binding) (UserEdit, error) {
	actor := scope.ActorFrom(ctx)
	edit, err := s.bindTenant(ctx, user, b, func(tx db.Tx) error {
		// A tenant that does not exist is told after a user who does not, as the contract orders it.
		if _, err := findTenant(ctx, tx, b.TenantID, false); errors.Is(err, sql.ErrNoRows) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read tenant %s: %w", b.TenantID, err)
		}
		return requireReach(ctx, tx, actor, b.TenantID)
	})
	if err != nil {
		return edit, err
	}
	edit.Tenants, err = withinReach(ctx, s.db, actor, edit.Tenants)
	return edit, err
}

// UnbindTenant takes a user out of a tenant in the caller's reach; the account stays, even with no
// tenant left.
func (s *Service) UnbindTenant(ctx context.Context, tenant, user uuid.UUID) error {
	actor := scope.ActorFrom(ctx)
	if err := requireNotSelf(actor, user); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx db.Tx) error {
		if err := requireReachable(ctx, tx, tenant); err != nil {
			return err
		}
		u, err := lockAccount(ctx, tx, user)
		if err != nil {
			return err
		}
		if _, err := findMember(ctx, tx, tenant, user, false); err != nil {
			return userFault(user, err)
		}
		if err := requireNotAbove(ctx, tx, actor, user, tenant); err != nil {
			return err
		}
		return s.alter(ctx, tx, u, func() (bool, error) { return true, s.unbind(ctx, tx, user, tenant) })
	})
}
