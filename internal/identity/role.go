package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// Role is a set of permissions that users hold in a tenant.
type Role struct {
	ID          uuid.UUID  `db:"id"`
	TenantID    *uuid.UUID `db:"tenant_id"` // nil: a system role, good in every tenant
	Name        string     `db:"name"`
	Description string     `db:"description"`
	CreatedAt   db.Time    `db:"created_at"`
	UpdatedAt   db.Time    `db:"updated_at"`
	// Permissions stand in the order of their codes.
	Permissions []RolePermission `db:"-"`
	// UserCount is how many users hold the role in the tenant that is looked at. Writes leave it 0.
	UserCount int `db:"-"`
}

// RolePermission is a permission that a role holds.
type RolePermission struct {
	ID   uuid.UUID `db:"id"`
	Code string    `db:"code"`
}

// IsSystem tells whether the role is shipped: good in every tenant, and never changed.
func (r Role) IsSystem() bool { return r.TenantID == nil }

// Version is the ETag of the role itself; users who come and go do not change it.
func (r Role) Version() string { return resource.Version(r.ID, r.UpdatedAt) }

// touch moves UpdatedAt to now, or past the last change where the clock has not moved since: it is the
// version, so it must never repeat.
func (r *Role) touch(now db.Time) {
	if !now.After(r.UpdatedAt.Time) {
		now = db.At(r.UpdatedAt.Add(time.Microsecond))
	}
	r.UpdatedAt = now
}

// Codes lists the permissions of the role by code.
func (r Role) Codes() []string {
	codes := make([]string, len(r.Permissions))
	for i, p := range r.Permissions {
		codes[i] = p.Code
	}
	return codes
}

// CreateRole adds a role to a tenant: the caller's own where the id is nil, another one for a caller
// with admin:system only. A name that the tenant or a system role has is ROLE_ALREADY_EXISTS, however
// many callers race for it, and a permission that the caller lacks ROLE_ASSIGNMENT_ESCALATION_BLOCKED.
func (s *Service) CreateRole(ctx context.Context, tenant uuid.UUID, body RoleChange) (Role, error) {
	actor := scope.ActorFrom(ctx)
	if err := body.check(); err != nil {
		return Role{}, err
	}
	if tenant == uuid.Nil {
		tenant = actor.TenantID
	}
	if tenant != actor.TenantID && !actor.Can(adminSystem) {
		return Role{}, fault.New(fault.CrossTenantForbidden, "You can add roles to your own tenant only.")
	}
	id, err := newID()
	if err != nil {
		return Role{}, err
	}
	var role Role
	err = s.db.Write(ctx, func(tx db.Tx) error {
		if _, err := requireTenant(ctx, tx, tenant); err != nil {
			return err
		}
		now := s.now()
		role = Role{ID: id, TenantID: &tenant, CreatedAt: now, UpdatedAt: now}
		if err := role.apply(ctx, tx, actor, body); err != nil {
			return err
		}
		if err := insertRole(ctx, tx, role); err != nil {
			return roleRefused(role, err)
		}
		if err := givePermissions(ctx, tx, id, role.Permissions); err != nil {
			return err
		}
		return s.auditRole(ctx, tx, "role.created", nil, &role)
	})
	return role, err
}

// UpdateRole changes a role of the caller's tenant. Whoever holds it has its new permissions from now
// on, on every node, and stays signed in. A body that changes nothing writes nothing.
func (s *Service) UpdateRole(ctx context.Context, id uuid.UUID, match resource.Match, body RoleChange) (Role, error) {
	actor := scope.ActorFrom(ctx)
	var after Role
	if err := body.check(); err != nil {
		return after, err
	}
	err := s.db.Write(ctx, func(tx db.Tx) error {
		before, err := lockRole(ctx, tx, actor.TenantID, id, match)
		if err != nil {
			return err
		}
		after = before
		if err := after.apply(ctx, tx, actor, body); err != nil {
			return err
		}
		if reflect.DeepEqual(before, after) {
			return nil
		}
		after.touch(s.now())
		return s.replaceRole(ctx, tx, before, after)
	})
	return after, err
}

// replaceRole writes the new state of a role over the one it was read in.
func (s *Service) replaceRole(ctx context.Context, tx db.Tx, before, after Role) error {
	if err := updateRole(ctx, tx, after); err != nil {
		return roleRefused(after, err)
	}
	if err := takePermissions(ctx, tx, after.ID, permissionsWithout(before.Permissions, after.Permissions)); err != nil {
		return err
	}
	if err := givePermissions(ctx, tx, after.ID, permissionsWithout(after.Permissions, before.Permissions)); err != nil {
		return err
	}
	if err := s.auditRole(ctx, tx, "role.updated", &before, &after); err != nil {
		return err
	}
	return changedRole(ctx, tx, after.ID)
}

// DeleteRole removes a role of the caller's tenant for good. One that users hold is
// ROLE_IN_USE_CONFLICT; an assignment at the same moment either comes first, and then this fails, or
// finds no role any more.
func (s *Service) DeleteRole(ctx context.Context, id uuid.UUID, match resource.Match) error {
	return s.db.Write(ctx, func(tx db.Tx) error {
		role, err := lockRole(ctx, tx, scope.ActorFrom(ctx).TenantID, id, match)
		if err != nil {
			return err
		}
		if err := deleteRole(ctx, tx, *role.TenantID, id); db.IsForeignKey(err) {
			return fault.New(fault.RoleInUse, "Users still hold the role %s.", role.Name).Because(err)
		} else if err != nil {
			return fmt.Errorf("delete role %s: %w", id, err)
		}
		if err := s.auditRole(ctx, tx, "role.deleted", &role, nil); err != nil {
			return err
		}
		return changedRole(ctx, tx, id)
	})
}

// lockRole reads a role of the tenant that is to be changed, if it may be and its version matches.
func lockRole(ctx context.Context, tx db.Tx, tenant, id uuid.UUID, match resource.Match) (Role, error) {
	role, err := requireRole(ctx, tx, tenant, id, tx.Dialect().ForUpdate())
	if err != nil {
		return role, err
	}
	if role.IsSystem() {
		return role, fault.New(fault.RoleSystemForbidden, "The system role %s cannot be changed or deleted.", role.Name)
	}
	if match != nil && !match(role.Version()) {
		return role, fault.New(fault.PreconditionFailed, "The role was changed since the version that If-Match names.")
	}
	roles := []Role{role}
	err = addPermissions(ctx, tx, roles)
	return roles[0], err
}

// requireRole fails with ROLE_NOT_FOUND unless the role is the tenant's own or a system role; which of
// these it is not is not told.
func requireRole(ctx context.Context, q db.Queryer, tenant, id uuid.UUID, lock string) (Role, error) {
	role, err := findRole(ctx, q, tenant, id, lock)
	if errors.Is(err, sql.ErrNoRows) {
		return role, fault.New(fault.RoleNotFound, "There is no role with the id %s.", id)
	}
	if err != nil {
		return role, fmt.Errorf("read role %s: %w", id, err)
	}
	return role, nil
}

// changedRole makes every node forget what it knows of those who hold the role once tx is committed.
func changedRole(ctx context.Context, tx db.Tx, id uuid.UUID) error {
	return tx.Notify(ctx, topicRole, id.String())
}

// auditRole notes a change in the trail of the tenant that the role belongs to.
func (s *Service) auditRole(ctx context.Context, tx db.Tx, action string, before, after *Role) error {
	changed := after
	if changed == nil {
		changed = before
	}
	return audit.Write(ctx, tx, audit.Entry{
		Action: action, TargetType: "role", TargetID: changed.ID.String(), TenantID: changed.TenantID,
		Before: auditedRole(before), After: auditedRole(after), At: s.now().Time,
	})
}

// auditedRole is the part of a role that the audit log shows.
func auditedRole(r *Role) any {
	if r == nil {
		return nil
	}
	return map[string]any{"name": r.Name, "description": r.Description, "permissions": r.Codes()}
}
