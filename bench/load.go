package main

import (
	"sync"
	"time"
)

// step is one operation of one client: nil means that the answer was right, to the status and the body.
type step func(c *conn) error

// round is what a number of clients did together.
type round struct {
	ops       int
	took      time.Duration
	latencies []time.Duration
	cpu       time.Duration // of the server, where known
	failed    int
	err       error // the first of the failures
}

func (r round) rate() float64 { return float64(r.ops) / r.took.Seconds() }

// drive runs every step in a loop on a connection of its own. Clients begin nothing after span, yet
// what was begun is finished and counted, and took reaches to the last answer: otherwise slow
// operations in flight at the end would count as work but not as result.
func drive(addr string, steps []step, span time.Duration) round {
	conns, err := dialAll(addr, len(steps))
	if err != nil {
		return round{failed: 1, err: err, took: span}
	}
	defer closeAll(conns)
	parts := make([]round, len(steps))
	var group sync.WaitGroup
	start := time.Now()
	for i := range steps {
		group.Go(func() { parts[i] = loop(conns[i], steps[i], start, span) })
	}
	group.Wait()
	return merge(parts, time.Since(start))
}

func loop(c *conn, do step, start time.Time, span time.Duration) round {
	r := round{latencies: make([]time.Duration, 0, 4096)}
	for begin := time.Now(); begin.Sub(start) < span; {
		err := do(c)
		end := time.Now()
		if r.note(err, end.Sub(begin)); err != nil {
			return r
		}
		begin = end
	}
	return r
}

// pace calls the step at fixed instants until stop is closed, and counts each latency from the instant
// at which the call was due: a slow answer must not hide the wait of those behind it.
func pace(c *conn, do step, every time.Duration, stop <-chan struct{}) round {
	var r round
	for due := time.Now(); ; due = due.Add(every) {
		select {
		case <-stop:
			return r
		default:
		}
		time.Sleep(time.Until(due))
		err := do(c)
		if r.note(err, time.Since(due)); err != nil {
			return r
		}
	}
}

// note counts one operation. A client that failed once stops: its connection is of no further use.
func (r *round) note(err error, latency time.Duration) {
	if err != nil {
		r.failed++
		r.err = err
		return
	}
	r.ops++
	r.latencies = append(r.latencies, latency)
}

func merge(parts []round, took time.Duration) round {
	all := round{took: took}
	for _, p := range parts {
		all.ops += p.ops
		all.failed += p.failed
		all.latencies = append(all.latencies, p.latencies...)
		if all.err == nil {
			all.err = p.err
		}
	}
	return all
}

func dialAll(addr string, n int) ([]*conn, error) {
	conns := make([]*conn, 0, n)
	for range n {
		c, err := dial(addr)
		if err != nil {
			closeAll(conns)
			return nil, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}
