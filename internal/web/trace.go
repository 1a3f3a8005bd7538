package web

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// identify returns the W3C trace id of the request and an id of the request itself. Both come from
// the caller where they are sound, else they are made.
func identify(r *http.Request) (traceID, requestID string) {
	if span := trace.SpanContextFromContext(r.Context()); span.IsValid() {
		traceID = span.TraceID().String()
	} else if header := r.Header["Traceparent"]; len(header) == 1 {
		traceID = parseTraceparent(header[0])
	}
	if header := r.Header["X-Request-Id"]; len(header) == 1 && isSaneID(header[0]) {
		requestID = header[0]
	}
	if traceID == "" || requestID == "" {
		made := randomHex()
		if traceID == "" {
			traceID = made[:32]
		}
		if requestID == "" {
			requestID = made[32:]
		}
	}
	return traceID, requestID
}

// randomHex makes 24 bytes in hexadecimal. They need only be unlikely to repeat, not hard to guess.
func randomHex() string {
	var raw [24]byte
	var text [48]byte
	for i := 0; i < len(raw); i += 8 {
		binary.LittleEndian.PutUint64(raw[i:], rand.Uint64()|1) // never all zero
	}
	hex.Encode(text[:], raw[:])
	return string(text[:])
}

// parseTraceparent returns the trace id of a header such as 00-<32 hex>-<16 hex>-01, or nothing.
func parseTraceparent(header string) string {
	if len(header) < 55 || header[2] != '-' || header[35] != '-' || header[52] != '-' {
		return ""
	}
	version, traceID, parent := header[:2], header[3:35], header[36:52]
	if version == "ff" || version == "00" && len(header) != 55 || len(header) > 55 && header[55] != '-' {
		return ""
	}
	if !isHex(version) || !isHex(traceID) || !isHex(parent) || !isHex(header[53:55]) ||
		strings.Trim(traceID, "0") == "" || strings.Trim(parent, "0") == "" {
		return ""
	}
	return traceID
}

func isHex(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isSaneID keeps what could break a log line or a header out of both.
func isSaneID(text string) bool {
	if len(text) == 0 || len(text) > 64 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// traced has every request but the unobserved ones recorded as a span, where traces are collected.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.options.Tracer == nil {
		return next
	}
	return otelhttp.NewHandler(next, "request",
		otelhttp.WithTracerProvider(s.options.Tracer),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return !isUnobserved(r.URL.Path) }))
}

// nameSpan groups the spans of a route, whatever its parameters.
func (e *endpoint) nameSpan(span trace.Span) {
	span.SetName(e.name)
	span.SetAttributes(attribute.String("http.route", e.route.path))
}
