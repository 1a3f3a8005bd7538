package web

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"steward/internal/fault"
)

// input is what a route reads from a request, worked out once from the tags of its input type. The
// API reference is made from the same list, so it cannot tell otherwise.
type input struct {
	params []param
	body   *body
	upload *upload
}

// newInput reads the tags of t: path, query and header on any field, the field Body, or one Upload. It
// panics where the tags and the pattern of the route do not fit each other.
func newInput(registry huma.Registry, route *Route, t reflect.Type) input {
	var in input
	in.collect(registry, route, t, nil)
	for _, name := range pathNames(route.path) {
		if !in.has("path", name) {
			panic(fmt.Sprintf("%s: no input field is tagged path:%q", route, name))
		}
	}
	for i := range in.params {
		if p := &in.params[i]; p.location == "path" && !slices.Contains(pathNames(route.path), p.name) {
			panic(fmt.Sprintf("%s: the path has no {%s}", route, p.name))
		}
	}
	if in.takesBody() && route.method == http.MethodGet {
		panic(fmt.Sprintf("%s: a GET has no body", route))
	}
	return in
}

func (in *input) collect(registry huma.Registry, route *Route, t reflect.Type, index []int) {
	for i := range t.NumField() {
		field := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		location := paramLocation(field)
		switch {
		case field.Anonymous && field.Type.Kind() == reflect.Struct && location == "":
			in.collect(registry, route, field.Type, at)
		case location != "":
			in.params = append(in.params, newParam(registry, route, field, at, location))
		case field.Type == reflect.TypeFor[Upload]():
			in.upload = newUpload(route, field, at)
		case field.Name == "Body":
			in.body = newBody(registry, route, field, at)
		}
	}
}

func paramLocation(field reflect.StructField) string {
	for _, location := range []string{"path", "query", "header"} {
		if field.Tag.Get(location) != "" {
			return location
		}
	}
	return ""
}

func (in *input) has(location, name string) bool {
	for i := range in.params {
		if in.params[i].location == location && in.params[i].name == name {
			return true
		}
	}
	return false
}

// pathNames lists the parameters of a pattern such as /users/{id}.
func pathNames(pattern string) []string {
	var names []string
	for part := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// bind fills v, the input of one call, and reports everything that is wrong at once.
func (in *input) bind(r *http.Request, raw []byte, v reflect.Value) error {
	var wrong []fault.Field
	if len(in.params) > 0 {
		source := paramSource{r: r}
		if r.URL.RawQuery != "" {
			var err error
			if source.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
				wrong = append(wrong, fault.Field{Name: "query", Message: "is not a valid query string"})
			}
		}
		for i := range in.params {
			wrong = append(wrong, in.params[i].bind(&source, v)...)
		}
	}
	if in.body != nil {
		wrong = append(wrong, in.body.bind(raw, v)...)
	}
	if in.upload != nil {
		wrong = append(wrong, in.upload.bind(raw, v)...)
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	return nil
}

// fieldsOf turns what huma found into fields, leaving the values out.
func fieldsOf(errs []error) []fault.Field {
	fields := make([]fault.Field, 0, len(errs))
	for _, err := range errs {
		if detail, ok := err.(*huma.ErrorDetail); ok {
			fields = append(fields, fieldOf(detail))
		}
	}
	return fields
}

func fieldOf(detail *huma.ErrorDetail) fault.Field {
	location, message := detail.Location, detail.Message
	if name, ok := strings.CutPrefix(message, requiredMark); ok {
		location, message = location+"."+name, "is required"
	}
	name := strings.TrimPrefix(strings.TrimPrefix(location, bodyRoot), ".")
	if name == "" {
		name = bodyRoot
	}
	return fault.Field{Name: name, Message: message}
}
