package web

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAFileCanBeStreamed(t *testing.T) {
	s := newTestServer(t, Options{})
	lines := func(to io.Writer) error {
		for range 400 {
			if _, err := io.WriteString(to, "lamp "); err != nil {
				return err
			}
		}
		return nil
	}
	Handle(s, problems.Get("/api/v1/list", Public, "").Files("text/csv"), replies(OK(File{Name: "l.csv", ContentType: "text/csv", Stream: lines})))
	h := s.Handler()
	w := call(t, h, "GET", "/api/v1/list", "")
	wantStatus(t, w, 200)
	wantEqual(t, "body", w.Body.String(), strings.Repeat("lamp ", 400))
	wantEqual(t, "content type", w.Header().Get("Content-Type"), "text/csv")
	wantEqual(t, "disposition", w.Header().Get("Content-Disposition"), "attachment; filename=l.csv")
	w = call(t, h, "GET", "/api/v1/list", "", "Accept-Encoding", "gzip")
	wantEqual(t, "coding", w.Header().Get("Content-Encoding"), "gzip")
	wantEqual(t, "unpacked", len(unpack(t, w.Body)), 2000)
	wantEqual(t, "body of HEAD", call(t, h, "HEAD", "/api/v1/list", "").Body.Len(), 0)
}

// A client must not take the half that it got for the whole.
func TestAStreamThatFailsBreaksTheConnectionOff(t *testing.T) {
	s := newTestServer(t, Options{})
	half := func(to io.Writer) error {
		_, err := io.WriteString(to, strings.Repeat("lamp ", 1000))
		return errors.Join(err, errors.New("the lamp went out"))
	}
	Handle(s, problems.Get("/api/v1/list", Public, "").Files("text/csv"), replies(OK(File{Stream: half})))
	listener := httptest.NewServer(s.Handler())
	defer listener.Close()
	for _, coding := range []string{"identity", "gzip"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, listener.URL+"/api/v1/list", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", coding)
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: the answer looks whole", coding)
		}
	}
	if text := call(t, s.Handler(), "GET", "/metrics", "").Body.String(); !strings.Contains(text, "steward_http_requests_in_flight 1\n") {
		t.Error("a request that was broken off counts as in flight for ever")
	}
}
