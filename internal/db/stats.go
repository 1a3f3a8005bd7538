package db

import (
	"database/sql"
	"time"
)

// Stats is a moment's view of the store, for metrics. Counters grow from Open on.
type Stats struct {
	// Read and Write are the two pools.
	Read, Write Pool
	// Queued is how many writes wait for their turn (SQLite).
	Queued int
	// Writes is how many transactions of callers became durable, Commits in how many commits.
	Writes, Commits uint64
	// Retries is how many times a transaction was run again after a conflict.
	Retries uint64
	// Batches tells how many commits carried up to so many writes; the counts are cumulative, as in a
	// Prometheus histogram, and the last bucket is the largest batch there can be.
	Batches []Bucket
}

// Bucket counts the commits that carried at most Writes writes.
type Bucket struct {
	Writes int
	Count  uint64
}

// Pool describes the connections of one pool.
type Pool struct {
	Max, Open, InUse, Idle int
	// Waits is how often somebody had to wait for a connection, Waited for how long in all.
	Waits  int64
	Waited time.Duration
}

// Stats looks at the store without touching it.
func (d *DB) Stats() Stats {
	s := Stats{Read: poolOf(d.read)}
	d.engine.stats(&s)
	return s
}

func poolOf(p *sql.DB) Pool {
	s := p.Stats()
	return Pool{
		Max: s.MaxOpenConnections, Open: s.OpenConnections, InUse: s.InUse, Idle: s.Idle,
		Waits: s.WaitCount, Waited: s.WaitDuration,
	}
}
