package web

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// OneOf is a body that comes in two forms, of which exactly one is set.
type OneOf[A, B any] struct {
	first  *A
	second *B
}

// First makes a body of the first form.
func First[A, B any](body A) OneOf[A, B] { return OneOf[A, B]{first: &body} }

// Second makes a body of the second form.
func Second[A, B any](body B) OneOf[A, B] { return OneOf[A, B]{second: &body} }

// MarshalJSONTo writes the form that is set.
func (o OneOf[A, B]) MarshalJSONTo(out *jsontext.Encoder) error {
	if o.first != nil {
		return json.MarshalEncode(out, o.first)
	}
	return json.MarshalEncode(out, o.second)
}

// Schema documents both forms.
func (OneOf[A, B]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[A](), true, ""),
		r.Schema(reflect.TypeFor[B](), true, ""),
	}}
}

// Nullable is an object in a body that may be null.
type Nullable[T any] struct{ V *T }

// MarshalJSON writes the object or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.V) }

// Schema documents both.
func (Nullable[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}
