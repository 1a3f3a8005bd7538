package web

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestTraceAndRequestIDsComeFromTheCallerWhereTheyAreSound(t *testing.T) {
	const sound = "4bf92f3577b34da6a3ce929d0e0e4736"
	s := newTestServer(t, Options{})
	h := s.Handler()
	for header, taken := range map[string]bool{
		"00-" + sound + "-00f067aa0ba902b7-01":                       true,
		"01-" + sound + "-00f067aa0ba902b7-01-more":                  true,
		"00-" + sound + "-00f067aa0ba902b7-01-more":                  false,
		"ff-" + sound + "-00f067aa0ba902b7-01":                       false,
		"00-" + sound + "-0000000000000000-01":                       false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01":    false,
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01":    false,
		"00-" + sound + "-00f067aa0ba902b7":                          false,
		"rubbish":                                                    false,
		"":                                                           false,
		"00-\x00bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": false,
	} {
		got := call(t, h, "GET", "/x", "", "Traceparent", header).Header().Get("X-Trace-Id")
		if (got == sound) != taken || len(got) != 32 || !isHex(got) {
			t.Errorf("%q gives the trace id %q", header, got)
		}
	}
	for id, taken := range map[string]bool{"req-1.A_z": true, "a b": false, "a\nb": false, "": false, sound + sound + "x": false} {
		if got := call(t, h, "GET", "/x", "", "X-Request-Id", id).Header().Get("X-Request-Id"); (got == id) != taken || got == "" {
			t.Errorf("%q gives the request id %q", id, got)
		}
	}
}

func TestSpansAreNamedByRouteAndShareTheTraceID(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	s := newTestServer(t, Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
	Handle(s, problems.Get("/api/v1/things/{id}", Public, ""), func(_ context.Context, _ *getThing) (*Reply[None], error) { return Done(""), nil })
	h := s.Handler()
	const parent = "4bf92f3577b34da6a3ce929d0e0e4736"
	w := call(t, h, "GET", "/api/v1/things/7", "", "Traceparent", "00-"+parent+"-00f067aa0ba902b7-01")
	wantStatus(t, w, 200)
	wantEqual(t, "X-Trace-Id", w.Header().Get("X-Trace-Id"), parent)
	call(t, h, "GET", "/healthz", "")
	ended := spans.Ended()
	if len(ended) != 1 {
		t.Fatalf("%d spans, want 1", len(ended))
	}
	wantEqual(t, "span", ended[0].Name(), "GET /api/v1/things/{id}")
	wantEqual(t, "trace", ended[0].SpanContext().TraceID().String(), parent)
}

func TestTheClientAddressIsNotSpoofed(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"a stranger's header does not count", "192.0.2.1:99", []string{"1.2.3.4"}, "192.0.2.1"},
		{"a proxy's does", "10.0.0.1:99", []string{"1.2.3.4"}, "1.2.3.4"},
		{"the nearest hop that is no proxy", "10.0.0.1:99", []string{"6.6.6.6, 1.2.3.4, 10.0.0.2"}, "1.2.3.4"},
		{"several headers are one list", "10.0.0.1:99", []string{"6.6.6.6", "1.2.3.4"}, "1.2.3.4"},
		{"rubbish ends the trust", "10.0.0.1:99", []string{"1.2.3.4, rubbish, 10.0.0.2"}, "10.0.0.2"},
		{"no header", "10.0.0.1:99", nil, "10.0.0.1"},
		{"only proxies", "10.0.0.1:99", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"with ports", "10.0.0.1:99", []string{"1.2.3.4:5678"}, "1.2.3.4"},
		{"IPv6", "[fd00::1]:99", []string{"[2001:db8::7]:5678"}, "2001:db8::7"},
		{"IPv4 inside IPv6", "[::ffff:10.0.0.1]:99", []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		{"a zone", "[fe80::1%eth0]:99", nil, "fe80::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.peer
			r.Header["X-Forwarded-For"] = c.forwarded
			wantEqual(t, "address", clientAddress(r, trusted).String(), c.want)
		})
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	wantEqual(t, "a socket file has an address", clientAddress(r, nil).IsValid(), false)
}
