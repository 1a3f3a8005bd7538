package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

// Ways in which a role holds a permission.
const (
	ViaPermission = "permission"
	ViaWildcard   = "wildcard"
)

// RoleGrant is a role that holds the permission in question.
type RoleGrant struct {
	RoleID   uuid.UUID `db:"id"`
	RoleName string    `db:"name"`
	IsSystem bool      `db:"is_system"`
	// IsDirect is false where the role has it by the wildcard alone.
	IsDirect bool `db:"is_direct"`
}

// Via tells how the role holds the permission.
func (g RoleGrant) Via() string {
	if g.IsDirect {
		return ViaPermission
	}
	return ViaWildcard
}

// Reasons why somebody may not do something.
const (
	MissingAccount    = "AccountInactive"
	MissingBinding    = "NotBound"
	MissingEntry      = "BindingInactive"
	MissingTenant     = "TenantInactive"
	MissingPermission = "PermissionUnknown"
	MissingRoles      = "NoRoles"
	MissingGrant      = "NotInRoles"
)

// Missing is one thing that stands between a user and a permission.
type Missing struct {
	Reason  string
	Message string
}

// Explanation tells whether a user may do something in a tenant, and why.
type Explanation struct {
	User       User
	Tenant     Tenant
	Permission string // as the catalogue spells it
	// Known is nil where the catalogue has no such permission.
	Known *Permission
	// GrantedBy are those of the user's roles in the tenant that hold the permission.
	GrantedBy []RoleGrant
	// HeldRoles are all roles of the user in the tenant.
	HeldRoles []RoleRef
	// Missing is empty where the permission is granted.
	Missing []Missing
	// Suggested are roles that would grant it, those that hold least first; for callers who may see roles.
	Suggested []RoleGrant
}

// IsGranted tells whether a token of the user in the tenant would pass a check for the permission now.
func (e Explanation) IsGranted() bool { return len(e.Missing) == 0 }

// Text says it all in words.
func (e Explanation) Text() string {
	name := displayName(e.User.FirstName, e.User.LastName, e.User.Email)
	if !e.IsGranted() {
		lines := []string{fmt.Sprintf("%s does not have %s in %s.", name, e.Permission, e.Tenant.Name)}
		for _, m := range e.Missing {
			lines = append(lines, m.Message)
		}
		return strings.Join(lines, " ")
	}
	roles := make([]string, len(e.GrantedBy))
	for i, g := range e.GrantedBy {
		roles[i] = g.RoleName
		if !g.IsDirect {
			roles[i] += " (by *, which is everything)"
		}
	}
	return fmt.Sprintf("%s has %s in %s through %s.", name, e.Permission, e.Tenant.Name, strings.Join(roles, ", "))
}

// maxSuggestedRoles bounds the roles that an explanation proposes.
const maxSuggestedRoles = 10

// ExplainPermission tells why a user may or may not do something in the caller's tenant, or in another
// one in the caller's reach. A user who is not bound there does not exist, except to callers who reach
// all users: they hear that this is what is missing.
func (s *Service) ExplainPermission(ctx context.Context, user uuid.UUID, code string, tenant uuid.UUID) (Explanation, error) {
	var e Explanation
	wrong := fields{}
	wrong.checkPermissionCode("permission", code)
	if err := wrong.fault(); err != nil {
		return e, err
	}
	actor := scope.ActorFrom(ctx)
	if tenant == uuid.Nil {
		tenant = actor.TenantID
	}
	var err error
	if e.Tenant, err = requireTenant(ctx, s.db, tenant); err != nil {
		return e, err
	}
	if err := requireReach(ctx, s.db, actor, tenant); err != nil {
		return e, err
	}
	view, bound, err := readExplained(ctx, s.db, actor, tenant, user)
	if err != nil {
		return e, err
	}
	e.User = view.User
	if err := e.readRoles(ctx, s.db, actor, code); err != nil {
		return e, fmt.Errorf("explain %s of user %s: %w", code, user, err)
	}
	e.Missing = e.missing(bound, view.BindingActive)
	return e, nil
}

// readExplained reads the account, and whether it is bound to the tenant.
func readExplained(ctx context.Context, q db.Queryer, actor *scope.Actor, tenant, user uuid.UUID) (view UserView, bound bool, err error) {
	view, err = findMember(ctx, q, tenant, user, false)
	if err == nil {
		return view, true, nil
	}
	if errors.Is(err, sql.ErrNoRows) && actor.CanAny(adminSystem, manageAllUsers) {
		view, err = findUserView(ctx, q, user, false)
	}
	if err != nil {
		return view, false, userFault(user, err)
	}
	return view, false, nil
}

func (e *Explanation) readRoles(ctx context.Context, q db.Queryer, actor *scope.Actor, code string) error {
	e.Permission = code
	known, err := findPermissionByCode(ctx, q, countedRolesOf(ctx), code)
	if err == nil {
		e.Known, e.Permission = &known, known.Code
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if e.HeldRoles, err = listHeldRoles(ctx, q, e.User.ID, e.Tenant.ID); err != nil {
		return err
	}
	if e.GrantedBy, err = listGrantingRoles(ctx, q, e.User.ID, e.Tenant.ID, code); err != nil {
		return err
	}
	if len(e.GrantedBy) == 0 && e.Known != nil && actor.Can("read:roles") {
		e.Suggested, err = listRolesWith(ctx, q, e.Tenant.ID, code, maxSuggestedRoles)
	}
	return err
}

// missing goes from the outside to the inside: the account, the tenant, the way into it, the roles.
func (e *Explanation) missing(bound, open bool) []Missing {
	all := []Missing{}
	add := func(is bool, reason, message string) {
		if is {
			all = append(all, Missing{reason, message})
		}
	}
	add(!e.User.IsActive, MissingAccount, "The account is deactivated.")
	add(!e.Tenant.IsActive, MissingTenant, "The tenant is deactivated, so nobody works in it.")
	add(!bound, MissingBinding, "The user is not bound to the tenant.")
	add(bound && !open, MissingEntry, "The user's binding to the tenant is deactivated.")
	if len(e.GrantedBy) > 0 {
		return all
	}
	add(e.Known == nil, MissingPermission, "The catalogue has no such permission, so no role can hold it; only the wildcard * covers it.")
	add(bound && len(e.HeldRoles) == 0, MissingRoles, "The user holds no role in the tenant.")
	add(len(e.HeldRoles) > 0, MissingGrant, "None of the user's roles in the tenant holds the permission.")
	return all
}
