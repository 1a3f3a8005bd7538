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

// schemasOf corrects what huma cannot tell from a type: that a pointer without omitempty is written
// as null, and that more members than listed are no error, which JSON Schema takes for granted.
func schemasOf(registry huma.Registry) *documented {
	d := &documented{Registry: registry, schemas: map[string]*huma.Schema{}}
	for name, schema := range registry.Map() {
		copied := *schema
		copied.Properties = maps.Clone(schema.Properties)
		if copied.AdditionalProperties == true {
			copied.AdditionalProperties = nil
		}
		if t := registry.TypeFromRef("#/components/schemas/" + name); t != nil && t.Kind() == reflect.Struct {
			markNullable(copied.Properties, t)
		}
		d.schemas[name] = &copied
	}
	return d
}

func markNullable(properties map[string]*huma.Schema, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			markNullable(properties, field.Type)
			continue
		}
		schema, ok := properties[name]
		if !ok || field.Type.Kind() != reflect.Pointer || strings.Contains(options, "omit") {
			continue
		}
		properties[name] = orNull(schema)
	}
}

// orNull is the schema with null allowed beside it.
func orNull(schema *huma.Schema) *huma.Schema {
	if schema.Ref != "" {
		return &huma.Schema{AnyOf: []*huma.Schema{{Ref: schema.Ref}, {Type: "null"}}, Description: schema.Description}
	}
	copied := *schema
	copied.Nullable = copied.Type != ""
	return &copied
}
