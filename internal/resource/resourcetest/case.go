// Package resourcetest holds any resource to the generic contract, over HTTP: a resource's test
// describes it in a Case and calls Run.
package resourcetest

import (
	"encoding/hex"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
)

// Body is a JSON object as it is sent or was answered.
type Body = map[string]any

// Case describes a resource to Run. Limits must be off, and the handler must serve nothing else that
// changes its items meanwhile.
type Case struct {
	// Handler serves the resource below Path, such as /api/v1/apps.
	Handler http.Handler
	Path    string
	// Full may do everything with the resource, Reader may read it, Nobody may do nothing with it.
	Full, Reader, Nobody string
	// Elsewhere may do everything in another tenant; empty for a resource that belongs to no tenant.
	Elsewhere string

	// Create is the n-th valid body. Two bodies never collide, and only required fields are needed.
	Create func(n int) Body
	// Update is a valid body that changes an item made by Create.
	Update Body
	// InvalidCreates and InvalidUpdates change a valid body into one that is refused for a field.
	InvalidCreates, InvalidUpdates []Invalid

	// Text is a text field that search looks into and that takes any characters.
	Text string
	// OptionalText is a text field that an update may clear; empty for none.
	OptionalText string
	// Unique is the field in which two items may not be the same, regardless of case.
	Unique string
	// Filters are the resource's own query parameters.
	Filters []Filter

	// OnceShown are fields that only the answer to a creation has.
	OnceShown []string

	// NotFound and AlreadyExists are the codes of 404 and 409.
	NotFound, AlreadyExists string
	// SoftDelete says that deleted items stay stored.
	SoftDelete bool
	// DeleteStatus is the status of a deletion; 204 where zero.
	DeleteStatus int
}

// Invalid is a change to a valid body, and the field for which it must be refused.
type Invalid struct {
	Name   string
	Change Body
	Field  string
}

// Filter is a query, such as "isActive=true", and which items it keeps. Wrong is one that is refused
// for the field, such as "isActive=perhaps".
type Filter struct {
	Query string
	Keeps func(item Body) bool
	Wrong string
	Field string
}

// absent in a change takes a field out of the body.
var absent = new(int)

// Absent takes a field out of a body.
func Absent() any { return absent }

// suite is one run of a case.
type suite struct {
	Case
	made *atomic.Int64
}

// Run holds the resource to the contract.
func Run(t *testing.T, c Case) {
	if c.DeleteStatus == 0 {
		c.DeleteStatus = http.StatusNoContent
	}
	s := &suite{Case: c, made: new(atomic.Int64)}
	for _, check := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"access", s.access}, {"create", s.create}, {"create twice", s.createTwice}, {"idempotency", s.idempotency},
		{"get", s.get}, {"update", s.update}, {"update refused", s.updateRefused}, {"if match", s.ifMatch},
		{"delete", s.delete}, {"bulk delete", s.bulkDelete}, {"bulk refused", s.bulkRefused},
		{"list", s.list}, {"list refused", s.listRefused}, {"pages", s.pages}, {"sort", s.sort}, {"search", s.search},
		{"filters", s.filters}, {"include deleted", s.includeDeleted}, {"other tenants", s.otherTenants},
		{"wrong method", s.wrongMethod},
	} {
		t.Run(check.name, check.run)
	}
}

// body is a fresh valid body with the changes made to it.
func (s *suite) body(changes ...Body) Body {
	b := maps.Clone(s.Create(int(s.made.Add(1))))
	for _, change := range changes {
		apply(b, change)
	}
	return b
}

func apply(b, change Body) {
	for name, value := range change {
		if value == any(absent) {
			delete(b, name)
		} else {
			b[name] = value
		}
	}
}

// make creates an item and returns it as it was answered.
func (s *suite) make(t *testing.T, changes ...Body) Body {
	t.Helper()
	res := s.call(t, s.Full, http.MethodPost, "", s.body(changes...))
	res.want(t, http.StatusCreated)
	return s.readable(t, res.body)
}

// readable is the answer to a creation without what only that has.
func (s *suite) readable(t *testing.T, created Body) Body {
	t.Helper()
	read := maps.Clone(created)
	for _, field := range s.OnceShown {
		if text, _ := created[field].(string); text == "" {
			t.Errorf("the answer to the creation has no %s: %v", field, created)
		}
		delete(read, field)
	}
	return read
}

// mark is a text that occurs in no item yet, so that a search for it finds one test's items alone.
func mark(t *testing.T) string {
	t.Helper()
	id := uuid.New()
	return "m" + hex.EncodeToString(id[:6])
}

func unknownID(t *testing.T) string {
	t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return id.String()
}
