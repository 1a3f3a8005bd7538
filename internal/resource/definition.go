// Package resource gives a plain resource the whole generic contract from one declaration: paged,
// sorted, searched and filtered list, get, create, update, delete and bulk delete, with permissions,
// versions and an audit trail.
package resource

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
)

// Definition declares a resource; adding one is one file with four types and this.
//
//   - T, the item, is what is stored and answered. It embeds Record, and SoftDeletable and
//     TenantOwned where they fit; each field says its column in a `db` tag. Fields tagged `json:"-"`
//     are stored and never shown.
//   - C and U are the bodies that create and update. Every field of U is a pointer: nil leaves the
//     item's field as it is, an empty string clears an optional text. Constraints stand in their tags.
//   - Q, the query, embeds Params and adds the filters of the list.
type Definition[T, C, U any, Q Query] struct {
	// Name is the plural that permissions are made of (read:apps); Singular names one in the audit
	// trail (app.created) and in the API reference.
	Name, Singular string
	// Table holds the items. With Search it needs a column search_key TEXT NOT NULL, which this
	// package fills; a change of Search needs a migration that fills it anew.
	Table string
	// Search lists the text fields that the parameter search looks into, by their JSON names.
	Search []string
	// SortBy is the order of a list that names none; createdAt where empty.
	SortBy string

	// NotFound is the code of an id that does not exist for the caller.
	NotFound fault.Code
	// AlreadyExists is the code when a unique index refuses the item.
	AlreadyExists fault.Code
	// InUse is the code when other rows still refer to an item that is to be removed for good.
	InUse fault.Code
	// DeleteAnswers200 makes a deletion answer 200 with an empty body where the contract says so,
	// instead of 204.
	DeleteAnswers200 bool

	// New makes an item of a body that is valid by its tags. A refusal is a *fault.Fault.
	New func(ctx context.Context, body C) (T, error)
	// Apply changes an item as the body says. A refusal is a *fault.Fault.
	Apply func(ctx context.Context, item *T, body U) error
	// Guard, where given, runs in the transaction of every write, before it: for rules that need the
	// store, to tell caches, and to fill in after what no body says. before is nil for a new item, after
	// is nil for one that goes.
	Guard func(ctx context.Context, tx db.Tx, before, after *T) error

	// Doc tells in the API reference what a caller of any of its routes should know.
	Doc string
	// Refusals are the codes that New, Apply and Guard give beside those above, for the API reference.
	Refusals []fault.Code
	// OnceShown names fields that only the answer to the creation has, because they are secrets: a
	// replay of that answer leaves them out.
	OnceShown []string
	// Examples are shown in the API reference.
	Examples Examples[C, U]
	// Illustrate, where given, fills in the example item what Guard fills in a real one.
	Illustrate func(item *T)
}

// Examples are bodies that could be sent as they stand.
type Examples[C, U any] struct {
	Create C
	Update U
}

// Resource is a declared resource on a store.
type Resource[T, C, U any, Q Query] struct {
	Definition[T, C, U, Q]
	db      *db.DB
	now     func() time.Time
	table   table
	sorting Sorting
	filters []filter
}

// New ties a declaration to a store. It panics on a declaration that is not sound, which ends the
// start.
func New[T, C, U any, Q Query](d *db.DB, now func() time.Time, def Definition[T, C, U, Q]) *Resource[T, C, U, Q] {
	if def.Name == "" || def.Singular == "" || def.Table == "" || def.New == nil || def.Apply == nil {
		panic("resource: a definition needs Name, Singular, Table, New and Apply")
	}
	if def.NotFound == "" || def.AlreadyExists == "" {
		panic(fmt.Sprintf("resource: %s needs the codes NotFound and AlreadyExists", def.Name))
	}
	if _, ok := any(new(T)).(interface{ record() *Record }); !ok {
		panic(fmt.Sprintf("resource: the item of %s does not embed Record", def.Name))
	}
	if def.SortBy == "" {
		def.SortBy = "createdAt"
	}
	t := newTable(def.Table, reflect.TypeFor[T](), def.Search)
	return &Resource[T, C, U, Q]{
		Definition: def, db: d, now: now, table: t,
		sorting: NewSorting(def.SortBy, "id", sortFields(t.columns)...),
		filters: filtersOf(reflect.TypeFor[Q](), t.columns),
	}
}

// Permission is what a caller needs for the action: read, create, update or delete.
func (r *Resource[T, C, U, Q]) Permission(action string) string {
	return action + ":" + r.Name
}

// IsSoftDeletable tells whether deleted items stay stored.
func (r *Resource[T, C, U, Q]) IsSoftDeletable() bool { return r.table.soft }

// Sortable lists the fields that sortBy takes.
func (r *Resource[T, C, U, Q]) Sortable() []string { return r.sorting.Names() }

// ID is the id of an item.
func (r *Resource[T, C, U, Q]) ID(item T) uuid.UUID { return recordOf(&item).ID }

// Version names the present state of an item: the ETag of its reads, which If-Match holds against.
func (r *Resource[T, C, U, Q]) Version(item T) string {
	record := recordOf(&item)
	return Version(record.ID, record.UpdatedAt)
}

// Example is the item that the example bodies make and then change, for the API reference: as its
// creation answers it, as it is read, and as the update answers it. It panics where the declaration
// refuses its own examples.
func (r *Resource[T, C, U, Q]) Example() (created, read, changed T) {
	created, err := r.New(context.Background(), r.Examples.Create)
	if err == nil {
		at := db.At(time.Date(2026, time.January, 31, 9, 30, 0, 0, time.UTC))
		*recordOf(&created) = Record{ID: exampleID, CreatedAt: at, UpdatedAt: at}
		if owner, ok := ownerOf(&created); ok {
			owner.TenantID = exampleTenant
		}
		if r.Illustrate != nil {
			r.Illustrate(&created)
		}
		read = r.withoutOnceShown(created)
		changed = read
		recordOf(&changed).touch(at.Add(time.Hour))
		err = r.Apply(context.Background(), &changed, r.Examples.Update)
	}
	if err != nil {
		panic(fmt.Sprintf("resource: the examples of %s are not valid: %v", r.Name, err))
	}
	return created, read, changed
}

func (r *Resource[T, C, U, Q]) withoutOnceShown(item T) T {
	for _, c := range r.table.columns {
		if slices.Contains(r.OnceShown, c.field) {
			reflect.ValueOf(&item).Elem().FieldByIndex(c.index).SetZero()
		}
	}
	return item
}

var (
	exampleID     = uuid.MustParse("0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e4f")
	exampleTenant = uuid.MustParse("0197a3c2-1b70-7d21-8f3a-2c4d5e6f7a8b")
)
