package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// The limits the project set itself.
const (
	meShare      = 0.60
	loginShare   = 0.90
	meUnderLogin = 100 * time.Millisecond
	refreshRate  = 1000
	coldStart    = 200 * time.Millisecond
	idleMemory   = 45_000_000
	binarySize   = 45_000_000
)

// The names of the contenders in the tables.
const (
	onSQLite   = "Steward, SQLite"
	onPostgres = "Steward, PostgreSQL"
	inPocket   = "PocketBase"
)

// measured makes a lane of steps on a server, with the processor time that server spends.
func measured(name string, p *process, steps []step) lane {
	return lane{name, func(span time.Duration) round {
		before := p.cpu()
		r := drive(p.addr, steps, span)
		r.cpu = p.cpu() - before
		return r
	}}
}

// race lets the lanes run beside as little other work as can be had.
func (b *bench) race(ctx context.Context, span time.Duration, lanes ...lane) ([]standing, error) {
	for i := range lanes {
		lanes[i] = b.calm.lane(lanes[i])
	}
	return race(ctx, lanes, b.rounds, span)
}

// measureMe compares GET /api/auth/me with handlers that repeat its answer to the same request: all of
// it, which is the yardstick, and its body alone.
func (b *bench) measureMe(ctx context.Context) error {
	got, err := b.race(ctx, b.span,
		measured("bare net/http, same answer", b.bare.process, b.bareSteps("/api/auth/me")),
		measured("bare net/http, body only", b.bare.process, b.bareSteps("/body")),
		measured(onSQLite, b.sqlite.process, b.sqlite.meSteps()),
		measured(onPostgres, b.postgres.process, b.postgres.meSteps()),
	)
	if err != nil {
		return err
	}
	b.report.race("GET /api/auth/me", got)
	for _, s := range got[2:] {
		share := s.against(got[0])
		b.report.judge("GET /api/auth/me against a bare handler, "+s.name, percent(share), "at least "+percent(meShare), share >= meShare)
	}
	return nil
}

func (b *bench) bareSteps(path string) []step {
	steps := make([]step, b.clients)
	for i := range steps {
		steps[i] = same(get(path, b.sqlite.sessions[i].token), b.sqlite.me[0])
	}
	return steps
}

// measureLogin compares logins with the hash alone and with the peer, then watches the others' latency.
func (b *bench) measureLogin(ctx context.Context) error {
	got, err := b.race(ctx, b.loginSpan,
		lane{"bare Argon2id", b.bare.hash},
		measured(onSQLite, b.sqlite.process, b.sqlite.loginSteps()),
		measured(onPostgres, b.postgres.process, b.postgres.loginSteps()),
		measured(inPocket, b.pocket.process, b.pocket.loginSteps()),
	)
	if err != nil {
		return err
	}
	b.report.race("login", got)
	b.report.peer("login", got[1], got[3])
	for _, s := range got[1:3] {
		share := s.against(got[0])
		b.report.judge("login against bare Argon2id on all cores, "+s.name, percent(share), "at least "+percent(loginShare), share >= loginShare)
	}
	return errors.Join(b.watchMe(onSQLite, b.sqlite), b.watchMe(onPostgres, b.postgres), ctx.Err())
}

// watchMe judges how long a reader waits while logins saturate the machine.
func (b *bench) watchMe(name string, s *steward) error {
	r := b.calm.lane(lane{name, func(span time.Duration) round { return underLogin(s, span) }}).run(b.mixed)
	if r.failed > 0 {
		return fmt.Errorf("%s: me during logins: %d failed, first: %w", name, r.failed, r.err)
	}
	p99 := percentile(r.latencies, 99)
	b.report.judge("p99 of me while logins saturate, "+name, millis(p99), "under "+millis(meUnderLogin), p99 < meUnderLogin)
	return nil
}

// underLogin reads me four hundred times a second while every client signs in as fast as it can.
func underLogin(s *steward, span time.Duration) round {
	const readers, every = 4, 10 * time.Millisecond
	conns, err := dialAll(s.addr, readers)
	if err != nil {
		return round{failed: 1, err: err}
	}
	defer closeAll(conns)
	var (
		stop  = make(chan struct{})
		parts = make([]round, readers+1)
		group sync.WaitGroup
	)
	for i, do := range s.meSteps()[:readers] {
		group.Go(func() { parts[i] = pace(conns[i], do, every, stop) })
	}
	logins := drive(s.addr, s.loginSteps(), span)
	close(stop)
	group.Wait()
	parts[readers] = round{failed: logins.failed, err: logins.err}
	return merge(parts, span)
}

// measureRefresh rotates sessions, each client its own.
func (b *bench) measureRefresh(ctx context.Context) error {
	got, err := b.race(ctx, b.span,
		measured(onSQLite, b.sqlite.process, b.sqlite.refreshSteps()),
		measured(onPostgres, b.postgres.process, b.postgres.refreshSteps()),
		measured(inPocket, b.pocket.process, b.pocket.refreshSteps()),
	)
	if err != nil {
		return err
	}
	b.report.race("refresh", got)
	b.report.peer("refresh", got[0], got[2])
	for _, s := range got[:2] {
		b.report.judge("durable rotating refresh, "+s.name, perSecond(s.rate()), "at least "+perSecond(refreshRate), s.rate() >= refreshRate)
	}
	b.report.syncs, err = syncRate(b.dir, b.syncing)
	return err
}

// measureRead reads one account by id with the caller's right to it checked.
func (b *bench) measureRead(ctx context.Context) error {
	got, err := b.race(ctx, b.span,
		measured(onSQLite, b.sqlite.process, b.sqlite.readSteps()),
		measured(onPostgres, b.postgres.process, b.postgres.readSteps()),
		measured(inPocket, b.pocket.process, b.pocket.readSteps()),
	)
	if err != nil {
		return err
	}
	b.report.race("read by id", got)
	b.report.peer("read by id", got[0], got[2])
	return nil
}

// syncRate is the floor of every durable write: how often the disk confirms one small write, one
// after the other.
func syncRate(dir string, span time.Duration) (float64, error) {
	file, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	page, count, start := make([]byte, 4096), 0, time.Now()
	for ; time.Since(start) < span; count++ {
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
	}
	return float64(count) / time.Since(start).Seconds(), nil
}
