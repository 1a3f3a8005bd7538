package resourcetest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// response is an answer with its JSON read.
type response struct {
	*httptest.ResponseRecorder
	what string
	body Body
}

// call sends a request below the resource's path. A body that is a string is sent as it stands.
func (s *suite) call(t *testing.T, token, method, suffix string, body any, headers ...string) *response {
	t.Helper()
	var payload []byte
	switch b := body.(type) {
	case nil:
	case string:
		payload = []byte(b)
	default:
		var err error
		if payload, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	request := httptest.NewRequestWithContext(t.Context(), method, s.Path+suffix, bytes.NewReader(payload))
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if payload != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	res := &response{ResponseRecorder: httptest.NewRecorder(), what: method + " " + s.Path + suffix}
	s.Handler.ServeHTTP(res.ResponseRecorder, request)
	if res.Body.Len() > 0 && strings.HasPrefix(res.Body.String(), "{") {
		if err := json.Unmarshal(res.Body.Bytes(), &res.body); err != nil {
			t.Fatalf("%s: %v in %s", res.what, err, res.Body)
		}
	}
	return res
}

// want ends the test where the status is another.
func (r *response) want(t *testing.T, status int) {
	t.Helper()
	if r.Code != status {
		t.Fatalf("%s answers %d, want %d: %s", r.what, r.Code, status, r.Body)
	}
}

// problem checks the status, the code and the shape of a refusal; fields are those that a validation
// must name.
func (r *response) problem(t *testing.T, status int, code string, fields ...string) {
	t.Helper()
	if r.Code != status || r.body["code"] != code {
		t.Errorf("%s answers %d %v, want %d %s: %s", r.what, r.Code, r.body["code"], status, code, r.Body)
		return
	}
	if kind := r.Header().Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("%s: the problem has the content type %q", r.what, kind)
	}
	for _, member := range []string{"type", "title", "detail", "instance", "traceId"} {
		if text, _ := r.body[member].(string); text == "" {
			t.Errorf("%s: the problem has no %s: %s", r.what, member, r.Body)
		}
	}
	if r.body["status"] != float64(status) {
		t.Errorf("%s: the problem has the status %v", r.what, r.body["status"])
	}
	if code != "VALIDATION_ERROR" {
		if _, ok := r.body["errors"].([]any); !ok {
			t.Errorf("%s: errors is no array: %s", r.what, r.Body)
		}
		return
	}
	named, _ := r.body["errors"].(Body)
	for _, field := range fields {
		if messages, _ := named[field].([]any); len(messages) == 0 {
			t.Errorf("%s: the validation does not name %s: %s", r.what, field, r.Body)
		}
	}
}

// invalid is the problem of a request that is not valid in the fields.
func (r *response) invalid(t *testing.T, fields ...string) {
	t.Helper()
	r.problem(t, http.StatusBadRequest, "VALIDATION_ERROR", fields...)
}

// item reads one by id.
func (s *suite) item(t *testing.T, id any) Body {
	t.Helper()
	res := s.call(t, s.Full, http.MethodGet, "/"+id.(string), nil)
	res.want(t, http.StatusOK)
	return res.body
}

// etag is the version that a read by id carries.
func (s *suite) etag(t *testing.T, id any) string {
	t.Helper()
	res := s.call(t, s.Full, http.MethodGet, "/"+id.(string), nil)
	res.want(t, http.StatusOK)
	return res.Header().Get("ETag")
}

// find lists with the parameters given as name, value, name, value.
func (s *suite) find(t *testing.T, params ...string) (items []Body, page Body) {
	t.Helper()
	res := s.call(t, s.Full, http.MethodGet, "?"+query(params...), nil)
	res.want(t, http.StatusOK)
	list, ok := res.body["items"].([]any)
	if !ok {
		t.Fatalf("%s: items is no array: %s", res.what, res.Body)
	}
	for _, item := range list {
		items = append(items, item.(Body))
	}
	return items, res.body
}

func query(params ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		values.Add(params[i], params[i+1])
	}
	return values.Encode()
}

func ids(items []Body) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = item["id"].(string)
	}
	return all
}
