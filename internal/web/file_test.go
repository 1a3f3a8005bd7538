package web

import (
	"context"
	"strings"
	"testing"
)

func TestAFileIsSentAsItStands(t *testing.T) {
	s := newTestServer(t, Options{})
	list := File{Name: "list.csv", ContentType: "text/csv", Content: []byte("a,b\r\n")}
	Handle(s, problems.Get("/api/v1/list", Public, "").Files("text/csv"), replies(OK(list)))
	Handle(s, envelopes.Get("/api/list", Public, "").Files("text/csv"), replies(OK(list)))
	Handle(s, problems.Get("/api/v1/odd", Public, "").Files("text/csv"), replies(OK(File{Name: "Übersicht \"2\".csv", ContentType: "text/csv", Content: []byte("x")})))
	Handle(s, problems.Get("/api/v1/large", Public, "").Files("text/csv"), replies(OK(File{Name: "l.csv", ContentType: "text/csv", Content: []byte(strings.Repeat("lamp ", 400))})))
	h := s.Handler()
	for _, path := range []string{"/api/v1/list", "/api/list"} {
		w := call(t, h, "GET", path, "")
		wantStatus(t, w, 200)
		wantEqual(t, "body", w.Body.String(), "a,b\r\n")
		wantEqual(t, "content type", w.Header().Get("Content-Type"), "text/csv")
		wantEqual(t, "disposition", w.Header().Get("Content-Disposition"), "attachment; filename=list.csv")
		wantEqual(t, "sniffing", w.Header().Get("X-Content-Type-Options"), "nosniff")
	}
	w := call(t, h, "GET", "/api/v1/odd", "")
	wantEqual(t, "disposition", w.Header().Get("Content-Disposition"), "attachment; filename*=utf-8''%C3%9Cbersicht%20%222%22.csv")
	w = call(t, h, "HEAD", "/api/v1/list", "")
	wantEqual(t, "length of HEAD", w.Header().Get("Content-Length"), "5")
	wantEqual(t, "body of HEAD", w.Body.Len(), 0)
	w = call(t, h, "GET", "/api/v1/large", "", "Accept-Encoding", "gzip")
	wantEqual(t, "coding", w.Header().Get("Content-Encoding"), "gzip")
	wantEqual(t, "unpacked", len(unpack(t, w.Body)), 2000)
}

func TestTheDocumentTellsOfFiles(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, problems.Get("/api/v1/list", Public, "").Files("text/csv", "application/json"), replies(OK(File{})))
	success := []string{"paths", "/api/v1/list", "get", "responses", "200"}
	doc := document(t, s)
	for _, contentType := range []string{"text/csv", "application/json"} {
		wantEqual(t, "format", at(t, doc, append(success, "content", contentType, "schema", "format")...), any("binary"))
	}
	wantEqual(t, "header", at(t, doc, append(success, "headers", "Content-Disposition", "$ref")...), any("#/components/headers/Content-Disposition"))
	at(t, doc, "components", "headers", "Content-Disposition")
}

func TestARouteThatAnswersAFileSaysOfWhichType(t *testing.T) {
	wantPanic(t, "does not say of which content types", func() {
		Handle(newTestServer(t, Options{}), problems.Get("/api/v1/list", Public, ""), replies(OK(File{})))
	})
	wantPanic(t, "a file is not kept for replay", func() {
		Handle(newTestServer(t, Options{}), problems.Post("/api/v1/list", TenantToken, "").Files("text/csv").Idempotent(),
			func(context.Context, *empty) (*Reply[File], error) { return nil, nil })
	})
}

func wantPanic(t *testing.T, reason string, fn func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if text, _ := recover().(string); !strings.Contains(text, reason) {
			t.Errorf("the start ends with %q, want %q", text, reason)
		}
	}()
	fn()
}
