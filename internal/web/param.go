package web

import (
	"encoding"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"steward/internal/fault"
)

var textType = reflect.TypeFor[encoding.TextUnmarshaler]()

// param is one value from the path, the query or a header.
type param struct {
	location, name string
	index          []int
	required       bool
	fallback       string
	list           bool
	hidden         bool // from the API reference
	set            func(v reflect.Value, text string) (any, error)
	schema         *huma.Schema
	registry       huma.Registry
}

func newParam(registry huma.Registry, route *Route, field reflect.StructField, index []int, location string) param {
	p := param{
		location: location,
		name:     field.Tag.Get(location),
		index:    index,
		required: location == "path" || field.Tag.Get("required") == "true",
		fallback: field.Tag.Get("default"),
		hidden:   field.Tag.Get("hidden") == "true",
		registry: registry,
	}
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && !reflect.PointerTo(t).Implements(textType) {
		p.list, t = true, t.Elem()
	}
	if p.set = setterOf(t, location); p.set == nil {
		panic(fmt.Sprintf("%s: field %s cannot be read from text", route, field.Name))
	}
	field.Type = t // the schema is that of one value; a pointer only says that it may be missing
	if p.list {
		field.Type = reflect.SliceOf(t)
	}
	p.schema = huma.SchemaFromField(registry, field, "")
	return p
}

// bind sets the field of v, or says what is wrong with the text.
func (p *param) bind(source *paramSource, v reflect.Value) []fault.Field {
	texts, err := source.texts(p)
	switch {
	case err != nil:
		return []fault.Field{{Name: p.name, Message: err.Error()}}
	case len(texts) > 0:
	case p.fallback != "":
		texts = p.split(p.fallback)
	case p.required:
		return []fault.Field{{Name: p.name, Message: "is required"}}
	default:
		return nil
	}
	value, err := p.fill(v.FieldByIndex(p.index), texts)
	if err != nil {
		return p.explain(texts, err)
	}
	return p.validate(value)
}

// explain says what texts that cannot be read should have been. The schema knows best.
func (p *param) explain(texts []string, err error) []fault.Field {
	var value any = texts[0]
	if p.list {
		value = texts
	}
	if wrong := p.validate(value); len(wrong) > 0 {
		return wrong
	}
	return []fault.Field{{Name: p.name, Message: messageOf(err, nil)}}
}

func (p *param) split(text string) []string {
	if p.list {
		return strings.Split(text, ",")
	}
	return []string{text}
}

// fill parses the texts into the field and returns the value in the form that schemas check.
func (p *param) fill(field reflect.Value, texts []string) (any, error) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if !p.list {
		return p.set(field, canonical(p.schema, texts[0]))
	}
	values := make([]any, len(texts))
	list := reflect.MakeSlice(field.Type(), len(texts), len(texts))
	for i, text := range texts {
		var err error
		if values[i], err = p.set(list.Index(i), canonical(p.schema.Items, text)); err != nil {
			return nil, err
		}
	}
	field.Set(list)
	return values, nil
}

// validate names the parameter even where one item of a list is wrong: it is what the caller knows.
func (p *param) validate(value any) []fault.Field {
	var result huma.ValidateResult
	path := huma.NewPathBuffer(make([]byte, 0, 32), 0)
	huma.Validate(p.registry, p.schema, path, huma.ModeWriteToServer, value, &result)
	wrong := fieldsOf(result.Errors)
	for i := range wrong {
		wrong[i].Name = p.name
	}
	return wrong
}

// paramSource reads texts from one request.
type paramSource struct {
	r     *http.Request
	query url.Values
}

// texts returns the non-empty values given for p: for lists both repeated and comma-separated ones.
func (s *paramSource) texts(p *param) ([]string, error) {
	values, err := s.values(p)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, value := range values {
		for _, text := range p.split(value) {
			if text = strings.TrimSpace(text); text != "" {
				texts = append(texts, text)
			}
			if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				return nil, errNotText
			}
		}
	}
	if len(texts) > 1 && !p.list {
		return nil, errors.New("must be given once")
	}
	return texts, nil
}

func (s *paramSource) values(p *param) ([]string, error) {
	switch p.location {
	case "path":
		text, err := pathText(s.r, p.name)
		return []string{text}, err
	case "header":
		lines := s.r.Header[textproto.CanonicalMIMEHeaderKey(p.name)]
		if len(lines) > 1 {
			lines = []string{strings.Join(lines, ", ")} // several lines are one list
		}
		return lines, nil
	default:
		return s.query[p.name], nil
	}
}

// pathText undoes the escapes that the router leaves in place.
func pathText(r *http.Request, name string) (string, error) {
	text := r.PathValue(name)
	if r.URL.RawPath == "" {
		return text, nil
	}
	text, err := url.PathUnescape(text)
	if err != nil {
		return "", errNotText
	}
	return text, nil
}

// setterOf returns how a value of type t is read from text; nil where it cannot be.
func setterOf(t reflect.Type, location string) func(reflect.Value, string) (any, error) {
	switch {
	case t == reflect.TypeFor[ID]() && location == "path":
		return setPathID
	case t == reflect.TypeFor[uuid.UUID]():
		return setUUID
	case reflect.PointerTo(t).Implements(textType):
		return setText
	}
	switch t.Kind() {
	case reflect.String:
		return setString
	case reflect.Bool:
		return setBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return setUint
	case reflect.Float32, reflect.Float64:
		return setFloat
	default:
		return nil
	}
}

func setUUID(v reflect.Value, text string) (any, error) {
	id, err := parseUUID(text)
	if err == nil {
		v.Set(reflect.ValueOf(id).Convert(v.Type()))
	}
	return text, err
}

func setPathID(v reflect.Value, text string) (any, error) {
	id, err := parseUUID(text)
	if err == nil {
		v.Set(reflect.ValueOf(ID{id}))
	}
	return text, err
}

func setText(v reflect.Value, text string) (any, error) {
	return text, v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
}

func setString(v reflect.Value, text string) (any, error) {
	v.SetString(text)
	return text, nil
}

func setBool(v reflect.Value, text string) (any, error) {
	b, err := strconv.ParseBool(strings.ToLower(text))
	v.SetBool(b)
	return b, err
}

func setInt(v reflect.Value, text string) (any, error) {
	n, err := strconv.ParseInt(text, 10, v.Type().Bits())
	v.SetInt(n)
	return n, err
}

func setUint(v reflect.Value, text string) (any, error) {
	n, err := strconv.ParseUint(text, 10, v.Type().Bits())
	v.SetUint(n)
	return n, err
}

func setFloat(v reflect.Value, text string) (any, error) {
	n, err := strconv.ParseFloat(text, v.Type().Bits())
	if n-n != 0 { // NaN and the infinities are no numbers in JSON either
		return nil, strconv.ErrRange
	}
	v.SetFloat(n)
	return n, err
}
