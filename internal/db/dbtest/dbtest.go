// Package dbtest runs a test on both databases: on a real SQLite file, and on a real PostgreSQL that
// it starts by itself, once a process, and throws away with it.
package dbtest

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"steward/internal/db"
)

// Each runs fn as the subtests "sqlite" and "postgres", each on an empty, migrated store of its own
// that listens. Where no PostgreSQL is installed its subtest is skipped, or fails if
// STEWARD_REQUIRE_POSTGRES is 1.
func Each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) { fn(t, start(t, s.migrated(t, relaxed))) })
	}
}

// TwoNodes is Each with two handles on one store, as two nodes have them.
func TwoNodes(t *testing.T, fn func(t *testing.T, a, b *db.DB)) {
	t.Helper()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			o := s.migrated(t, relaxed)
			fn(t, start(t, o), start(t, o))
		})
	}
}

// EachEmpty is Each with a store that was never opened: for tests that start the whole program.
func EachEmpty(t *testing.T, fn func(t *testing.T, o db.Options)) {
	t.Helper()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) { fn(t, s.empty(t, relaxed)) })
	}
}

// Bench is Each for benchmarks: PostgreSQL flushes to disk as it does for users.
func Bench(b *testing.B, fn func(b *testing.B, d *db.DB)) {
	b.Helper()
	for _, s := range stores {
		b.Run(s.name, func(b *testing.B) { fn(b, start(b, s.migrated(b, durable))) })
	}
}

// Postgres is the URL of an empty database that goes with the test. It skips like Each.
func Postgres(t testing.TB) string { return server(t, relaxed).create(t, "template1") }

// DurablePostgres is Postgres with commits flushed to disk, for figures that are to be believed.
func DurablePostgres(t testing.TB) string { return server(t, durable).create(t, "template1") }

// stores are the two databases, and how a test gets one of each.
var stores = []struct {
	name            string
	empty, migrated func(testing.TB, durability) db.Options
}{
	{
		name:  "sqlite",
		empty: func(t testing.TB, _ durability) db.Options { return db.Options{DataDir: t.TempDir()} },
		migrated: func(t testing.TB, _ durability) db.Options {
			return db.Options{DataDir: migratedFolder(t)}
		},
	},
	{
		name: "postgres",
		empty: func(t testing.TB, d durability) db.Options {
			return db.Options{URL: server(t, d).create(t, "template1")}
		},
		migrated: func(t testing.TB, d durability) db.Options {
			s := server(t, d)
			return db.Options{URL: s.create(t, s.migrated(t))}
		},
	},
}

// start opens a store that is closed with the test.
func start(t testing.TB, o db.Options) *db.DB {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	d, err := db.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// migratedFile is a SQLite store after its migrations: copying it is quicker than repeating them.
var migratedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "steward-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := migrate(db.Options{DataDir: dir}); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "steward.db"))
})

func migratedFolder(t testing.TB) string {
	t.Helper()
	content, err := migratedFile()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "steward.db"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
