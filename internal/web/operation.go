package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// document adds the route to the API document.
func (s *Server) document(e *endpoint) {
	r := &e.route
	op := &huma.Operation{
		OperationID: operationID(r.method, r.path),
		Summary:     r.summary,
		Description: description(r),
		Parameters:  e.parameters(),
		RequestBody: e.requestBody(),
		Responses:   s.responses(e),
		Extensions:  map[string]any{},
	}
	if r.tag != "" {
		op.Tags = []string{r.tag}
	}
	if r.access.kind != accessPublic {
		op.Security = []map[string][]string{{bearerScheme: {}}}
	}
	if len(r.access.anyOf) > 0 {
		op.Extensions["x-permissions"] = r.access.anyOf
	}
	if r.access.and != "" {
		op.Extensions["x-permission-too"] = r.access.and
	}
	item := s.paths[r.path]
	if item == nil {
		item = &huma.PathItem{}
		s.paths[r.path] = item
	}
	switch r.method {
	case http.MethodGet:
		item.Get = op
	case http.MethodPost:
		item.Post = op
	case http.MethodPut:
		item.Put = op
	case http.MethodDelete:
		item.Delete = op
	}
}

// description is what the route says of itself, and who may call it.
func description(r *Route) string {
	var who string
	switch {
	case r.access.kind == accessPublic:
		who = "Open to everybody."
	case r.access.kind == accessAnyToken:
		who = "Asks for a token, global ones included."
	case len(r.access.anyOf) == 0:
		who = "Asks for a token of a tenant."
	default:
		who = "Asks for the permission `" + strings.Join(r.access.anyOf, "` or `") + "`."
	}
	if r.access.and != "" {
		who += " Asks for `" + r.access.and + "` too."
	}
	if r.access.inPerson {
		who += " An API key does not do."
	}
	if r.doc == "" {
		return who
	}
	return r.doc + "\n\n" + who
}

func (e *endpoint) parameters() []*huma.Param {
	var params []*huma.Param
	for i := range e.input.params {
		p := &e.input.params[i]
		if p.hidden {
			continue
		}
		schema := *p.schema
		schema.Description = "" // told by the parameter
		param := &huma.Param{Name: p.name, In: p.location, Required: p.required, Schema: &schema, Description: p.schema.Description}
		if p.list {
			explode := true // repeated; a comma-separated list is understood as well
			param.Explode = &explode
		}
		params = append(params, param)
	}
	if e.route.idempotent {
		least, most := 1, maxIdempotency
		params = append(params, &huma.Param{
			Name: idempotencyHeader, In: "header",
			Description: "A key of your own. The same call with the same key is done once: for 24 hours it is answered with the first answer.",
			Schema:      &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most, Pattern: "^[ -~]+$"},
		})
	}
	if e.route.method == http.MethodGet && e.isVersioned() {
		params = append(params, &huma.Param{
			Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "Versions (ETag) the caller has; the answer is 304 without a body where the present one is among them.",
		})
	}
	return params
}

func (e *endpoint) requestBody() *huma.RequestBody {
	if e.input.upload != nil {
		return e.input.upload.requestBody()
	}
	b := e.input.body
	if b == nil {
		return nil
	}
	return &huma.RequestBody{
		Required: !b.optional,
		Content:  map[string]*huma.MediaType{jsonType: {Schema: b.schema, Example: exampleOf(e.route.request)}},
	}
}

func (s *Server) responses(e *endpoint) map[string]*huma.Response {
	r := &e.route
	status := r.successStatus()
	success := &huma.Response{Description: http.StatusText(status), Headers: e.successHeaders()}
	if e.output == fileType {
		success.Content = r.fileContent()
		success.Headers["Content-Disposition"] = headerRef("Content-Disposition")
	} else if schema := s.successSchema(e); schema != nil && status != http.StatusNoContent {
		success.Content = map[string]*huma.MediaType{jsonType: {Schema: schema, Example: successExample(r)}}
	}
	all := map[string]*huma.Response{strconv.Itoa(status): success}
	if r.method == http.MethodGet && e.isVersioned() {
		all[strconv.Itoa(http.StatusNotModified)] = &huma.Response{
			Description: "The body still has a version that If-None-Match names.", Headers: e.successHeaders(),
		}
	}
	for status, codes := range e.refusals() {
		all[strconv.Itoa(status)] = s.refusal(e, status, codes)
	}
	return all
}

// successSchema is the body of success in the route's convention; nil where it is empty.
func (s *Server) successSchema(e *endpoint) *huma.Schema {
	var data *huma.Schema
	if e.output != reflect.TypeFor[None]() {
		data = s.registry.Schema(e.output, true, typeName(&e.route, "response"))
	}
	if e.route.convention == Problem {
		return data
	}
	envelope := &huma.Schema{
		Type:       huma.TypeObject,
		Required:   []string{e.route.flag()},
		Properties: map[string]*huma.Schema{e.route.flag(): {Type: huma.TypeBoolean, Enum: []any{true}}},
	}
	if data == nil {
		envelope.Properties["message"] = &huma.Schema{Type: huma.TypeString}
		return envelope
	}
	envelope.Properties["data"] = data
	envelope.Required = append(envelope.Required, "data")
	if e.output.Implements(reflect.TypeFor[spread]()) {
		return &huma.Schema{AllOf: []*huma.Schema{data, envelope}}
	}
	envelope.Properties["message"] = &huma.Schema{Type: huma.TypeString}
	return envelope
}

func successExample(r *Route) any {
	if r.response == nil || r.convention == Problem {
		return exampleOf(r.response)
	}
	return exampleOf(map[string]any{r.flag(): true, "data": r.response})
}

// exampleOf writes v as an answer would be written, with no list as null.
func exampleOf(v any) any {
	if v == nil {
		return nil
	}
	var text bytes.Buffer
	if err := encode(&text, v); err != nil {
		panic(fmt.Sprintf("web: an example cannot be written: %v", err))
	}
	return json.RawMessage(text.Bytes())
}

// isVersioned reports whether the answer may carry the version of its body.
func (e *endpoint) isVersioned() bool {
	switch e.route.method {
	case http.MethodGet:
		return len(pathNames(e.route.path)) > 0
	case http.MethodPost:
		return e.route.idempotent && e.route.successStatus() == http.StatusCreated
	default:
		return e.route.method != http.MethodDelete && e.input.has("header", "If-Match")
	}
}

func (e *endpoint) successHeaders() map[string]*huma.Param {
	headers := e.commonHeaders()
	if e.route.successStatus() == http.StatusCreated {
		headers["Location"] = headerRef("Location")
	}
	if e.isVersioned() {
		headers["ETag"] = headerRef("ETag")
	}
	if e.route.idempotent {
		headers[replayedHeader] = headerRef(replayedHeader)
	}
	return headers
}

// commonHeaders are those of every answer of the route.
func (e *endpoint) commonHeaders() map[string]*huma.Param {
	headers := map[string]*huma.Param{"X-Trace-Id": headerRef("X-Trace-Id")}
	if len(e.route.limits) > 0 {
		for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			headers[name] = headerRef(name)
		}
	}
	return headers
}

func headerRef(name string) *huma.Param { return &huma.Param{Ref: "#/components/headers/" + name} }

func sharedHeaders() map[string]*huma.Header {
	text := func(format string, args ...any) *huma.Header {
		return &huma.Header{Description: fmt.Sprintf(format, args...), Schema: &huma.Schema{Type: huma.TypeString}}
	}
	number := func(description string) *huma.Header {
		return &huma.Header{Description: description, Schema: &huma.Schema{Type: huma.TypeInteger}}
	}
	return map[string]*huma.Header{
		"X-Trace-Id":          text("The W3C trace id of the request."),
		"Location":            text("Where the new resource can be read."),
		"Content-Disposition": text("The name to save the file as."),
		"ETag":                text("The version of the body, for If-Match and If-None-Match."),
		"WWW-Authenticate":    text("How to authenticate."),
		"Retry-After":         number("Seconds after which the same call may succeed."),
		"RateLimit-Limit":     number("How many requests the tightest limit allows in its window."),
		"RateLimit-Remaining": number("How many of them are left."),
		"RateLimit-Reset":     number("Seconds until the oldest request leaves the window."),
		replayedHeader:        text("Set to true where the answer is that of an earlier call with the same key."),
	}
}
