package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// lockReachable reads a tenant that is to be changed, if it lies in the caller's reach and its version
// matches.
func lockReachable(ctx context.Context, tx db.Tx, id uuid.UUID, match resource.Match) (Tenant, error) {
	t, err := lockTenant(ctx, tx, id)
	if err != nil {
		return t, tenantFault(id, err)
	}
	if err := requireReach(ctx, tx, scope.ActorFrom(ctx), id); err != nil {
		return t, err
	}
	if match != nil && !match(t.Version()) {
		return t, fault.New(fault.PreconditionFailed, "The tenant was changed since the version that If-Match names.")
	}
	return t, nil
}

// requireTenant fails with TENANT_NOT_FOUND where no such tenant exists or it is deleted.
func requireTenant(ctx context.Context, q db.Queryer, id uuid.UUID) (Tenant, error) {
	t, err := findTenant(ctx, q, id, false)
	if err != nil {
		return t, tenantFault(id, err)
	}
	return t, nil
}

// requirePlace takes a place in the tenant for a binding that this transaction adds. It fails with
// TENANT_CAPACITY_REACHED where there is none left, and TENANT_NOT_FOUND where the tenant was deleted
// meanwhile. Where the binding itself may be refused, add it first: that refusal comes before these.
func requirePlace(ctx context.Context, tx db.Tx, id uuid.UUID) error {
	taken, err := takePlace(ctx, tx, id)
	if err != nil {
		return fmt.Errorf("take a place in tenant %s: %w", id, err)
	}
	if taken {
		return nil
	}
	t, err := requireTenant(ctx, tx, id)
	if err != nil {
		return err
	}
	return fault.New(fault.TenantCapacityReached, "The tenant %s has reached its limit of users.", t.Name)
}

func tenantFault(id uuid.UUID, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.TenantNotFound, "There is no tenant with the id %s.", id)
	}
	return fmt.Errorf("read tenant %s: %w", id, err)
}
