package identity

import (
	"sync"
	"testing"
	"time"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

func TestZZ(t *testing.T) {
	for _, mode := range []string{"seq", "par", "parwrite"} {
		dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
			if a.Dialect().Name() != "sqlite" {
				t.Skip()
			}
			clock := newHandClock()
			ds := []*db.DB{a, b}
			var g sync.WaitGroup
			for i := range 6 {
				f := func() {
					if mode == "parwrite" {
						ds[i%2].Write(t.Context(), func(tx db.Tx) error { _, err := listKeys(t.Context(), tx); if err != nil { return err }; return tx.Notify(t.Context(), "x", "") })
						return
					}
					if _, err := tryRing(t, ds[i%2], "", clock); err != nil { t.Error(err) }
				}
				if mode == "seq" { f() } else { g.Go(f) }
			}
			g.Wait()
			s := time.Now()
			b.Close()
			t.Log("close b", mode, time.Since(s))
			s = time.Now()
			a.Close()
			t.Log("close a", mode, time.Since(s))
		})
	}
}
