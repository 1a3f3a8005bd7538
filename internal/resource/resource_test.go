package resource_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/resource/resourcetest"
	"steward/internal/scope"
)

type (
	gadgets = resource.Resource[resourcetest.Gadget, resourcetest.CreateGadget, resourcetest.UpdateGadget, resourcetest.GadgetQuery]
	parts   = resource.Resource[resourcetest.Part, resourcetest.CreatePart, resourcetest.UpdatePart, resourcetest.PartQuery]
	gadget  = resourcetest.CreateGadget
	change  = resourcetest.UpdateGadget
	query   = resourcetest.GadgetQuery
)

// frozen never moves: what must differ from one write to the next cannot lean on the clock.
func frozen() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC) }

// eachStore runs fn with the sample resources and a caller in a tenant, on both databases.
func eachStore(t *testing.T, fn func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, p *parts)) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		resourcetest.CreateSampleTables(t, d)
		fn(t, caller(t), d, resource.New(d, frozen, resourcetest.Gadgets), resource.New(d, frozen, resourcetest.Parts))
	})
}

// caller is somebody in a tenant of their own who may do everything.
func caller(t *testing.T) context.Context {
	return scope.WithActor(t.Context(), &scope.Actor{UserID: newID(t), Email: "ada@example.com", TenantID: newID(t), InTenant: true, Permissions: []string{"*"}})
}

func newID(t *testing.T) uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

// only matches one version.
func only(version string) resource.Match {
	return func(present string) bool { return present == version }
}

func TestCreateStoresWhatGetReturns(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		due := db.At(frozen().AddDate(0, 1, 0))
		made := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "Lamp", Label: "Ünïcode ✓", Kind: "Large", Size: 1 << 40,
			Weight: 0.1, IsReady: true, Note: new("n"), MakerID: new(newID(t)), DueAt: &due, Tags: resourcetest.Tags{"a"}}))
		read := must[resourcetest.Gadget](t)(g.Get(ctx, made.ID, false))
		if diff := cmp.Diff(made, read); diff != "" {
			t.Errorf("stored otherwise than answered: %s", diff)
		}
		if want := db.At(frozen()); !read.CreatedAt.Equal(want.Time) || !read.UpdatedAt.Equal(want.Time) || read.IsDeleted || read.DeletedAt != nil {
			t.Errorf("record %+v %+v", read.Record, read.SoftDeletable)
		}
		if read.TenantID != scope.ActorFrom(ctx).TenantID {
			t.Errorf("belongs to %s", read.TenantID)
		}
	})
}

func TestItemsOfOtherTenantsDoNotExist(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		made := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small"}))
		other := caller(t)
		_, err := g.Get(other, made.ID, true)
		wantFault(t, err, fault.NotFound)
		_, err = g.Update(other, made.ID, nil, change{Label: new("x")})
		wantFault(t, err, fault.NotFound)
		wantFault(t, g.Delete(other, made.ID, nil), fault.NotFound)
		bulk := must[resource.BulkOperationResponse](t)(g.BulkDelete(other, resource.BulkRequest{IDs: []uuid.UUID{made.ID}}))
		if bulk.Succeeded != 0 || bulk.Failed != 1 {
			t.Errorf("bulk %+v", bulk)
		}
		page := must[resource.PagedResult[resourcetest.Gadget]](t)(g.List(other, query{Params: resource.Params{IncludeDeleted: true}}))
		if page.TotalCount != 0 || len(page.Items) != 0 {
			t.Errorf("list %+v", page)
		}
		must[resourcetest.Gadget](t)(g.Create(other, gadget{Code: "lamp", Kind: "Small"})) // unique per tenant
		if read := must[resourcetest.Gadget](t)(g.Get(ctx, made.ID, false)); read.Label != "" {
			t.Errorf("was changed from outside: %+v", read)
		}

		nobody := scope.WithActor(t.Context(), &scope.Actor{Permissions: []string{"*"}})
		_, err = g.List(nobody, query{})
		wantFault(t, err, fault.TenantForbidden)
		_, err = g.Create(nobody, gadget{Code: "x"})
		wantFault(t, err, fault.TenantForbidden)
		wantFault(t, g.Delete(nobody, made.ID, nil), fault.TenantForbidden)
	})
}

func TestUpdateLeavesWhatIsNotGiven(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		made := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Label: "old", Kind: "Small", Size: 1}))
		got := must[resourcetest.Gadget](t)(g.Update(ctx, made.ID, nil, change{Size: new(int64(2))}))
		if got.Label != "old" || got.Size != 2 || !got.CreatedAt.Equal(made.CreatedAt.Time) {
			t.Errorf("got %+v", got)
		}
		got = must[resourcetest.Gadget](t)(g.Update(ctx, made.ID, nil, change{Label: new("")}))
		if got.Label != "" || got.Size != 2 {
			t.Errorf("an empty text does not clear: %+v", got)
		}
		if diff := cmp.Diff(got, must[resourcetest.Gadget](t)(g.Get(ctx, made.ID, false))); diff != "" {
			t.Errorf("stored otherwise than answered: %s", diff)
		}
		found := must[resource.PagedResult[resourcetest.Gadget]](t)(g.List(ctx, query{Params: resource.Params{Search: "OLD"}}))
		if found.TotalCount != 0 {
			t.Error("the search still finds the old label")
		}
	})
}

func TestAnUpdateThatChangesNothingWritesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		made := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small", Size: 1}))
		got := must[resourcetest.Gadget](t)(g.Update(ctx, made.ID, only(g.Version(made)), change{Size: new(int64(1))}))
		if g.Version(got) != g.Version(made) {
			t.Error("the version moved")
		}
		if n := countAudit(t, d); n != 1 {
			t.Errorf("%d audit entries, want that of the creation alone", n)
		}
		_, err := g.Update(ctx, made.ID, only("stale"), change{Size: new(int64(1))})
		wantFault(t, err, fault.PreconditionFailed)
	})
}

func TestEveryChangeMakesANewVersion(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		item := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small"}))
		seen := map[string]bool{g.Version(item): true}
		for i := range 5 { // the clock is frozen
			item = must[resourcetest.Gadget](t)(g.Update(ctx, item.ID, nil, change{Size: new(int64(i + 1))}))
			if seen[g.Version(item)] {
				t.Fatalf("version %s came twice", g.Version(item))
			}
			seen[g.Version(item)] = true
		}
	})
}

func TestARefusedWriteLeavesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		made := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: resourcetest.Stuck, Kind: "Small"}))
		must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small"}))
		before := countAudit(t, d)

		wantFault(t, g.Delete(ctx, made.ID, nil), fault.Forbidden)
		_, err := g.Update(ctx, made.ID, nil, change{Code: new("LAMP"), Size: new(int64(5))})
		wantFault(t, err, fault.Conflict)
		_, err = g.Create(ctx, gadget{Code: "nul\x00", Label: "\xff"})
		if diff := cmp.Diff([]string{"code", "label"}, wrongFields(t, err)); diff != "" {
			t.Error(diff)
		}
		_, err = g.Update(ctx, made.ID, nil, change{Label: new("\x00")})
		if diff := cmp.Diff([]string{"label"}, wrongFields(t, err)); diff != "" {
			t.Error(diff)
		}

		if diff := cmp.Diff(made, must[resourcetest.Gadget](t)(g.Get(ctx, made.ID, false))); diff != "" {
			t.Error(diff)
		}
		if after := countAudit(t, d); after != before {
			t.Errorf("%d entries were added to the trail", after-before)
		}
	})
}

func countAudit(t *testing.T, d *db.DB) int {
	t.Helper()
	return must[int](t)(db.One[int](t.Context(), d, `SELECT count(*) FROM audit_log`))
}

func TestEveryChangeIsInTheTrail(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		made := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small", Size: 1}))
		must[resourcetest.Gadget](t)(g.Update(ctx, made.ID, nil, change{Size: new(int64(2))}))
		if err := g.Delete(ctx, made.ID, nil); err != nil {
			t.Fatal(err)
		}
		type entry struct {
			Action string    `db:"action"`
			Target string    `db:"target_id"`
			Tenant uuid.UUID `db:"tenant_id"`
			Actor  string    `db:"actor_email"`
			Before *string   `db:"before"`
			After  *string   `db:"after"`
		}
		got := must[[]entry](t)(db.All[entry](ctx, d, `SELECT action, target_id, tenant_id, actor_email, before, after FROM audit_log ORDER BY id`))
		id, tenant := made.ID.String(), made.TenantID
		want := []entry{
			{"gadget.created", id, tenant, "ada@example.com", nil, new(`{"code":"lamp","deletedAt":null,"dueAt":null,"isDeleted":false,` +
				`"isReady":false,"kind":"Small","label":"","makerId":null,"note":null,"size":1,"tags":[],"weight":0}`)},
			{"gadget.updated", id, tenant, "ada@example.com", new(`{"size":1}`), new(`{"size":2}`)},
			{"gadget.deleted", id, tenant, "ada@example.com", new(`{"deletedAt":null,"isDeleted":false}`),
				new(`{"deletedAt":"2026-03-01T12:00:00.123458Z","isDeleted":true}`)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
