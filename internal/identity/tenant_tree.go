package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// requireMove fails where the change would take a tenant to a place it cannot have, or a group away
// from above its children.
func requireMove(ctx context.Context, tx db.Tx, before, after Tenant) error {
	if !sameID(before.ParentID, after.ParentID) {
		if err := requireParent(ctx, tx, after); err != nil {
			return err
		}
	}
	if before.Type == TenantGroup && after.Type != TenantGroup {
		return requireNoChildren(ctx, tx, after.ID)
	}
	return nil
}

// requireParent fails unless the tenant may stand where it says: below a group in the caller's reach,
// not below itself, and not too deep; or at the top, if the caller reaches all. The transaction holds
// the lock of the tree, so what it finds stays true until it commits.
func requireParent(ctx context.Context, tx db.Tx, t Tenant) error {
	actor := scope.ActorFrom(ctx)
	if t.ParentID == nil {
		if !reachesAllTenants(actor) {
			return fault.New(fault.CrossTenantForbidden, "Only who reaches all tenants can put one at the top; name a parent in your reach.")
		}
		return nil
	}
	parent, err := requireTenant(ctx, tx, *t.ParentID)
	if err != nil {
		return err
	}
	if err := requireReach(ctx, tx, actor, parent.ID); err != nil {
		return err
	}
	if parent.Type != TenantGroup {
		return fault.Invalid("parentTenantId", "must be a tenant of the type Group")
	}
	return requireNoCircle(ctx, tx, parent.ID, t.ID)
}

func requireNoCircle(ctx context.Context, tx db.Tx, parent, id uuid.UUID) error {
	below, err := isBelow(ctx, tx, parent, id)
	if err != nil {
		return fmt.Errorf("look for tenant %s below %s: %w", parent, id, err)
	}
	if below || parent == id {
		return fault.Invalid("parentTenantId", "must be neither the tenant itself nor one below it")
	}
	over, err := countLevelsAbove(ctx, tx, parent)
	if err != nil {
		return fmt.Errorf("measure the tree above tenant %s: %w", parent, err)
	}
	under, err := countLevelsBelow(ctx, tx, id)
	if err != nil {
		return fmt.Errorf("measure the tree below tenant %s: %w", id, err)
	}
	if over+under > maxTenantDepth {
		return fault.Invalid("parentTenantId", "must leave the tree at most %d levels deep", maxTenantDepth)
	}
	return nil
}

// requireNoChildren fails with TENANT_IN_USE_CONFLICT where tenants stand below this one.
func requireNoChildren(ctx context.Context, tx db.Tx, id uuid.UUID) error {
	n, err := countChildren(ctx, tx, id)
	if err != nil {
		return fmt.Errorf("count children of tenant %s: %w", id, err)
	}
	if n > 0 {
		return fault.New(fault.TenantInUse, "The tenant still has %d tenants below it.", n)
	}
	return nil
}

func sameID(a, b *uuid.UUID) bool {
	return a == b || a != nil && b != nil && *a == *b
}
