package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"steward/internal/fault"
)

// bodyRoot is how huma calls the body in its paths, and how a fault about all of it names it.
const bodyRoot = "body"

// body is the JSON body of a route.
type body struct {
	index    []int
	optional bool // a pointer: nil where nothing was sent
	schema   *huma.Schema
	registry huma.Registry
	enums    bool // whether some value is compared regardless of case
	defaults []bodyDefault
}

// bodyDefault is the value of a field that was left out, as JSON: every call gets one of its own.
type bodyDefault struct {
	index []int
	value []byte
}

func newBody(registry huma.Registry, route *Route, field reflect.StructField, index []int) *body {
	t := field.Type
	b := &body{index: index, registry: registry, optional: t.Kind() == reflect.Pointer}
	if b.optional {
		t = t.Elem()
	}
	b.schema = registry.Schema(t, true, typeName(route, "request"))
	b.schema.PrecomputeMessages()
	b.enums = hasEnum(registry, b.schema, map[string]bool{})
	if t.Kind() == reflect.Struct {
		b.defaults = defaultsOf(route, t, nil)
	}
	return b
}

// defaultsOf collects the default tags of t and of the structs inside it.
func defaultsOf(route *Route, t reflect.Type, index []int) []bodyDefault {
	var found []bodyDefault
	for i := range t.NumField() {
		field := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		text := field.Tag.Get("default")
		switch {
		case text != "":
			found = append(found, bodyDefault{index: at, value: defaultOf(route, field, text)})
		case field.Type.Kind() == reflect.Struct && field.IsExported() && field.Type != reflect.TypeFor[time.Time]():
			found = append(found, defaultsOf(route, field.Type, at)...)
		}
	}
	return found
}

// defaultOf takes the tag as JSON or else as a string.
func defaultOf(route *Route, field reflect.StructField, text string) []byte {
	for _, value := range [][]byte{[]byte(text), strconv.AppendQuote(nil, text)} {
		if json.Unmarshal(value, reflect.New(field.Type).Interface()) == nil {
			return value
		}
	}
	panic(fmt.Sprintf("%s: the default of %s is no value of its type", route, field.Name))
}

// bind checks the text of a body against its schema and decodes it into v.
func (b *body) bind(raw []byte, v reflect.Value) []fault.Field {
	if text := bytes.TrimSpace(raw); len(text) == 0 || b.optional && string(text) == "null" {
		if b.optional {
			return nil
		}
		return []fault.Field{{Name: bodyRoot, Message: "is required"}}
	}
	parsed, wrong := parseStrict(raw)
	if wrong != nil {
		return []fault.Field{*wrong}
	}
	if b.enums {
		raw = b.canonicalise(raw, &parsed)
	}
	if fields := b.validate(parsed); len(fields) > 0 {
		return fields
	}
	target := v.FieldByIndex(b.index)
	if b.optional {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	for _, d := range b.defaults {
		if err := json.Unmarshal(d.value, target.FieldByIndex(d.index).Addr().Interface()); err != nil {
			return []fault.Field{fieldOfDecoding(err)} // not so: it was tried at start
		}
	}
	if err := json.Unmarshal(raw, target.Addr().Interface()); err != nil {
		return []fault.Field{fieldOfDecoding(err)}
	}
	return nil
}

func (b *body) validate(parsed any) []fault.Field {
	var result huma.ValidateResult
	path := huma.NewPathBuffer(make([]byte, 0, 64), 0)
	path.Push(bodyRoot)
	huma.Validate(b.registry, b.schema, path, huma.ModeWriteToServer, parsed, &result)
	return fieldsOf(result.Errors)
}

// readBody reads the whole body, which must be JSON by its content type and not above the limit.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if !isJSON(r.Header) {
		return nil, fault.New(fault.UnsupportedMediaType, "The body must be application/json, in UTF-8 and not compressed.")
	}
	return readLimited(w, r, limit)
}

// refuseBody lets a route that takes no body have an empty one or {}, whatever its content type.
func refuseBody(w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody || r.Method == http.MethodGet {
		return nil
	}
	raw, err := readLimited(w, r, limit)
	if err != nil {
		return err
	}
	var members map[string]any
	if len(bytes.TrimSpace(raw)) > 0 && (json.Unmarshal(raw, &members) != nil || len(members) > 0) {
		return fault.Invalid(bodyRoot, "must be empty: this route takes no body")
	}
	return nil
}

// readLimited reads a body that is there. Where it is too large the connection ends with the answer:
// the rest is not worth reading.
func readLimited(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, bodyTooLarge(limit)
	}
	raw, err := readAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	if err == nil {
		return raw, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		w.Header().Set("Connection", "close")
	}
	return nil, readFault(r, err)
}

func readAll(from io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(from)
	}
	raw := make([]byte, length)
	_, err := io.ReadFull(from, raw)
	return raw, err
}

func readFault(r *http.Request, err error) error {
	var network net.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return bodyTooLarge(tooLarge.Limit)
	case errors.As(err, &network) && network.Timeout():
		return fault.New(fault.RequestTimeout, "The body did not arrive in time.").Because(err)
	case r.Context().Err() != nil, errors.Is(err, io.ErrUnexpectedEOF):
		return errGone
	default:
		return fault.New(fault.BadRequest, "The body cannot be read.").Because(err)
	}
}

// isJSON takes a missing content type as JSON, as most clients of scripts leave it out.
func isJSON(h http.Header) bool {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return false
	}
	contentType := h.Get("Content-Type")
	if contentType == "" || contentType == "application/json" {
		return true
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	charset, named := parameters["charset"]
	return media == "application/json" && (!named || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "us-ascii"))
}
