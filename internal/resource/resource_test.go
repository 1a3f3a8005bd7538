package resource_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

func TestOfManyUpdatesOfOneVersionExactlyOneIsWritten(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		made := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small"}))
		won := race(t, 8, fault.PreconditionFailed, func(i int) error {
			_, err := g.Update(ctx, made.ID, only(g.Version(made)), change{Size: new(int64(i + 1))})
			return err
		})
		if won != 1 {
			t.Errorf("%d updates of one version were written", won)
		}
		if n := countAudit(t, d); n != 2 {
			t.Errorf("%d audit entries, want 2", n)
		}
	})
}

func TestOfManyEqualCreatesExactlyOneIsWritten(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, _ *parts) {
		won := race(t, 8, fault.Conflict, func(i int) error {
			code := "lamp"
			if i%2 == 0 {
				code = "LAMP"
			}
			_, err := g.Create(ctx, gadget{Code: code, Kind: "Small"})
			return err
		})
		if won != 1 {
			t.Errorf("%d equal gadgets were created", won)
		}
		if n := countAudit(t, d); n != 1 {
			t.Errorf("%d audit entries, want 1", n)
		}
	})
}

func TestOfManyDeletesExactlyOneSucceeds(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, d *db.DB, g *gadgets, p *parts) {
		soft := must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: "lamp", Kind: "Small"}))
		hard := must[resourcetest.Part](t)(p.Create(ctx, resourcetest.CreatePart{Name: "bolt"}))
		if won := race(t, 6, fault.NotFound, func(int) error { return g.Delete(ctx, soft.ID, nil) }); won != 1 {
			t.Errorf("%d soft deletions", won)
		}
		if won := race(t, 6, fault.NotFound, func(int) error { return p.Delete(ctx, hard.ID, nil) }); won != 1 {
			t.Errorf("%d hard deletions", won)
		}
	})
}

// race runs fn n times at once and counts successes; every failure must have the code.
func race(t *testing.T, n int, code fault.Code, fn func(i int) error) (won int) {
	t.Helper()
	outcomes := make([]error, n)
	var wait sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wait.Go(func() {
			<-start
			outcomes[i] = fn(i)
		})
	}
	close(start)
	wait.Wait()
	for _, err := range outcomes {
		if err == nil {
			won++
		} else if !fault.Is(err, code) {
			t.Errorf("a loser got %v, want %s", err, code)
		}
	}
	return won
}

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

func TestDeclarationsThatAreNotSoundEndTheStart(t *testing.T) {
	type untagged struct {
		resource.Record
		Name string `json:"name"`
	}
	type badQuery struct {
		resource.Params
		Name string `query:"name"`
	}
	type strangeQuery struct {
		resource.Params
		Colour *string `query:"colour"`
	}
	tests := map[string]func(){
		"nothing said": func() {
			resource.New(nil, frozen, resource.Definition[resourcetest.Part, any, any, resource.Params]{})
		},
		"no record":           func() { resource.New(nil, frozen, declared[struct{ Name string }, resourcetest.PartQuery](nil)) },
		"no column":           func() { resource.New(nil, frozen, declared[untagged, resourcetest.PartQuery](nil)) },
		"search in no text":   func() { resource.New(nil, frozen, declared[resourcetest.Part, resourcetest.PartQuery]([]string{"id"})) },
		"search in no field":  func() { resource.New(nil, frozen, declared[resourcetest.Part, resourcetest.PartQuery]([]string{"x"})) },
		"filter is required":  func() { resource.New(nil, frozen, declared[resourcetest.Part, badQuery](nil)) },
		"filter of no column": func() { resource.New(nil, frozen, declared[resourcetest.Part, strangeQuery](nil)) },
	}
	for name, fn := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "resource: ") {
					t.Errorf("it was accepted, or failed with %q", said)
				}
			}()
			fn()
		})
	}
}

func declared[T any, Q resource.Query](search []string) resource.Definition[T, any, any, Q] {
	return resource.Definition[T, any, any, Q]{
		Name: "x", Singular: "x", Table: "x", Search: search, NotFound: fault.NotFound, AlreadyExists: fault.Conflict,
		New:   func(context.Context, any) (T, error) { var none T; return none, nil },
		Apply: func(context.Context, *T, any) error { return nil },
	}
}
