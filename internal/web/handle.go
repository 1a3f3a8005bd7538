package web

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"steward/internal/fault"
	"steward/internal/scope"
)

// Handle mounts a route: in is read from the request by the tags of I (path, query, header, and the
// field Body), and the reply or the fault is shaped by the route's convention. It panics where the
// route is not sound, which ends the start.
func Handle[I, O any](s *Server, route Route, h func(ctx context.Context, in *I) (*Reply[O], error)) {
	_, empty := any(new(O)).(*None)
	e := s.mount(route, reflect.TypeFor[I](), reflect.TypeFor[O]())
	e.newInput = func() any { return new(I) }
	e.call = func(ctx context.Context, in any) (outcome, error) {
		reply, err := h(ctx, in.(*I))
		if err != nil {
			return outcome{}, err
		}
		out := outcome{message: reply.Message, location: reply.Location, etag: reply.ETag}
		if !empty {
			out.body = &reply.Body
		}
		return out, nil
	}
}

// outcome is a Reply without its type.
type outcome struct {
	body                    any
	message, location, etag string
}

// endpoint is a mounted route with everything it needs worked out.
type endpoint struct {
	s     *Server
	route Route
	// name is the method and the pattern, as in logs, metrics and spans.
	name    string
	input   input
	output  reflect.Type
	rules   []*rule
	wait    bool // whether the rules need a word of the body
	timeout time.Duration
	maxBody int64
	counts  *routeMetrics

	newInput func() any
	call     func(ctx context.Context, in any) (outcome, error)
}

// mount checks the route, adds it to the router and to the API reference.
func (s *Server) mount(route Route, in, out reflect.Type) *endpoint {
	route.check()
	e := &endpoint{s: s, route: route, name: route.String(), output: out, timeout: s.options.Timeout, maxBody: s.options.MaxBody}
	if route.maxBody > 0 {
		e.maxBody = route.maxBody
	}
	if s.mounted[e.name] {
		panic(e.name + ": the route is mounted twice")
	}
	s.mounted[e.name] = true
	e.input = newInput(s.registry, &e.route, in)
	e.rules, e.wait = s.rulesOf(&e.route)
	e.counts = s.metrics.route(route.method, route.path)
	s.router.Method(route.method, route.path, e)
	if route.method == http.MethodGet {
		s.router.Method(http.MethodHead, route.path, e)
	}
	s.endpoints = append(s.endpoints, e)
	s.document(e)
	allowNull(s.registry)
	return e
}

// check panics with the route's name where something vital was forgotten.
func (r *Route) check() {
	switch {
	case r.access.kind == accessUnset:
		panic(r.String() + ": the route names no access; web.Public opens it to everybody")
	case r.access.kind == accessTenantToken && r.access.anyOf != nil && len(r.access.anyOf) == 0:
		panic(r.String() + ": the route asks for a permission but names none")
	case r.convention != Envelope && r.convention != Problem:
		panic(r.String() + ": the route has no convention")
	case !strings.HasPrefix(r.path, "/"):
		panic(r.String() + ": the path must begin with a slash")
	case r.idempotent && (r.method != http.MethodPost || r.access.kind == accessPublic):
		panic(r.String() + ": only a POST of a known caller can be idempotent")
	}
}

// ServeHTTP answers one request of the route.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex := w.(*exchange)
	ex.endpoint = e
	if e.s.options.Tracer != nil {
		e.nameSpan(trace.SpanFromContext(r.Context()))
	}
	ctx := withDeadline(scope.WithOrigin(r.Context(), &ex.origin), ex.started.Add(e.timeout))
	defer ctx.cancel()
	ans, err := e.serve(ctx, ex, r)
	if err != nil {
		ex.refuse(r, &e.route, err)
		return
	}
	ex.send(r, ans)
}

// serve is the order in which a request is judged: who calls, how often, whether they may, what they
// say; then the handler.
func (e *endpoint) serve(ctx context.Context, ex *exchange, r *http.Request) (*answer, error) {
	actor, refusal := e.authenticate(ctx, r)
	if err := e.limit(ctx, ex, actor); err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusal
	}
	if err := e.route.access.check(actor); err != nil {
		return nil, err
	}
	if actor != nil {
		ctx = scope.WithActor(ctx, actor)
	}
	in, raw, err := e.read(ctx, ex, r, actor)
	if err != nil {
		return nil, err
	}
	attempt, err := e.newAttempt(r, actor, raw)
	if err != nil {
		return nil, err
	}
	return e.once(ctx, attempt, func(ctx context.Context) (*answer, error) { return e.run(ctx, ex, r, in) })
}

func (e *endpoint) limit(ctx context.Context, ex *exchange, actor *scope.Actor) error {
	if e.wait {
		return e.glance(ex, actor)
	}
	return e.admit(ctx, ex, actor, "")
}

// read makes the handler's input of the request. A route that is limited by a word of its body counts
// here, whether or not the body is sound.
func (e *endpoint) read(ctx context.Context, ex *exchange, r *http.Request, actor *scope.Actor) (in any, raw []byte, err error) {
	in = e.newInput()
	if raw, err = e.input.read(ex, r, e.maxBody); err == nil {
		err = e.input.bind(r, raw, reflect.ValueOf(in).Elem())
	}
	if !e.wait {
		return in, raw, err
	}
	word := ""
	if keyed, ok := in.(LimitKeyed); ok && err == nil {
		word = keyed.LimitKey()
	}
	if over := e.admit(ctx, ex, actor, word); over != nil {
		return nil, nil, over
	}
	return in, raw, err
}

// run calls the handler and shapes what it answers. A refusal that would be the same a second time is
// an answer too; anything else is an error.
func (e *endpoint) run(ctx context.Context, ex *exchange, r *http.Request, in any) (*answer, error) {
	out, err := e.call(ctx, in)
	if err != nil {
		if f, ok := fault.From(err); ok && e.route.idempotent && f.RetryAfter == 0 && e.route.statusOfFault(f) < 500 {
			return ex.shapeFault(r, &e.route, f)
		}
		return nil, err
	}
	ans, err := e.shape(&out)
	if err != nil {
		return nil, fmt.Errorf("shape the answer of %s: %w", e.name, err)
	}
	return ans, nil
}
