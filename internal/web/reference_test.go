package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

const bundlePath = "/static/scalar.js"

func TestBundleIsTheSamePackedAndUnpacked(t *testing.T) {
	h := pagesOnly()
	packed := fetchPage(t, h, http.MethodGet, bundlePath, "Accept-Encoding", "br, gzip")
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Content-Length") != strconv.Itoa(packed.Body.Len()) {
		t.Fatalf("packed headers: %v", packed.Header())
	}
	unzip, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(unzip)
	if err != nil {
		t.Fatal(err)
	}
	plain := fetchPage(t, h, http.MethodGet, bundlePath)
	if plain.Header().Get("Content-Encoding") != "" || plain.Body.String() != string(want) {
		t.Errorf("unpacked: %d bytes, want %d; headers %v", plain.Body.Len(), len(want), plain.Header())
	}
	if plain.Header().Get("ETag") == packed.Header().Get("ETag") {
		t.Error("the two forms carry one ETag: a cache would mix them up")
	}
	for _, w := range []*httptest.ResponseRecorder{packed, plain} {
		if w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("Vary is %q", w.Header().Get("Vary"))
		}
	}
}

func TestBundleAnswersHeadWithoutABody(t *testing.T) {
	h := pagesOnly()
	for _, coding := range []string{"gzip", "identity"} {
		w := fetchPage(t, h, http.MethodHead, bundlePath, "Accept-Encoding", coding)
		if w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("ETag") == "" {
			t.Errorf("%s: %d with %d bytes, headers %v", coding, w.Code, w.Body.Len(), w.Header())
		}
	}
}

// Scalar's defaults call its maker's hosts; each must be switched off by name. The policy stops them
// too, but a reader should not see requests fail.
func TestReferenceSwitchesOffWhatCallsOut(t *testing.T) {
	script := string(referenceScript)
	for _, setting := range []string{
		`url: "openapi.json"`, `proxyUrl: ""`, "externalUrls: {", "telemetry: false", "withDefaultFonts: false",
		"hideClientButton: true", "agent: { disabled: true }", "mcp: { disabled: true }", `showDeveloperTools: "never"`,
	} {
		if !strings.Contains(script, setting) {
			t.Errorf("reference.js lacks %s", setting)
		}
	}
}

func TestReferenceWithASlashLeadsToTheReference(t *testing.T) {
	w := fetchPage(t, pagesOnly(), http.MethodGet, "/docs/")
	if w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != "/docs" {
		t.Errorf("%d to %q", w.Code, w.Header().Get("Location"))
	}
}

func TestGzipIsSentOnlyToWhoWantsIt(t *testing.T) {
	for header, want := range map[string]bool{
		"":                        false,
		"gzip":                    true,
		"GZIP":                    true,
		"deflate, gzip;q=0.5, br": true,
		"gzip; q=1.0":             true,
		"gzip;q=0":                false,
		"gzip;q=0.000, *":         false,
		"*":                       true,
		"*;q=0":                   false,
		"br":                      false,
		"x-gzip-not":              false,
		"gzip;q=nonsense":         true,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if header != "" {
			r.Header.Set("Accept-Encoding", header)
		}
		if got := wantsGzip(r); got != want {
			t.Errorf("Accept-Encoding %q: %v, want %v", header, got, want)
		}
	}
}
