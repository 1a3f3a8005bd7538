package resource

import (
	"fmt"
	"strings"

	"steward/internal/fault"
)

// The two directions, as answers spell them.
const (
	Ascending  = "Ascending"
	Descending = "Descending"
)

// SortField is a field that a list can be sorted by. SQL comes from the program, never from a request.
type SortField struct {
	// Name is what sortBy calls it.
	Name string
	// SQL is the column or expression behind it.
	SQL string
	// Text sorts without regard to case.
	Text bool
	// Nullable counts null as smaller than every value, on both databases.
	Nullable bool
}

// Sorting is everything a list can be sorted by.
type Sorting struct {
	fields  map[string]SortField
	names   []string
	initial SortField
	tie     string
}

// NewSorting declares the fields of a list. initial names the one used when the request names none,
// and tie is the unique column that breaks ties. It panics where initial is not among the fields.
func NewSorting(initial, tie string, fields ...SortField) Sorting {
	s := Sorting{fields: make(map[string]SortField, len(fields)), tie: tie}
	for _, f := range fields {
		s.fields[strings.ToLower(f.Name)] = f
		s.names = append(s.names, f.Name)
	}
	first, ok := s.fields[strings.ToLower(initial)]
	if !ok {
		panic(fmt.Sprintf("resource: cannot sort by %q", initial))
	}
	s.initial = first
	return s
}

// Names lists the fields in the order of their declaration.
func (s Sorting) Names() []string { return s.names }

// Order is one way to sort.
type Order struct {
	Field      string
	Descending bool
	sql        string
}

// Order finds the way to sort that the parameters sortBy and sortDirection ask for, in any case.
func (s Sorting) Order(sortBy, direction string) (Order, error) {
	o, wrong := s.order(sortBy, direction)
	if len(wrong) > 0 {
		return Order{}, fault.InvalidFields(wrong...)
	}
	return o, nil
}

func (s Sorting) order(sortBy, direction string) (o Order, wrong []fault.Field) {
	field := s.initial
	if sortBy != "" {
		var ok bool
		if field, ok = s.fields[strings.ToLower(sortBy)]; !ok {
			wrong = append(wrong, fault.Field{Name: "sortBy", Message: "must be one of " + strings.Join(s.names, ", ")})
		}
	}
	descending, ok := directions[strings.ToLower(direction)]
	if !ok {
		wrong = append(wrong, fault.Field{Name: "sortDirection", Message: "must be Ascending or Descending"})
	}
	return Order{Field: field.Name, Descending: descending, sql: orderSQL(field, s.tie, descending)}, wrong
}

// directions tells which spelling means descending.
var directions = map[string]bool{"": false, "asc": false, "ascending": false, "desc": true, "descending": true}

// orderSQL sorts ties in the same direction, so that one direction is the exact reverse of the other.
func orderSQL(f SortField, tie string, descending bool) string {
	key, nulls, way := f.SQL, "", ""
	if f.Text {
		key = "lower(" + key + ")"
	}
	if descending {
		way = " DESC"
	}
	if f.Nullable {
		nulls = " NULLS FIRST"
		if descending {
			nulls = " NULLS LAST"
		}
	}
	if f.SQL == tie {
		return key + way
	}
	return key + way + nulls + ", " + tie + way
}

// SQL is what stands behind ORDER BY.
func (o Order) SQL() string { return o.sql }

// Direction is the contract's spelling of the direction.
func (o Order) Direction() string {
	if o.Descending {
		return Descending
	}
	return Ascending
}
