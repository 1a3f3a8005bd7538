package web

import (
	"net/http"
	"slices"
	"strings"
)

// cors lets pages of other origins call the API, where the operator lists them.
type cors struct {
	any     bool
	origins []string
}

var (
	corsMethods = strings.Join([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete}, ", ")
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-App-Id, X-Request-Id, Traceparent"
	corsExposed = "ETag, Location, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, " +
		"Idempotency-Replayed, X-Trace-Id, X-Request-Id, WWW-Authenticate"
)

func newCORS(origins []string) cors {
	return cors{any: slices.Contains(origins, "*"), origins: origins}
}

// answer adds what a browser asks for and reports whether the request was a preflight, which is then
// answered. Cookies are never allowed: callers send a token.
func (c cors) answer(w http.ResponseWriter, r *http.Request) bool {
	if len(c.origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !c.any && !slices.Contains(c.origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
