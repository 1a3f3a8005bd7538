package apptest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// M is a JSON object.
type M = map[string]any

// Request is one call.
type Request struct {
	Method string
	Path   string
	Token  string
	// Body is sent as JSON; a string or bytes are sent as they are.
	Body   any
	Header map[string]string
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Raw    []byte
	JSON   M // nil where the body is no object
}

// Do makes the call and reads the whole answer.
func (s *Server) Do(t testing.TB, in Request) Answer {
	t.Helper()
	request, err := http.NewRequest(in.Method, s.URL+in.Path, payload(t, in.Body))
	if err != nil {
		t.Fatal(err)
	}
	if in.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if in.Token != "" {
		request.Header.Set("Authorization", "Bearer "+in.Token)
	}
	for name, value := range in.Header {
		if name == "Host" {
			request.Host = value
			continue
		}
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := Answer{Status: response.StatusCode, Header: response.Header, Raw: raw}
	_ = json.Unmarshal(raw, &a.JSON)
	return a
}

func payload(t testing.TB, body any) io.Reader {
	t.Helper()
	switch b := body.(type) {
	case nil:
		return nil
	case string:
		return strings.NewReader(b)
	case []byte:
		return bytes.NewReader(b)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(encoded)
}

// Post is Do with a body.
func (s *Server) Post(t testing.TB, path, token string, body any) Answer {
	t.Helper()
	return s.Do(t, Request{Method: http.MethodPost, Path: path, Token: token, Body: body})
}

// Get is Do without one.
func (s *Server) Get(t testing.TB, path, token string) Answer {
	t.Helper()
	return s.Do(t, Request{Method: http.MethodGet, Path: path, Token: token})
}

// Want fails the test where the status is another.
func (a Answer) Want(t testing.TB, status int) Answer {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d, want %d: %s", a.Status, status, a.Raw)
	}
	return a
}

// WantEnvelope fails the test where the answer is not an envelope error with the code.
func (a Answer) WantEnvelope(t testing.TB, status int, code string) Answer {
	t.Helper()
	a.Want(t, status)
	_, isList := a.JSON["errors"].([]any)
	if a.JSON["isSuccess"] != false || a.JSON["errorCode"] != code || !isList || a.JSON["errorMessage"] == "" {
		t.Fatalf("want envelope error %s: %s", code, a.Raw)
	}
	return a
}

// WantProblem fails the test where the answer is not a problem with the code.
func (a Answer) WantProblem(t testing.TB, status int, code string) Answer {
	t.Helper()
	a.Want(t, status)
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("content type %q: %s", got, a.Raw)
	}
	for _, name := range []string{"type", "title", "status", "detail", "instance", "traceId", "code", "errors"} {
		if _, ok := a.JSON[name]; !ok {
			t.Fatalf("problem has no %s: %s", name, a.Raw)
		}
	}
	if a.JSON["code"] != code || a.JSON["status"] != float64(status) {
		t.Fatalf("want problem %s: %s", code, a.Raw)
	}
	return a
}

// WantField fails the test where no error names the field.
func (a Answer) WantField(t testing.TB, field string) Answer {
	t.Helper()
	switch errors := a.JSON["errors"].(type) {
	case []any:
		for _, e := range errors {
			if m, ok := e.(M); ok && m["field"] == field && m["message"] != "" {
				return a
			}
		}
	case M:
		if messages, ok := errors[field].([]any); ok && len(messages) > 0 {
			return a
		}
	}
	t.Fatalf("no error names %s: %s", field, a.Raw)
	return a
}

// Data is the object under data of an envelope.
func (a Answer) Data(t testing.TB) M {
	t.Helper()
	data, ok := a.JSON["data"].(M)
	if !ok {
		t.Fatalf("no data: %s", a.Raw)
	}
	return data
}

// Pair is an access token and its refresh token.
type Pair struct{ Token, Refresh string }

// Pair reads the tokens of a grant.
func (a Answer) Pair(t testing.TB) Pair {
	t.Helper()
	data := a.Data(t)
	token, _ := data["token"].(string)
	refresh, _ := data["refreshToken"].(string)
	if token == "" || refresh == "" {
		t.Fatalf("no tokens: %s", a.Raw)
	}
	return Pair{token, refresh}
}

// Login signs in and returns the tokens.
func (s *Server) Login(t testing.TB, email, password string) Pair {
	t.Helper()
	return s.TryLogin(t, email, password).Want(t, http.StatusOK).Pair(t)
}

// TryLogin signs in and returns whatever comes back.
func (s *Server) TryLogin(t testing.TB, email, password string) Answer {
	t.Helper()
	return s.Post(t, "/api/auth/login", "", M{"email": email, "password": password, "isPasswordEncrypted": false})
}

// Register makes an account with the role Member in the default tenant and returns its id.
func (s *Server) Register(t testing.TB, email, password string) string {
	t.Helper()
	a := s.Post(t, "/api/auth/register", "", M{"email": email, "password": password, "fullName": "Test Person"})
	return a.Want(t, http.StatusCreated).Data(t)["id"].(string)
}

var linkPattern = regexp.MustCompile(`https?://\S+`)

// Link returns the query parameters of the link in the newest mail to the address.
func (s *Server) Link(t testing.TB, to string) (address *url.URL, token string) {
	t.Helper()
	m := s.Mail(t, to)
	address, err := url.Parse(linkPattern.FindString(m.Text))
	if err != nil || address.Query().Get("token") == "" {
		t.Fatalf("no link in mail: %s", m.Text)
	}
	return address, address.Query().Get("token")
}
