package resource

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// List returns the page of items that the query asks for. Items of other tenants do not exist, deleted
// ones only for a caller who may delete and asks for them.
func (r *Resource[T, C, U, Q]) List(ctx context.Context, query Q) (PagedResult[T], error) {
	var none PagedResult[T]
	selection, err := query.Base().Select(r.sorting)
	if err != nil {
		return none, err
	}
	c, err := r.conditions(ctx, query, selection)
	if err != nil {
		return none, err
	}
	total, err := db.One[int](ctx, r.db, r.table.countFrom+c.where(), c.args...)
	if err != nil {
		return none, fmt.Errorf("count %s: %w", r.Name, err)
	}
	offset, found := selection.Offset(total)
	if !found {
		return NewPage[T](nil, total, selection.Window), nil
	}
	text := r.table.selectFrom + c.where() + " ORDER BY " + selection.Order.SQL()
	text += " LIMIT " + c.bind(selection.Size) + " OFFSET " + c.bind(offset)
	items, err := db.All[T](ctx, r.db, text, c.args...)
	if err != nil {
		return none, fmt.Errorf("list %s: %w", r.Name, err)
	}
	for i := range items {
		shown(&items[i])
	}
	return NewPage(items, total, selection.Window), nil
}

// conditions says which items of the table the query is about.
func (r *Resource[T, C, U, Q]) conditions(ctx context.Context, query Q, s Selection) (*conditions, error) {
	tenant, err := r.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.maySeeDeleted(ctx, s.IncludeDeleted); err != nil {
		return nil, err
	}
	c := &conditions{}
	r.table.reach(c, tenant, s.IncludeDeleted)
	if s.Search != "" && len(r.table.searched) > 0 {
		c.add(SearchSQL(searchColumn, c.bind(SearchPattern(s.Search))))
	}
	var wrong []fault.Field
	for _, f := range r.filters {
		wrong = append(wrong, f.apply(c, reflect.ValueOf(query))...)
	}
	if len(wrong) > 0 {
		return nil, fault.InvalidFields(wrong...)
	}
	return c, nil
}

// Get returns one item; a deleted one only to a caller who may delete and asks for it.
func (r *Resource[T, C, U, Q]) Get(ctx context.Context, id uuid.UUID, includeDeleted bool) (T, error) {
	var none T
	tenant, err := r.tenant(ctx)
	if err != nil {
		return none, err
	}
	if err := r.maySeeDeleted(ctx, includeDeleted); err != nil {
		return none, err
	}
	return r.require(ctx, r.db, id, tenant, includeDeleted, "")
}

// require reads the item or fails with the resource's code for what does not exist.
func (r *Resource[T, C, U, Q]) require(ctx context.Context, q db.Queryer, id, tenant uuid.UUID, deletedToo bool, lock string) (T, error) {
	c := &conditions{}
	c.add("id = " + c.bind(id))
	r.table.reach(c, tenant, deletedToo)
	item, err := db.One[T](ctx, q, r.table.selectFrom+c.where()+lock, c.args...)
	if errors.Is(err, sql.ErrNoRows) {
		return item, fault.New(r.NotFound, "There is no %s with the id %s.", r.Singular, id)
	}
	if err != nil {
		return item, fmt.Errorf("read %s %s: %w", r.Singular, id, err)
	}
	shown(&item)
	return item, nil
}

// tenant is the one whose items exist for the caller; zero for a resource that belongs to none.
func (r *Resource[T, C, U, Q]) tenant(ctx context.Context) (uuid.UUID, error) {
	if !r.table.tenanted {
		return uuid.Nil, nil
	}
	a := scope.ActorFrom(ctx)
	if a == nil || !a.InTenant {
		return uuid.Nil, fault.New(fault.TenantForbidden, "A token of a tenant is needed.")
	}
	return a.TenantID, nil
}

func (r *Resource[T, C, U, Q]) maySeeDeleted(ctx context.Context, asked bool) error {
	if !asked || !r.table.soft {
		return nil
	}
	return MaySeeDeleted(ctx, r.Permission("delete"))
}

// shown fills what is answered and not stored.
func shown(item any) {
	if d, ok := deletionOf(item); ok {
		d.IsDeleted = d.DeletedAt != nil
	}
}
