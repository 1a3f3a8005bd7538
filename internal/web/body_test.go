package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

type binding struct {
	TenantID  ID    `json:"tenantId"`
	RoleIDs   []ID  `json:"roleIds" minItems:"1" maxItems:"3"`
	IsDefault bool  `json:"isDefault,omitempty"`
	Rank      int32 `json:"rank,omitempty"`
}

type account struct {
	Body struct {
		Email    string            `json:"email" minLength:"3" maxLength:"20"`
		Password string            `json:"password,omitempty" maxLength:"16"`
		Age      int               `json:"age,omitempty" minimum:"0"`
		Channel  string            `json:"channel,omitempty" enum:"Email,InApp" default:"Email"`
		Notify   *bool             `json:"notify,omitempty" default:"true"`
		At       *time.Time        `json:"at,omitempty"`
		Tenants  []binding         `json:"tenants,omitempty"`
		Labels   map[string]string `json:"labels,omitempty"`
		Data     any               `json:"data,omitempty"`
	}
}

// got is the last input that a handler was given.
func bodyServer(t *testing.T, got *account) http.Handler {
	s := newTestServer(t, Options{})
	Handle(s, problems.Post("/api/v1/accounts", Public, ""), func(_ context.Context, in *account) (*Reply[None], error) {
		*got = *in
		return Done(""), nil
	})
	return s.Handler()
}

func TestABodyIsReadStrictly(t *testing.T) {
	var got account
	h := bodyServer(t, &got)
	const id = `"0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e4f"`
	deep := strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70)
	for _, c := range []struct{ name, body, field, message string }{
		{"nothing", ``, "body", "is required"},
		{"blanks", "  \n ", "body", "is required"},
		{"null", `null`, "body", "must be an object"},
		{"an array", `[]`, "body", "must be an object"},
		{"a string", `"hunter2"`, "body", "must be an object"},
		{"no JSON", `{email: 1}`, "body", "is not valid JSON at byte 1"},
		{"half of it", `{"email": "a@b`, "body", "is not valid JSON: it ends too early"},
		{"something after it", `{"email":"a@b"} x`, "body", "is not valid JSON at byte 16"},
		{"a key twice", `{"email":"a@b","email":"c@d"}`, "email", "must not appear twice"},
		{"a key twice deep inside", `{"email":"a@b","data":{"x":[{"y":1,"y":2}]}}`, "data.x[0].y", "must not appear twice"},
		{"broken UTF-8", "{\"email\":\"a@b\xff\"}", "body", "must be UTF-8"},
		{"half a surrogate", `{"email":"a@b\ud800"}`, "body", "is not valid JSON at byte 13"},
		{"a NUL", `{"email":"a@b\u0000"}`, "email", "must be UTF-8 text without the NUL character"},
		{"a NUL in a list", `{"email":"a@b","data":["x","\u0000"]}`, "data[1]", "must be UTF-8 text without the NUL character"},
		{"too deep", `{"email":"a@b","data":` + deep + `}`, "body", "must not be nested deeper than 64 levels"},
		{"a missing field", `{}`, "email", "is required"},
		{"a field in another case", `{"Email":"a@b"}`, "email", "is required"},
		{"null for a required field", `{"email":null}`, "email", "must be a string"},
		{"a wrong type", `{"email":7}`, "email", "must be a string"},
		{"too short", `{"email":"a"}`, "email", "must have at least 3 characters"},
		{"too long", `{"email":"a@bbbbbbbbbbbbbbbbbbbb"}`, "email", "must have at most 20 characters"},
		{"a fraction for a whole number", `{"email":"a@b","age":1.5}`, "age", "must be a whole number"},
		{"a number too large", `{"email":"a@b","age":1e300}`, "age", "must be a whole number that is not too large"},
		{"a number that no machine holds", `{"email":"a@b","age":1e999}`, "age", "must be a number that is not too large"},
		{"a number below its bound", `{"email":"a@b","age":-1}`, "age", "must be at least 0"},
		{"an unknown word", `{"email":"a@b","channel":"Fax"}`, "channel", "must be one of: Email, InApp"},
		{"no timestamp", `{"email":"a@b","at":"yesterday"}`, "at", "must be a timestamp such as 2026-01-31T12:00:00Z"},
		{"no array", `{"email":"a@b","tenants":{}}`, "tenants", "must be an array"},
		{"a missing field inside", `{"email":"a@b","tenants":[{"roleIds":[` + id + `]}]}`, "tenants[0].tenantId", "is required"},
		{"a malformed id", `{"email":"a@b","tenants":[{"tenantId":"x","roleIds":[` + id + `]}]}`, "tenants[0].tenantId", "must be a UUID"},
		{"an id in braces", `{"email":"a@b","tenants":[{"tenantId":"{0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e4f}","roleIds":[` + id + `]}]}`, "tenants[0].tenantId", "must be a UUID"},
		{"the nil id", `{"email":"a@b","tenants":[{"tenantId":` + id + `,"roleIds":[` + id + `,"00000000-0000-0000-0000-000000000000"]}]}`, "tenants[0].roleIds[1]", "must not be empty"},
		{"an empty list", `{"email":"a@b","tenants":[{"tenantId":` + id + `,"roleIds":[]}]}`, "tenants[0].roleIds", "must not be empty"},
		{"a number beyond its type", `{"email":"a@b","tenants":[{"tenantId":` + id + `,"roleIds":[` + id + `],"rank":5000000000}]}`, "tenants[0].rank", "must be a whole number that is not too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := call(t, h, "POST", "/api/v1/accounts", c.body)
			wantStatus(t, w, 400)
			body := decode(t, w)
			wantEqual(t, "code", body["code"], "VALIDATION_ERROR")
			want := map[string]any{c.field: []any{c.message}}
			if !reflect.DeepEqual(body["errors"], want) {
				t.Errorf("errors are %v, want %v", body["errors"], want)
			}
		})
	}
}

func TestEverythingWrongIsToldAtOnceAndNoValueIsRepeated(t *testing.T) {
	var got account
	w := call(t, bodyServer(t, &got), "POST", "/api/v1/accounts", `{"password":"correct horse battery staple","age":"hunter2","channel":"hunter3"}`)
	wantStatus(t, w, 400)
	errors := decode(t, w)["errors"].(map[string]any)
	for _, field := range []string{"email", "password", "age", "channel"} {
		if errors[field] == nil {
			t.Errorf("%s is not named in %v", field, errors)
		}
	}
	if text := w.Body.String(); strings.Contains(text, "horse") || strings.Contains(text, "hunter") {
		t.Errorf("a value was repeated: %s", text)
	}
}

func TestASoundBodyReachesTheHandler(t *testing.T) {
	var got account
	h := bodyServer(t, &got)
	w := call(t, h, "POST", "/api/v1/accounts", `{"email":"a@b","unknown":{"x":1},"channel":"inapp","tenants":[{"tenantId":"0197A3C2-5f10-7c3e-9d44-6a0b1c2d3e4f",
		"roleIds":["0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e4f"],"rank":7}],"labels":{"a":"b"},"notify":false,"age":null,"at":"2026-01-31T12:00:00+01:00"}`)
	wantStatus(t, w, 200)
	wantEqual(t, "email", got.Body.Email, "a@b")
	wantEqual(t, "a word in another case", got.Body.Channel, "InApp")
	wantEqual(t, "tenant", got.Body.Tenants[0].TenantID.UUID, uuid.MustParse("0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e4f"))
	wantEqual(t, "rank", got.Body.Tenants[0].Rank, int32(7))
	wantEqual(t, "notify", *got.Body.Notify, false)
	wantEqual(t, "at", got.Body.At.Unix(), int64(1769857200))

	wantStatus(t, call(t, h, "POST", "/api/v1/accounts", `{"email":"a@b"}`), 200)
	wantEqual(t, "default word", got.Body.Channel, "Email")
	wantEqual(t, "default of a pointer", *got.Body.Notify, true)
}

func TestContentTypesOfABody(t *testing.T) {
	var got account
	h := bodyServer(t, &got)
	for _, c := range []struct {
		contentType string
		status      int
	}{
		{"", 200}, {"application/json", 200}, {"application/json; charset=utf-8", 200}, {"Application/JSON;charset=UTF-8", 200},
		{"application/merge-patch+json", 415}, {"text/plain", 415}, {"application/x-www-form-urlencoded", 415},
		{"application/json; charset=latin1", 415}, {"multipart/form-data; boundary=x", 415}, {";;", 415},
	} {
		headers := []string{}
		if c.contentType != "" {
			headers = []string{"Content-Type", c.contentType}
		}
		w := call(t, h, "POST", "/api/v1/accounts", `{"email":"a@b"}`, headers...)
		wantEqual(t, "status with "+c.contentType, w.Code, c.status)
		if c.status == 415 {
			wantEqual(t, "code", decode(t, w)["code"], "UNSUPPORTED_MEDIA_TYPE")
		}
	}
	w := call(t, h, "POST", "/api/v1/accounts", "\x1f\x8b", "Content-Encoding", "gzip")
	wantEqual(t, "status of a compressed body", w.Code, 415)
}

func TestARouteWithoutABodyTakesAny(t *testing.T) {
	type purge struct {
		Body *struct {
			Days *int `json:"days,omitempty" minimum:"0"`
		}
	}
	s := newTestServer(t, Options{})
	Handle(s, envelopes.Post("/api/logout", Public, ""), okHandler)
	Handle(s, problems.Post("/api/v1/purge", Public, ""), func(_ context.Context, in *purge) (*Reply[string], error) {
		return OK(fmt.Sprint(in.Body != nil && in.Body.Days != nil)), nil
	})
	h := s.Handler()
	for _, body := range []string{"", "{}", " "} {
		for _, contentType := range []string{"application/json", "text/plain"} {
			wantStatus(t, call(t, h, "POST", "/api/logout", body, "Content-Type", contentType), 200)
		}
	}
	for body, want := range map[string]string{"": `"false"`, "{}": `"false"`, "null": `"false"`, `{"days":null}`: `"false"`, `{"days":3}`: `"true"`} {
		w := call(t, h, "POST", "/api/v1/purge", body)
		wantStatus(t, w, 200)
		wantEqual(t, "answer to "+body, w.Body.String(), want)
	}
	wantStatus(t, call(t, h, "POST", "/api/v1/purge", `{"days":-1}`), 400)
}

func TestABodyMayNotBeTooLarge(t *testing.T) {
	type text struct {
		Body struct {
			Text string `json:"text"`
		}
	}
	s := newTestServer(t, Options{MaxBody: 64})
	take := func(context.Context, *text) (*Reply[None], error) { return Done(""), nil }
	Handle(s, problems.Post("/api/v1/small", Public, ""), take)
	Handle(s, problems.Post("/api/v1/large", Public, "").MaxBody(128), take)
	h := s.Handler()
	sized := func(n int) string { return `{"text":"` + strings.Repeat("x", n-11) + `"}` }
	for _, c := range []struct {
		path   string
		size   int
		status int
	}{{"/api/v1/small", 64, 200}, {"/api/v1/small", 65, 413}, {"/api/v1/large", 128, 200}, {"/api/v1/large", 129, 413}} {
		wantEqual(t, fmt.Sprintf("%s with %d bytes", c.path, c.size), call(t, h, "POST", c.path, sized(c.size)).Code, c.status)

		r := httptest.NewRequest("POST", c.path, strings.NewReader(sized(c.size)))
		r.ContentLength = -1 // chunked: the size is not known beforehand
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		wantEqual(t, fmt.Sprintf("%s with %d bytes, chunked", c.path, c.size), w.Code, c.status)
		if c.status == 413 {
			wantEqual(t, "code", decode(t, w)["code"], "BODY_TOO_LARGE")
		}
	}
}

func TestOptTellsLeftOutNullAndGivenApart(t *testing.T) {
	type update struct {
		Body struct {
			Phone Opt[string]    `json:"phone,omitzero" maxLength:"5"`
			Roles Opt[[]ID]      `json:"roles,omitzero"`
			Home  Opt[thing]     `json:"home,omitzero"`
			Until Opt[time.Time] `json:"until,omitzero"`
		}
	}
	var got update
	s := newTestServer(t, Options{})
	Handle(s, problems.Put("/api/v1/x", Public, ""), func(_ context.Context, in *update) (*Reply[Opt[string]], error) {
		got = *in
		return OK(in.Body.Phone), nil
	})
	h := s.Handler()

	wantEqual(t, "left out", call(t, h, "PUT", "/api/v1/x", `{}`).Body.String(), `null`)
	wantEqual(t, "set", got.Body.Phone.Set, false)
	wantStatus(t, call(t, h, "PUT", "/api/v1/x", `{"phone":null,"roles":null,"home":null}`), 200)
	wantEqual(t, "null", got.Body.Phone, Opt[string]{Set: true, Null: true})
	wantEqual(t, "pointer", got.Body.Phone.Ptr(), (*string)(nil))
	wantEqual(t, "given", call(t, h, "PUT", "/api/v1/x", `{"phone":"","roles":[],"home":{"name":"x","tags":[],"since":null}}`).Body.String(), `""`)
	wantEqual(t, "given", got.Body.Phone, Opt[string]{Set: true})
	wantEqual(t, "inner", got.Body.Home.V.Name, "x")
	for body, field := range map[string]string{
		`{"phone":"123456"}`:   "phone",
		`{"phone":7}`:          "phone",
		`{"roles":["x"]}`:      "roles[0]",
		`{"home":{"name":7}}`:  "home.name",
		`{"until":"tomorrow"}`: "until",
		`{"roles":["00000000-0000-0000-0000-000000000000"]}`: "roles[0]",
	} {
		w := call(t, h, "PUT", "/api/v1/x", body)
		wantStatus(t, w, 400)
		if decode(t, w)["errors"].(map[string]any)[field] == nil {
			t.Errorf("%s: %s is not named in %s", body, field, w.Body)
		}
	}
}

func TestAClientThatSendsTooMuchIsTold(t *testing.T) {
	var got account
	server := httptest.NewServer(bodyServer(t, &got))
	defer server.Close()
	huge := strings.Repeat("x", 8<<20)
	for name, body := range map[string]io.Reader{
		"with a length":    strings.NewReader(huge),
		"without a length": struct{ io.Reader }{strings.NewReader(huge)},
	} {
		response, err := http.Post(server.URL+"/api/v1/accounts", "application/json", body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantEqual(t, "status "+name, response.StatusCode, 413)
		wantEqual(t, "content type", response.Header.Get("Content-Type"), "application/problem+json")
		_ = response.Body.Close()
	}
}
