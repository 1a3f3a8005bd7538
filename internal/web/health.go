package web

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// readyTimeout is how long the dependencies may take to answer before this node counts as not ready.
const readyTimeout = 2 * time.Second

// isUnobserved tells the paths that are polled all day and would only fill logs and traces.
func isUnobserved(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/metrics"
}

// mountHealth serves what orchestrators and collectors ask for.
func (s *Server) mountHealth() {
	mountGet(s.router, "/healthz", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeHealth(w, http.StatusOK, "ok")
	}))
	mountGet(s.router, "/readyz", http.HandlerFunc(s.serveReady))
	if !s.options.MetricsElsewhere {
		mountGet(s.router, "/metrics", s.MetricsHandler())
	}
}

func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.options.Ready(ctx); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.String("error", err.Error()))
		w.Header().Set("Retry-After", seconds(retrySoon))
		writeHealth(w, http.StatusServiceUnavailable, "unavailable")
		return
	}
	writeHealth(w, http.StatusOK, "ok")
}

func writeHealth(w http.ResponseWriter, status int, word string) {
	h := w.Header()
	h["Content-Type"] = jsonValue
	h["Cache-Control"] = noStore
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"status":"` + word + `"}`)) // fails only when the client has gone
}
