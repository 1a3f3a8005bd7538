package web

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

type uploadInput struct {
	Loud bool   `query:"loud"`
	File Upload `form:"file" doc:"Any file."`
}

func uploadRoute() Route {
	return problems.Post("/api/v1/upload", Permission("read:things"), "Upload").MaxBody(1024)
}

func echoUpload(_ context.Context, in *uploadInput) (*Reply[string], error) {
	return OK(string(in.File.Content)), nil
}

// form writes parts of name and content, each as a file of a misleading name, and says its content type.
func form(t testing.TB, parts ...string) (body, contentType string) {
	t.Helper()
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	for i := 0; i < len(parts); i += 2 {
		part, err := w.CreateFormFile(parts[i], "photo.png")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(parts[i+1]))
	}
	_ = w.Close()
	return text.String(), w.FormDataContentType()
}

func TestAFileIsReadFromAForm(t *testing.T) {
	s := newTestServer(t, Options{MaxBody: 64})
	Handle(s, uploadRoute(), echoUpload)
	h := s.Handler()
	send := func(body, contentType string, headers ...string) *httptest.ResponseRecorder {
		return call(t, h, "POST", "/api/v1/upload", body, append(append(as("reader"), "Content-Type", contentType), headers...)...)
	}
	t.Run("the content reaches the handler byte for byte", func(t *testing.T) {
		for _, content := range []string{"a,b\r\n1,2\r\n", "", strings.Repeat("x", 300)} {
			body, contentType := form(t, "other", "not me", "file", content, "last", "nor me")
			w := send(body, contentType)
			wantStatus(t, w, 200)
			want, _ := json.Marshal(content)
			wantEqual(t, "content", w.Body.String(), string(want))
		}
	})
	t.Run("a plain field of the name will do", func(t *testing.T) {
		var text bytes.Buffer
		w := multipart.NewWriter(&text)
		_ = w.WriteField("file", "plain")
		_ = w.Close()
		wantEqual(t, "content", send(text.String(), w.FormDataContentType()).Body.String(), `"plain"`)
	})
	t.Run("all that is wrong is told at once", func(t *testing.T) {
		body, contentType := form(t, "File", "another case")
		w := call(t, h, "POST", "/api/v1/upload?loud=perhaps", body, append(as("reader"), "Content-Type", contentType)...)
		wantStatus(t, w, 400)
		errors := decode(t, w)["errors"].(map[string]any)
		if errors["file"] == nil || errors["loud"] == nil {
			t.Errorf("errors are %v", errors)
		}
	})
	twice, twiceType := form(t, "file", "a", "file", "b")
	whole, wholeType := form(t, "file", "a")
	large, largeType := form(t, "file", strings.Repeat("x", 1024))
	for _, c := range []struct {
		name, body, contentType string
		status                  int
		code, field             string
	}{
		{"nothing", "", "", 400, "VALIDATION_ERROR", "file"},
		{"the file twice", twice, twiceType, 400, "VALIDATION_ERROR", "file"},
		{"half a form", whole[:len(whole)-20], wholeType, 400, "VALIDATION_ERROR", "body"},
		{"no form at all", "hello", wholeType, 400, "VALIDATION_ERROR", "file"},
		{"another boundary", whole, "multipart/form-data; boundary=other", 400, "VALIDATION_ERROR", "file"},
		{"no boundary", whole, "multipart/form-data", 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"JSON", `{"file":"a"}`, "application/json", 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"no content type", whole, "", 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"another multipart type", whole, strings.Replace(wholeType, "form-data", "mixed", 1), 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"too much", large, largeType, 413, "BODY_TOO_LARGE", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := send(c.body, c.contentType)
			wantStatus(t, w, c.status)
			body := decode(t, w)
			wantEqual(t, "code", body["code"], any(c.code))
			if c.field != "" && body["errors"].(map[string]any)[c.field] == nil {
				t.Errorf("%s is not named in %s", c.field, w.Body)
			}
		})
	}
	t.Run("too much without a length", func(t *testing.T) {
		r := httptest.NewRequest("POST", "/api/v1/upload", strings.NewReader(large))
		r.ContentLength = -1
		r.Header.Set("Authorization", "Bearer reader")
		r.Header.Set("Content-Type", largeType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		wantStatus(t, w, 413)
	})
	t.Run("compressed", func(t *testing.T) { wantStatus(t, send(whole, wholeType, "Content-Encoding", "gzip"), 415) })
	t.Run("who may not call is told so first", func(t *testing.T) {
		wantStatus(t, call(t, h, "POST", "/api/v1/upload", large, "Content-Type", largeType), 401)
		wantStatus(t, call(t, h, "POST", "/api/v1/upload", large, append(as("nobody"), "Content-Type", largeType)...), 403)
	})
}

func TestAnUploadIsIdempotentByItsFile(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		calls := 0
		s := newTestServer(t, Options{DB: d})
		Handle(s, uploadRoute().Idempotent(), func(_ context.Context, in *uploadInput) (*Reply[int], error) {
			calls++
			return OK(calls), nil
		})
		h := s.Handler()
		send := func(content string) *httptest.ResponseRecorder {
			body, contentType := form(t, "file", content) // each form has a boundary of its own
			return call(t, h, "POST", "/api/v1/upload", body, append(as("reader"), "Content-Type", contentType, "Idempotency-Key", "k")...)
		}
		wantEqual(t, "first", send("a").Body.String(), "1")
		again := send("a")
		wantEqual(t, "again", again.Body.String(), "1")
		wantEqual(t, "replayed", again.Header().Get("Idempotency-Replayed"), "true")
		wantStatus(t, send("b"), 422)
	})
}

func TestAnUploadNeedsANameAndABody(t *testing.T) {
	type nameless struct{ File Upload }
	wantPanic(t, "does not say its form field", func() {
		Handle(newTestServer(t, Options{}), problems.Post("/api/v1/x", Public, ""), func(context.Context, *nameless) (*Reply[None], error) { return nil, nil })
	})
	wantPanic(t, "a GET has no body", func() {
		Handle(newTestServer(t, Options{}), problems.Get("/api/v1/x", Public, ""), func(context.Context, *uploadInput) (*Reply[None], error) { return nil, nil })
	})
}

func TestTheDocumentTellsOfForms(t *testing.T) {
	s := newTestServer(t, Options{})
	Handle(s, uploadRoute(), echoUpload)
	post := []string{"paths", "/api/v1/upload", "post"}
	doc := document(t, s)
	schema := at(t, doc, append(post, "requestBody", "content", "multipart/form-data", "schema")...)
	text, _ := json.Marshal(schema)
	wantEqual(t, "schema", string(text), `{"properties":{"file":{"contentMediaType":"application/octet-stream","description":"Any file.","format":"binary","type":"string"}},"required":["file"],"type":"object"}`)
	at(t, doc, append(post, "responses", "413")...)
	at(t, doc, append(post, "responses", "415")...)
}

func document(t testing.TB, s *Server) any {
	t.Helper()
	text, err := s.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func FuzzUpload(f *testing.F) {
	body, contentType := form(f, "file", "a,b")
	f.Add(body, contentType)
	f.Add("--x\r\nContent-Disposition: form-data; name=file\r\n\r\nhello\r\n--x--", "multipart/form-data; boundary=x")
	f.Add("", "multipart/form-data; boundary=\"\"")
	u := &upload{name: "file"}
	f.Fuzz(func(t *testing.T, body, contentType string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header = http.Header{textproto.CanonicalMIMEHeaderKey("Content-Type"): {contentType}}
		content, err := u.read(httptest.NewRecorder(), r, 1<<20)
		if len(content) > len(body) || err != nil && content != nil {
			t.Errorf("%d bytes of %d, %v", len(content), len(body), err)
		}
	})
}
