package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
	"steward/internal/scope"
)

// RolesQuery is what a list of roles takes (RolesQueryParameters). Roles are deleted for good, so
// includeDeleted shows nothing more.
type RolesQuery struct {
	resource.Params
	IsSystemRole *bool `query:"isSystemRole" doc:"Only system roles, or only the tenant's own."`
}

// roleSorting names what lists of roles can be sorted by; the tenant is bound to $1.
var roleSorting = resource.NewSorting("name", "r.id",
	resource.SortField{Name: "id", SQL: "r.id"},
	resource.SortField{Name: "tenantId", SQL: "r.tenant_id", Nullable: true},
	resource.SortField{Name: "name", SQL: "r.name_key"},
	resource.SortField{Name: "description", SQL: "r.description", Text: true},
	resource.SortField{Name: "isSystemRole", SQL: "(r.tenant_id IS NULL)"},
	resource.SortField{Name: "userCount", SQL: holdersOfRole},
	resource.SortField{Name: "createdAt", SQL: "r.created_at"},
	resource.SortField{Name: "updatedAt", SQL: "r.updated_at"},
)

// RoleSortFields lists what lists of roles can be sorted by, for the API reference.
func RoleSortFields() []string { return roleSorting.Names() }

// ListRoles lists the caller's tenant's own roles and the system roles, by name unless the query says
// otherwise, and counts who holds each in that tenant.
func (s *Service) ListRoles(ctx context.Context, query RolesQuery) (resource.PagedResult[Role], error) {
	return s.listRoles(ctx, scope.ActorFrom(ctx).TenantID, query)
}

// ListRolesOf is ListRoles for any tenant; TENANT_NOT_FOUND where there is none.
func (s *Service) ListRolesOf(ctx context.Context, tenant uuid.UUID, query RolesQuery) (resource.PagedResult[Role], error) {
	if _, err := requireTenant(ctx, s.db, tenant); err != nil {
		return resource.PagedResult[Role]{}, err
	}
	return s.listRoles(ctx, tenant, query)
}

func (s *Service) listRoles(ctx context.Context, tenant uuid.UUID, query RolesQuery) (resource.PagedResult[Role], error) {
	selection, err := query.Select(roleSorting)
	if err != nil {
		return resource.PagedResult[Role]{}, err
	}
	f := newRoleFilter(tenant, selection.Search)
	if query.IsSystemRole != nil {
		f.addSystem(*query.IsSystemRole)
	}
	page, err := pageOfRoles(ctx, s.db, f, selection.Order.SQL(), selection.Window)
	if err != nil {
		return page, err
	}
	return page, fillRoles(ctx, s.db, tenant, page.Items)
}

// AllRoles lists the roles of ListRoles on one page.
func (s *Service) AllRoles(ctx context.Context) ([]Role, error) {
	tenant := scope.ActorFrom(ctx).TenantID
	roles, err := listRoles(ctx, s.db, newRoleFilter(tenant, ""), " ORDER BY r.name_key, r.id")
	if err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	return roles, fillRoles(ctx, s.db, tenant, roles)
}

// GetRole reads one of the roles of ListRoles; ROLE_NOT_FOUND for every other.
func (s *Service) GetRole(ctx context.Context, id uuid.UUID) (Role, error) {
	tenant := scope.ActorFrom(ctx).TenantID
	role, err := requireRole(ctx, s.db, tenant, id, "")
	if err != nil {
		return role, err
	}
	roles := []Role{role}
	err = fillRoles(ctx, s.db, tenant, roles)
	return roles[0], err
}

// UserRoles lists the roles that a user of the caller's tenant holds there, by name; USER_NOT_FOUND for
// everybody else.
func (s *Service) UserRoles(ctx context.Context, user uuid.UUID) ([]Role, error) {
	tenant := scope.ActorFrom(ctx).TenantID
	if _, err := requireMember(ctx, s.db, tenant, user); err != nil {
		return nil, err
	}
	roles, err := listRolesOfUser(ctx, s.db, tenant, user)
	if err != nil {
		return nil, fmt.Errorf("list roles of user %s: %w", user, err)
	}
	return roles, addPermissions(ctx, s.db, roles)
}

// RoleLookup is what a role picker asks for.
type RoleLookup struct {
	resource.Window
	Search        string
	WithoutSystem bool
	IDs           []uuid.UUID // nil: any
}

// LookupRoles names roles of the caller's tenant and the system roles, by name. Their permissions and
// holders are not read.
func (s *Service) LookupRoles(ctx context.Context, query RoleLookup) (resource.PagedResult[Role], error) {
	return s.lookupRoles(ctx, scope.ActorFrom(ctx).TenantID, query)
}

// LookupRolesOf is LookupRoles for any tenant; TENANT_NOT_FOUND where there is none.
func (s *Service) LookupRolesOf(ctx context.Context, tenant uuid.UUID, query RoleLookup) (resource.PagedResult[Role], error) {
	if _, err := requireTenant(ctx, s.db, tenant); err != nil {
		return resource.PagedResult[Role]{}, err
	}
	return s.lookupRoles(ctx, tenant, query)
}

func (s *Service) lookupRoles(ctx context.Context, tenant uuid.UUID, query RoleLookup) (resource.PagedResult[Role], error) {
	f := newRoleFilter(tenant, query.Search)
	if query.WithoutSystem {
		f.addSystem(false)
	}
	if query.IDs != nil {
		f.addIDs(query.IDs)
	}
	return pageOfRoles(ctx, s.db, f, "r.name_key, r.id", query.Window)
}

// RolesSummary counts the roles of ListRoles that match a search, and who holds them in the tenant.
type RolesSummary struct {
	TotalRoles        int `json:"totalRoles" db:"total_roles"`
	SystemRoles       int `json:"systemRoles" db:"system_roles"`
	CustomRoles       int `json:"customRoles" db:"custom_roles" doc:"The tenant's own roles."`
	RolesWithoutUsers int `json:"rolesWithoutUsers" db:"roles_without_users" doc:"Roles that nobody holds in the tenant."`
	TotalAssignments  int `json:"totalAssignments" db:"total_assignments" doc:"How often a role is held in the tenant: a user with two roles counts twice."`
}

// SummariseRoles makes the summary of the caller's tenant.
func (s *Service) SummariseRoles(ctx context.Context, search string) (RolesSummary, error) {
	summary, err := summariseRoles(ctx, s.db, newRoleFilter(scope.ActorFrom(ctx).TenantID, search))
	if err != nil {
		return summary, fmt.Errorf("summarise roles: %w", err)
	}
	return summary, nil
}

// fillBatch is how many roles one statement looks after.
const fillBatch = 1000

// fillRoles adds to the roles what they hold and how many users of the tenant hold them, in two
// statements for all of them.
func fillRoles(ctx context.Context, q db.Queryer, tenant uuid.UUID, roles []Role) error {
	for batch := range slices.Chunk(roles, fillBatch) {
		if err := addPermissions(ctx, q, batch); err != nil {
			return err
		}
		if err := addUserCounts(ctx, q, tenant, batch); err != nil {
			return err
		}
	}
	return nil
}
