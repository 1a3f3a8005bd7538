// Package web is the only room that speaks HTTP: it finds the caller, reads the request, calls a
// handler and shapes its answer or its refusal in the convention of the route.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"steward/internal/db"
	"steward/internal/fault"
)

// Options is what a Server is made of. The zero value of a field is a sane default, except that
// routes which ask for a token need Auth, and idempotent ones need DB.
type Options struct {
	Log *slog.Logger
	// DB keeps the answers of idempotent calls and the limits that the cluster shares. Without it
	// those limits hold for this process alone.
	DB   *db.DB
	Auth Authenticator
	// Ready reports whether the dependencies are there, for /readyz.
	Ready func(context.Context) error

	Version string
	// PublicURL is how clients reach the service; https there means that they must.
	PublicURL string
	// ErrorsBase begins the type of every problem; without it <PublicURL>/problems.
	ErrorsBase     string
	TrustedProxies []netip.Prefix
	// CORSOrigins may call the API from a browser; "*" means all, none switches it off.
	CORSOrigins []string

	// Limits replaces figures of DefaultLimits; LimitsOff switches all of them off.
	Limits    map[string]Limit
	LimitsOff bool
	// Timeout is how long a handler may take (30 s), MaxBody how large a body may be (1 MiB).
	Timeout time.Duration
	MaxBody int64

	Registry *prometheus.Registry
	// MetricsElsewhere leaves /metrics out, because MetricsHandler has a listener of its own.
	MetricsElsewhere bool
	// Tracer has every request recorded as a span.
	Tracer trace.TracerProvider
	Now    func() time.Time
}

// Server holds the routes and everything they share.
type Server struct {
	options    Options
	log        *slog.Logger
	now        func() time.Time
	router     *chi.Mux
	registry   huma.Registry
	paths      map[string]*huma.PathItem
	metrics    *metrics
	rules      map[string][]*rule
	windows    *windows
	cors       cors
	secure     bool
	errorsBase string
	mounted    map[string]bool
	endpoints  []*endpoint
	examples   map[string]errorExample
	openAPI    openAPICache
}

// New makes a server that answers health checks, its pages and its API reference; Handle adds routes.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		options:    o,
		log:        o.Log,
		now:        o.Now,
		router:     chi.NewRouter(),
		registry:   newRegistry(),
		paths:      map[string]*huma.PathItem{},
		metrics:    newMetrics(o.Registry),
		windows:    newWindows(o.Now()),
		cors:       newCORS(o.CORSOrigins),
		secure:     strings.HasPrefix(o.PublicURL, "https://"),
		errorsBase: strings.TrimRight(o.ErrorsBase, "/"),
		mounted:    map[string]bool{},
		examples:   map[string]errorExample{},
	}
	s.rules = newRules(o.Limits, s.metrics.refused)
	s.router.NotFound(s.serveNotFound)
	s.router.MethodNotAllowed(s.serveWrongMethod)
	s.mountHealth()
	s.mountPages(s.router)
	s.mountReference(s.router)
	mountGet(s.router, "/openapi.json", http.HandlerFunc(s.serveOpenAPI))
	return s
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	if o.ErrorsBase == "" {
		o.ErrorsBase = strings.TrimRight(o.PublicURL, "/") + "/problems"
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 1 << 20
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Handler serves every route. It panics where a route needs something that the options lack.
func (s *Server) Handler() http.Handler {
	for _, e := range s.endpoints {
		if e.route.access.kind != accessPublic && s.options.Auth == nil {
			panic(e.name + ": the route asks for a token, but nobody can check one")
		}
		if e.route.idempotent && s.options.DB == nil {
			panic(e.name + ": the route is idempotent, but there is no store for its answers")
		}
	}
	return s.traced(http.HandlerFunc(s.serveExchange))
}

func (s *Server) serveNotFound(w http.ResponseWriter, r *http.Request) {
	ex := w.(*exchange)
	ex.refuse(r, ex.route(r), fault.New(fault.NotFound, "There is nothing at this path."))
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (s *Server) serveWrongMethod(w http.ResponseWriter, r *http.Request) {
	ex := w.(*exchange)
	path := r.URL.Path
	if r.URL.RawPath != "" {
		path = r.URL.RawPath
	}
	allowed := slices.DeleteFunc(slices.Clone(methods), func(method string) bool {
		return !s.router.Match(chi.NewRouteContext(), method, path)
	})
	if len(allowed) == 0 { // a method that HTTP does not know, on a path that does not exist
		s.serveNotFound(w, r)
		return
	}
	ex.Header().Set("Allow", strings.Join(allowed, ", "))
	ex.refuse(r, ex.route(r), fault.New(fault.MethodNotAllowed, "This path answers %s.", strings.Join(allowed, ", ")))
}

// NewHTTPServer is a server whose clients cannot hold a connection for ever by being slow.
func NewHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h,
		// One limit for headers and body: a second one would set another timer for each request.
		ReadTimeout:    30 * time.Second,
		WriteTimeout:   120 * time.Second,
		IdleTimeout:    120 * time.Second,
		MaxHeaderBytes: 64 << 10,
	}
}
