package identity

import (
	"context"
	"fmt"
	"strings"

	"steward/internal/resource"
)

// PermissionsQuery is what the list of permissions takes (PermissionsQueryParameters).
type PermissionsQuery struct {
	resource.Params
	Category string `query:"category" maxLength:"100" doc:"Only permissions of the category, in any case."`
	IsSystem *bool  `query:"isSystem" doc:"Only shipped permissions, or only those that were added."`
}

var permissionSorting = resource.NewSorting("code", "p.id",
	resource.SortField{Name: "id", SQL: "p.id"},
	resource.SortField{Name: "code", SQL: "p.code_key"},
	resource.SortField{Name: "description", SQL: "p.description", Text: true},
	resource.SortField{Name: "category", SQL: "p.category_key"},
	resource.SortField{Name: "isSystem", SQL: "p.is_system"},
	resource.SortField{Name: "roleCount", SQL: "role_count"},
	resource.SortField{Name: "createdAt", SQL: "p.created_at"},
	resource.SortField{Name: "updatedAt", SQL: "p.updated_at"},
)

// PermissionSortFields lists what the list of permissions can be sorted by.
func PermissionSortFields() []string { return permissionSorting.Names() }

// ListPermissions lists the catalogue, by code unless the query says otherwise.
func (s *Service) ListPermissions(ctx context.Context, query PermissionsQuery) (resource.PagedResult[Permission], error) {
	var none resource.PagedResult[Permission]
	selection, err := query.Select(permissionSorting)
	if err != nil {
		return none, err
	}
	f := newPermissionFilter(selection.Search, query.Category)
	if query.IsSystem != nil {
		f.add("p.is_system = " + f.bind(*query.IsSystem))
	}
	total, err := countPermissions(ctx, s.db, f)
	if err != nil {
		return none, fmt.Errorf("count permissions: %w", err)
	}
	offset, found := selection.Offset(total)
	if !found {
		return resource.NewPage[Permission](nil, total, selection.Window), nil
	}
	page, err := listPermissions(ctx, s.db, f, countedRolesOf(ctx), selection.Order.SQL(), selection.Size, offset)
	if err != nil {
		return none, fmt.Errorf("list permissions: %w", err)
	}
	return resource.NewPage(page, total, selection.Window), nil
}

// AllPermissions lists the whole catalogue by code.
func (s *Service) AllPermissions(ctx context.Context) ([]Permission, error) {
	all, err := listAllPermissions(ctx, s.db, &permissionFilter{}, countedRolesOf(ctx))
	if err != nil {
		return nil, fmt.Errorf("list permissions: %w", err)
	}
	return all, nil
}

// CatalogQuery is what the catalogue takes (PermissionCatalogQueryParameters).
type CatalogQuery struct {
	resource.Params
	Category string `query:"category" maxLength:"100" doc:"Only this category, in any case."`
}

// CatalogGroup is one category with the permissions that match the query, by code.
type CatalogGroup struct {
	Category    string // empty for permissions that have none
	Permissions []Permission
}

var catalogSorting = resource.NewSorting("category", "p.category_key",
	resource.SortField{Name: "category", SQL: "p.category_key"},
	resource.SortField{Name: "permissionCount", SQL: "count(*)"},
)

// PermissionCatalog lists the catalogue by category; the pages are pages of categories. Spellings of a
// category that differ in case are one group.
func (s *Service) PermissionCatalog(ctx context.Context, query CatalogQuery) (resource.PagedResult[CatalogGroup], error) {
	var none resource.PagedResult[CatalogGroup]
	selection, err := query.Select(catalogSorting)
	if err != nil {
		return none, err
	}
	filter := func() *permissionFilter { return newPermissionFilter(selection.Search, query.Category) }
	total, err := countCategories(ctx, s.db, filter())
	if err != nil {
		return none, fmt.Errorf("count categories: %w", err)
	}
	offset, found := selection.Offset(total)
	if !found {
		return resource.NewPage[CatalogGroup](nil, total, selection.Window), nil
	}
	categories, err := listCategories(ctx, s.db, filter(), selection.Order.SQL(), selection.Size, offset)
	if err != nil {
		return none, fmt.Errorf("list categories: %w", err)
	}
	f := filter()
	f.addCategories(categories)
	permissions, err := listAllPermissions(ctx, s.db, f, countedRolesOf(ctx))
	if err != nil {
		return none, fmt.Errorf("list permissions of categories: %w", err)
	}
	return resource.NewPage(groupPermissions(categories, permissions), total, selection.Window), nil
}

func groupPermissions(categories []Category, permissions []Permission) []CatalogGroup {
	byKey := map[string][]Permission{}
	for _, p := range permissions {
		byKey[categoryKey(p.Category)] = append(byKey[categoryKey(p.Category)], p)
	}
	groups := make([]CatalogGroup, len(categories))
	for i, c := range categories {
		groups[i] = CatalogGroup{Category: c.Name, Permissions: byKey[c.key()]}
	}
	return groups
}

// CategoriesQuery is what the autocomplete of categories takes
// (PermissionCategorySuggestionsQueryParameters).
type CategoriesQuery struct {
	Search string `query:"search" maxLength:"100" doc:"Keeps the categories in which this text occurs, in any case."`
	Limit  int    `query:"limit" minimum:"1" maximum:"50" default:"20" doc:"How many categories to suggest at most."`
}

// Category is one category of the catalogue.
type Category struct {
	Name            string `db:"name"`
	PermissionCount int    `db:"permission_count"`
}

func (c Category) key() string { return categoryKey(c.Name) }

// SuggestCategories lists the categories that are in use and match, by name.
func (s *Service) SuggestCategories(ctx context.Context, query CategoriesQuery) ([]Category, error) {
	f := &permissionFilter{}
	f.add("p.category_key <> ''")
	if search := strings.TrimSpace(query.Search); search != "" {
		f.add(resource.SearchSQL("p.category_key", f.bind(resource.SearchPattern(search))))
	}
	categories, err := listCategories(ctx, s.db, f, "p.category_key", query.Limit, 0)
	if err != nil {
		return nil, fmt.Errorf("suggest categories: %w", err)
	}
	return categories, nil
}
