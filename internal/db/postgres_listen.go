package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// channel carries every topic of every node.
	channel = "steward"
	// A connection that says nothing for quietTime is asked whether it is still there.
	quietTime  = time.Second
	answerTime = 3 * time.Second
)

// listener holds the connection on which other nodes are heard, and replaces it when it breaks.
type listener struct {
	store *postgresStore
	end   context.CancelFunc
	gone  chan struct{}
}

func (p *postgresStore) listen(ctx context.Context) error {
	conn, err := p.listenOn(ctx)
	if err != nil {
		return err
	}
	running, end := context.WithCancel(context.Background())
	p.listener = &listener{store: p, end: end, gone: make(chan struct{})}
	p.hub.listening.Store(true)
	go p.listener.run(running, conn)
	return nil
}

func (p *postgresStore) listenOn(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, fmt.Errorf("listen for other nodes: %w", err)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		hangUp(conn)
		return nil, fmt.Errorf("listen for other nodes: %w", err)
	}
	return conn, nil
}

// run hears until the end. Between two connections words were missed, and everybody is told so.
func (l *listener) run(ctx context.Context, conn *pgx.Conn) {
	defer close(l.gone)
	hub := l.store.hub
	for {
		err := l.hear(ctx, conn)
		hub.listening.Store(false)
		hangUp(conn)
		if ctx.Err() != nil {
			return
		}
		hub.log.Warn("cannot hear other nodes", "error", err)
		if conn = l.reconnect(ctx); conn == nil {
			return
		}
		hub.missed() // first: nobody may trust what was remembered before
		hub.listening.Store(true)
	}
}

// reconnect tries until it succeeds; nil when the store closes first.
func (l *listener) reconnect(ctx context.Context) *pgx.Conn {
	for attempt := 1; ; attempt++ {
		if conn, err := l.store.listenOn(ctx); err == nil {
			return conn
		}
		if !pause(ctx, 8*backoff(attempt)) {
			return nil
		}
	}
}

// hear tells what other nodes say until the connection breaks.
func (l *listener) hear(ctx context.Context, conn *pgx.Conn) error {
	for {
		word, err := waitFor(ctx, conn)
		if err != nil {
			return err
		}
		if word == nil {
			continue
		}
		node, rest, _ := strings.Cut(word.Payload, " ")
		topic, payload, _ := strings.Cut(rest, " ")
		if node != l.store.hub.node {
			l.store.hub.tell(event{topic, payload})
		}
	}
}

// waitFor returns the next word, or nil when all was quiet and the connection is well.
func waitFor(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	word, err := conn.WaitForNotification(quiet)
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return word, err
	}
	asked, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return nil, conn.Ping(asked)
}

func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
}

// stop is good for a listener that never began.
func (l *listener) stop() {
	if l == nil {
		return
	}
	l.end()
	<-l.gone
}
