package resource_test

import (
	"context"
	"sync"
	"testing"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource/resourcetest"
)

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
