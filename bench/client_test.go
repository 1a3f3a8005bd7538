package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve answers each path in a way of its own and returns the address.
func serve(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, strings.Repeat("x", 5000))
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/close", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestOneConnectionReadsEveryKindOfAnswer(t *testing.T) {
	c, err := dial(serve(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, tc := range []struct {
		request []byte
		status  int
		body    string
	}{
		{get("/plain", "token"), 200, "Bearer token"},
		{get("/chunked", ""), 200, strings.Repeat("x", 15000)},
		{get("/empty", ""), 204, ""},
		{post(nil, "/echo", "", `{"a":1}`), 200, `{"a":1}`},
		{get("/nowhere", ""), 404, "404 page not found\n"},
		{get("/plain", "again"), 200, "Bearer again"},
	} {
		status, body, err := c.do(tc.request)
		if err != nil || status != tc.status || string(body) != tc.body {
			t.Errorf("%.20q: got %d %.40q %v", tc.request, status, body, err)
		}
	}
	if _, _, err := c.do(get("/close", "")); err == nil {
		t.Error("a closed keep-alive connection went unnoticed")
	}
}

func TestAWrongAnswerFailsTheRace(t *testing.T) {
	addr := serve(t)
	for name, do := range map[string]step{
		"status": same(get("/nowhere", ""), nil),
		"body":   same(get("/plain", "a"), []byte("Bearer b")),
		"field":  func(c *conn) error { return expect(c, get("/plain", ""), 200, holds("token")) },
	} {
		l := lane{name, func(span time.Duration) round { return drive(addr, []step{do}, span) }}
		if _, err := race(t.Context(), []lane{l}, 1, 20*time.Millisecond); err == nil {
			t.Errorf("a wrong %s went unnoticed", name)
		}
	}
}

func TestARaceCountsWhatWasAnswered(t *testing.T) {
	addr := serve(t)
	good := same(get("/plain", "a"), []byte("Bearer a"))
	l := lane{"good", func(span time.Duration) round { return drive(addr, []step{good, good}, span) }}
	got, err := race(t.Context(), []lane{l, l}, 3, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range got {
		if len(s.rates) != 3 || s.ops == 0 || s.ops != len(s.latencies) {
			t.Errorf("rates %d, ops %d, latencies %d", len(s.rates), s.ops, len(s.latencies))
		}
	}
}

func TestPercentileAndMedian(t *testing.T) {
	var values []time.Duration
	for i := range 100 {
		values = append(values, time.Duration(100-i))
	}
	if p := percentile(values, 99); p != 99 {
		t.Errorf("p99 of 1..100 is %d", p)
	}
	if p := percentile(values[:1], 99); p != 100 {
		t.Errorf("p99 of one value is %d", p)
	}
	if m := median([]float64{4, 1, 3}); m != 3 {
		t.Errorf("median of three is %v", m)
	}
	if m := median([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("median of four is %v", m)
	}
}

func TestFieldTakesTheValueOrFails(t *testing.T) {
	if v, err := field([]byte(`{"data":{"refreshToken":"abc","token":"def"}}`), "token"); err != nil || v != "def" {
		t.Errorf("got %q %v", v, err)
	}
	for _, body := range []string{`{}`, `{"token":""}`, `{"token":"abc`} {
		if v, err := field([]byte(body), "token"); err == nil {
			t.Errorf("%s gave %q", body, v)
		}
	}
}
