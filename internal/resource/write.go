package resource

import (
	"context"
	"fmt"
	"reflect"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
)

// Create stores a new item. One that a unique index refuses is the resource's AlreadyExists, however
// many callers race for it.
func (r *Resource[T, C, U, Q]) Create(ctx context.Context, body C) (T, error) {
	item, err := r.newItem(ctx, body)
	if err != nil {
		return item, err
	}
	err = r.db.Write(ctx, func(tx db.Tx) error {
		if err := r.guard(ctx, tx, nil, &item); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, r.table.insert, r.table.values(&item, r.table.stored)...); err != nil {
			return r.refused("create", err)
		}
		return r.audit(ctx, tx, "created", nil, &item)
	})
	return item, err
}

func (r *Resource[T, C, U, Q]) newItem(ctx context.Context, body C) (T, error) {
	item, err := r.New(ctx, body)
	if err != nil {
		return item, err
	}
	if err := r.table.settle(&item); err != nil {
		return item, err
	}
	tenant, err := r.tenant(ctx)
	if err != nil {
		return item, err
	}
	if owner, ok := ownerOf(&item); ok {
		owner.TenantID = tenant
	}
	id, err := uuid.NewV7()
	if err != nil {
		return item, fmt.Errorf("make id: %w", err)
	}
	at := db.At(r.now())
	*recordOf(&item) = Record{ID: id, CreatedAt: at, UpdatedAt: at}
	return item, nil
}

// Update changes an item as the body says. One whose version does not match is left as it is
// (PRECONDITION_FAILED), and a body that changes nothing writes nothing.
func (r *Resource[T, C, U, Q]) Update(ctx context.Context, id uuid.UUID, match Match, body U) (T, error) {
	var item T
	err := r.change(ctx, func(tx db.Tx, tenant uuid.UUID) error {
		before, err := r.lock(ctx, tx, id, tenant, match)
		if err != nil {
			return err
		}
		item = before
		if err := r.Apply(ctx, &item, body); err != nil {
			return err
		}
		if err := r.table.settle(&item); err != nil {
			return err
		}
		if reflect.DeepEqual(before, item) {
			return nil
		}
		return r.replace(ctx, tx, tenant, &before, &item)
	})
	return item, err
}

// replace writes the new state of an item over the state it was read in.
func (r *Resource[T, C, U, Q]) replace(ctx context.Context, tx db.Tx, tenant uuid.UUID, before, after *T) error {
	// What this package fills is not for a body to change.
	*recordOf(after) = *recordOf(before)
	recordOf(after).touch(r.now())
	if err := r.guard(ctx, tx, before, after); err != nil {
		return err
	}
	read := recordOf(before)
	args := append(r.table.values(after, r.table.changing), r.table.version(read.ID, read.UpdatedAt, tenant)...)
	if err := r.exactlyOne(ctx, tx, "update", r.table.update, args); err != nil {
		return err
	}
	return r.audit(ctx, tx, "updated", before, after)
}

// Delete marks or removes an item. One whose version does not match is left as it is
// (PRECONDITION_FAILED), and a second call finds nothing.
func (r *Resource[T, C, U, Q]) Delete(ctx context.Context, id uuid.UUID, match Match) error {
	return r.change(ctx, func(tx db.Tx, tenant uuid.UUID) error {
		return r.delete(ctx, tx, tenant, id, match)
	})
}

func (r *Resource[T, C, U, Q]) delete(ctx context.Context, tx db.Tx, tenant, id uuid.UUID, match Match) error {
	before, err := r.lock(ctx, tx, id, tenant, match)
	if err != nil {
		return err
	}
	if err := r.guard(ctx, tx, &before, nil); err != nil {
		return err
	}
	version := r.table.version(id, recordOf(&before).UpdatedAt, tenant)
	if !r.table.soft {
		if err := r.exactlyOne(ctx, tx, "delete", r.table.remove, version); err != nil {
			return err
		}
		return r.audit(ctx, tx, "deleted", &before, nil)
	}
	after := before
	record := recordOf(&after)
	record.touch(r.now())
	buried, _ := deletionOf(&after)
	buried.bury(record.UpdatedAt)
	args := append([]any{record.UpdatedAt, record.UpdatedAt}, version...)
	if err := r.exactlyOne(ctx, tx, "delete", r.table.bury, args); err != nil {
		return err
	}
	return r.audit(ctx, tx, "deleted", &before, &after)
}

// change runs a write for the caller's tenant.
func (r *Resource[T, C, U, Q]) change(ctx context.Context, fn func(tx db.Tx, tenant uuid.UUID) error) error {
	tenant, err := r.tenant(ctx)
	if err != nil {
		return err
	}
	return r.db.Write(ctx, func(tx db.Tx) error { return fn(tx, tenant) })
}

// lock reads an item that is to be changed, if its version matches. What is written afterwards names
// the version read here in its WHERE.
func (r *Resource[T, C, U, Q]) lock(ctx context.Context, tx db.Tx, id, tenant uuid.UUID, match Match) (T, error) {
	item, err := r.require(ctx, tx, id, tenant, false, tx.Dialect().ForUpdate())
	if err != nil {
		return item, err
	}
	if match != nil && !match(r.Version(item)) {
		return item, fault.New(fault.PreconditionFailed, "The %s was changed since the version that If-Match names.", r.Singular)
	}
	return item, nil
}

// exactlyOne runs a statement whose WHERE names the version of a row. None changed means that it has
// another version by now.
func (r *Resource[T, C, U, Q]) exactlyOne(ctx context.Context, tx db.Tx, verb, text string, args []any) error {
	changed, err := tx.Exec(ctx, text, args...)
	if err != nil {
		return r.refused(verb, err)
	}
	if changed != 1 {
		return fault.New(fault.PreconditionFailed, "The %s was changed by someone else at the same time.", r.Singular)
	}
	return nil
}

// refused turns what a constraint says into the resource's code for it.
func (r *Resource[T, C, U, Q]) refused(verb string, err error) error {
	switch {
	case db.IsUnique(err):
		return fault.New(r.AlreadyExists, "There is such a %s already.", r.Singular).Because(err)
	case db.IsForeignKey(err) && r.InUse != "":
		return fault.New(r.InUse, "The %s is in use.", r.Singular).Because(err)
	}
	return fmt.Errorf("%s %s: %w", verb, r.Singular, err)
}

func (r *Resource[T, C, U, Q]) guard(ctx context.Context, tx db.Tx, before, after *T) error {
	if r.Guard == nil {
		return nil
	}
	return r.Guard(ctx, tx, before, after)
}

// audit writes down the change in its own transaction.
func (r *Resource[T, C, U, Q]) audit(ctx context.Context, tx db.Tx, what string, before, after *T) error {
	entry := audit.Entry{Action: r.Singular + "." + what, TargetType: r.Singular, Before: before, After: after, At: r.now()}
	changed := after
	if changed == nil {
		changed = before
	}
	entry.TargetID = recordOf(changed).ID.String()
	return audit.Write(ctx, tx, entry)
}
