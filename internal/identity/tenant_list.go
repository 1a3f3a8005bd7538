package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/resource"
	"steward/internal/scope"
)

// Which part of the tree a list of tenants is about.
const (
	TenantsAll         = "All"
	TenantsRoots       = "Roots"       // those without a parent
	TenantsChildren    = "Children"    // those right below a tenant
	TenantsDescendants = "Descendants" // all below a tenant
)

// TenantFilter is which tenants a list, a summary or a lookup is about; the zero value means all that
// the caller reaches.
type TenantFilter struct {
	Search   string
	IsActive *bool
	Type     string
	// Scope is a part of the tree. Children and Descendants are those of Parent, or of the caller's
	// tenant where Parent is nil; in other scopes Parent keeps the tenants right below it.
	Scope  string
	Parent *uuid.UUID
	// IDs keeps the tenants named, where not nil.
	IDs            []uuid.UUID
	IncludeDeleted bool
}

// TenantLookupItem is what a picker of tenants shows.
type TenantLookupItem struct {
	ID         uuid.UUID `json:"id" db:"id"`
	Name       string    `json:"name" db:"name"`
	Identifier string    `json:"identifier" db:"identifier"`
	Type       string    `json:"type" db:"type" enum:"Standard,Group"`
	IsActive   bool      `json:"isActive" db:"is_active"`
}

// TenantsSummary counts tenants.
type TenantsSummary struct {
	TotalTenants    int `json:"totalTenants" db:"total_tenants"`
	ActiveTenants   int `json:"activeTenants" db:"active_tenants"`
	InactiveTenants int `json:"inactiveTenants" db:"inactive_tenants"`
	StandardTenants int `json:"standardTenants" db:"standard_tenants"`
	GroupTenants    int `json:"groupTenants" db:"group_tenants"`
	TotalUsers      int `json:"totalUsers" db:"total_users" doc:"The sum of userCount: somebody in two of the tenants counts twice."`
}

var tenantSorting = resource.NewSorting("name", "id",
	resource.SortField{Name: "id", SQL: "id"},
	resource.SortField{Name: "name", SQL: "name", Text: true},
	resource.SortField{Name: "identifier", SQL: "identifier_key"},
	resource.SortField{Name: "domain", SQL: "domain"},
	resource.SortField{Name: "type", SQL: "type"},
	resource.SortField{Name: "parentTenantId", SQL: "parent_id", Nullable: true},
	resource.SortField{Name: "isActive", SQL: "is_active"},
	resource.SortField{Name: "maxUsers", SQL: "max_users", Nullable: true},
	resource.SortField{Name: "userCount", SQL: "user_count"},
	resource.SortField{Name: "createdAt", SQL: "created_at"},
	resource.SortField{Name: "updatedAt", SQL: "updated_at"},
	resource.SortField{Name: "deletedAt", SQL: "deleted_at", Nullable: true},
)

// TenantSortFields lists what a list of tenants can be sorted by.
func TenantSortFields() []string { return tenantSorting.Names() }

// ListTenants lists the tenants that the caller reaches. Deleted ones are shown to a caller who may
// delete and asks for them.
func (s *Service) ListTenants(ctx context.Context, params resource.Params, f TenantFilter) (resource.PagedResult[Tenant], error) {
	selection, err := params.Select(tenantSorting)
	if err != nil {
		return resource.PagedResult[Tenant]{}, err
	}
	if selection.IncludeDeleted {
		if err := resource.MaySeeDeleted(ctx, deleteTenants); err != nil {
			return resource.PagedResult[Tenant]{}, err
		}
	}
	f.Search, f.IncludeDeleted = selection.Search, selection.IncludeDeleted
	return pageOfTenants[Tenant](ctx, s, f, tenantColumns, selection.Order.SQL(), selection.Window)
}

// LookupTenants lists the tenants that the caller reaches, by name, in the short form of a picker.
// Tenants named by id that do not exist or are out of reach are left out.
func (s *Service) LookupTenants(ctx context.Context, w resource.Window, f TenantFilter) (resource.PagedResult[TenantLookupItem], error) {
	return pageOfTenants[TenantLookupItem](ctx, s, f, "id, name, identifier, type, is_active", "lower(name), id", w)
}

// AllTenants lists every tenant that the caller reaches, by name.
func (s *Service) AllTenants(ctx context.Context) ([]Tenant, error) {
	q := newTenantQuery(scope.ActorFrom(ctx), TenantFilter{})
	tenants, err := listTenants[Tenant](ctx, s.db, q, tenantColumns, "lower(name), id")
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	return tenants, nil
}

// SummariseTenants counts the tenants that the caller reaches.
func (s *Service) SummariseTenants(ctx context.Context, f TenantFilter) (TenantsSummary, error) {
	summary, err := summariseTenants(ctx, s.db, newTenantQuery(scope.ActorFrom(ctx), f))
	if err != nil {
		return summary, fmt.Errorf("summarise tenants: %w", err)
	}
	return summary, nil
}

func pageOfTenants[T any](ctx context.Context, s *Service, f TenantFilter, columns, order string, w resource.Window) (resource.PagedResult[T], error) {
	var none resource.PagedResult[T]
	q := newTenantQuery(scope.ActorFrom(ctx), f)
	total, err := countTenants(ctx, s.db, q)
	if err != nil {
		return none, fmt.Errorf("count tenants: %w", err)
	}
	offset, found := w.Offset(total)
	if !found {
		return resource.NewPage[T](nil, total, w), nil
	}
	q.limit(w.Size, offset)
	items, err := listTenants[T](ctx, s.db, q, columns, order)
	if err != nil {
		return none, fmt.Errorf("list tenants: %w", err)
	}
	return resource.NewPage(items, total, w), nil
}
