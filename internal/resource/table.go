package resource

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
)

// table is the SQL of one resource, written once from its declaration. Every name in it comes from
// the program; requests only ever give arguments.
type table struct {
	columns  []column
	stored   []column // those with a column in the table
	changing []column // those an update may write
	searched []column
	soft     bool
	tenanted bool

	selectFrom string // SELECT ... FROM table
	countFrom  string
	insert     string
	update     string
	bury       string // soft deletion
	remove     string // hard deletion
}

// fixed columns are written once, or by deletion alone.
var fixed = []string{"id", "tenant_id", "created_at", "deleted_at"}

func newTable(name string, item reflect.Type, search []string) table {
	probe := reflect.New(item).Interface()
	t := table{columns: columnsOf(item)}
	_, t.soft = deletionOf(probe)
	_, t.tenanted = ownerOf(probe)
	for _, c := range t.columns {
		if c.name == "" {
			continue
		}
		t.stored = append(t.stored, c)
		if !slices.Contains(fixed, c.name) {
			t.changing = append(t.changing, c)
		}
	}
	for _, field := range search {
		c := find(t.columns, field)
		if !c.text || c.nullable {
			panic(fmt.Sprintf("resource: cannot search in %s, which is no text", field))
		}
		t.searched = append(t.searched, c)
	}
	t.write(name)
	return t
}

// write composes the statements. Each begins with the row's own columns, then the search key; what a
// statement changes is found by id, version and tenant, so that one condition decides.
func (t *table) write(name string) {
	t.selectFrom = "SELECT " + strings.Join(names(t.stored), ", ") + " FROM " + name
	t.countFrom = "SELECT count(*) FROM " + name

	inserted, set := names(t.stored), names(t.changing)
	if len(t.searched) > 0 {
		inserted, set = append(inserted, searchColumn), append(set, searchColumn)
	}
	t.insert = "INSERT INTO " + name + " (" + strings.Join(inserted, ", ") + ") VALUES (" + placeholders(len(inserted)) + ")"
	for i, column := range set {
		set[i] = column + " = " + placeholder(i+1)
	}
	t.update = "UPDATE " + name + " SET " + strings.Join(set, ", ") + t.exactly(len(set)+1)
	t.bury = "UPDATE " + name + " SET updated_at = $1, deleted_at = $2" + t.exactly(3)
	t.remove = "DELETE FROM " + name + t.exactly(1)
}

// exactly is the condition under which a row is changed: it is there, nobody changed it since it was
// read, and it belongs to the tenant. Its arguments are those of version.
func (t *table) exactly(from int) string {
	where := " WHERE id = " + placeholder(from) + " AND updated_at = " + placeholder(from+1)
	if t.tenanted {
		where += " AND tenant_id = " + placeholder(from+2)
	}
	if t.soft {
		where += " AND deleted_at IS NULL"
	}
	return where
}

// version are the arguments of exactly.
func (t *table) version(id uuid.UUID, updatedAt db.Time, tenant uuid.UUID) []any {
	args := []any{id, updatedAt}
	if t.tenanted {
		args = append(args, tenant)
	}
	return args
}

// values are the arguments that write the columns of an item.
func (t *table) values(item any, columns []column) []any {
	v := reflect.ValueOf(item).Elem()
	args := make([]any, 0, len(columns)+4)
	for _, c := range columns {
		args = append(args, v.FieldByIndex(c.index).Interface())
	}
	if len(t.searched) > 0 {
		texts := make([]string, len(t.searched))
		for i, c := range t.searched {
			texts[i] = v.FieldByIndex(c.index).String()
		}
		args = append(args, SearchKey(texts...))
	}
	return args
}

// settle makes an item what the databases will return: instants in UTC and as fine as they keep them.
// What only one of them would take is refused.
func (t *table) settle(item any) error {
	v := reflect.ValueOf(item).Elem()
	var wrong []fault.Field
	for _, c := range t.stored {
		if problem := settleField(v.FieldByIndex(c.index)); problem != "" && c.field != "" {
			wrong = append(wrong, fault.Field{Name: c.field, Message: problem})
		}
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	return nil
}

func settleField(field reflect.Value) (problem string) {
	value := reflect.Indirect(field)
	if !value.IsValid() { // null
		return ""
	}
	if value.Kind() == reflect.String {
		return badText(value.String(), 0)
	}
	if at, ok := value.Interface().(db.Time); ok {
		if !isStorable(at.Time) {
			return "must be in the years 1 to 9999"
		}
		settled := reflect.New(value.Type())
		settled.Elem().Set(reflect.ValueOf(db.At(at.Time)))
		if field.Kind() != reflect.Pointer {
			settled = settled.Elem()
		}
		field.Set(settled)
	}
	return ""
}

// isStorable is false for instants that the fixed width of their text cannot hold.
func isStorable(at time.Time) bool {
	year := at.UTC().Year()
	return year >= 1 && year <= 9999
}

func names(columns []column) []string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.name
	}
	return all
}

func placeholder(n int) string { return "$" + strconv.Itoa(n) }

func placeholders(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = placeholder(i + 1)
	}
	return strings.Join(all, ", ")
}

// conditions is a WHERE in the making. Which parts it has depends on what a request gives, so a
// resource has as many texts as combinations of its own parameters, and none from a request's words.
type conditions struct {
	parts []string
	args  []any
}

// bind keeps an argument and returns its placeholder.
func (c *conditions) bind(arg any) string {
	c.args = append(c.args, arg)
	return placeholder(len(c.args))
}

func (c *conditions) add(part string) { c.parts = append(c.parts, part) }

func (c *conditions) where() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

// reach limits a statement to the rows that exist for the caller.
func (t *table) reach(c *conditions, tenant uuid.UUID, deletedToo bool) {
	if t.tenanted {
		c.add("tenant_id = " + c.bind(tenant))
	}
	if t.soft && !deletedToo {
		c.add("deleted_at IS NULL")
	}
}
