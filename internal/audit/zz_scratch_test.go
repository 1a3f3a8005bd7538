package audit_test

import (
	"context"
	"testing"
	"time"
	"fmt"

	"github.com/google/uuid"
	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/db/dbtest"
)

func TestScratchSpeed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		pg := d.Dialect().Name() == "postgres"
		id := "printf('%08x-0000-7000-8000-%012x', i, i)"
		ten := "printf('00000000-0000-7000-8000-%012x', CASE WHEN i % 2 = 0 THEN 0 ELSE i % 100 END)"
		act := "printf('00000000-0000-7000-8000-%012x', i % 1000 + 1)"
		at := "strftime('%Y-%m-%dT%H:%M:%S', 1700000000 + i, 'unixepoch') || '.000000Z'"
		text := "printf('target %d', i % 50000)"
		if pg {
			id = "gen_random_uuid()"
			ten = "('00000000-0000-7000-8000-' || lpad(to_hex(CASE WHEN i % 2 = 0 THEN 0 ELSE i % 100 END), 12, '0'))::uuid"
			act = "('00000000-0000-7000-8000-' || lpad(to_hex(i % 1000 + 1), 12, '0'))::uuid"
			at = "to_timestamp(1700000000 + i)"
			text = "'target ' || (i % 50000)"
		}
		start := time.Now()
		err := d.Write(ctx, func(tx db.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO audit_log (id, tenant_id, actor_id, actor_email, action, target_type, target_id, before, after, created_at, search_key)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
			SELECT `+id+`, `+ten+`, `+act+`, 'user' || (i % 1000) || '@example.com', CASE WHEN i % 1000 = 7 THEN 'rare.thing' ELSE 'user.action' || (i % 20) END, CASE WHEN i % 1000 = 7 THEN 'rare' ELSE 'user' END,
			`+text+`, '{"a":1}', '{"a":2,"name":"something longer than that"}', `+at+`, 'user' || (i % 1000) || '@example.com something longer' || i FROM n`)
			return err
		})
		if err != nil { t.Fatal(err) }
		if pg { d.Write(ctx, func(tx db.Tx) error { _, err := tx.Exec(ctx, "ANALYZE audit_log"); return err }) }
		t.Log("insert", time.Since(start))
		big := uuid.MustParse("00000000-0000-7000-8000-000000000000")
		actor := uuid.MustParse("00000000-0000-7000-8000-000000000003")
		from := db.At(time.Unix(1700000000+500000, 0)); to := db.At(time.Unix(1700000000+500100, 0))
		for _, c := range []struct{ n string; f audit.Filter; off int }{
			{"big tenant", audit.Filter{TenantID: &big}, 0},
			{"big tenant page 1000", audit.Filter{TenantID: &big}, 99900},
			{"all", audit.Filter{}, 0},
			{"all far", audit.Filter{}, 900000},
			{"actor", audit.Filter{TenantID: &big, ActorIDs: []uuid.UUID{actor}}, 0},
			{"actor all", audit.Filter{ActorIDs: []uuid.UUID{actor}}, 0},
			{"action", audit.Filter{TenantID: &big, Action: "user.action4"}, 0},
			{"action all", audit.Filter{Action: "user.action4"}, 0},
			{"rare action", audit.Filter{TenantID: &big, Action: "rare.thing"}, 0},
			{"type", audit.Filter{TenantID: &big, TargetType: "user"}, 0},
			{"rare type all", audit.Filter{TargetType: "rare"}, 0},
			{"target", audit.Filter{TenantID: &big, TargetID: "target 100"}, 0},
			{"target+type", audit.Filter{TenantID: &big, TargetType: "user", TargetID: "target 100"}, 0},
			{"window", audit.Filter{TenantID: &big, From: &from, To: &to}, 0},
			{"window all", audit.Filter{From: &from, To: &to}, 0},
			{"action+window", audit.Filter{TenantID: &big, Action: "user.action4", From: &from, To: &to}, 0},
			{"search", audit.Filter{TenantID: &big, Search: "%longer12345%"}, 0},
		} {
			for range 2 {
				s := time.Now()
				n, err := audit.Count(ctx, d, c.f)
				if err != nil { t.Fatal(err) }
				count := time.Since(s); s = time.Now()
				rows, err := audit.List(ctx, d, c.f, "a.created_at DESC, a.id DESC", 100, c.off)
				if err != nil { t.Fatal(err) }
				fmt.Printf("%-8s %-22s n=%-8d count %-10v list %v (%d)\n", d.Dialect().Name(), c.n, n, count.Round(10*time.Microsecond), time.Since(s).Round(10*time.Microsecond), len(rows))
			}
		}
	})
}
