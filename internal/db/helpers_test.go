package db_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

const insertApp = `INSERT INTO apps (id, app_id, app_id_key, name, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)`

// insertNamed adds a row that the tests can count by its name.
func insertNamed(ctx context.Context, tx db.Tx, name string) error {
	id, now := uuid.Must(uuid.NewV7()), db.At(time.Now())
	_, err := tx.Exec(ctx, insertApp, id, id, id, name, now, now)
	return err
}

func writeNamed(ctx context.Context, d *db.DB, name string) error {
	return d.Write(ctx, func(tx db.Tx) error { return insertNamed(ctx, tx, name) })
}

func countNamed(t testing.TB, q db.Queryer, name string) int {
	t.Helper()
	n, err := db.One[int](context.Background(), q, `SELECT COUNT(*) FROM apps WHERE name = $1`, name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func wantCount(t testing.TB, q db.Queryer, name string, want int) {
	t.Helper()
	if got := countNamed(t, q, name); got != want {
		t.Errorf("there are %d rows %q, want %d", got, name, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something that others bring about.
func eventually(t testing.TB, within time.Duration, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !true(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %s still not: %s", within, what)
		}
	}
}

// open opens a store that is closed with the test.
func open(t testing.TB, o db.Options) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	must(t, d.Migrate(t.Context()))
	return d
}

func openPostgres(t testing.TB) *db.DB {
	t.Helper()
	return open(t, db.Options{URL: dbtest.Postgres(t)})
}

// together runs the writes while the writer of a SQLite store is held up, so that they share a batch,
// and returns their errors.
func together(t testing.TB, d *db.DB, writes ...func(tx db.Tx) error) []error {
	t.Helper()
	must(t, d.Write(t.Context(), func(db.Tx) error {
		d.SetBatchTime(time.Hour)
		return nil
	}))
	held, release := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		d.Write(context.Background(), func(db.Tx) error {
			close(held)
			<-release
			return nil
		})
	})
	<-held
	errs := make([]error, len(writes))
	for i, fn := range writes {
		wait.Go(func() { errs[i] = d.Write(context.Background(), fn) })
		eventually(t, 10*time.Second, "the write is in the queue", func() bool { return d.Stats().Queued == i+1 })
	}
	close(release)
	wait.Wait()
	return errs
}

func openSQLite(t testing.TB) *db.DB {
	t.Helper()
	return open(t, db.Options{DataDir: t.TempDir()})
}

func insert(name string) func(db.Tx) error {
	return func(tx db.Tx) error { return insertNamed(context.Background(), tx, name) }
}

func exec(statements ...string) func(db.Tx) error {
	return func(tx db.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(context.Background(), s); err != nil {
				return err
			}
		}
		return nil
	}
}
