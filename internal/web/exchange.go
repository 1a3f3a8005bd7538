package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"steward/internal/fault"
	"steward/internal/scope"
)

// maxUserAgent bounds what is kept of a header that anybody can fill.
const maxUserAgent = 256

// statusGone is logged where nobody waits for the answer any more; it is never sent.
const statusGone = 499

// exchange is one request on its way through the server: what was learnt about it, and the writer
// that remembers what was answered.
type exchange struct {
	http.ResponseWriter
	s         *Server
	started   time.Time
	client    netip.Addr
	origin    scope.Origin
	requestID string
	endpoint  *endpoint // nil where no route was found
	status    int       // 0 until the header was written
	logged    bool
	values    [6]string // of headers that every answer has, so that none needs a slice of its own
}

// value keeps a header value in its place and returns it in the form that headers have.
func (ex *exchange) value(place int, text string) []string {
	ex.values[place] = text
	return ex.values[place : place+1 : place+1]
}

// WriteHeader notes the status.
func (ex *exchange) WriteHeader(status int) {
	if ex.status == 0 && status >= http.StatusOK {
		ex.status = status
	}
	ex.ResponseWriter.WriteHeader(status)
}

// Write notes the status that comes without WriteHeader.
func (ex *exchange) Write(p []byte) (int, error) {
	if ex.status == 0 {
		ex.status = http.StatusOK
	}
	return ex.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (ex *exchange) Unwrap() http.ResponseWriter { return ex.ResponseWriter }

// serveExchange is the first step of every request: who is it, what do all answers carry, and what
// happens if anything panics.
func (s *Server) serveExchange(w http.ResponseWriter, r *http.Request) {
	ex := &exchange{ResponseWriter: w, s: s, started: time.Now(), client: clientAddress(r, s.options.TrustedProxies)}
	ex.origin.TraceID, ex.requestID = identify(r)
	if ex.client.IsValid() {
		ex.origin.Address = ex.client.String()
	}
	ex.origin.UserAgent = cleanUserAgent(r.Header.Get("User-Agent"))
	s.setCommonHeaders(ex, r)
	s.metrics.inFlight.Inc()
	defer ex.finish(r)
	if s.cors.answer(ex, r) {
		return
	}
	s.router.ServeHTTP(ex, sameAddress(r))
}

// sameAddress undoes what makes two spellings of one address: a slash at the end, and escapes that
// stand for plain characters. An escaped slash stays, because it is no separator.
func sameAddress(r *http.Request) *http.Request {
	plain := r.URL.RawPath != "" && !strings.Contains(strings.ToLower(r.URL.RawPath), "%2f")
	slash := strings.HasPrefix(r.URL.Path, "/api/") && strings.HasSuffix(r.URL.Path, "/")
	if !plain && !slash {
		return r
	}
	copied, address := *r, *r.URL
	if plain {
		address.RawPath = ""
	}
	if slash {
		address.Path, address.RawPath = strings.TrimRight(address.Path, "/"), strings.TrimRight(address.RawPath, "/")
	}
	copied.URL = &address
	return &copied
}

func cleanUserAgent(text string) string {
	if len(text) > maxUserAgent {
		text = text[:maxUserAgent]
	}
	return strings.ToValidUTF8(text, "")
}

// finish turns a panic into an answer, counts the request and writes it into the access log.
func (ex *exchange) finish(r *http.Request) {
	cause := recover()
	if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
		defer panic(cause) // it cuts the connection; the request counts all the same
	} else if cause != nil {
		ex.recovered(r, cause)
	}
	ex.s.metrics.inFlight.Dec()
	if ex.status == 0 {
		ex.status = http.StatusOK // what net/http sends for a handler that wrote nothing
	}
	took := time.Since(ex.started)
	ex.counts().observe(ex.status, took)
	// A refusal carries a trace id, and whoever is shown one must find it in the log.
	level := slog.LevelDebug
	if ex.status >= http.StatusBadRequest && ex.status != statusGone && !ex.logged {
		level = slog.LevelInfo
	}
	if ex.s.log.Enabled(r.Context(), level) && !isUnobserved(r.URL.Path) {
		ex.logAccess(r, level, took)
	}
}

func (ex *exchange) counts() *routeMetrics {
	if ex.endpoint == nil {
		return ex.s.metrics.other
	}
	return ex.endpoint.counts
}

func (ex *exchange) recovered(r *http.Request, cause any) {
	ex.s.log.LogAttrs(r.Context(), slog.LevelError, "panic while serving", append(ex.attrs(r),
		slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))...)
	ex.logged = true
	if ex.status == 0 {
		ex.refuse(r, ex.route(r), fault.New(fault.Internal, "An unexpected error occurred."))
	}
}

// route is that of the exchange, or one that only has the error shape of the path.
func (ex *exchange) route(r *http.Request) *Route {
	if ex.endpoint != nil {
		return &ex.endpoint.route
	}
	return &Route{convention: conventionOf(r.URL.Path)}
}

// refuse answers with the error in the shape of the route.
func (ex *exchange) refuse(r *http.Request, route *Route, err error) {
	if errors.Is(err, errGone) || errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		ex.status = statusGone // nobody is left to read an answer
		return
	}
	f := faultOf(err)
	status := route.statusOfFault(f)
	if status >= http.StatusInternalServerError && !ex.logged {
		ex.logFailure(r, status, err)
	}
	h := ex.Header()
	if f.RetryAfter > 0 {
		h["Retry-After"] = []string{seconds(f.RetryAfter)}
	}
	if status == http.StatusUnauthorized && route.access.kind > accessPublic {
		h["Www-Authenticate"] = challengeOf(f.Code)
	}
	ans, err := ex.shapeFault(r, route, f)
	if err != nil {
		ex.logFailure(r, status, err)
		http.Error(ex, http.StatusText(status), status)
		return
	}
	ex.send(r, ans)
}

func (ex *exchange) logFailure(r *http.Request, status int, err error) {
	ex.logged = true
	ex.s.log.LogAttrs(r.Context(), slog.LevelError, "request failed",
		append(ex.attrs(r), slog.Int("status", status), slog.String("error", err.Error()))...)
}

func (ex *exchange) logAccess(r *http.Request, level slog.Level, took time.Duration) {
	ex.s.log.LogAttrs(r.Context(), level, "request",
		append(ex.attrs(r), slog.Int("status", ex.status), slog.Duration("took", took))...)
}

func (ex *exchange) attrs(r *http.Request) []slog.Attr {
	return []slog.Attr{
		slog.String("method", r.Method),
		slog.String("path", r.URL.EscapedPath()), // without the query, which may hold a token
		slog.String("address", ex.origin.Address),
		slog.String("traceId", ex.origin.TraceID),
		slog.String("requestId", ex.requestID),
	}
}
