package web

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestMetricsCountByRouteMethodAndStatus(t *testing.T) {
	s := newTestServer(t, Options{Limits: map[string]Limit{"identity": {N: 3, Window: time.Hour}}})
	Handle(s, Group{Convention: Problem, Limit: "identity"}.Get("/api/v1/things/{id}", AnyToken, ""),
		func(context.Context, *getThing) (*Reply[None], error) { return Done(""), nil })
	h := s.Handler()
	for range 4 {
		call(t, h, "GET", "/api/v1/things/7", "", as("admin")...)
	}
	call(t, h, "GET", "/api/v1/nowhere", "")
	text := call(t, h, "GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`steward_http_requests_total{method="GET",route="/api/v1/things/{id}",status="200"} 3`,
		`steward_http_requests_total{method="GET",route="/api/v1/things/{id}",status="429"} 1`,
		`steward_http_requests_total{method="other",route="other",status="404"} 1`,
		`steward_http_request_duration_seconds_count{method="GET",route="/api/v1/things/{id}"} 4`,
		`steward_http_rate_limited_total{limit="identity"} 1`,
		`steward_http_requests_in_flight 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	elsewhere := newTestServer(t, Options{MetricsElsewhere: true})
	wantStatus(t, call(t, elsewhere.Handler(), "GET", "/metrics", ""), 404)
	wantStatus(t, call(t, elsewhere.MetricsHandler(), "GET", "/", ""), 200)
}

func TestHealthAndReadiness(t *testing.T) {
	var broken error
	var log bytes.Buffer
	s := newTestServer(t, Options{
		Ready: func(context.Context) error { return broken },
		Log:   slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	h := s.Handler()
	w := call(t, h, "GET", "/readyz", "")
	wantStatus(t, w, 200)
	wantEqual(t, "body", w.Body.String(), `{"status":"ok"}`)
	wantStatus(t, call(t, h, "HEAD", "/healthz", ""), 200)
	wantEqual(t, "access log", log.String(), "")

	broken = errors.New("no route to the store at db.internal")
	w = call(t, h, "GET", "/readyz", "")
	wantStatus(t, w, 503)
	wantEqual(t, "body", w.Body.String(), `{"status":"unavailable"}`)
	wantStatus(t, call(t, h, "GET", "/healthz", ""), 200)
}

func TestTheAccessLogHoldsNoQuery(t *testing.T) {
	var log bytes.Buffer
	s := newTestServer(t, Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	call(t, s.Handler(), "GET", "/reset-password?token=secret", "", "X-Request-Id", "r-7")
	for _, want := range []string{"level=DEBUG", "path=/reset-password ", "status=200", "requestId=r-7", "traceId="} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log holds a token: %s", log.String())
	}
}
