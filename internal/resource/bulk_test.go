package resource_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/resource/resourcetest"
)

func TestBulkDeleteTellsEachFailureAndKeepsTheRest(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, p *parts) {
		var ids []uuid.UUID
		for _, code := range []string{"a", resourcetest.Stuck, "b", "c"} {
			ids = append(ids, must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: code, Kind: "Small"})).ID)
		}
		missing := newID(t)
		got := must[resource.BulkOperationResponse](t)(g.BulkDelete(ctx, resource.BulkRequest{IDs: []uuid.UUID{ids[3], missing, ids[0], ids[0], ids[1]}}))
		want := resource.BulkOperationResponse{Succeeded: 2, Failed: 2, Failures: []resource.BulkItemFailure{
			{ID: ids[1], Code: fault.Forbidden, Message: "This gadget is stuck."},
			{ID: missing, Code: fault.NotFound, Message: "There is no gadget with the id " + missing.String() + "."},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		page := must[resource.PagedResult[resourcetest.Gadget]](t)(g.List(ctx, query{}))
		if page.TotalCount != 2 {
			t.Errorf("%d gadgets are left, want 2", page.TotalCount)
		}

		// A statement that a constraint refuses must not take the others with it.
		var names []uuid.UUID
		for i := range 3 {
			names = append(names, must[resourcetest.Part](t)(p.Create(ctx, resourcetest.CreatePart{Name: fmt.Sprint("p", i)})).ID)
		}
		use(t, d, names[1])
		got = must[resource.BulkOperationResponse](t)(p.BulkDelete(ctx, resource.BulkRequest{IDs: names}))
		if got.Succeeded != 2 || got.Failed != 1 || got.Failures[0].ID != names[1] || got.Failures[0].Code != fault.Conflict {
			t.Errorf("got %+v", got)
		}
		if n := must[int](t)(db.One[int](ctx, d, `SELECT count(*) FROM audit_log WHERE action = 'part.deleted'`)); n != 2 {
			t.Errorf("%d deletions in the trail, want 2", n)
		}
	})
}

func TestBulkDeleteIsUndoneByAFaultOfOurs(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, _ *gadgets, _ *parts) {
		def := resourcetest.Parts
		deleted := 0
		def.Guard = func(_ context.Context, _ db.Tx, before, after *resourcetest.Part) error {
			if after == nil {
				if deleted++; deleted == 2 {
					return errors.New("the disk is on fire")
				}
			}
			return nil
		}
		p := resource.New(d, frozen, def)
		var ids []uuid.UUID
		for _, name := range []string{"a", "b", "c"} {
			ids = append(ids, must[resourcetest.Part](t)(p.Create(ctx, resourcetest.CreatePart{Name: name})).ID)
		}
		if _, err := p.BulkDelete(ctx, resource.BulkRequest{IDs: ids}); err == nil {
			t.Fatal("the fault was swallowed")
		}
		if page := must[resource.PagedResult[resourcetest.Part]](t)(p.List(ctx, resourcetest.PartQuery{})); page.TotalCount != 3 {
			t.Errorf("%d parts are left, want 3", page.TotalCount)
		}
	})
}

func TestBulkRequestIsChecked(t *testing.T) {
	many := make([]uuid.UUID, resource.MaxBulk+1)
	for i := range many {
		many[i] = newID(t)
	}
	for name, tt := range map[string]struct {
		ids   []uuid.UUID
		field string
	}{
		"none":     {nil, "ids"},
		"too many": {many, "ids"},
		"empty id": {[]uuid.UUID{many[0], uuid.Nil}, "ids[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resource.BulkRequest{IDs: tt.ids}.Check()
			if diff := cmp.Diff([]string{tt.field}, wrongFields(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if ids := must[[]uuid.UUID](t)(resource.BulkRequest{IDs: many[:resource.MaxBulk]}.Check()); len(ids) != resource.MaxBulk {
		t.Errorf("%d ids", len(ids))
	}
}
