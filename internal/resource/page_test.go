package resource_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"steward/internal/resource"
)

func TestNewWindow(t *testing.T) {
	tests := []struct {
		name                         string
		page, pageNumber, size, most int
		want                         resource.Window
		wrong                        []string
	}{
		{"nothing given", 0, 0, 0, 100, resource.Window{Page: 1, Size: 20}, nil},
		{"page and size", 3, 0, 7, 100, resource.Window{Page: 3, Size: 7}, nil},
		{"pageNumber is a synonym", 0, 3, 7, 100, resource.Window{Page: 3, Size: 7}, nil},
		{"both and the same", 3, 3, 0, 100, resource.Window{Page: 3, Size: 20}, nil},
		{"both and different", 3, 4, 0, 100, resource.Window{}, []string{"pageNumber"}},
		{"the largest size", 1, 0, 100, 100, resource.Window{Page: 1, Size: 100}, nil},
		{"over the largest size", 1, 0, 101, 100, resource.Window{}, []string{"pageSize"}},
		{"a list with a smaller maximum than the default", 0, 0, 0, 10, resource.Window{Page: 1, Size: 10}, nil},
		{"all below one", -1, -1, -1, 100, resource.Window{}, []string{"page", "pageNumber", "pageSize"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := resource.NewWindow(tt.page, tt.pageNumber, tt.size, tt.most)
			if diff := cmp.Diff(tt.wrong, wrongFields(t, err)); diff != "" {
				t.Error(diff)
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestNewPage(t *testing.T) {
	type page = resource.PagedResult[int]
	tests := []struct {
		name  string
		items []int
		total int
		at    resource.Window
		want  page
	}{
		{"an empty list is one of no pages", nil, 0, resource.Window{Page: 1, Size: 20}, page{Items: []int{}, PageNumber: 1, PageSize: 20}},
		{"a single page", []int{1, 2}, 2, resource.Window{Page: 1, Size: 2}, page{Items: []int{1, 2}, TotalCount: 2, PageNumber: 1, PageSize: 2, TotalPages: 1}},
		{"the first of two", []int{1, 2}, 3, resource.Window{Page: 1, Size: 2}, page{Items: []int{1, 2}, TotalCount: 3, PageNumber: 1, PageSize: 2, TotalPages: 2, HasNext: true}},
		{"the last of two", []int{3}, 3, resource.Window{Page: 2, Size: 2}, page{Items: []int{3}, TotalCount: 3, PageNumber: 2, PageSize: 2, TotalPages: 2, HasPrevious: true}},
		{"behind the last", nil, 3, resource.Window{Page: 9, Size: 2}, page{Items: []int{}, TotalCount: 3, PageNumber: 9, PageSize: 2, TotalPages: 2, HasPrevious: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, resource.NewPage(tt.items, tt.total, tt.at)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOffsetOfAFarPageDoesNotOverflow(t *testing.T) {
	if offset, found := (resource.Window{Page: math.MaxInt, Size: 100}).Offset(1000); found {
		t.Errorf("found a page at offset %d", offset)
	}
}

func TestMeta(t *testing.T) {
	s, err := resource.Params{Page: 2, PageSize: 5, SortBy: "NAME", SortDirection: "desc"}.Select(sorting)
	if err != nil {
		t.Fatal(err)
	}
	want := resource.QueryMeta{Page: 2, PageSize: 5, TotalCount: 11, TotalPages: 3, HasNext: true, HasPrevious: true, SortBy: "name", SortDirection: "Descending"}
	if diff := cmp.Diff(want, s.Meta(11)); diff != "" {
		t.Error(diff)
	}
}
