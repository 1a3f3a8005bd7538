package main

import (
	"context"
	"errors"
	"os"
	"time"
)

// restartable is a server with a data folder that it can be started on again.
type restartable interface {
	again(ctx context.Context) (time.Duration, error)
	halt() error
	rss() (int64, error)
}

// idling is what a server costs when it does nothing.
type idling struct {
	name   string
	server restartable
	starts []float64 // seconds to the first 200
	loaded int64     // bytes resident right after the load
	idle   int64     // bytes resident after a start and a rest
}

func (i idling) start() time.Duration { return time.Duration(median(i.starts) * float64(time.Second)) }

// measureStart stops the servers, starts them again and again on the folders they filled, in turn, and
// then leaves them alone.
func (b *bench) measureStart(ctx context.Context) error {
	servers := []idling{{name: onSQLite, server: b.sqlite}, {name: onPostgres, server: b.postgres}, {name: inPocket, server: b.pocket}}
	var errs []error
	for i := range servers {
		errs = append(errs, servers[i].halt())
	}
	for range b.starts {
		for i := range servers {
			b.calm.await()
			errs = append(errs, servers[i].restart(ctx), servers[i].server.halt())
		}
	}
	for i := range servers {
		errs = append(errs, servers[i].restart(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	select {
	case <-time.After(b.idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	for i, s := range servers {
		var err error
		if servers[i].idle, err = s.server.rss(); err != nil {
			return err
		}
	}
	return b.judgeStart(servers)
}

func (i *idling) halt() (err error) {
	if i.loaded, err = i.server.rss(); err != nil {
		return err
	}
	return i.server.halt()
}

func (i *idling) restart(ctx context.Context) error {
	took, err := i.server.again(ctx)
	i.starts = append(i.starts, took.Seconds())
	return err
}

func (b *bench) judgeStart(servers []idling) error {
	b.report.idling = servers
	for _, s := range servers[:2] {
		b.report.judge("cold start to the first 200, "+s.name, millis(s.start()), "under "+millis(coldStart), s.start() < coldStart)
	}
	for _, s := range servers[:2] {
		b.report.judge("idle memory, "+s.name, megabytes(s.idle), "under "+megabytes(idleMemory), s.idle < idleMemory)
	}
	own, err := os.Stat(b.bins.steward)
	peer, peerErr := os.Stat(b.bins.pocketbase)
	if err := errors.Join(err, peerErr); err != nil {
		return err
	}
	b.report.sizes = [2]int64{own.Size(), peer.Size()}
	b.report.judge("stripped binary", megabytes(own.Size()), "under "+megabytes(binarySize), own.Size() < binarySize)
	return nil
}
