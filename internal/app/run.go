package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"steward/internal/config"
	"steward/internal/web"
)

// Listen takes the addresses that Run will serve on.
func (a *App) Listen() error {
	main, err := net.Listen("tcp", a.cfg.Listen)
	if err != nil {
		return config.Refuse("listen", "%v", err)
	}
	a.listeners = map[net.Listener]*http.Server{main: web.NewHTTPServer(a.server.Handler())}
	a.address = main.Addr().String()
	if a.cfg.MetricsListen == "" {
		return nil
	}
	metrics, err := net.Listen("tcp", a.cfg.MetricsListen)
	if err != nil {
		return errors.Join(config.Refuse("metrics-listen", "%v", err), main.Close())
	}
	a.listeners[metrics] = web.NewHTTPServer(a.server.MetricsHandler())
	return nil
}

// Run serves on the addresses that Listen took until ctx ends, then lets running requests finish
// within the grace time.
func (a *App) Run(ctx context.Context) error {
	fmt.Fprintf(a.out, "  Steward is ready at %s (API reference: %s/docs)\n\n", a.cfg.PublicURL, a.cfg.PublicURL)
	a.log.Info("serving", "listen", a.address, "store", a.db.Dialect().Name())

	// What the start needed once is given back, beside the first requests.
	go debug.FreeOSMemory()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { a.purgeForever(ctx); return nil })
	for listener, server := range a.listeners {
		group.Go(func() error { return serve(listener, server) })
		group.Go(func() error {
			<-ctx.Done()
			return a.shutDown(server)
		})
	}
	return group.Wait()
}

func serve(listener net.Listener, server *http.Server) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shutDown stops accepting and waits for what runs; what outlives the grace time is cut off.
func (a *App) shutDown(server *http.Server) error {
	a.log.Info("stopping", "grace", a.cfg.StopGrace)
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.StopGrace)
	defer cancel()
	if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		a.log.Warn("requests were cut off at the end of the grace time")
		return server.Close()
	} else if err != nil {
		return err
	}
	return nil
}

const (
	purgeEvery = time.Minute
	purgeFor   = 20 * time.Second // of each minute: batches are small, so that others get their turn
)

// purgeForever removes what has expired, a bounded batch at a time.
func (a *App) purgeForever(ctx context.Context) {
	ticker := time.NewTicker(purgeEvery)
	defer ticker.Stop()
	for {
		if err := a.Purge(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("purge failed", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Purge removes expired sessions, tokens, keys, lockouts, idempotency rows and limit windows, for
// a bounded time; what fails does not keep the rest from going.
func (a *App) Purge(ctx context.Context) error {
	failed := a.Keyring.PurgeKeys(ctx)
	until := time.Now().Add(purgeFor)
	for _, purge := range []func(context.Context) (int64, error){a.Identity.Purge, a.server.Purge} {
		for time.Now().Before(until) {
			n, err := purge(ctx)
			if err != nil {
				failed = errors.Join(failed, err)
			}
			if err != nil || n == 0 {
				break
			}
		}
	}
	return failed
}
