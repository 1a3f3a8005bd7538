package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

const (
	defaultConns = 24
	maxAttempts  = 10
	// maxConnections is how many dead connections of the pool one write tries before it gives up.
	maxConnections = 3
	// commitTime is how long a commit may take before its connection is given up for lost.
	commitTime = 30 * time.Second
	// migrationLock is the advisory lock of whoever migrates; the number says "steward" in hex.
	migrationLock int64 = 0x73746577617264
)

// postgresStore is PostgreSQL. Reads and writes have a pool each: a write may read beside its
// transaction, and must not wait for a connection that other writes hold.
type postgresStore struct {
	config     *pgx.ConnConfig
	read, pool *sql.DB
	hub        *hub
	listener   *listener
	writes     atomic.Uint64
	retries    atomic.Uint64
}

func (p *postgresStore) Name() string      { return "postgres" }
func (p *postgresStore) ForUpdate() string { return " FOR UPDATE" }

func (d *DB) openPostgres(ctx context.Context, o Options) error {
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return fmt.Errorf("read the database URL: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "steward"
	}
	conns := o.MaxConns
	if conns <= 0 {
		conns = defaultConns
	}
	p := &postgresStore{config: config, hub: d.hub}
	p.pool = openPostgresPool(config, max(1, conns/2))
	p.read = openPostgresPool(readOnly(config), max(1, conns-conns/2))
	if err := p.read.PingContext(ctx); err != nil {
		return errors.Join(fmt.Errorf("reach PostgreSQL: %w", err), p.read.Close(), p.pool.Close())
	}
	d.engine, d.read = p, p.read
	return nil
}

func openPostgresPool(config *pgx.ConnConfig, size int) *sql.DB {
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxLifetime(time.Hour) // so that a moved server is found, and its memory given back
	return pool
}

// readOnly has the server refuse what Exec refuses: writing outside of Write.
func readOnly(config *pgx.ConnConfig) *pgx.ConnConfig {
	config = config.Copy()
	config.RuntimeParams["default_transaction_read_only"] = "on"
	return config
}

// write runs fn again, a little later, when another transaction stood in the way, or when the
// connection was found dead before anything could be committed.
func (p *postgresStore) write(ctx context.Context, fn func(Tx) error) (*tx, error) {
	for attempt := 1; ; attempt++ {
		t, undone, err := p.attempt(ctx, fn)
		if err == nil {
			p.writes.Add(1)
			return t, nil
		}
		if !undone && IsUnavailable(err) {
			return t, err
		}
		again := IsSerialisation(err) && attempt < maxAttempts || undone && IsUnavailable(err) && attempt < maxConnections
		if !again {
			return nil, err
		}
		p.retries.Add(1)
		if !pause(ctx, backoff(attempt)) {
			return nil, err
		}
	}
}

// attempt is one transaction. Cancelling ctx ends its statements, and keeps it from being committed,
// but does not tear down the connection during the commit: then nobody would know the outcome. undone
// tells that an error came before the commit was asked for.
func (p *postgresStore) attempt(ctx context.Context, fn func(Tx) error) (done *tx, undone bool, err error) {
	conn, err := p.pool.Conn(ctx)
	if err != nil {
		return nil, true, err
	}
	defer conn.Close()
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	raw, err := conn.BeginTx(life, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, true, err
	}
	t := &tx{on: raw, engine: p}
	// Also when fn panics or ends its goroutine; after the commit it does nothing.
	defer func() {
		t.end()
		raw.Rollback()
	}()
	if err := call(fn, t); err != nil {
		return nil, true, err
	}
	if err := ctx.Err(); err != nil {
		return nil, true, err
	}
	late := time.AfterFunc(commitTime, end)
	defer late.Stop()
	return t, false, raw.Commit()
}

// backoff grows with the attempts and differs between those that met: 2, 4, 8 ... 64 ms, halved or not.
func backoff(attempt int) time.Duration {
	longest := time.Millisecond << min(attempt, 6)
	return longest/2 + rand.N(longest/2)
}

// pause waits, and reports whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// migrate asks for the lock again and again rather than wait inside the server: a waiting statement
// would hold up CREATE INDEX CONCURRENTLY in the migration it waits for.
func (p *postgresStore) migrate(ctx context.Context, fn func(goose.Dialect, *sql.DB) error) error {
	pool := openPostgresPool(p.config, 2)
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // and with the connection goes the lock
	for {
		var held bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", migrationLock).Scan(&held); err != nil {
			return fmt.Errorf("wait for other nodes: %w", err)
		}
		if held {
			return fn(goose.DialectPostgres, pool)
		}
		if !pause(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
}

func (p *postgresStore) backup(context.Context, string) error {
	return errors.New("a PostgreSQL store is backed up with pg_dump")
}

func (p *postgresStore) stats(s *Stats) {
	s.Write = poolOf(p.pool)
	s.Writes, s.Retries = p.writes.Load(), p.retries.Load()
	s.Commits = s.Writes
}

func (p *postgresStore) close() error {
	p.listener.stop()
	return errors.Join(p.read.Close(), p.pool.Close())
}

// announce is heard by every node once the transaction commits.
func (p *postgresStore) announce(ctx context.Context, t *tx, e event) error {
	_, err := t.Exec(ctx, "SELECT pg_notify($1, $2)", channel, strings.Join([]string{p.hub.node, e.topic, e.payload}, " "))
	return err
}
