package web

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// documented is the registry as the document shows it: corrected copies, so that what requests are
// checked against stays as it is.
type documented struct {
	huma.Registry
	schemas map[string]*huma.Schema
}

// MarshalJSON writes the copies.
func (d *documented) MarshalJSON() ([]byte, error) { return json.Marshal(d.schemas) }

// schemasOf corrects what huma does not tell: that an object behind a pointer may be null, and that
// more members than listed are no error, which JSON Schema takes for granted.
func schemasOf(registry huma.Registry) *documented {
	d := &documented{Registry: registry, schemas: map[string]*huma.Schema{}}
	for name, schema := range registry.Map() {
		copied := *schema
		copied.Properties = maps.Clone(schema.Properties)
		if copied.AdditionalProperties == true {
			copied.AdditionalProperties = nil
		}
		eachPointer(registry, name, func(property string) {
			if s := copied.Properties[property]; s != nil && s.Ref != "" {
				copied.Properties[property] = &huma.Schema{
					AnyOf: []*huma.Schema{{Ref: s.Ref}, {Type: "null"}}, Description: s.Description,
				}
			}
		})
		d.schemas[name] = &copied
	}
	return d
}

// allowNull lets pointers to ids and instants be null. huma does so for pointers to plain values, but
// not for those of types that stand for others.
func allowNull(registry huma.Registry) {
	for name, schema := range registry.Map() {
		eachPointer(registry, name, func(property string) {
			if s := schema.Properties[property]; s != nil && s.Type == huma.TypeString {
				s.Nullable = true
			}
		})
	}
}

// eachPointer calls visit with the properties of a schema that are written as null where they are nil.
func eachPointer(registry huma.Registry, name string, visit func(property string)) {
	if t := registry.TypeFromRef(schemaPrefix + name); t != nil && t.Kind() == reflect.Struct {
		eachPointerOf(t, visit)
	}
}

func eachPointerOf(t reflect.Type, visit func(property string)) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			eachPointerOf(field.Type, visit)
		case field.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit"):
			visit(name)
		}
	}
}
