package db_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"steward/internal/db"
)

func TestWritesThatQueueShareOneCommit(t *testing.T) {
	d := openSQLite(t)
	for _, err := range together(t, d, insert("row"), insert("row"), insert("row"), insert("row")) {
		must(t, err)
	}
	s := d.Stats()
	if s.Writes != 6 || s.Commits != 2 { // one before, and one that held up the queue
		t.Errorf("%d writes in %d commits, want 6 in 2", s.Writes, s.Commits)
	}
	if first, last := s.Batches[0], s.Batches[len(s.Batches)-1]; first.Count != 1 || last.Count != 2 {
		t.Errorf("batches: %+v", s.Batches)
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
