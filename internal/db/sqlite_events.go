package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const (
	pollEvery  = 200 * time.Millisecond
	purgeEvery = 10 * time.Second
	// keepEvents is how long other processes have to read an event. One that sleeps longer finds a
	// gap in the numbers and resyncs.
	keepEvents = time.Minute
	purgeBatch = 1000
)

// announce writes the event for the pollers of other processes on the file.
func (s *sqliteStore) announce(ctx context.Context, t *tx, e event) error {
	_, err := t.Exec(ctx, `INSERT INTO node_events (node, topic, payload, created_at) VALUES ($1, $2, $3, $4)`,
		s.hub.node, e.topic, e.payload, At(time.Now()))
	return err
}

// poller hears of the other processes on the same file. SQLite has no way to call out, but it counts
// the changes of a file, and asking for that count costs microseconds.
type poller struct {
	store *sqliteStore
	conn  *sql.Conn // one and the same: the count is of changes since it last looked
	end   context.CancelFunc
	gone  chan struct{}

	version, seen int64
	purged        time.Time
}

func (s *sqliteStore) listen(ctx context.Context) error {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return fmt.Errorf("listen for changes: %w", err)
	}
	running, end := context.WithCancel(context.Background())
	p := &poller{store: s, conn: conn, end: end, gone: make(chan struct{}), purged: time.Now()}
	if err := p.catchUp(ctx); err != nil {
		end()
		conn.Close()
		return fmt.Errorf("listen for changes: %w", err)
	}
	s.poller = p
	s.hub.listening.Store(true)
	go p.run(running)
	return nil
}

// catchUp marks everything up to now as seen.
func (p *poller) catchUp(ctx context.Context) error {
	if err := p.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&p.version); err != nil {
		return err
	}
	return p.conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) FROM node_events").Scan(&p.seen)
}

func (p *poller) run(ctx context.Context) {
	defer close(p.gone)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.poll(ctx)
		}
	}
}

// poll looks once. After a fault nobody knows what was missed, so the first look that succeeds again
// tells everybody.
func (p *poller) poll(ctx context.Context) {
	err := p.look(ctx)
	if ctx.Err() != nil {
		return
	}
	hub := p.store.hub
	switch was := hub.listening.Load(); {
	case err != nil && was:
		hub.log.Warn("cannot hear other processes", "error", err)
	case err == nil && !was:
		hub.missed() // first: nobody may trust what was remembered before
	}
	hub.listening.Store(err == nil)
	if err == nil && time.Since(p.purged) > purgeEvery {
		p.purged = time.Now()
		p.purge(ctx)
	}
}

// look tells the events of other processes since the last look.
func (p *poller) look(ctx context.Context) error {
	var version int64
	if err := p.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return err
	}
	if version == p.version {
		return nil
	}
	if err := p.hear(ctx); err != nil {
		return err
	}
	p.version = version
	return nil
}

type eventRow struct {
	ID                   int64
	Node, Topic, Payload string
}

// hear reads the rows after the last one seen. Their numbers have no gaps, so a gap is what a purge
// took before this process came to read it.
func (p *poller) hear(ctx context.Context) error {
	for {
		rows, err := p.page(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}
		if rows[0].ID != p.seen+1 {
			p.store.hub.missed()
		}
		for _, r := range rows {
			if r.Node != p.store.hub.node {
				p.store.hub.tell(event{r.Topic, r.Payload})
			}
		}
		p.seen = rows[len(rows)-1].ID
	}
}

func (p *poller) page(ctx context.Context) ([]eventRow, error) {
	rows, err := p.conn.QueryContext(ctx,
		"SELECT id, node, topic, payload FROM node_events WHERE id > $1 ORDER BY id LIMIT 500", p.seen)
	if err != nil {
		return nil, err
	}
	var all []eventRow
	err = scanner.ScanAll(&all, rows)
	return all, err
}

// purge removes old events, always leaving the newest: the next number goes on from there. They are
// old in the order of their numbers, so one look at the first tells whether there is work.
func (p *poller) purge(ctx context.Context) {
	before := At(time.Now().Add(-keepEvents))
	const oldest = `SELECT created_at < $1 FROM node_events WHERE id < $2 ORDER BY id LIMIT 1`
	for old := false; p.conn.QueryRowContext(ctx, oldest, before, p.seen).Scan(&old) == nil && old; {
		_, err := p.store.write(ctx, func(tx Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM node_events WHERE created_at < $1 AND id IN (
				SELECT id FROM node_events WHERE id < $2 ORDER BY id LIMIT $3)`, before, p.seen, purgeBatch)
			return err
		})
		if err != nil {
			p.store.hub.log.Warn("cannot purge node events", "error", err)
			return
		}
	}
}

// stop is good for a poller that never began.
func (p *poller) stop() {
	if p == nil {
		return
	}
	p.end()
	<-p.gone
	p.conn.Close()
	p.store.hub.listening.Store(false)
}
