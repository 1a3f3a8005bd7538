package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// Permission is one entry of the catalogue, which all tenants share. It is a word that routes and apps
// ask for: nobody holds it until a role does.
type Permission struct {
	ID          uuid.UUID `json:"id" db:"id" audit:"-"`
	Code        string    `json:"code" db:"code" doc:"Unique in any case; it never changes."`
	Description string    `json:"description" db:"description"`
	Category    string    `json:"category" db:"category" doc:"Empty where it has none."`
	IsSystem    bool      `json:"isSystem" db:"is_system" doc:"Shipped with the program: it stays, and only its description can be changed."`
	RoleCount   int       `json:"roleCount" db:"role_count" audit:"-" doc:"How many roles hold it, among those the caller can see: system roles and those of the tenant, or all for callers who reach every tenant."`
	CreatedAt   db.Time   `json:"createdAt" db:"created_at" audit:"-"`
	UpdatedAt   db.Time   `json:"updatedAt" db:"updated_at" audit:"-"`
}

// Version is the ETag of the permission; it does not change with RoleCount.
func (p Permission) Version() string { return resource.Version(p.ID, p.UpdatedAt) }

// NewPermission is a permission to be.
type NewPermission struct {
	Code        string
	Description string
	Category    string
}

// PermissionChange is what can be changed of a permission; nil leaves it as it is, an empty text clears.
type PermissionChange struct {
	Description *string
	Category    *string
}

// CreatePermission adds a permission to the catalogue. It fails with PERMISSION_ALREADY_EXISTS where
// one has the code in any case, however many callers race for it.
func (s *Service) CreatePermission(ctx context.Context, in NewPermission) (Permission, error) {
	rest := PermissionChange{Description: &in.Description, Category: &in.Category}.trimmed()
	wrong := fields{}
	wrong.checkPermissionCode("code", in.Code)
	wrong.checkPermissionChange(rest)
	if err := wrong.fault(); err != nil {
		return Permission{}, err
	}
	p, err := newPermission(in.Code, rest, s.now())
	if err != nil {
		return p, err
	}
	err = s.db.Write(ctx, func(tx db.Tx) error {
		created, err := insertPermissions(ctx, tx, p)
		if err != nil {
			return fmt.Errorf("insert permission: %w", err)
		}
		if created == 0 {
			return fault.New(fault.PermissionAlreadyExists, "There is a permission with this code already.")
		}
		return audit.Write(ctx, tx, s.permissionEntry("created", nil, &p))
	})
	return p, err
}

func newPermission(code string, rest PermissionChange, now db.Time) (Permission, error) {
	id, err := newID()
	p := Permission{ID: id, Code: code, CreatedAt: now, UpdatedAt: now}
	resource.Set(&p.Description, rest.Description)
	resource.Set(&p.Category, rest.Category)
	return p, err
}

// UpdatePermission changes description and category. A system permission keeps its category
// (PERMISSION_SYSTEM_FORBIDDEN); a change to what is there already writes nothing.
func (s *Service) UpdatePermission(ctx context.Context, id uuid.UUID, match resource.Match, in PermissionChange) (Permission, error) {
	in = in.trimmed()
	wrong := fields{}
	wrong.checkPermissionChange(in)
	if err := wrong.fault(); err != nil {
		return Permission{}, err
	}
	var p Permission
	err := s.db.Write(ctx, func(tx db.Tx) error {
		before, err := lockPermission(ctx, tx, id, match)
		if err != nil {
			return err
		}
		p = before
		if err := p.change(in); err != nil || p == before {
			return err
		}
		p.UpdatedAt = before.next(s.now())
		if err := updatePermissions(ctx, tx, p); err != nil {
			return fmt.Errorf("update permission %s: %w", id, err)
		}
		return audit.Write(ctx, tx, s.permissionEntry("updated", &before, &p))
	})
	return p, err
}

// change applies what is given. The category of a system permission is the program's; naming it again,
// as forms do, is no change.
func (p *Permission) change(in PermissionChange) error {
	if p.IsSystem && in.Category != nil {
		if categoryKey(*in.Category) != categoryKey(p.Category) {
			return fault.New(fault.PermissionSystemForbidden, "The category of a system permission cannot be changed, only its description.")
		}
		in.Category = nil
	}
	resource.Set(&p.Description, in.Description)
	resource.Set(&p.Category, in.Category)
	return nil
}

// next is now, or just after the last change where the clock has not moved since: no two versions may
// share an instant.
func (p Permission) next(now db.Time) db.Time {
	if now.After(p.UpdatedAt.Time) {
		return now
	}
	return db.At(p.UpdatedAt.Add(time.Microsecond))
}

// DeletePermission removes a permission that no role holds, so nobody's rights change. It fails with
// PERMISSION_SYSTEM_FORBIDDEN for a shipped one and PERMISSION_IN_USE_CONFLICT while a role of any
// tenant holds it, also one that a racing call gives it to.
func (s *Service) DeletePermission(ctx context.Context, id uuid.UUID, match resource.Match) error {
	return s.db.Write(ctx, func(tx db.Tx) error {
		p, err := lockPermission(ctx, tx, id, match)
		if err != nil {
			return err
		}
		if p.IsSystem {
			return fault.New(fault.PermissionSystemForbidden, "A system permission cannot be deleted.")
		}
		if err := deletePermission(ctx, tx, id); db.IsForeignKey(err) {
			return fault.New(fault.PermissionInUse, "Roles still hold the permission; take it from them first.").Because(err)
		} else if err != nil {
			return fmt.Errorf("delete permission %s: %w", id, err)
		}
		return audit.Write(ctx, tx, s.permissionEntry("deleted", &p, nil))
	})
}

// GetPermission reads one permission; PERMISSION_NOT_FOUND where there is none.
func (s *Service) GetPermission(ctx context.Context, id uuid.UUID) (Permission, error) {
	p, err := findPermission(ctx, s.db, countedRolesOf(ctx), id, "")
	return p, permissionFound(err)
}

// GetPermissionByCode is GetPermission by code, in any case.
func (s *Service) GetPermissionByCode(ctx context.Context, code string) (Permission, error) {
	p, err := findPermissionByCode(ctx, s.db, countedRolesOf(ctx), code)
	return p, permissionFound(err)
}

// lockPermission reads a permission that is to be changed, if its version matches.
func lockPermission(ctx context.Context, tx db.Tx, id uuid.UUID, match resource.Match) (Permission, error) {
	p, err := findPermission(ctx, tx, countedRolesOf(ctx), id, tx.Dialect().ForUpdate())
	if err != nil {
		return p, permissionFound(err)
	}
	if match != nil && !match(p.Version()) {
		return p, fault.New(fault.PreconditionFailed, "The permission was changed since the version that If-Match names.")
	}
	return p, nil
}

func permissionFound(err error) error {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fault.New(fault.PermissionNotFound, "There is no such permission.")
	case err != nil:
		return fmt.Errorf("read permission: %w", err)
	}
	return nil
}

// countedRoles says which roles the number of roles is made of.
type countedRoles struct {
	all    bool
	tenant uuid.UUID
}

// countedRolesOf leaves out the roles of other tenants, unless the caller reaches them.
func countedRolesOf(ctx context.Context) countedRoles {
	a := scope.ActorFrom(ctx)
	if a == nil {
		return countedRoles{all: true}
	}
	return countedRoles{all: reachesAllTenants(a), tenant: a.TenantID}
}

func (s *Service) permissionEntry(what string, before, after *Permission) audit.Entry {
	changed := after
	if changed == nil {
		changed = before
	}
	return audit.Entry{
		Action: "permission." + what, TargetType: "permission", TargetID: changed.ID.String(), Before: before, After: after, At: s.clock(),
	}
}
