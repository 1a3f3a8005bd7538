package resource

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"steward/internal/fault"
	"steward/internal/scope"
)

// maxSearch bounds what a search may cost.
const maxSearch = 200

// Params are the query parameters that every v1 list takes (QueryParameters of the contract). A list
// with filters of its own embeds it.
type Params struct {
	Page           int    `query:"page" minimum:"1" maximum:"2147483647" doc:"Which page, counted from 1. Default 1."`
	PageNumber     int    `query:"pageNumber" minimum:"1" maximum:"2147483647" doc:"The same as page."`
	PageSize       int    `query:"pageSize" minimum:"1" maximum:"100" default:"20" doc:"How many items a page holds."`
	SortBy         string `query:"sortBy" maxLength:"64" doc:"A scalar field of the items, in any case. Ties are broken by id."`
	SortDirection  string `query:"sortDirection" enum:"Ascending,Descending,asc,desc" doc:"Ascending where left out; in any case."`
	Search         string `query:"search" maxLength:"200" doc:"Keeps the items in which this text occurs, in any case."`
	IncludeDeleted bool   `query:"includeDeleted" doc:"Shows deleted items too, to callers who may delete."`
}

// Query is a list's parameters: a struct that embeds Params and adds its filters.
type Query interface{ Base() Params }

// Base makes every struct that embeds Params a Query.
func (p Params) Base() Params { return p }

// Selection is what a list was asked for, checked.
type Selection struct {
	Window
	Order Order
	// Search is the text to look for, without outer spaces; empty for none.
	Search         string
	IncludeDeleted bool
}

// Select checks the parameters against what the list can be sorted by; a refusal names every wrong
// one. Whether the caller may see deleted items is for MaySeeDeleted to say.
func (p Params) Select(sorting Sorting) (Selection, error) {
	w, wrong := window(p.Page, p.PageNumber, p.PageSize, MaxPageSize)
	order, more := sorting.order(p.SortBy, p.SortDirection)
	wrong = append(wrong, more...)
	search := strings.TrimSpace(p.Search)
	if problem := badText(search, maxSearch); problem != "" {
		wrong = append(wrong, fault.Field{Name: "search", Message: problem})
	}
	if len(wrong) > 0 {
		return Selection{}, fault.InvalidFields(wrong...)
	}
	return Selection{Window: w, Order: order, Search: search, IncludeDeleted: p.IncludeDeleted}, nil
}

// MaySeeDeleted refuses a caller who lacks the permission to delete, which is the permission to see
// what was deleted.
func MaySeeDeleted(ctx context.Context, deletePermission string) error {
	if a := scope.ActorFrom(ctx); a == nil || !a.Can(deletePermission) {
		return fault.New(fault.MissingPermission, "includeDeleted needs the permission %s.", deletePermission)
	}
	return nil
}

// badText says what keeps a text out of the databases, or nothing. PostgreSQL takes neither NUL nor
// broken UTF-8; SQLite would, and must not differ.
func badText(text string, limit int) string {
	switch {
	case !utf8.ValidString(text):
		return "must be valid UTF-8"
	case strings.ContainsRune(text, 0):
		return "must not contain the character NUL"
	case limit > 0 && utf8.RuneCountInString(text) > limit:
		return fmt.Sprintf("must have at most %d characters", limit)
	}
	return ""
}
