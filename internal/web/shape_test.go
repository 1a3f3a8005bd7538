package web

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"steward/internal/db"
)

type thing struct {
	Name  string   `json:"name"`
	Tags  []string `json:"tags"`
	Since *db.Time `json:"since"`
}

func replies[O any](reply *Reply[O]) func(context.Context, *empty) (*Reply[O], error) {
	return func(context.Context, *empty) (*Reply[O], error) { return reply, nil }
}

func TestSuccessHasTheShapeOfTheRoute(t *testing.T) {
	since := db.At(time.Date(2026, 1, 31, 12, 0, 0, 123456789, time.FixedZone("CET", 3600)))
	lamp := thing{Name: "Lämp <&>", Since: &since}
	const wire = `{"name":"Lämp <&>","tags":[],"since":"2026-01-31T11:00:00.123456Z"}`
	s := newTestServer(t, Options{})
	Handle(s, envelopes.Get("/api/data", Public, ""), replies(OK(lamp)))
	Handle(s, envelopes.Get("/api/message", Public, ""), replies(Done("It is \"done\".")))
	Handle(s, envelopes.Get("/api/both", Public, ""), replies(OK(lamp).WithMessage("Hello.")))
	Handle(s, envelopes.Post("/api/register", Public, "").Status(201).SuccessKey("success"), replies(OK(lamp)))
	Handle(s, envelopes.Get("/api/list", Public, ""), replies(OK(List[thing]{Items: []thing{lamp}, TotalCount: 1, Page: 1, PageSize: 20, TotalPages: 1})))
	Handle(s, envelopes.Get("/api/none", Public, ""), replies(OK(List[thing]{Page: 1, PageSize: 20})))
	Handle(s, problems.Get("/api/v1/data", Public, ""), replies(OK(lamp)))
	Handle(s, problems.Get("/api/v1/number", Public, ""), replies(OK(7)))
	Handle(s, problems.Get("/api/v1/empty", Public, ""), replies(Done("not shown")))
	Handle(s, problems.Post("/api/v1/created", Public, "").Status(201), replies(Created("/api/v1/things/1", lamp)))
	Handle(s, problems.Delete("/api/v1/gone", Public, "").Status(204), replies(Done("")))
	h := s.Handler()

	list := `"items":[` + wire + `],"totalCount":1,"page":1,"pageSize":20,"totalPages":1`
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/api/data", 200, `{"isSuccess":true,"data":` + wire + `}`},
		{"GET", "/api/message", 200, `{"isSuccess":true,"message":"It is \"done\"."}`},
		{"GET", "/api/both", 200, `{"isSuccess":true,"data":` + wire + `,"message":"Hello."}`},
		{"POST", "/api/register", 201, `{"success":true,"data":` + wire + `}`},
		{"GET", "/api/list", 200, `{"isSuccess":true,"data":{` + list + `},` + list + `}`},
		{"GET", "/api/none", 200, `{"isSuccess":true,"data":{"items":[],"totalCount":0,"page":1,"pageSize":20,"totalPages":0},"items":[],"totalCount":0,"page":1,"pageSize":20,"totalPages":0}`},
		{"GET", "/api/v1/data", 200, wire},
		{"GET", "/api/v1/number", 200, `7`},
		{"GET", "/api/v1/empty", 200, ``},
		{"POST", "/api/v1/created", 201, wire},
		{"DELETE", "/api/v1/gone", 204, ``},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			w := call(t, h, c.method, c.path, "")
			wantStatus(t, w, c.status)
			wantEqual(t, "body", w.Body.String(), c.body)
			wantType := "application/json"
			if c.body == "" {
				wantType = ""
			}
			wantEqual(t, "content type", w.Header().Get("Content-Type"), wantType)
		})
	}
	wantEqual(t, "location", call(t, h, "POST", "/api/v1/created", "").Header().Get("Location"), "/api/v1/things/1")
}

func TestHEADAnswersLikeGETWithoutABody(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, problems.Get("/api/v1/data", Public, ""), replies(OK(thing{Name: "lamp"})))
	w := call(t, s.Handler(), "HEAD", "/api/v1/data", "")
	wantStatus(t, w, 200)
	wantEqual(t, "body", w.Body.Len(), 0)
	wantEqual(t, "content length", w.Header().Get("Content-Length"), "38")
}

func TestETagsSaveATransfer(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, problems.Get("/api/v1/data", Public, ""), replies(OK(thing{Name: "lamp"}).WithETag("v7")))
	h := s.Handler()
	for _, c := range []struct {
		seen   string
		status int
	}{{"", 200}, {`"v6"`, 200}, {`"v7"`, 304}, {`W/"v7"`, 304}, {`"v6", "v7"`, 304}, {"*", 304}} {
		w := call(t, h, "GET", "/api/v1/data", "", "If-None-Match", c.seen)
		wantEqual(t, "status with "+c.seen, w.Code, c.status)
		wantEqual(t, "etag", w.Header().Get("ETag"), `"v7"`)
		wantEqual(t, "has a body", w.Body.Len() > 0, c.status == 200)
	}
}

func TestIfMatchFitsTheVersionsItNames(t *testing.T) {
	for _, c := range []struct {
		header string
		fits   bool
	}{{"", true}, {"*", true}, {`"v7"`, true}, {`"v6", "v7"`, true}, {`v7`, true}, {`"v6"`, false}, {`W/"v7"`, false}} {
		wantEqual(t, "fit of "+c.header, IfMatch{IfMatch: c.header}.Fits("v7"), c.fits)
	}
}

func TestLargeAnswersAreCompressedForThoseWhoWantIt(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, problems.Get("/api/v1/large", Public, ""), replies(OK(thing{Name: strings.Repeat("lamp ", 400)})))
	Handle(s, problems.Get("/api/v1/small", Public, ""), replies(OK(thing{Name: "lamp"})))
	h := s.Handler()
	for _, c := range []struct{ path, accept, coding string }{
		{"/api/v1/large", "gzip, br", "gzip"},
		{"/api/v1/large", "", ""},
		{"/api/v1/large", "gzip;q=0", ""},
		{"/api/v1/small", "gzip", ""},
	} {
		w := call(t, h, "GET", c.path, "", "Accept-Encoding", c.accept)
		wantStatus(t, w, 200)
		wantEqual(t, "coding of "+c.path+" for "+c.accept, w.Header().Get("Content-Encoding"), c.coding)
		if c.coding == "gzip" && !strings.Contains(string(unpack(t, w.Body)), "lamp lamp") {
			t.Error("the compressed body is not the answer")
		}
	}
}

func TestEveryAnswerCarriesTheCommonHeaders(t *testing.T) {
	s := newTestServer(t, Options{PublicURL: "https://steward.test"})
	Handle(s, problems.Get("/api/v1/data", Public, ""), replies(OK(1)))
	h := s.Handler()
	for _, path := range []string{"/api/v1/data", "/api/v1/nowhere"} {
		header := call(t, h, "GET", path, "").Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options":    "nosniff",
			"Referrer-Policy":           "no-referrer",
			"Content-Security-Policy":   "default-src 'none'; frame-ancestors 'none'",
			"Strict-Transport-Security": "max-age=31536000",
			"Cache-Control":             "no-store",
		} {
			wantEqual(t, name+" of "+path, header.Get(name), want)
		}
		if header.Get("X-Request-Id") == "" || len(header.Get("X-Trace-Id")) != 32 {
			t.Errorf("%s lacks its ids: %v", path, header)
		}
	}
	plain := newTestServer(t, Options{PublicURL: "http://127.0.0.1:8080"})
	wantEqual(t, "HSTS over http", call(t, plain.Handler(), "GET", "/x", "").Header().Get("Strict-Transport-Security"), "")
}

func TestCORSIsOpenedByOrigin(t *testing.T) {
	open := newTestServer(t, Options{CORSOrigins: []string{"https://console.test"}})
	Handle(open, problems.Get("/api/v1/data", Public, ""), replies(OK(1)))
	closed := newTestServer(t, Options{})
	Handle(closed, problems.Get("/api/v1/data", Public, ""), replies(OK(1)))
	preflight := func(h http.Handler, origin string) (int, http.Header) {
		w := call(t, h, "OPTIONS", "/api/v1/data", "", "Origin", origin, "Access-Control-Request-Method", "GET")
		return w.Code, w.Header()
	}
	status, header := preflight(open.Handler(), "https://console.test")
	wantEqual(t, "preflight", status, 204)
	wantEqual(t, "allowed origin", header.Get("Access-Control-Allow-Origin"), "https://console.test")
	wantEqual(t, "credentials", header.Get("Access-Control-Allow-Credentials"), "")

	w := call(t, open.Handler(), "GET", "/api/v1/data", "", "Origin", "https://console.test")
	wantEqual(t, "allowed origin", w.Header().Get("Access-Control-Allow-Origin"), "https://console.test")

	status, header = preflight(open.Handler(), "https://evil.test")
	wantEqual(t, "preflight of a stranger", status, 405)
	wantEqual(t, "allowed origin", header.Get("Access-Control-Allow-Origin"), "")
	wantEqual(t, "vary", header.Get("Vary"), "Origin")

	status, header = preflight(closed.Handler(), "https://console.test")
	wantEqual(t, "preflight with CORS off", status, 405)
	wantEqual(t, "allowed origin", header.Get("Access-Control-Allow-Origin"), "")
}
