package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
)

type docThing struct {
	ID       uuid.UUID  `json:"id"`
	Parent   *uuid.UUID `json:"parent"`
	Note     *string    `json:"note"`
	Until    *db.Time   `json:"until"`
	Home     *docPlace  `json:"home"`
	Hidden   *docPlace  `json:"hidden,omitempty"`
	Created  db.Time    `json:"created"`
	Channels []string   `json:"channels" enum:"Email,Sms"`
}

type docPlace struct {
	City string `json:"city"`
}

type docUpdate struct {
	ID ID `path:"id"`
	IfMatch
	Body docThing
}

func docServer(t testing.TB) *Server {
	s := newTestServer(t, Options{Version: "1.2.3"})
	new := Group{Convention: Problem, Limit: "general", Tag: "Things"}
	old := Group{Convention: Envelope, Limit: "identity", Tag: "Old things"}
	Handle(s, new.Get("/api/v1/things", Permission("read:things", "manage:things"), "List things"), func(context.Context, *searchPage) (*Reply[[]docThing], error) { return nil, nil })
	Handle(s, new.Post("/api/v1/things", Permission("create:things"), "Create").Status(201).Idempotent().Errors(fault.AppAlreadyExists).Example(docPlace{"Bern"}, docThing{}),
		func(context.Context, *createThing) (*Reply[docThing], error) { return nil, nil })
	Handle(s, new.Put("/api/v1/things/{id}", Permission("update:things"), "Update").Errors(fault.AppNotFound), func(context.Context, *docUpdate) (*Reply[docThing], error) { return nil, nil })
	Handle(s, new.Delete("/api/v1/things/{id}", TenantToken, "Delete").Status(204), func(context.Context, *getThing) (*Reply[None], error) { return nil, nil })
	Handle(s, old.Post("/api/auth/login", Public, "Log in").Limited("login").As(fault.AccountLocked, 401).Errors(fault.InvalidCredentials, fault.AccountLocked).Doc("Tells who you are."),
		func(context.Context, *loginTest) (*Reply[docThing], error) { return nil, nil })
	Handle(s, old.Get("/api/things", AnyToken, "List"), func(context.Context, *empty) (*Reply[List[docThing]], error) { return nil, nil })
	Handle(s, old.Post("/api/auth/logout", AnyToken, "Log out"), okHandler)
	return s
}

type searchPage struct {
	pageInput
	Bearer
	IDs []ID `query:"ids" maxItems:"50" doc:"Only these."`
}

type createThing struct{ Body docPlace }

// at walks a document by member names.
func at(t testing.TB, doc any, path ...string) any {
	t.Helper()
	for i, name := range path {
		if list, ok := doc.([]any); ok && name == "0" {
			doc = list[0]
			continue
		}
		object, ok := doc.(map[string]any)
		if !ok || object[name] == nil {
			t.Fatalf("the document lacks %s", strings.Join(path[:i+1], " > "))
		}
		doc = object[name]
	}
	return doc
}

func TestTheDocumentTellsWhatRoutesDo(t *testing.T) {
	text, err := docServer(t).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	want := func(value any, path ...string) {
		t.Helper()
		got, _ := json.Marshal(at(t, doc, path...))
		expected, _ := json.Marshal(value)
		if !bytes.Equal(got, expected) {
			t.Errorf("%s is %s, want %s", strings.Join(path, " > "), got, expected)
		}
	}
	want("3.1.0", "openapi")
	want("1.2.3", "info", "version")
	things := []string{"paths", "/api/v1/things"}
	in := func(more ...string) []string { return append(things[:2:2], more...) }
	want([]string{"read:things", "manage:things"}, in("get", "x-permissions")...)
	want("Asks for the permission `read:things` or `manage:things`.", in("get", "description")...)
	want([]map[string][]string{{"bearer": {}}}, in("get", "security")...)
	want("get-v1-things", in("get", "operationId")...)
	want("#/components/schemas/Problem", in("get", "responses", "401", "content", "application/problem+json", "schema", "$ref")...)
	want("#/components/headers/RateLimit-Remaining", in("get", "responses", "200", "headers", "RateLimit-Remaining", "$ref")...)
	want("#/components/headers/Location", in("post", "responses", "201", "headers", "Location", "$ref")...)
	want("Bern", in("post", "requestBody", "content", "application/json", "example", "city")...)
	want([]string{}, in("post", "responses", "201", "content", "application/json", "example", "channels")...)
	for status, codes := range map[string][]string{
		"400": {"VALIDATION_ERROR"}, "401": {"TOKEN_MISSING", "SESSION_INVALIDATED"}, "403": {"MISSING_PERMISSION", "TENANT_FORBIDDEN"},
		"409": {"APP_ALREADY_EXISTS", "IDEMPOTENCY_KEY_CONFLICT"}, "413": {"BODY_TOO_LARGE"}, "415": {"UNSUPPORTED_MEDIA_TYPE"},
		"422": {"IDEMPOTENCY_KEY_UNPROCESSABLE"}, "429": {"RATE_LIMITED"}, "500": {"INTERNAL_ERROR"}, "503": {"SERVICE_UNAVAILABLE"},
	} {
		for _, code := range codes {
			at(t, doc, in("post", "responses", status, "content", "application/problem+json", "examples", code)...)
		}
	}
	want("#/components/schemas/Problem", "paths", "/api/v1/things/{id}", "put", "responses", "412", "content", "application/problem+json", "schema", "$ref")
	login := []string{"paths", "/api/auth/login", "post"}
	want("Tells who you are.\n\nOpen to everybody.", append(login, "description")...)
	want("#/components/schemas/EnvelopeError", append(login, "responses", "401", "content", "application/json", "schema", "$ref")...)
	want([]string{"isSuccess", "data"}, append(login, "responses", "200", "content", "application/json", "schema", "required")...)
	want("ACCOUNT_LOCKED", "components", "examples", "envelope-ACCOUNT_LOCKED-401", "value", "errorCode")
	want("#/components/schemas/ListDocThing", "paths", "/api/things", "get", "responses", "200", "content", "application/json", "schema", "allOf", "0", "$ref")
}

func TestTheDocumentIsExactAboutNull(t *testing.T) {
	text, err := docServer(t).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for property, want := range map[string]string{
		"id":      `"string"`,
		"parent":  `["string","null"]`,
		"note":    `["string","null"]`,
		"until":   `["string","null"]`,
		"created": `"string"`,
	} {
		got, _ := json.Marshal(at(t, doc, "components", "schemas", "DocThing", "properties", property, "type"))
		wantEqual(t, "type of "+property, string(got), want)
	}
	wantEqual(t, "format", at(t, doc, "components", "schemas", "DocThing", "properties", "parent", "format"), any("uuid"))
	at(t, doc, "components", "schemas", "DocThing", "properties", "home", "anyOf")
	at(t, doc, "components", "schemas", "DocThing", "properties", "hidden", "$ref")
}

func TestTheDocumentIsSoundAndTheSameEachTime(t *testing.T) {
	text, err := docServer(t).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	again, _ := docServer(t).OpenAPI()
	if !bytes.Equal(text, again) {
		t.Error("two servers with the same routes have two documents")
	}
	for _, word := range []string{"$schema", `"additionalProperties": true`, `"name": "Authorization"`} {
		if strings.Contains(string(text), word) {
			t.Errorf("the document holds %s", word)
		}
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, reference := range strings.Split(string(text), `"$ref": "#/`)[1:] {
		at(t, doc, strings.Split(reference[:strings.IndexByte(reference, '"')], "/")...)
	}
}

func TestTheDocumentIsServedOnce(t *testing.T) {
	h := http.HandlerFunc(docServer(t).serveExchange) // Handler would ask for a store
	w := call(t, h, "GET", "/openapi.json", "", "Accept-Encoding", "gzip")
	wantStatus(t, w, 200)
	wantEqual(t, "coding", w.Header().Get("Content-Encoding"), "gzip")
	packed := unpack(t, w.Body)
	plain := call(t, h, "GET", "/openapi.json", "")
	if !bytes.Equal(packed, plain.Body.Bytes()) {
		t.Error("the compressed document is another one")
	}
	wantStatus(t, call(t, h, "GET", "/openapi.json", "", "If-None-Match", plain.Header().Get("ETag")), 304)
	wantStatus(t, call(t, h, "HEAD", "/openapi.json", ""), 200)
}
