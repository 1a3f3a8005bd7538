package resource

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"steward/internal/db"
	"steward/internal/fault"
)

// filter is one filter of a list: a pointer field of its query struct, tied to a column. It keeps the
// items whose field of the same name has the value given, or of the field that its tag names, from
// or up to a value where the tag says so; nil keeps all:
//
//	IsActive *bool             `query:"isActive"`
//	Kind     *string           `query:"kind" enum:"Small,Large"`
//	From     *resource.Instant `query:"fromDate" filter:"createdAt,min"`
//	To       *resource.Instant `query:"toDate" filter:"createdAt,max"`
type filter struct {
	param    string
	column   string
	operator string
	index    []int
}

// operators by what stands behind the comma of a filter tag.
var operators = map[string]string{"": " = ", "min": " >= ", "max": " <= "}

// filtersOf reads the filters of a query struct. It panics on a field that is none.
func filtersOf(query reflect.Type, columns []column) []filter {
	var filters []filter
	for i := range query.NumField() {
		field := query.Field(i)
		if field.Type == reflect.TypeFor[Params]() {
			continue
		}
		param := field.Tag.Get("query")
		name, bound, _ := strings.Cut(field.Tag.Get("filter"), ",")
		operator, known := operators[bound]
		if field.Type.Kind() != reflect.Pointer || param == "" || !known {
			panic(fmt.Sprintf("resource: %s.%s is no filter", query, field.Name))
		}
		if name == "" {
			name = param
		}
		filters = append(filters, filter{param, find(columns, name).name, operator, field.Index})
	}
	return filters
}

// apply adds the filter's condition where the query has a value for it.
func (f filter) apply(c *conditions, query reflect.Value) (wrong []fault.Field) {
	given := query.FieldByIndex(f.index)
	if given.IsNil() {
		return nil
	}
	value := given.Elem()
	arg := value.Interface()
	if value.Kind() == reflect.String {
		arg = value.String() // of whichever string type
		if problem := badText(value.String(), maxSearch); problem != "" {
			return []fault.Field{{Name: f.param, Message: problem}}
		}
	}
	if at, ok := arg.(Instant); ok {
		arg = at.First()
		if f.operator == operators["max"] {
			arg = at.Last()
		}
	}
	c.add(f.column + f.operator + c.bind(arg))
	return nil
}

// Instant is a point in time as filters take it: RFC 3339, or a date, which means that whole day in
// UTC.
type Instant struct{ first, last time.Time }

// UnmarshalText reads either form.
func (i *Instant) UnmarshalText(text []byte) error {
	first, err := time.Parse(time.DateOnly, string(text))
	last := first.AddDate(0, 0, 1).Add(-time.Microsecond) // the databases keep nothing finer
	if err != nil {
		first, err = time.Parse(time.RFC3339Nano, string(text))
		last = first
	}
	if err != nil || !isStorable(first) {
		return fault.New(fault.Validation, "must be a date such as 2026-01-31 or a time such as 2026-01-31T08:00:00Z")
	}
	*i = Instant{first, last}
	return nil
}

// First is the least time that the instant means, to be compared with >=.
func (i Instant) First() db.Time { return db.At(i.first) }

// Last is the greatest time that the instant means, to be compared with <=.
func (i Instant) Last() db.Time { return db.At(i.last) }
