package web

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

var pagePaths = []string{"/", "/reset-password", "/confirm-email", "/invitation"}

// pagesOnly serves the pages and the reference with nothing around them.
func pagesOnly() http.Handler {
	s := &Server{options: Options{Version: "1.2.3", PublicURL: "https://steward.test"}}
	r := chi.NewRouter()
	s.mountPages(r)
	s.mountReference(r)
	return r
}

func fetchPage(t *testing.T, h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestEveryPageIsServedWithStrictHeaders(t *testing.T) {
	h := pagesOnly()
	for _, path := range append(pagePaths, "/docs") {
		w := fetchPage(t, h, http.MethodGet, path)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "<!doctype html>") {
			t.Fatalf("GET %s: %d, body begins %.40q", path, w.Code, w.Body)
		}
		for name, want := range map[string]string{
			"Content-Type":           "text/html; charset=utf-8",
			"Cache-Control":          "no-store",
			"Referrer-Policy":        "no-referrer",
			"X-Content-Type-Options": "nosniff",
			"X-Frame-Options":        "DENY",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
			}
		}
		if w := fetchPage(t, h, http.MethodHead, path); w.Code != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
	}
}

func TestPoliciesAllowNoOtherHostAndNoInlineScript(t *testing.T) {
	h := pagesOnly()
	for _, path := range append(pagePaths, "/docs") {
		policy := fetchPage(t, h, http.MethodGet, path).Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %q: %s", path, want, policy)
			}
		}
		if strings.ContainsAny(policy, "*/") || strings.Contains(policy, "unsafe-eval") {
			t.Errorf("%s: the policy names a host or allows eval: %s", path, policy)
		}
		if path != "/docs" && strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy allows inline code: %s", path, policy)
		}
	}
}

func TestPagesHoldNothingThatTheirPolicyForbids(t *testing.T) {
	forbidden := regexp.MustCompile(`(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:|src="https?:|href="https?:`)
	h := pagesOnly()
	for _, path := range pagePaths {
		if found := forbidden.FindString(fetchPage(t, h, http.MethodGet, path).Body.String()); found != "" {
			t.Errorf("%s contains %q", path, found)
		}
	}
}

// The address of a mail link carries a token: the server must not write it into the page.
func TestPagesNeverEchoTheirAddress(t *testing.T) {
	h := pagesOnly()
	for _, path := range pagePaths {
		plain := fetchPage(t, h, http.MethodGet, path).Body.String()
		linked := fetchPage(t, h, http.MethodGet, path+"?email=mary%40example.com&token=secret%22%3E%3Cscript%3E").Body.String()
		if plain != linked {
			t.Errorf("%s differs by its query", path)
		}
	}
}

func TestStartPageSaysWhatRunsWhere(t *testing.T) {
	body := fetchPage(t, pagesOnly(), http.MethodGet, "/").Body.String()
	for _, want := range []string{"1.2.3", "https://steward.test", `href="docs"`, `href="openapi.json"`, `href="readyz"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the start page does not mention %s", want)
		}
	}
}

func TestFormsCallTheRoutesOfTheAPI(t *testing.T) {
	h := pagesOnly()
	for path, routes := range map[string][]string{
		"/reset-password": {"api/auth/reset-password", "api/auth/request-password-reset"},
		"/invitation":     {"api/auth/reset-password", "api/auth/request-password-reset"},
		"/confirm-email":  {"api/auth/confirm-email", "api/auth/resend-confirmation"},
	} {
		body := fetchPage(t, h, http.MethodGet, path).Body.String()
		for _, route := range routes {
			if !strings.Contains(body, `data-call="`+route+`"`) {
				t.Errorf("%s has no form for %s", path, route)
			}
		}
		if !strings.Contains(body, "<noscript>") {
			t.Errorf("%s does not say that it needs JavaScript", path)
		}
	}
}

func TestPagesLinkToAssetsThatMayBeKept(t *testing.T) {
	h := pagesOnly()
	links := regexp.MustCompile(`(?:src|href)="(static/[^"]+)"`)
	for _, path := range append(pagePaths, "/docs") {
		found := links.FindAllStringSubmatch(fetchPage(t, h, http.MethodGet, path).Body.String(), -1)
		if len(found) < 3 {
			t.Fatalf("%s links to %d assets", path, len(found))
		}
		for _, link := range found {
			w := fetchPage(t, h, http.MethodGet, "/"+link[1], "Accept-Encoding", "gzip")
			if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d, Cache-Control %q", link[1], w.Code, w.Header().Get("Cache-Control"))
			}
		}
	}
}

// A page made by another version asks under another name: it works, but is not kept under it.
func TestAssetUnderAnotherVersionIsServedButNotKept(t *testing.T) {
	w := fetchPage(t, pagesOnly(), http.MethodGet, "/static/page.css?v=older")
	if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%d, Cache-Control %q", w.Code, w.Header().Get("Cache-Control"))
	}
}

func TestAssetIsNotSentAgainToWhoHasIt(t *testing.T) {
	h := pagesOnly()
	for _, target := range []string{"/static/page.css", "/static/form.js", "/static/scalar.js"} {
		for _, coding := range []string{"gzip", "identity"} {
			first := fetchPage(t, h, http.MethodGet, target, "Accept-Encoding", coding)
			again := fetchPage(t, h, http.MethodGet, target, "Accept-Encoding", coding, "If-None-Match", first.Header().Get("ETag"))
			if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
				t.Errorf("%s (%s): %d with %d bytes", target, coding, again.Code, again.Body.Len())
			}
		}
	}
}
