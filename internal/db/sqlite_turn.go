package db

import (
	"context"
	"errors"
	"sync/atomic"
)

var errUnfinished = errors.New("the function given to Write did not return")

// turn is one caller's place in the queue of the writer. The function runs in the goroutine of its
// caller, while the writer waits, so that a panic or the end of a test takes its usual way.
type turn struct {
	claimed atomic.Bool // by the writer that begins it, or by the caller that gives up
	begin   chan *tx
	done    chan error
	err     error // what the function itself came to
}

func newTurn() *turn {
	return &turn{begin: make(chan *tx, 1), done: make(chan error, 1)}
}

func (s *sqliteStore) write(ctx context.Context, fn func(Tx) error) (*tx, error) {
	t := newTurn()
	select {
	case s.writer.queue <- t:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	tx := t.await(ctx)
	if tx != nil {
		s.writer.run(tx, fn)
	}
	if err := <-t.done; err != nil {
		return nil, err
	}
	return tx, nil
}

// claim decides between the writer and a caller that gives up: it is true for one of them.
func (t *turn) claim() bool { return t.claimed.CompareAndSwap(false, true) }

// await returns when the turn has come, or nil when it never will; then done says why.
func (t *turn) await(ctx context.Context) *tx {
	select {
	case tx := <-t.begin:
		return tx
	case <-ctx.Done():
	}
	if t.claim() {
		t.refuse(ctx.Err())
	}
	return <-t.begin
}

// refuse answers a turn that does not come.
func (t *turn) refuse(err error) {
	t.done <- err
	close(t.begin)
}

// run is the turn itself. It hands back to the writer however fn ends: also by a panic, or with its
// goroutine.
func (w *writer) run(tx *tx, fn func(Tx) error) {
	err := errUnfinished
	defer func() {
		tx.end()
		w.ended <- err
	}()
	err = call(fn, tx)
}
