package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

const (
	maxQueue = 1024
	// maxBatch and batchTime bound how long the first of a batch waits for the last.
	maxBatch  = 256
	batchTime = 20 * time.Millisecond
)

// writer is SQLite's group commit. Callers queue; the writer gives each its turn on the one writing
// connection, inside a savepoint, and when nobody waits any more it commits for all of them at once:
// one flush to disk for many writes. Nobody waits for company: a batch is whoever is there.
type writer struct {
	pool  *sql.DB
	store *sqliteStore
	queue chan *turn
	ended chan error
	gone  chan struct{}
	conn  *sql.Conn // nil until first used and after a fault
	limit time.Duration

	writes, commits atomic.Uint64
	sizes           [len(batchBounds)]atomic.Uint64
}

// batchBounds are the bounds of the histogram of batch sizes.
var batchBounds = [...]int{1, 2, 4, 8, 16, 32, 64, 128, maxBatch}

func startWriter(pool *sql.DB, store *sqliteStore) *writer {
	w := &writer{pool: pool, store: store, limit: batchTime,
		queue: make(chan *turn, maxQueue), ended: make(chan error), gone: make(chan struct{})}
	go w.serve()
	return w
}

func (w *writer) serve() {
	defer close(w.gone)
	for t := range w.queue {
		w.batch(t)
	}
}

// batch gives first and those queued behind it their turns in one transaction, and commits.
func (w *writer) batch(first *turn) {
	if first.claimed.Load() {
		return
	}
	if err := w.begin(); err != nil {
		if first.claim() {
			first.refuse(err)
		}
		return
	}
	var turns []*turn
	var fault error
	until := time.Now().Add(w.limit)
	for t := first; t != nil; t = w.next(len(turns), until) {
		if !t.claim() {
			continue
		}
		turns = append(turns, t)
		if fault = w.give(t); fault != nil {
			break
		}
	}
	if fault == nil {
		fault = w.commit(turns)
	}
	w.answer(turns, fault)
}

// next is the turn that joins the batch, or nil when it is full, old enough or nobody waits.
func (w *writer) next(size int, until time.Time) *turn {
	if size >= maxBatch || time.Now().After(until) {
		return nil
	}
	select {
	case t := <-w.queue: // nil when the queue was closed
		return t
	default:
		return nil
	}
}

// give lets t run inside a savepoint. It returns a fault of the connection, which is the fault of
// everybody in the batch; what the function came to is kept in t.
func (w *writer) give(t *turn) error {
	if err := w.exec("SAVEPOINT turn"); err != nil {
		close(t.begin) // it never will
		return err
	}
	t.begin <- &tx{on: w.conn, engine: w.store, steady: true}
	t.err = <-w.ended
	var err error
	if t.err != nil {
		err = w.exec("ROLLBACK TO turn")
	}
	if err == nil {
		err = w.exec("RELEASE turn")
	}
	return lost(t.err, err)
}

// lost is the fault of a batch whose transaction is gone, as after a full disk: the savepoint is no
// longer there to leave. The statement that met the cause knows more of it.
func lost(cause, err error) error {
	if err == nil {
		return nil
	}
	var met *sqlite.Error
	if errors.As(cause, &met) {
		err = met
	}
	return fmt.Errorf("the transaction was lost: %w", err)
}

func (w *writer) begin() error {
	if w.conn == nil {
		conn, err := w.pool.Conn(context.Background())
		if err != nil {
			return fmt.Errorf("open the writing connection: %w", err)
		}
		w.conn = conn
	}
	err := w.exec("BEGIN IMMEDIATE")
	if err != nil && !IsBusy(err) {
		w.discard()
	}
	return err
}

func (w *writer) commit(turns []*turn) error {
	if err := w.exec("COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	w.count(turns)
	return nil
}

// answer tells everybody how the batch ended. Those that failed by themselves hear it only now, and
// hear of a fault like the others: what they saw may have been work that is now undone.
func (w *writer) answer(turns []*turn, fault error) {
	if fault != nil {
		w.discard()
	}
	for _, t := range turns {
		if fault != nil {
			t.err = fault
		}
		t.done <- t.err
	}
}

// discard drops the connection, and with it whatever is left of a transaction.
func (w *writer) discard() {
	w.conn.Raw(func(any) error { return driver.ErrBadConn })
	w.conn.Close()
	w.conn = nil
}

func (w *writer) exec(statement string) error {
	_, err := w.conn.ExecContext(context.Background(), statement)
	return err
}

// count records a commit.
func (w *writer) count(turns []*turn) {
	size := 0
	for _, t := range turns {
		if t.err == nil {
			size++
		}
	}
	if size == 0 {
		return
	}
	w.writes.Add(uint64(size))
	w.commits.Add(1)
	for i, bound := range batchBounds {
		if size <= bound {
			w.sizes[i].Add(1)
			break
		}
	}
}

func (s *sqliteStore) stats(out *Stats) {
	w := s.writer
	out.Write = poolOf(w.pool)
	out.Queued = len(w.queue)
	out.Writes, out.Commits = w.writes.Load(), w.commits.Load()
	var sum uint64
	for i, bound := range batchBounds {
		sum += w.sizes[i].Load()
		out.Batches = append(out.Batches, Bucket{Writes: bound, Count: sum})
	}
}

// stop ends the writer after the last turn. SQLite itself folds the log into the store when the last
// connection closes.
func (w *writer) stop() error {
	close(w.queue)
	<-w.gone
	if w.conn != nil {
		w.conn.Close()
	}
	return w.pool.Close()
}
