package resource

import (
	"fmt"

	"steward/internal/fault"
)

// How many items a page may hold.
const (
	DefaultPageSize = 20
	MaxPageSize     = 100
)

// PagedResult is one page of a list, as every v1 list answers it.
type PagedResult[T any] struct {
	Items       []T  `json:"items"`
	TotalCount  int  `json:"totalCount" doc:"How many items match, on all pages together."`
	PageNumber  int  `json:"pageNumber"`
	PageSize    int  `json:"pageSize"`
	TotalPages  int  `json:"totalPages"`
	HasNext     bool `json:"hasNext"`
	HasPrevious bool `json:"hasPrevious"`
}

// Window is which part of a list is asked for.
type Window struct {
	Page int
	Size int
}

// NewWindow checks the paging parameters of a list; page and pageNumber are synonyms, and zero means
// not given.
func NewWindow(page, pageNumber, pageSize, maxSize int) (Window, error) {
	w, wrong := window(page, pageNumber, pageSize, maxSize)
	if len(wrong) > 0 {
		return Window{}, fault.InvalidFields(wrong...)
	}
	return w, nil
}

func window(page, pageNumber, pageSize, maxSize int) (w Window, wrong []fault.Field) {
	refuse := func(field, message string) { wrong = append(wrong, fault.Field{Name: field, Message: message}) }
	if page < 0 {
		refuse("page", "must be 1 or more")
	}
	if pageNumber < 0 || (page != 0 && pageNumber != 0 && page != pageNumber) {
		refuse("pageNumber", "must be 1 or more, and the same as page where both are given")
	}
	if pageSize < 0 || pageSize > maxSize {
		refuse("pageSize", fmt.Sprintf("must be between 1 and %d", maxSize))
	}
	w = Window{Page: max(page, pageNumber, 1), Size: pageSize}
	if w.Size == 0 {
		w.Size = min(DefaultPageSize, maxSize)
	}
	return w, wrong
}

// Pages tells on how many pages total items stand.
func (w Window) Pages(total int) int { return (total + w.Size - 1) / w.Size }

// Offset is how many items stand before the window; false where the window lies behind the last of
// total items, so that no query is needed.
func (w Window) Offset(total int) (int, bool) {
	if w.Page > w.Pages(total) {
		return 0, false
	}
	return (w.Page - 1) * w.Size, true
}

// NewPage makes the answer of a list from the items inside the window and the count of all.
func NewPage[T any](items []T, total int, w Window) PagedResult[T] {
	if items == nil {
		items = []T{}
	}
	pages := w.Pages(total)
	return PagedResult[T]{
		Items: items, TotalCount: total, PageNumber: w.Page, PageSize: w.Size, TotalPages: pages,
		HasNext: w.Page < pages, HasPrevious: w.Page > 1,
	}
}

// MapPage is the same page with each item made into something else.
func MapPage[A, B any](page PagedResult[A], change func(A) B) PagedResult[B] {
	items := make([]B, len(page.Items))
	for i, item := range page.Items {
		items[i] = change(item)
	}
	return PagedResult[B]{
		Items: items, TotalCount: page.TotalCount, PageNumber: page.PageNumber, PageSize: page.PageSize,
		TotalPages: page.TotalPages, HasNext: page.HasNext, HasPrevious: page.HasPrevious,
	}
}

// QueryMeta tells about a page beside the data, for lists that answer an OperationResponse.
type QueryMeta struct {
	Page          int    `json:"page"`
	PageSize      int    `json:"pageSize"`
	TotalCount    int    `json:"totalCount"`
	TotalPages    int    `json:"totalPages"`
	HasNext       bool   `json:"hasNext"`
	HasPrevious   bool   `json:"hasPrevious"`
	SortBy        string `json:"sortBy"`
	SortDirection string `json:"sortDirection"`
}

// OperationResponse is the answer of custom endpoints that tell more than their data.
type OperationResponse struct {
	IsSuccess bool       `json:"isSuccess"`
	Message   string     `json:"message,omitempty"`
	Data      any        `json:"data,omitempty"`
	Meta      *QueryMeta `json:"meta,omitempty"`
}

// Meta tells about the page that the selection asked for.
func (s Selection) Meta(total int) QueryMeta {
	pages := s.Pages(total)
	return QueryMeta{
		Page: s.Page, PageSize: s.Size, TotalCount: total, TotalPages: pages,
		HasNext: s.Page < pages, HasPrevious: s.Page > 1,
		SortBy: s.Order.Field, SortDirection: s.Order.Direction(),
	}
}
