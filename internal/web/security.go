package web

import (
	"net/http"
	"strings"
)

// Values of headers that every answer carries, shared between answers.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	noStore    = []string{"no-store"}
	apiPolicy  = []string{"default-src 'none'; frame-ancestors 'none'"}
	hsts       = []string{"max-age=31536000"}
)

// setCommonHeaders keeps answers out of frames, caches and guesses about their type, and names the
// trace. Pages replace the policy with their own.
func (s *Server) setCommonHeaders(ex *exchange, r *http.Request) {
	h := ex.Header()
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = apiPolicy
	if s.secure {
		h["Strict-Transport-Security"] = hsts
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		h["Cache-Control"] = noStore
	}
	h["X-Trace-Id"] = ex.value(3, ex.origin.TraceID)
	h["X-Request-Id"] = ex.value(4, ex.requestID)
}
