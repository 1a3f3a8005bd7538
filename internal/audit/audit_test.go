package audit_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/scope"
)

// row is an entry as the trail keeps it.
type row struct {
	TenantID   *uuid.UUID `db:"tenant_id"`
	ActorID    *uuid.UUID `db:"actor_id"`
	ActorEmail string     `db:"actor_email"`
	Action     string     `db:"action"`
	TargetType string     `db:"target_type"`
	TargetID   string     `db:"target_id"`
	Before     *string    `db:"before"`
	After      *string    `db:"after"`
	Address    string     `db:"address"`
	TraceID    string     `db:"trace_id"`
	CreatedAt  db.Time    `db:"created_at"`
}

func rows(t *testing.T, d *db.DB) []row {
	t.Helper()
	all, err := db.All[row](t.Context(), d, `
		SELECT tenant_id, actor_id, actor_email, action, target_type, target_id, before, after, address, trace_id, created_at
		FROM audit_log ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func write(t *testing.T, ctx context.Context, d *db.DB, entries ...audit.Entry) {
	t.Helper()
	err := d.Write(ctx, func(tx db.Tx) error {
		for _, e := range entries {
			if err := audit.Write(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWrite(t *testing.T) {
	user, tenant, other := uuid.New(), uuid.New(), uuid.New()
	at := time.Date(2026, 1, 31, 9, 0, 0, 123456789, time.FixedZone("", 3600))
	kept := db.At(at)
	origin := &scope.Origin{Address: "192.0.2.1", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736"}
	tests := []struct {
		name  string
		ctx   func(context.Context) context.Context
		entry audit.Entry
		want  row
	}{
		{
			"somebody in a tenant",
			func(ctx context.Context) context.Context {
				ctx = scope.WithActor(ctx, &scope.Actor{UserID: user, Email: "ada@example.com", TenantID: tenant})
				return scope.WithOrigin(ctx, origin)
			},
			audit.Entry{Action: "app.updated", TargetType: "app", TargetID: "1", Before: map[string]any{"a": 1, "b": 2}, After: map[string]any{"a": 1, "b": 3}, At: at},
			row{TenantID: &tenant, ActorID: &user, ActorEmail: "ada@example.com", Action: "app.updated", TargetType: "app", TargetID: "1",
				Before: new(`{"b":2}`), After: new(`{"b":3}`), Address: origin.Address, TraceID: origin.TraceID, CreatedAt: kept},
		},
		{
			"a change in another tenant than the actor's",
			func(ctx context.Context) context.Context {
				return scope.WithActor(ctx, &scope.Actor{UserID: user, TenantID: tenant})
			},
			audit.Entry{Action: "tenant.created", TenantID: &other, At: at},
			row{TenantID: &other, ActorID: &user, Action: "tenant.created", CreatedAt: kept},
		},
		{
			"a global token has no tenant",
			func(ctx context.Context) context.Context { return scope.WithActor(ctx, &scope.Actor{UserID: user}) },
			audit.Entry{Action: "user.signed-out", At: at},
			row{ActorID: &user, Action: "user.signed-out", CreatedAt: kept},
		},
		{
			"a command has no actor",
			func(ctx context.Context) context.Context { return ctx },
			audit.Entry{Action: "key.rotated", TargetType: "key", TargetID: "k1", After: map[string]any{"privateKey": "x"}, At: at},
			row{Action: "key.rotated", TargetType: "key", TargetID: "k1", CreatedAt: kept},
		},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for i, tt := range tests {
			write(t, tt.ctx(t.Context()), d, tt.entry)
			if diff := cmp.Diff(tt.want, rows(t, d)[i]); diff != "" {
				t.Errorf("%s: %s", tt.name, diff)
			}
		}
	})
}

func TestEntriesWithoutATimeAreOfNow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		before := db.At(time.Now())
		write(t, t.Context(), d, audit.Entry{Action: "a"}, audit.Entry{Action: "b"})
		after := time.Now()
		got := rows(t, d)
		if len(got) != 2 || got[0].Action != "a" || got[1].Action != "b" {
			t.Fatalf("got %+v", got)
		}
		for _, r := range got {
			if r.CreatedAt.Before(before.Time) || r.CreatedAt.After(after) {
				t.Errorf("written at %s, not between %s and %s", r.CreatedAt, before, after)
			}
		}
	})
}

func TestManyEntriesAreWrittenInTheirOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		entries := make([]audit.Entry, 123) // several statements, the last of them not full
		for i := range entries {
			entries[i] = audit.Entry{Action: "app.created", TargetType: "app", TargetID: strconv.Itoa(i), After: map[string]any{"n": i}}
		}
		err := d.Write(t.Context(), func(tx db.Tx) error { return audit.Write(t.Context(), tx, entries...) })
		if err != nil {
			t.Fatal(err)
		}
		got := rows(t, d)
		if len(got) != len(entries) {
			t.Fatalf("%d entries", len(got))
		}
		for i, r := range got {
			if r.TargetID != strconv.Itoa(i) || *r.After != `{"n":`+strconv.Itoa(i)+`}` {
				t.Fatalf("entry %d is %+v", i, r)
			}
		}
	})
}

func TestAnEntryGoesWithItsTransaction(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		broken := errors.New("something else failed")
		err := d.Write(t.Context(), func(tx db.Tx) error {
			if err := audit.Write(t.Context(), tx, audit.Entry{Action: "app.created"}); err != nil {
				return err
			}
			return broken
		})
		if !errors.Is(err, broken) || len(rows(t, d)) != 0 {
			t.Errorf("%v; the trail holds %d entries", err, len(rows(t, d)))
		}
		err = d.Write(t.Context(), func(tx db.Tx) error {
			return audit.Write(t.Context(), tx, audit.Entry{Action: "app.created", After: "no object"})
		})
		if err == nil {
			t.Error("a state that is no object was accepted")
		}
	})
}
