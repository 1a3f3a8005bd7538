package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// Permissions that reach beyond the tenant of the token.
const (
	adminSystem      = "admin:system"
	manageAllUsers   = "manage:all-users"
	manageAllTenants = "manage:all-tenants"
)

// maxTenantDepth bounds every walk through the tree of tenants.
const maxTenantDepth = 64

// reachesAllTenants reports whether the caller may see and change every tenant that a permission of
// theirs applies to.
func reachesAllTenants(a *scope.Actor) bool { return a.CanAny(adminSystem, manageAllTenants) }

// requireReach fails with CROSS_TENANT_FORBIDDEN unless the tenant is the caller's own, lies below it,
// or the caller reaches all.
func requireReach(ctx context.Context, q db.Queryer, a *scope.Actor, tenant uuid.UUID) error {
	if tenant == a.TenantID || reachesAllTenants(a) {
		return nil
	}
	below, err := isBelow(ctx, q, tenant, a.TenantID)
	if err != nil {
		return fmt.Errorf("look for tenant %s below %s: %w", tenant, a.TenantID, err)
	}
	if !below {
		return fault.New(fault.CrossTenantForbidden, "The tenant is out of your reach.")
	}
	return nil
}

// requireGrantable fails with ROLE_ASSIGNMENT_ESCALATION_BLOCKED where one of the roles holds a
// permission that the caller lacks: nobody hands out more than they have. admin:system lifts the rule.
func requireGrantable(ctx context.Context, q db.Queryer, a *scope.Actor, roles []uuid.UUID) error {
	if a.Can(adminSystem) || len(roles) == 0 {
		return nil
	}
	codes, err := listCodesOfRoles(ctx, q, roles)
	if err != nil {
		return fmt.Errorf("read permissions of roles: %w", err)
	}
	return requireHeld(a, codes)
}

// requireHeld is requireGrantable for permissions that are put into a role.
func requireHeld(a *scope.Actor, codes []string) error {
	if a.Can(adminSystem) {
		return nil
	}
	for _, code := range codes {
		if !a.Can(code) {
			return fault.New(fault.RoleEscalationBlocked, "You cannot grant the permission %s, which you do not hold.", code)
		}
	}
	return nil
}

// requireNotAbove fails with FORBIDDEN where the user holds a permission that the caller lacks, in the
// caller's tenant or in another one that the call is about: nobody changes an account that may do more
// than they. admin:system lifts the rule.
func requireNotAbove(ctx context.Context, q db.Queryer, a *scope.Actor, user uuid.UUID, others ...uuid.UUID) error {
	if a.Can(adminSystem) || user == a.UserID && !a.IsKey() { // a key may do less than who made it
		return nil
	}
	for _, tenant := range withoutRepeats(append(others, a.TenantID)) {
		held, err := readAccess(ctx, q, user, tenant)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(held.permissions, func(code string) bool { return !a.Can(code) }) {
			return fault.New(fault.Forbidden, "The account holds permissions that you lack, so you may not change it.")
		}
	}
	return nil
}

// requireNotSelf fails with SELF_CONFLICT where the caller is about to remove themselves.
func requireNotSelf(a *scope.Actor, user uuid.UUID) error {
	if a.UserID == user {
		return fault.New(fault.SelfConflict, "You cannot remove or deactivate your own account.")
	}
	return nil
}

// requireAdministratorLeft fails with LAST_ADMINISTRATOR_CONFLICT where no active Super Administrator
// is left. Call it in the transaction, after the change: the lock makes two transactions that each take
// one away come one after the other, and it comes after those on users and tenants.
func requireAdministratorLeft(ctx context.Context, tx db.Tx) error {
	if err := lockAdministrators(ctx, tx); err != nil {
		return fmt.Errorf("lock administrators: %w", err)
	}
	left, err := countActiveHolders(ctx, tx, roleSuperAdministrator)
	if err != nil {
		return fmt.Errorf("count administrators: %w", err)
	}
	if left == 0 {
		return fault.New(fault.LastAdministratorConflict, "This would leave no active Super Administrator.")
	}
	return nil
}
