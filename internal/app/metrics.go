package app

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"steward/internal/identity"
)

// register adds what the rooms count to what web counts itself. The functions run when somebody
// looks, so that counting costs nothing otherwise.
func (a *App) register(r *prometheus.Registry, hasher *identity.Hasher) {
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	counter := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
	}

	gauge("steward_db_read_connections", "Open connections for reading.", func() float64 { return float64(a.db.Stats().Read.Open) })
	gauge("steward_db_read_connections_in_use", "Connections for reading that are in use.", func() float64 { return float64(a.db.Stats().Read.InUse) })
	counter("steward_db_read_waits_total", "Times that a reader waited for a connection.", func() float64 { return float64(a.db.Stats().Read.Waits) })
	gauge("steward_db_write_connections", "Open connections for writing.", func() float64 { return float64(a.db.Stats().Write.Open) })
	gauge("steward_db_write_connections_in_use", "Connections for writing that are in use.", func() float64 { return float64(a.db.Stats().Write.InUse) })
	gauge("steward_db_writes_queued", "Writes that wait for their turn.", func() float64 { return float64(a.db.Stats().Queued) })
	counter("steward_db_writes_total", "Transactions that became durable.", func() float64 { return float64(a.db.Stats().Writes) })
	counter("steward_db_commits_total", "Commits that carried them.", func() float64 { return float64(a.db.Stats().Commits) })
	counter("steward_db_retries_total", "Transactions run again after a conflict.", func() float64 { return float64(a.db.Stats().Retries) })
	gauge("steward_db_listening", "1 while changes made on other nodes arrive.", func() float64 {
		if a.db.Listening() {
			return 1
		}
		return 0
	})

	counter("steward_session_cache_hits_total", "Session states found in memory.", func() float64 { hits, _ := a.Identity.CacheStats(); return float64(hits) })
	counter("steward_session_cache_misses_total", "Session states read from the store.", func() float64 { _, misses := a.Identity.CacheStats(); return float64(misses) })
	counter("steward_token_cache_hits_total", "Access tokens whose signature was checked before.", func() float64 { hits, _, _ := a.signer.CacheStats(); return float64(hits) })
	counter("steward_token_cache_misses_total", "Access tokens whose signature had to be checked.", func() float64 { _, misses, _ := a.signer.CacheStats(); return float64(misses) })
	gauge("steward_password_hashes_running", "Password hashes being computed.", func() float64 { _, running := hasher.Queue(); return float64(running) })
	gauge("steward_password_hashes_waiting", "Password hashes that wait for a core.", func() float64 { waiting, _ := hasher.Queue(); return float64(waiting) })
}
