package web

import (
	"hash/maphash"
	"sync"
	"time"
)

// Limit allows N requests in any span of Window.
type Limit struct {
	N      int
	Window time.Duration
}

// grain is how far the instants of two requests may lie apart to be kept as one. Small limits are
// kept to the instant. Large ones hold back a request for one grain longer than they must, so that
// memory does not grow with N; none ever lets more than N through.
func (l Limit) grain() time.Duration {
	if l.N <= 256 {
		return 0
	}
	return l.Window / 256
}

// verdict is what became of one request at one limit.
type verdict struct {
	ok        bool
	limit     int
	remaining int
	reset     time.Duration // until the oldest counted request falls out of the window
}

// tighter is the one of two verdicts that a caller must heed.
func (v verdict) tighter(other verdict) verdict {
	if other.limit == 0 { // nothing was asked
		return v
	}
	if v.limit == 0 || !other.ok && v.ok || other.ok == v.ok && other.remaining < v.remaining {
		return other
	}
	return v
}

// windowKey names whose requests a window counts.
type windowKey struct {
	rule  *rule
	route *endpoint
	user  bool // whether who is a user rather than an address
	who   [16]byte
	word  string
}

// burst is the number of requests let through at an instant, or within one grain after it.
type burst struct {
	at time.Duration
	n  int
}

// window holds the requests let through, oldest first.
type window struct {
	bursts []burst
	count  int
	// barred is set where the cluster as a whole has used up the limit: until then nobody need ask
	// the database again.
	barred time.Duration
}

const (
	shardCount    = 32
	keysPerShard  = 2048
	sweepInterval = 10 * time.Second
)

// windows counts requests in memory, for a bounded number of callers.
type windows struct {
	seed   maphash.Seed
	base   time.Time
	shards [shardCount]windowShard
}

type windowShard struct {
	mu    sync.Mutex
	byKey map[windowKey]*window
	swept time.Duration
}

func newWindows(base time.Time) *windows {
	w := &windows{seed: maphash.MakeSeed(), base: base}
	for i := range w.shards {
		w.shards[i].byKey = map[windowKey]*window{}
	}
	return w
}

// take counts a request at now if the limit allows it.
func (w *windows) take(key windowKey, now time.Time) verdict {
	return w.at(key, now, func(win *window, at time.Duration) { win.add(key.rule.limit, at) })
}

// peek tells what take would, without counting.
func (w *windows) peek(key windowKey, now time.Time) verdict {
	return w.at(key, now, func(*window, time.Duration) {})
}

func (w *windows) at(key windowKey, now time.Time, pass func(*window, time.Duration)) verdict {
	at, limit := now.Sub(w.base), key.rule.limit
	shard := w.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	win := shard.window(key, at)
	win.forget(limit, at)
	if win.barred > at || win.count >= limit.N {
		return verdict{limit: limit.N, reset: min(max(win.barred, win.frees(limit))-at, limit.Window)}
	}
	pass(win, at)
	return verdict{ok: true, limit: limit.N, remaining: limit.N - win.count, reset: min(win.frees(limit)-at, limit.Window)}
}

// undo takes back the last request of the key, which was refused elsewhere.
func (w *windows) undo(key windowKey, now time.Time) {
	shard := w.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	win := shard.window(key, now.Sub(w.base))
	if last := len(win.bursts) - 1; last >= 0 {
		win.count--
		if win.bursts[last].n--; win.bursts[last].n == 0 {
			win.bursts = win.bursts[:last]
		}
	}
}

// bar refuses the key for a while without asking the database.
func (w *windows) bar(key windowKey, now time.Time, span time.Duration) {
	at := now.Sub(w.base)
	shard := w.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.window(key, at).barred = at + span
}

func (w *windows) shard(key windowKey) *windowShard {
	return &w.shards[maphash.Comparable(w.seed, key)%shardCount]
}

// window finds or makes the window of key.
func (s *windowShard) window(key windowKey, at time.Duration) *window {
	if at-s.swept >= sweepInterval {
		s.sweep(at)
	}
	win, ok := s.byKey[key]
	if !ok {
		if len(s.byKey) >= keysPerShard {
			s.evict()
		}
		win = &window{}
		s.byKey[key] = win
	}
	return win
}

func (s *windowShard) sweep(at time.Duration) {
	s.swept = at
	for key, win := range s.byKey {
		if win.forget(key.rule.limit, at); win.count == 0 && win.barred <= at {
			delete(s.byKey, key)
		}
	}
}

// evict makes room for a newcomer by forgetting one of a few callers, the one that has used least. It
// looks at no more than a few, so that a flood from many addresses costs no more than any other.
func (s *windowShard) evict() {
	var least windowKey
	seen, count := 0, 0
	for key, win := range s.byKey {
		if seen == 0 || win.count < count {
			least, count = key, win.count
		}
		if seen++; seen == 8 {
			break
		}
	}
	delete(s.byKey, least)
}

func (win *window) add(limit Limit, at time.Duration) {
	win.count++
	if last := len(win.bursts) - 1; last >= 0 && at-win.bursts[last].at < limit.grain() {
		win.bursts[last].n++
		return
	}
	win.bursts = append(win.bursts, burst{at: at, n: 1})
}

// forget drops the requests that have left the window.
func (win *window) forget(limit Limit, at time.Duration) {
	gone := 0
	for gone < len(win.bursts) && win.bursts[gone].at+limit.grain()+limit.Window <= at {
		win.count -= win.bursts[gone].n
		gone++
	}
	if gone > 0 {
		win.bursts = win.bursts[:copy(win.bursts, win.bursts[gone:])]
	}
}

// frees is the instant at which the oldest counted request leaves the window.
func (win *window) frees(limit Limit) time.Duration {
	if len(win.bursts) == 0 {
		return 0
	}
	return win.bursts[0].at + limit.grain() + limit.Window
}
