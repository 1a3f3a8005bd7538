package resource_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/resource/resourcetest"
	"steward/internal/scope"
)

func TestSoftDeletionKeepsTheRowAndFreesItsCode(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		made := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small"}))
		wantFault(t, g.Delete(ctx, made.ID, only("stale")), fault.PreconditionFailed)
		if err := g.Delete(ctx, made.ID, only(g.Version(made))); err != nil {
			t.Fatal(err)
		}
		_, err := g.Get(ctx, made.ID, false)
		wantFault(t, err, fault.NotFound)
		_, err = g.Update(ctx, made.ID, nil, change{Size: new(int64(9))})
		wantFault(t, err, fault.NotFound)
		gone := must[resourcetest.Gadget](t)(g.Get(ctx, made.ID, true))
		if !gone.IsDeleted || gone.DeletedAt == nil || gone.UpdatedAt != *gone.DeletedAt || g.Version(gone) == g.Version(made) {
			t.Errorf("deleted as %+v %+v", gone.Record, gone.SoftDeletable)
		}
		again := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small"}))
		for include, want := range map[bool]int{false: 1, true: 2} {
			page := must[resource.PagedResult[resourcetest.Gadget]](t)(g.List(ctx, query{Params: resource.Params{IncludeDeleted: include}}))
			if page.TotalCount != want {
				t.Errorf("includeDeleted %v: %d items", include, page.TotalCount)
			}
		}
		reader := scope.WithActor(ctx, &scope.Actor{TenantID: again.TenantID, InTenant: true, Permissions: []string{"read:gadgets"}})
		_, err = g.List(reader, query{Params: resource.Params{IncludeDeleted: true}})
		wantFault(t, err, fault.MissingPermission)
		_, err = g.Get(reader, again.ID, true)
		wantFault(t, err, fault.MissingPermission)
	})
}

func TestHardDeletionRemovesTheRowUnlessItIsInUse(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, _ *gadgets, p *parts) {
		bolt := must[resourcetest.Part](t)(p.Create(ctx, resourcetest.CreatePart{Name: "bolt"}))
		nut := must[resourcetest.Part](t)(p.Create(ctx, resourcetest.CreatePart{Name: "nut"}))
		use(t, d, bolt.ID)
		wantFault(t, p.Delete(ctx, bolt.ID, nil), fault.Conflict)
		must[resourcetest.Part](t)(p.Get(ctx, bolt.ID, false))
		if err := p.Delete(ctx, nut.ID, nil); err != nil {
			t.Fatal(err)
		}
		_, err := p.Get(ctx, nut.ID, true)
		wantFault(t, err, fault.NotFound)
		if n := must[int](t)(db.One[int](ctx, d, `SELECT count(*) FROM parts`)); n != 1 {
			t.Errorf("%d rows are left, want 1", n)
		}
	})
}

func use(t *testing.T, d *db.DB, part uuid.UUID) {
	t.Helper()
	err := d.Write(t.Context(), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO part_uses (part_id) VALUES ($1)`, part)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
