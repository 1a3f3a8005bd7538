// Package db is the store: it opens SQLite or PostgreSQL, reads from one pool and writes through
// transactions that are durable when Write returns, tells the other nodes what changed, and keeps
// the schema at the program's version. The rest of the house writes one SQL text for both.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// ErrClosed is the answer of a store that was closed.
var ErrClosed = errors.New("the store is closed")

var errReadOnly = errors.New("Exec outside of Write: the read pool does not write")

// Queryer runs single statements: a Tx inside Write, or the DB itself for reading. Placeholders are
// $1, $2, ...; a statement must be done with its rows before the next begins.
type Queryer interface {
	Exec(ctx context.Context, query string, args ...any) (affected int64, err error)
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// Options says which store to open.
type Options struct {
	// URL is postgres://...; empty means SQLite in DataDir.
	URL string
	// DataDir holds steward.db. It is created, for this user only, where it does not exist.
	DataDir string
	Log     *slog.Logger
	// MaxConns bounds the connections to PostgreSQL, or the readers of SQLite; 0 chooses.
	MaxConns int
}

// DB is an open store. It is a Queryer over the read pool, which sees every write that has returned.
type DB struct {
	engine engine
	read   *sql.DB
	hub    *hub
	log    *slog.Logger

	mu      sync.Mutex
	closed  bool
	writing sync.WaitGroup
}

// Open connects to the store; it neither migrates nor listens.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &DB{log: o.Log, hub: newHub(uuid.NewString(), o.Log)}
	var err error
	switch {
	case o.URL == "":
		err = d.openSQLite(ctx, o)
	case strings.HasPrefix(o.URL, "postgres://"), strings.HasPrefix(o.URL, "postgresql://"):
		err = d.openPostgres(ctx, o)
	default:
		err = errors.New("the database URL must begin with postgres:// (or be empty, for SQLite)")
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Dialect tells in which words this database differs from the other.
func (d *DB) Dialect() Dialect { return d.engine }

// Exec is refused: writing goes through Write.
func (d *DB) Exec(context.Context, string, ...any) (int64, error) { return 0, errReadOnly }

// Query reads; the caller closes the rows.
func (d *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.read.QueryContext(ctx, query, args...)
}

// QueryRow reads one row; the caller scans it.
func (d *DB) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return d.read.QueryRowContext(ctx, query, args...)
}

// Subscribe has fn called with the payload of every Notify on the topic: of this node before its
// Write returns, of other nodes within a second. Calls may come from several goroutines at once and
// more than once for one Notify. Subscribe before Start, or a word may be missed.
func (d *DB) Subscribe(topic string, fn func(payload string)) { d.hub.subscribe(topic, fn) }

// OnResync has fn called when words from other nodes may have been missed: forget what they keep fresh.
func (d *DB) OnResync(fn func()) { d.hub.onResync(fn) }

// Start begins to listen to the other nodes, until Close; ctx bounds the start alone.
func (d *DB) Start(ctx context.Context) error { return d.engine.listen(ctx) }

// Listening is false while words from other nodes cannot arrive.
func (d *DB) Listening() bool { return d.hub.listening.Load() }

// Ping reports whether the store answers.
func (d *DB) Ping(ctx context.Context) error {
	var one int
	if err := d.read.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("reach the store: %w", err)
	}
	return nil
}

// Backup writes a consistent copy of a SQLite store to a new file while the store is in use.
func (d *DB) Backup(ctx context.Context, file string) error { return d.engine.backup(ctx, file) }

// Close lets the writes that were begun finish, refuses further ones, and closes the store.
func (d *DB) Close() error {
	d.mu.Lock()
	already := d.closed
	d.closed = true
	d.mu.Unlock()
	if already {
		return nil
	}
	d.writing.Wait()
	return d.engine.close()
}

// enter counts a write that Close must wait for.
func (d *DB) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	d.writing.Add(1)
	return nil
}
