package db_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"steward/internal/db"
)

func TestSQLiteIsSetUpToBeDurableAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data #1 100%")
	d := open(t, db.Options{DataDir: dir})
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		must(t, d.Write(t.Context(), func(tx db.Tx) error {
			got, err := db.One[string](t.Context(), tx, "PRAGMA "+pragma)
			if got != want {
				t.Errorf("%s is %s, want %s", pragma, got, want)
			}
			return err
		}))
	}
	for name, want := range map[string]fs.FileMode{"": 0o700, "steward.db": 0o600, "steward.db-wal": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q has mode %o, want %o", name, got, want)
		}
	}
}

func TestCloseFoldsTheLogIntoTheFile(t *testing.T) {
	dir := t.TempDir()
	d := open(t, db.Options{DataDir: dir})
	must(t, writeNamed(t.Context(), d, "row"))
	must(t, d.Close())
	if info, err := os.Stat(filepath.Join(dir, "steward.db-wal")); err == nil && info.Size() > 0 {
		t.Errorf("the log still has %d bytes", info.Size())
	}
}

func TestBackupIsAWholeStoreTakenWhileWriting(t *testing.T) {
	d := openSQLite(t)
	must(t, writeNamed(t.Context(), d, "before"))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				must(t, writeNamed(context.Background(), d, "during"))
			}
		}
	}()
	eventually(t, 10*time.Second, "rows are written", func() bool { return d.Stats().Writes > 20 })
	dir := t.TempDir()
	file := filepath.Join(dir, "steward.db")
	must(t, d.Backup(t.Context(), file))
	close(stop)
	<-stopped

	info, err := os.Stat(file)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %o", info.Mode().Perm())
	}
	restored := open(t, db.Options{DataDir: dir})
	wantCount(t, restored, "before", 1)
	if countNamed(t, restored, "during") == 0 {
		t.Error("the backup lacks rows that were written before it")
	}
	if err := d.Backup(t.Context(), file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup over an existing file returned %v", err)
	}
	if left, _ := filepath.Glob(file + ".part"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPurgeRemovesOldEventsAndKeepsTheNewest(t *testing.T) {
	d := openSQLite(t)
	ctx := t.Context()
	must(t, d.Start(ctx))
	old, now := db.At(time.Now().Add(-time.Hour)), db.At(time.Now())
	add := func(n int, at db.Time) {
		must(t, d.Write(ctx, func(tx db.Tx) error {
			_, err := tx.Exec(ctx, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
				INSERT INTO node_events (node, topic, payload, created_at) SELECT 'x', 'topic', '', $2 FROM n`, n, at)
			return err
		}))
	}
	count := func() int {
		n, err := db.One[int](ctx, d, `SELECT COUNT(*) FROM node_events`)
		must(t, err)
		return n
	}
	add(2500, old)
	must(t, d.PurgeEvents(ctx))
	if n := count(); n != 1 {
		t.Errorf("%d old events are left, want the newest", n)
	}
	add(3, now)
	must(t, d.PurgeEvents(ctx))
	if n := count(); n != 3 {
		t.Errorf("%d events are left, want the three young ones", n)
	}
}

func TestAPollerThatSleptTooLongResyncs(t *testing.T) {
	d := openSQLite(t)
	ctx := t.Context()
	resynced := make(chan struct{}, 10)
	d.OnResync(func() { resynced <- struct{}{} })
	must(t, d.Start(ctx))
	must(t, d.Write(ctx, exec(`INSERT INTO node_events (id, node, topic, payload, created_at) VALUES (7, 'x', 'topic', '', '2026-01-01T00:00:00.000000Z')`)))
	select {
	case <-resynced:
	case <-time.After(10 * time.Second):
		t.Error("nobody was told of the gap")
	}
}
