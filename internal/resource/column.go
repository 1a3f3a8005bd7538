package resource

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

// column is one field of an item: how requests call it and where the table keeps it.
type column struct {
	field    string // in JSON; empty where it is not shown
	name     string // in the table; empty where it is computed
	sort     string // what to sort by; empty where it cannot be sorted
	index    []int
	text     bool
	nullable bool
}

// columnsOf reads the declaration of an item from its `json` and `db` tags. It panics on a field that
// does not say its column, so that a forgotten tag ends the start and not a request.
func columnsOf(item reflect.Type) []column {
	var columns []column
	for i := range item.NumField() {
		field := item.Field(i)
		tag, tagged := field.Tag.Lookup("db")
		switch {
		case field.Anonymous && !tagged && field.Type.Kind() == reflect.Struct:
			for _, inner := range columnsOf(field.Type) {
				inner.index = append(slices.Clone(field.Index), inner.index...)
				columns = append(columns, inner)
			}
		case !field.IsExported():
		case !tagged:
			panic(fmt.Sprintf("resource: field %s of %s has no db tag", field.Name, item))
		default:
			columns = append(columns, newColumn(field, tag))
		}
	}
	return columns
}

func newColumn(field reflect.StructField, name string) column {
	c := column{field: jsonName(field), name: name, index: field.Index, sort: field.Tag.Get("sort")}
	if name == "-" {
		c.name = ""
	}
	kind := field.Type
	if c.nullable = kind.Kind() == reflect.Pointer; c.nullable {
		kind = kind.Elem()
	}
	c.text = kind.Kind() == reflect.String && c.name != ""
	if c.sort == "" && scalar(kind) {
		c.sort = c.name
	}
	return c
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch name {
	case "-":
		return ""
	case "":
		return field.Name
	}
	return name
}

func scalar(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[uuid.UUID](), reflect.TypeFor[db.Time](), reflect.TypeFor[time.Time]():
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// sortFields are the scalar fields that requests can see.
func sortFields(columns []column) []SortField {
	var fields []SortField
	for _, c := range columns {
		if c.field != "" && c.sort != "" {
			fields = append(fields, SortField{Name: c.field, SQL: c.sort, Text: c.text, Nullable: c.nullable})
		}
	}
	return fields
}

// find returns the stored column that requests call field; it panics where there is none.
func find(columns []column, field string) column {
	for _, c := range columns {
		if c.name != "" && strings.EqualFold(c.field, field) {
			return c
		}
	}
	panic(fmt.Sprintf("resource: no stored field is called %q", field))
}
