package db_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

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

func TestWritesThatQueueShareOneCommit(t *testing.T) {
	d := openSQLite(t)
	before := d.Stats()
	for _, err := range together(t, d, insert("row"), insert("row"), insert("row"), insert("row")) {
		must(t, err)
	}
	after := d.Stats()
	// The one that held up the queue may have its own.
	if writes, commits := after.Writes-before.Writes, after.Commits-before.Commits; writes != 5 || commits > 2 {
		t.Errorf("%d writes in %d commits, want 5 in 2", writes, commits)
	}
	if last := after.Batches[len(after.Batches)-1]; last.Count != after.Commits {
		t.Errorf("the buckets count %d commits of %d", last.Count, after.Commits)
	}
	wantCount(t, d, "row", 4)
}

func TestAFailureInABatchIsItsOwn(t *testing.T) {
	d := openSQLite(t)
	errs := together(t, d,
		insert("kept"),
		func(tx db.Tx) error {
			must(t, insert("undone")(tx))
			return errRefused
		},
		func(tx db.Tx) error {
			must(t, insert("undone")(tx))
			return exec("INSERT INTO nowhere VALUES (1)")(tx)
		},
		func(tx db.Tx) error {
			must(t, insert("undone")(tx))
			rows, err := tx.Query(context.Background(), "SELECT name FROM apps")
			must(t, err)
			rows.Next() // and left open
			return errRefused
		},
		insert("kept"),
	)
	if errs[0] != nil || !errors.Is(errs[1], errRefused) || errs[2] == nil || !errors.Is(errs[3], errRefused) || errs[4] != nil {
		t.Errorf("the five returned %v", errs)
	}
	wantCount(t, d, "kept", 2)
	wantCount(t, d, "undone", 0)
}

func TestAPanicInABatchIsItsOwn(t *testing.T) {
	d := openSQLite(t)
	errs := together(t, d, insert("kept"),
		func(tx db.Tx) error {
			defer func() { recover() }()
			must(t, insert("kept too")(tx))
			panic("caught by the function itself")
		},
		insert("kept"))
	for _, err := range errs {
		must(t, err)
	}
	wantCount(t, d, "kept", 2)
	wantCount(t, d, "kept too", 1)
}

func TestACommitThatFailsIsToldToTheWholeBatch(t *testing.T) {
	d := openSQLite(t)
	must(t, d.Write(t.Context(), exec(
		`CREATE TABLE later (app UUID REFERENCES apps (id) DEFERRABLE INITIALLY DEFERRED)`)))
	errs := together(t, d, insert("undone"), exec(`INSERT INTO later VALUES ('missing')`), insert("undone"))
	for i, err := range errs {
		if !db.IsForeignKey(err) {
			t.Errorf("write %d returned %v", i, err)
		}
	}
	wantCount(t, d, "undone", 0)
	must(t, writeNamed(t.Context(), d, "after"))
	wantCount(t, d, "after", 1)
}

func TestALostTransactionIsToldToTheWholeBatchAndTheWriterRecovers(t *testing.T) {
	d := openSQLite(t)
	errs := together(t, d, insert("undone"), exec("ROLLBACK"), insert("after"))
	if errs[0] == nil || errs[1] == nil {
		t.Errorf("the first two returned %v", errs)
	}
	must(t, errs[2])
	wantCount(t, d, "undone", 0)
	wantCount(t, d, "after", 1)
}

func TestAFullDiskIsUnavailableAndHarmsNothing(t *testing.T) {
	d := openSQLite(t)
	must(t, writeNamed(t.Context(), d, "before"))
	err := d.Write(t.Context(), func(tx db.Tx) error {
		pages, err := db.One[int](t.Context(), tx, "PRAGMA page_count")
		must(t, err)
		// A pragma takes no arguments; the number is our own.
		return errors.Join(exec("PRAGMA max_page_count = "+strconv.Itoa(pages))(tx), insert(strings.Repeat("x", 1<<20))(tx))
	})
	if !db.IsUnavailable(err) {
		t.Errorf("a full disk is %v", err)
	}
	must(t, d.Write(t.Context(), exec("PRAGMA max_page_count = 1000000")))
	must(t, writeNamed(t.Context(), d, "after"))
	wantCount(t, d, "before", 1)
	wantCount(t, d, "after", 1)
}

func TestAnAbandonedWriteReturnsAtOnceAndNeverRuns(t *testing.T) {
	d := openSQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	held, release, left := make(chan struct{}), make(chan struct{}), make(chan error)
	go d.Write(t.Context(), func(db.Tx) error {
		close(held)
		<-release
		return nil
	})
	<-held
	go func() { left <- d.Write(ctx, func(db.Tx) error { t.Error("it ran"); return nil }) }()
	eventually(t, 10*time.Second, "the write is queued", func() bool { return d.Stats().Queued == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("returned %v", err)
	}
	close(release)
	must(t, writeNamed(t.Context(), d, "after"))
}

func TestCancellingOneWriteOfABatchDoesNotUndoTheOthers(t *testing.T) {
	d := openSQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	errs := together(t, d, insert("kept"),
		func(tx db.Tx) error {
			cancel()
			return insertNamed(ctx, tx, "undone")
		},
		insert("kept"))
	if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || errs[2] != nil {
		t.Errorf("the three returned %v", errs)
	}
	wantCount(t, d, "kept", 2)
	wantCount(t, d, "undone", 0)
}

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

// The tests below start this test binary again, as another process on the same file; see TestMain.

func child(t *testing.T, job, dir string) *osexec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := osexec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), "STEWARD_TEST_CHILD="+job, "STEWARD_TEST_DIR="+dir)
	c.Stderr = t.Output()
	return c
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	writer := child(t, "write", dir)
	out, err := writer.StdoutPipe()
	must(t, err)
	must(t, writer.Start())
	var ids []uuid.UUID
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // a line cut short by the kill was not acknowledged to us
			if err != io.EOF && !errors.Is(err, fs.ErrClosed) {
				t.Fatal(err)
			}
			break
		}
		ids = append(ids, uuid.MustParse(strings.TrimSpace(line)))
		if len(ids) == 500 {
			must(t, writer.Process.Kill())
		}
	}
	writer.Wait()
	if len(ids) < 500 {
		t.Fatalf("only %d rows were written", len(ids))
	}
	d := open(t, db.Options{DataDir: dir})
	for _, id := range ids {
		if _, err := db.One[string](t.Context(), d, `SELECT name FROM apps WHERE id = $1`, id); err != nil {
			t.Errorf("row %s was acknowledged and is gone: %v", id, err)
		}
	}
	must(t, writeNamed(t.Context(), d, "after"))
}

func TestAnotherProcessIsHeardWithinASecond(t *testing.T) {
	dir := t.TempDir()
	d := open(t, db.Options{DataDir: dir})
	heard := make(chan time.Time, 1)
	d.Subscribe("command", func(string) { heard <- time.Now() })
	must(t, d.Start(t.Context()))
	output, err := child(t, "notify", dir).Output() // it prints when it had committed
	must(t, err)
	told, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(output)))
	must(t, err)
	select {
	case at := <-heard:
		if late := at.Sub(told); late > time.Second {
			t.Errorf("heard after %s", late)
		}
	case <-time.After(10 * time.Second):
		t.Error("never heard")
	}
}

func TestManyProcessesMayStartAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all []*osexec.Cmd
	for range 6 {
		c := child(t, "migrate", dir)
		must(t, c.Start())
		all = append(all, c)
	}
	for _, c := range all {
		must(t, c.Wait())
	}
	d, err := db.Open(t.Context(), db.Options{DataDir: dir})
	must(t, err)
	defer d.Close()
	must(t, d.Migrated(t.Context()))
}
