package db

import (
	"context"
	"database/sql"
	"slices"
	"sync/atomic"
)

// Tx is one write transaction. It is good inside the function given to Write, in its goroutine.
type Tx interface {
	Queryer
	Dialect() Dialect
	// AfterCommit runs fn once the transaction is durable, before Write returns; never if it fails.
	AfterCommit(fn func())
	// Notify tells every subscriber of topic on every node, once committed (this node: before Write
	// returns). The same word twice in one transaction is told once.
	Notify(ctx context.Context, topic, payload string) error
}

// runner is what *sql.Tx and *sql.Conn have in common.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// tx is the Tx of both databases.
type tx struct {
	on     runner
	engine engine
	// steady is set where a cancelled statement would undo the work of others: then a context is
	// asked before each statement and cannot interrupt one.
	steady bool

	over   atomic.Bool
	rows   *sql.Rows // the last results that were asked for: no earlier one can still be open
	row    *sql.Row
	hooks  []func()
	events []event
}

// end makes t useless and closes what its function left open, which would hold up the connection.
func (t *tx) end() {
	t.over.Store(true)
	if t.rows != nil {
		t.rows.Close()
	}
	if t.row != nil {
		t.row.Scan()
	}
}

func (t *tx) Dialect() Dialect { return t.engine }

func (t *tx) AfterCommit(fn func()) { t.hooks = append(t.hooks, fn) }

func (t *tx) Notify(ctx context.Context, topic, payload string) error {
	e := event{topic, payload}
	if err := e.check(); err != nil {
		return err
	}
	if slices.Contains(t.events, e) {
		return nil
	}
	if err := t.engine.announce(ctx, t, e); err != nil {
		return err
	}
	t.events = append(t.events, e)
	return nil
}

func (t *tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.on.ExecContext(t.bound(ctx), query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.on.QueryContext(t.bound(ctx), query, args...)
	if err == nil {
		t.rows = rows
	}
	return rows, err
}

func (t *tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	row := t.on.QueryRowContext(t.bound(ctx), query, args...)
	if row.Err() == nil {
		t.row = row
	}
	return row
}

// bound is the context under which a statement of t runs.
func (t *tx) bound(ctx context.Context) context.Context {
	if t.over.Load() {
		return overContext{ctx}
	}
	if t.steady && ctx.Err() == nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// overContext refuses every statement of a Tx that outlived its Write.
type overContext struct{ context.Context }

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (overContext) Done() <-chan struct{} { return closedChannel }
func (overContext) Err() error            { return sql.ErrTxDone }
