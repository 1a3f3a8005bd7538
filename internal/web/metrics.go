package web

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts what goes through the server.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refused  *prometheus.CounterVec
	inFlight prometheus.Gauge
	other    *routeMetrics // requests that no route answers
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "steward_http_requests_total", Help: "Requests answered, by route, method and status.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "steward_http_request_duration_seconds", Help: "Time from the first byte read to the last byte written, by route and method.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "steward_http_rate_limited_total", Help: "Requests refused by a rate limit, by limit.",
		}, []string{"limit"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "steward_http_requests_in_flight", Help: "Requests being answered now.",
		}),
	}
	registry.MustRegister(m.requests, m.duration, m.refused, m.inFlight)
	m.other = m.route("other", "other")
	return m
}

// route prepares the counters of one route, so that a request looks no label up.
func (m *metrics) route(method, pattern string) *routeMetrics {
	r := &routeMetrics{
		requests: m.requests.MustCurryWith(prometheus.Labels{"route": pattern, "method": method}),
		duration: m.duration.WithLabelValues(pattern, method),
	}
	r.byStatus.Store(&map[int]prometheus.Counter{})
	return r
}

// routeMetrics are the counters of one route. The counter of a status appears with its first answer.
type routeMetrics struct {
	requests *prometheus.CounterVec
	duration prometheus.Observer
	mu       sync.Mutex
	byStatus atomic.Pointer[map[int]prometheus.Counter]
}

func (r *routeMetrics) observe(status int, took time.Duration) {
	counter, ok := (*r.byStatus.Load())[status]
	if !ok {
		counter = r.add(status)
	}
	counter.Inc()
	r.duration.Observe(took.Seconds())
}

func (r *routeMetrics) add(status int) prometheus.Counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	counter := r.requests.WithLabelValues(strconv.Itoa(status))
	byStatus := maps.Clone(*r.byStatus.Load())
	byStatus[status] = counter
	r.byStatus.Store(&byStatus)
	return counter
}

// MetricsHandler serves the metrics alone, for a listener of their own.
func (s *Server) MetricsHandler() http.Handler {
	return promhttp.HandlerFor(s.options.Registry, promhttp.HandlerOpts{})
}
