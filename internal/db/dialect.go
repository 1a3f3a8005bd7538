package db

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
)

// Dialect is what one SQL text cannot hide: the words in which the two databases differ. A sentence
// that cannot be written once becomes a method here, beside its twin; nobody asks for the name to
// choose a branch.
type Dialect interface {
	// Name is "sqlite" or "postgres", for logs and metrics.
	Name() string
	// ForUpdate ends a SELECT in a Tx whose rows must stay as they are until the commit. It is empty
	// where writers take turns anyway.
	ForUpdate() string
}

// engine is the rest of the difference: how a database is written, listened to and looked after.
// Together with Dialect these methods are all that tells SQLite from PostgreSQL.
type engine interface {
	Dialect
	// write runs fn in one transaction and returns that transaction once it is durable. A transaction
	// beside an error is one of which nobody knows whether it was committed.
	write(ctx context.Context, fn func(Tx) error) (*tx, error)
	// announce leaves word of e in the transaction, for the other nodes.
	announce(ctx context.Context, t *tx, e event) error
	// listen begins to hear other nodes and returns once none of their later words can be lost.
	listen(ctx context.Context) error
	// migrate calls fn while no other node or process migrates the same store.
	migrate(ctx context.Context, fn func(goose.Dialect, *sql.DB) error) error
	backup(ctx context.Context, file string) error
	stats(s *Stats)
	close() error
}
