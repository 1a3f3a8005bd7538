package web

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"steward/internal/scope"
)

func okHandler(context.Context, *empty) (*Reply[None], error) { return Done("done"), nil }

func accessServer(t *testing.T) http.Handler {
	s := newTestServer(t, Options{})
	for prefix, g := range map[string]Group{"/api/": envelopes, "/api/v1/": problems} {
		Handle(s, g.Get(prefix+"public", Public, "Public"), okHandler)
		Handle(s, g.Get(prefix+"any", AnyToken, "Any"), okHandler)
		Handle(s, g.Get(prefix+"tenant", TenantToken, "Tenant"), okHandler)
		Handle(s, g.Get(prefix+"things", Permission("read:things", "manage:things"), "Things"), okHandler)
	}
	return s.Handler()
}

func TestWhoMayCallARoute(t *testing.T) {
	h := accessServer(t)
	for _, c := range []struct {
		name, path, authorization string
		status                    int
		v1, envelope              string
	}{
		{"a public route asks for nothing", "public", "", 200, "", ""},
		{"a public route does not look at a token", "public", "Bearer rubbish", 200, "", ""},
		{"no header", "any", "", 401, "TOKEN_MISSING", "UNAUTHORIZED"},
		{"another scheme", "any", "Basic YTpi", 401, "TOKEN_INVALID", "TOKEN_INVALID"},
		{"no token after the scheme", "any", "Bearer ", 401, "TOKEN_INVALID", "TOKEN_INVALID"},
		{"an unknown token", "any", "Bearer rubbish", 401, "TOKEN_INVALID", "TOKEN_INVALID"},
		{"an expired token", "any", "Bearer expired", 401, "TOKEN_EXPIRED", "TOKEN_EXPIRED"},
		{"a revoked token", "any", "Bearer revoked", 401, "TOKEN_REVOKED", "TOKEN_INVALID"},
		{"the scheme in any case", "any", "bEaReR nobody", 200, "", ""},
		{"a global token on a route for any token", "any", "Bearer global", 200, "", ""},
		{"a global token on a tenant's route", "tenant", "Bearer global", 403, "TENANT_FORBIDDEN", "FORBIDDEN"},
		{"a tenant's token on a tenant's route", "tenant", "Bearer nobody", 200, "", ""},
		{"a global token on a route with a permission", "things", "Bearer global", 403, "TENANT_FORBIDDEN", "FORBIDDEN"},
		{"a missing permission", "things", "Bearer nobody", 403, "MISSING_PERMISSION", "FORBIDDEN"},
		{"one of the permissions", "things", "Bearer reader", 200, "", ""},
		{"the wildcard", "things", "Bearer admin", 200, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var headers []string
			if c.authorization != "" {
				headers = []string{"Authorization", c.authorization}
			}
			v1 := call(t, h, "GET", "/api/v1/"+c.path, "", headers...)
			wantStatus(t, v1, c.status)
			old := call(t, h, "GET", "/api/"+c.path, "", headers...)
			wantStatus(t, old, c.status)
			if c.status == 200 {
				return
			}
			wantEqual(t, "code", decode(t, v1)["code"], c.v1)
			wantEqual(t, "errorCode", decode(t, old)["errorCode"], c.envelope)
			challenge := v1.Header().Get("WWW-Authenticate")
			wantEqual(t, "challenged", strings.HasPrefix(challenge, "Bearer"), c.status == 401)
		})
	}
}

func TestTwoAuthorizationHeadersAreRefused(t *testing.T) {
	w := call(t, accessServer(t), "GET", "/api/v1/any", "", "Authorization", "Bearer admin", "Authorization", "Bearer nobody")
	wantStatus(t, w, 401)
}

func TestTheHandlerSeesTheActorAndTheOrigin(t *testing.T) {
	s := newTestServer(t, Options{})
	var actor *scope.Actor
	var origin scope.Origin
	Handle(s, problems.Get("/api/v1/me", AnyToken, "Me"), func(ctx context.Context, _ *empty) (*Reply[None], error) {
		actor, origin = scope.ActorFrom(ctx), scope.OriginFrom(ctx)
		return Done(""), nil
	})
	agent := strings.Repeat("é", 200)
	w := call(t, s.Handler(), "GET", "/api/v1/me", "", append(as("admin"), "User-Agent", agent)...)
	wantStatus(t, w, 200)
	wantEqual(t, "actor", actor, callers["admin"])
	wantEqual(t, "address", origin.Address, "192.0.2.1")
	wantEqual(t, "trace id", origin.TraceID, w.Header().Get("X-Trace-Id"))
	wantEqual(t, "user agent", origin.UserAgent, agent[:256])
}

func TestAnUnsoundRouteEndsTheStart(t *testing.T) {
	type withID struct {
		ID string `path:"id"`
	}
	type withBody struct{ Body struct{} }
	for _, c := range []struct {
		name  string
		mount func(*Server)
		want  string
	}{
		{"no access", func(s *Server) { Handle(s, problems.Get("/x", Access{}, ""), okHandler) }, "GET /x: the route names no access"},
		{"no permission", func(s *Server) { Handle(s, problems.Get("/x", Permission(), ""), okHandler) }, "names none"},
		{"no convention", func(s *Server) { Handle(s, Group{}.Get("/x", Public, ""), okHandler) }, "no convention"},
		{"no slash", func(s *Server) { Handle(s, problems.Get("x", Public, ""), okHandler) }, "slash"},
		{"a parameter that nobody reads", func(s *Server) { Handle(s, problems.Get("/x/{id}", Public, ""), okHandler) }, `path:"id"`},
		{"a parameter that the path lacks", func(s *Server) {
			Handle(s, problems.Get("/x", Public, ""), func(context.Context, *withID) (*Reply[None], error) { return nil, nil })
		}, "the path has no {id}"},
		{"a GET with a body", func(s *Server) {
			Handle(s, problems.Get("/x", Public, ""), func(context.Context, *withBody) (*Reply[None], error) { return nil, nil })
		}, "no body"},
		{"an unknown limit", func(s *Server) { Handle(s, problems.Get("/x", Public, "").Limited("lgoin"), okHandler) }, `"lgoin"`},
		{"twice", func(s *Server) {
			Handle(s, problems.Get("/x", Public, ""), okHandler)
			Handle(s, problems.Get("/x", Public, ""), okHandler)
		}, "twice"},
		{"an idempotent GET", func(s *Server) { Handle(s, problems.Get("/x", AnyToken, "").Idempotent(), okHandler) }, "idempotent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, c.want) {
					t.Errorf("panic %q does not say %q", text, c.want)
				}
			}()
			c.mount(newTestServer(t, Options{}))
			t.Error("the route was mounted")
		})
	}
}
