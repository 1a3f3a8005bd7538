package identity

import (
	"context"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
	"steward/internal/scope"
)

// ListTenantUsers lists the users of a tenant in the caller's reach.
func (s *Service) ListTenantUsers(ctx context.Context, tenant uuid.UUID, query UsersQuery) (resource.PagedResult[UserView], error) {
	if err := s.requireReachable(ctx, s.db, tenant); err != nil {
		return resource.PagedResult[UserView]{}, err
	}
	return s.listUsers(ctx, query, tenant, "delete:users")
}

// requireReachable fails with TENANT_NOT_FOUND or, for a tenant that exists, CROSS_TENANT_FORBIDDEN.
func (s *Service) requireReachable(ctx context.Context, q db.Queryer, tenant uuid.UUID) error {
	if _, err := requireTenant(ctx, q, tenant); err != nil {
		return err
	}
	return requireReach(ctx, q, scope.ActorFrom(ctx), tenant)
}

// BindToReachable is BindTenant for callers whose permissions end with their reach.
func (s *Service) BindToReachable(ctx context.Context, user uuid.UUID, b Binding) (UserEdit, error) {
	if err := s.requireReachable(ctx, s.db, b.TenantID); err != nil {
		return UserEdit{}, err
	}
	return s.BindTenant(ctx, user, b)
}

// UnbindTenant takes a user out of a tenant in the caller's reach; the account stays.
func (s *Service) UnbindTenant(ctx context.Context, tenant, user uuid.UUID) error {
	actor := scope.ActorFrom(ctx)
	return s.db.Write(ctx, func(tx db.Tx) error {
		if err := s.requireReachable(ctx, tx, tenant); err != nil {
			return err
		}
		if _, err := requireMember(ctx, tx, tenant, user); err != nil {
			return err
		}
		if err := requireNotSelf(actor, user); err != nil {
			return err
		}
		if err := requireNotAbove(ctx, tx, actor, user); err != nil {
			return err
		}
		return s.unbind(ctx, tx, user, tenant)
	})
}
