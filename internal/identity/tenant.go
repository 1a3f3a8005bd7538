package identity

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// The types of tenants: only a group can stand above others.
const (
	TenantStandard = "Standard"
	TenantGroup    = "Group"
)

// deleteTenants is the permission to delete tenants, and so to see deleted ones.
const deleteTenants = "delete:tenants"

// Tenant is one customer of the product that Steward serves, as it is stored and shown.
type Tenant struct {
	ID         uuid.UUID      `json:"id" db:"id" audit:"-"`
	Name       string         `json:"name" db:"name"`
	Identifier string         `json:"identifier" db:"identifier" doc:"Unique among tenants that are not deleted, in any case."`
	Domain     string         `json:"domain" db:"domain" doc:"Host name of the tenant, or empty."`
	Type       string         `json:"type" db:"type" enum:"Standard,Group" doc:"Only a Group can be the parent of others."`
	ParentID   *uuid.UUID     `json:"parentTenantId" db:"parent_id" doc:"null for a tenant at the top."`
	IsActive   bool           `json:"isActive" db:"is_active" doc:"Nobody works in a tenant that is not active."`
	MaxUsers   *int           `json:"maxUsers" db:"max_users" doc:"How many users may be bound to it; null for no limit."`
	UserCount  int            `json:"userCount" db:"user_count" audit:"-" doc:"How many users are bound to it."`
	Settings   TenantSettings `json:"settings" db:"settings"`
	CreatedAt  db.Time        `json:"createdAt" db:"created_at" audit:"-"`
	UpdatedAt  db.Time        `json:"updatedAt" db:"updated_at" audit:"-" doc:"The last change to the tenant itself; users who come and go do not count."`
	DeletedAt  *db.Time       `json:"deletedAt,omitempty" db:"deleted_at" doc:"Only there on a deleted tenant, which only includeDeleted shows."`
}

// newTenant is an active tenant at the top, with nothing said of it yet.
func newTenant(id uuid.UUID, at db.Time) Tenant {
	return Tenant{ID: id, Type: TenantStandard, IsActive: true, Settings: defaultSettings, CreatedAt: at, UpdatedAt: at}
}

// Version is the ETag of the tenant.
func (t Tenant) Version() string { return resource.Version(t.ID, t.UpdatedAt) }

// touch moves UpdatedAt to now, or past the last change where the clock has not moved since: it is the
// version, so it must never repeat.
func (t *Tenant) touch(now db.Time) {
	if !now.After(t.UpdatedAt.Time) {
		now = db.At(t.UpdatedAt.Add(time.Microsecond))
	}
	t.UpdatedAt = now
}

// CreateTenant makes a tenant and binds nobody to it. A caller who does not reach all tenants makes
// them below their own. An identifier that is left out is made from the name; one that is taken is
// TENANT_ALREADY_EXISTS, however many callers race for it.
func (s *Service) CreateTenant(ctx context.Context, in TenantFields) (Tenant, error) {
	if err := in.check(); err != nil {
		return Tenant{}, err
	}
	id, err := newID()
	if err != nil {
		return Tenant{}, err
	}
	var made Tenant
	err = s.db.Write(ctx, func(tx db.Tx) error {
		made = newTenant(id, s.now())
		in.apply(&made)
		if err := lockTree(ctx, tx); err != nil {
			return err
		}
		if err := requireParent(ctx, tx, made); err != nil {
			return err
		}
		if err := addTenant(ctx, tx, &made); err != nil {
			return err
		}
		return s.auditTenant(ctx, tx, "tenant.created", nil, nil, &made)
	})
	return made, err
}

// addTenant inserts the tenant. Where it has no identifier one is made from the name, with a number
// behind it where that is taken.
func addTenant(ctx context.Context, tx db.Tx, t *Tenant) error {
	names := []string{t.Identifier}
	if t.Identifier == "" {
		names = slugsOf(t.Name)
	}
	for _, name := range names {
		t.Identifier = name
		added, err := insertTenant(ctx, tx, *t)
		if err != nil {
			return fmt.Errorf("add tenant: %w", err)
		}
		if added {
			return nil
		}
	}
	return identifierTaken(t.Identifier)
}

func identifierTaken(identifier string) *fault.Fault {
	return fault.New(fault.TenantAlreadyExists, "Another tenant has the identifier %s.", identifier)
}

// GetTenant reads a tenant in the caller's reach; a deleted one only for a caller who may delete.
func (s *Service) GetTenant(ctx context.Context, id uuid.UUID, includeDeleted bool) (Tenant, error) {
	if includeDeleted {
		if err := resource.MaySeeDeleted(ctx, deleteTenants); err != nil {
			return Tenant{}, err
		}
	}
	t, err := findTenant(ctx, s.db, id, includeDeleted)
	if err != nil {
		return t, tenantFault(id, err)
	}
	return t, requireReach(ctx, s.db, scope.ActorFrom(ctx), id)
}

// CurrentTenant is the tenant of the caller's token.
func (s *Service) CurrentTenant(ctx context.Context) (Tenant, error) {
	return requireTenant(ctx, s.db, scope.ActorFrom(ctx).TenantID)
}

// UpdateTenant changes a tenant in the caller's reach. A body that changes nothing writes nothing. The
// tokens of a tenant that is switched off are refused from now on, on every node.
func (s *Service) UpdateTenant(ctx context.Context, id uuid.UUID, match resource.Match, in TenantFields) (Tenant, error) {
	var after Tenant
	if err := in.check(); err != nil {
		return after, err
	}
	err := s.db.Write(ctx, func(tx db.Tx) error {
		if err := lockTree(ctx, tx); err != nil {
			return err
		}
		before, err := lockReachable(ctx, tx, id, match)
		if err != nil {
			return err
		}
		after = before
		in.apply(&after)
		if reflect.DeepEqual(before, after) {
			return nil
		}
		after.touch(s.now())
		return s.replaceTenant(ctx, tx, before, after)
	})
	return after, err
}

func (s *Service) replaceTenant(ctx context.Context, tx db.Tx, before, after Tenant) error {
	if err := requireMove(ctx, tx, before, after); err != nil {
		return err
	}
	if before.isDefault() && !after.isDefault() {
		return fault.Invalid("identifier", "must stay: new accounts find the default tenant by it")
	}
	if err := updateTenant(ctx, tx, after); db.IsUnique(err) {
		return identifierTaken(after.Identifier).Because(err)
	} else if err != nil {
		return fmt.Errorf("update tenant %s: %w", after.ID, err)
	}
	if before.IsActive && !after.IsActive {
		if err := requireAdministratorLeft(ctx, tx); err != nil {
			return err
		}
	}
	if err := tx.Notify(ctx, topicTenant, after.ID.String()); err != nil {
		return err
	}
	// In the trail of the tenant itself, where those whom it concerns can read it.
	return s.auditTenant(ctx, tx, "tenant.updated", &after.ID, &before, &after)
}

// DeleteTenant marks a tenant in the caller's reach as deleted. One with users or children, and the
// default tenant, are TENANT_IN_USE_CONFLICT.
func (s *Service) DeleteTenant(ctx context.Context, id uuid.UUID, match resource.Match) error {
	return s.db.Write(ctx, func(tx db.Tx) error {
		if err := lockTree(ctx, tx); err != nil {
			return err
		}
		before, err := lockReachable(ctx, tx, id, match)
		if err != nil {
			return err
		}
		if before.isDefault() {
			return fault.New(fault.TenantInUse, "The default tenant cannot be deleted: new accounts are bound to it.")
		}
		if err := requireNoChildren(ctx, tx, id); err != nil {
			return err
		}
		after := before
		after.touch(s.now())
		if buried, err := buryTenant(ctx, tx, id, after.UpdatedAt); err != nil {
			return fmt.Errorf("delete tenant %s: %w", id, err)
		} else if !buried {
			return fault.New(fault.TenantInUse, "The tenant still has users.")
		}
		if err := tx.Notify(ctx, topicTenant, id.String()); err != nil {
			return err
		}
		return s.auditTenant(ctx, tx, "tenant.deleted", nil, &before, nil)
	})
}

// isDefault tells whether new accounts are bound to the tenant.
func (t Tenant) isDefault() bool { return strings.EqualFold(t.Identifier, DefaultTenant) }

// auditTenant notes a change in the trail of the tenant given; nil means that of the caller.
func (s *Service) auditTenant(ctx context.Context, tx db.Tx, action string, trail *uuid.UUID, before, after *Tenant) error {
	changed := after
	if changed == nil {
		changed = before
	}
	return audit.Write(ctx, tx, audit.Entry{
		Action: action, TargetType: "tenant", TargetID: changed.ID.String(), TenantID: trail,
		Before: before, After: after, At: s.now().Time,
	})
}
