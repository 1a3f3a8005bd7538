package web

import (
	"errors"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

var (
	errNotUUID   = errors.New("must be a UUID")
	errEmptyUUID = errors.New("must not be empty")
)

// ID is an id in a path, query or body. Text that is no UUID is refused with the field's name, and so
// is the nil UUID, which clients send for "nothing chosen". Only in a path the nil UUID passes: there
// it names something that does not exist.
type ID struct{ uuid.UUID }

// UnmarshalText reads the usual form of 36 characters, and no other.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := parseUUID(string(text))
	if err != nil {
		return err
	}
	if parsed == uuid.Nil {
		return errEmptyUUID
	}
	id.UUID = parsed
	return nil
}

func parseUUID(text string) (uuid.UUID, error) {
	if len(text) != 36 {
		return uuid.Nil, errNotUUID
	}
	parsed, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, errNotUUID // the cause would repeat the text
	}
	return parsed, nil
}

// Schema describes an id.
func (ID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid", Examples: []any{"0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e4f"}}
}

// Opt is a field of a body that tells apart left out (Set false), null (Set and Null) and given.
type Opt[T any] struct {
	Set, Null bool
	V         T
}

// UnmarshalJSONFrom is called only where the field is there.
func (o *Opt[T]) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	*o = Opt[T]{Set: true, Null: in.PeekKind() == 'n'}
	if o.Null {
		return in.SkipValue()
	}
	return json.UnmarshalDecode(in, &o.V)
}

// MarshalJSONTo writes null unless a value was given.
func (o Opt[T]) MarshalJSONTo(out *jsontext.Encoder) error {
	if !o.Set || o.Null {
		return out.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(out, &o.V)
}

// IsZero reports whether the field was left out, for omitzero.
func (o Opt[T]) IsZero() bool { return !o.Set }

// Ptr is the value, or nil where it was left out or null.
func (o Opt[T]) Ptr() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.V
}

// Schema is that of T, or null.
func (o Opt[T]) Schema(r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, reflect.TypeFor[T]().Name())
	if s.Ref == "" {
		s.Nullable = true
	}
	return s
}

// Object is a JSON object in an answer that is sent as it was stored; an empty one is null.
type Object []byte

// MarshalJSONTo writes the object.
func (o Object) MarshalJSONTo(out *jsontext.Encoder) error {
	if len(o) == 0 {
		return out.WriteToken(jsontext.Null)
	}
	return out.WriteValue(jsontext.Value(o))
}

// Schema describes an object with any members.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Nullable: true}
}
