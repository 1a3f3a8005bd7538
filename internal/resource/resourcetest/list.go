package resourcetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func (s *suite) list(t *testing.T) {
	m := mark(t)
	item := s.make(t, Body{s.Text: m})
	items, page := s.find(t, "search", m)
	if len(items) != 1 {
		t.Fatalf("one item is listed as %v", page)
	}
	same(t, "a listed item", item, items[0])
	delete(page, "items")
	same(t, "a page", Body{"totalCount": 1.0, "pageNumber": 1.0, "pageSize": 20.0, "totalPages": 1.0, "hasNext": false, "hasPrevious": false}, page)
	_, none := s.find(t, "search", m+"nothing")
	same(t, "an empty page", Body{"items": []any{}, "totalCount": 0.0, "pageNumber": 1.0, "pageSize": 20.0, "totalPages": 0.0,
		"hasNext": false, "hasPrevious": false}, none)
	s.find(t, "notAParameter", "1")
	s.find(t, "page", "", "pageSize", "", "sortBy", "", "sortDirection", "", "search", "", "includeDeleted", "")
}

func (s *suite) listRefused(t *testing.T) {
	for query, field := range map[string]string{
		"page=0": "page", "page=-1": "page", "page=x": "page", "page=1.5": "page", "page=99999999999999999999": "page",
		"pageNumber=0": "pageNumber", "pageNumber=x": "pageNumber", "page=1&pageNumber=2": "pageNumber",
		"pageSize=0": "pageSize", "pageSize=-1": "pageSize", "pageSize=101": "pageSize", "pageSize=x": "pageSize",
		"sortBy=notAField": "sortBy", "sortBy=id;--": "sortBy", "sortBy=id%20DESC": "sortBy",
		"sortDirection=up": "sortDirection", "includeDeleted=perhaps": "includeDeleted",
		"search=%00": "search", "search=%ff": "search", "search=" + strings.Repeat("a", 201): "search",
	} {
		s.call(t, s.Full, http.MethodGet, "?"+strings.ReplaceAll(query, ";", "%3B"), nil).invalid(t, field)
	}
	s.call(t, s.Full, http.MethodGet, "?page=0&pageSize=0", nil).invalid(t, "page", "pageSize")
}

func (s *suite) pages(t *testing.T) {
	m := mark(t)
	var want []string
	for range 5 {
		want = append(want, s.make(t, Body{s.Text: m})["id"].(string))
	}
	for _, synonym := range []string{"page", "pageNumber"} {
		var got []string
		for number := 1; number <= 4; number++ {
			items, page := s.find(t, "search", m, "pageSize", "2", synonym, fmt.Sprint(number), "sortBy", "id")
			got = append(got, ids(items)...)
			delete(page, "items")
			same(t, fmt.Sprintf("%s %d", synonym, number), Body{"totalCount": 5.0, "pageNumber": float64(number), "pageSize": 2.0,
				"totalPages": 3.0, "hasNext": number < 3, "hasPrevious": number > 1}, page)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("the pages do not hold each item once: %s", diff)
		}
	}
	s.find(t, "page", "2", "pageNumber", "2")
	if items, _ := s.find(t, "search", m, "pageSize", "100"); len(items) != 5 {
		t.Errorf("the largest page holds %d items", len(items))
	}
	if items, _ := s.find(t, "search", m, "page", "2147483647"); len(items) != 0 {
		t.Errorf("the last possible page holds %d items", len(items))
	}
}

func (s *suite) sort(t *testing.T) {
	m := mark(t)
	for _, text := range []string{"delta", "Alpha", "charlie", "alpha", "Bravo", "alpha"} {
		s.make(t, Body{s.Text: m + text})
	}
	items, _ := s.find(t, "search", m)
	for field, value := range items[0] {
		switch value.(type) {
		case []any, Body:
			s.call(t, s.Full, http.MethodGet, "?sortBy="+field, nil).invalid(t, "sortBy")
			continue
		}
		t.Run(field, func(t *testing.T) { s.sortBy(t, m, field, len(items)) })
	}
	ascending, _ := s.find(t, "search", m)
	explicit, _ := s.find(t, "search", m, "sortDirection", "ASCENDING")
	if diff := gocmp.Diff(ids(ascending), ids(explicit)); diff != "" {
		t.Errorf("ascending is not the default: %s", diff)
	}
}

func (s *suite) sortBy(t *testing.T, m, field string, count int) {
	up, _ := s.find(t, "search", m, "sortBy", strings.ToUpper(field), "sortDirection", "asc")
	down, _ := s.find(t, "search", m, "sortBy", field, "sortDirection", "Descending")
	if len(up) != count {
		t.Fatalf("%d items are listed, want %d", len(up), count)
	}
	slices.Reverse(down)
	if diff := gocmp.Diff(ids(up), ids(down)); diff != "" {
		t.Errorf("descending is not the reverse of ascending: %s", diff)
	}
	for i := 1; i < len(up); i++ {
		order := compare(up[i-1][field], up[i][field])
		if order > 0 || (order == 0 && up[i-1]["id"].(string) > up[i]["id"].(string)) {
			t.Errorf("%v (id %v) comes before %v (id %v)", up[i-1][field], up[i-1]["id"], up[i][field], up[i]["id"])
		}
	}
	var paged []string
	for page := 1; len(paged) < count && page <= count; page++ {
		items, _ := s.find(t, "search", m, "sortBy", field, "sortDirection", "Ascending", "pageSize", "2", "page", fmt.Sprint(page))
		paged = append(paged, ids(items)...)
	}
	if diff := gocmp.Diff(ids(up), paged); diff != "" {
		t.Errorf("pages are not stable: %s", diff)
	}
}

// compare orders two scalars as a list should: null first, texts regardless of case, instants by time.
func compare(a, b any) int {
	switch x := a.(type) {
	case nil:
		if b == nil {
			return 0
		}
		return -1
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	case bool:
		if x == b {
			return 0
		}
		if !x {
			return -1
		}
	case string:
		if y, ok := b.(string); ok {
			return compareTexts(x, y)
		}
	}
	return 1
}

func compareTexts(a, b string) int {
	x, errX := time.Parse(time.RFC3339Nano, a)
	y, errY := time.Parse(time.RFC3339Nano, b)
	if errX == nil && errY == nil {
		return x.Compare(y)
	}
	return strings.Compare(strings.ToLower(a), strings.ToLower(b))
}

func (s *suite) search(t *testing.T) {
	m := mark(t)
	for _, text := range []string{"100% sure", "100 sure", "snake_case", "snakeXcase", `back\slash`, "ÉCOLE"} {
		s.make(t, Body{s.Text: m + text})
	}
	for term, want := range map[string]int{
		"": 6, "100%": 1, "%": 0, "_": 0, "100_": 0, "snake_": 1, "SNAKE": 2, `back\`: 1, `\%`: 0, "école": 1, "' OR 1=1 --": 0,
	} {
		for _, spelling := range []string{m + term, strings.ToUpper(m) + term, "  " + m + term + " "} {
			if items, page := s.find(t, "search", spelling); len(items) != want || page["totalCount"] != float64(want) {
				t.Errorf("search %q finds %d items (totalCount %v), want %d", spelling, len(items), page["totalCount"], want)
			}
		}
	}
	if items, _ := s.find(t, "search", m[2:8]); len(items) != 6 {
		t.Errorf("a search for the middle of a text finds %d items, want 6", len(items))
	}
}

func (s *suite) filters(t *testing.T) {
	m := mark(t)
	for range 4 {
		s.make(t, Body{s.Text: m})
	}
	all, _ := s.find(t, "search", m)
	for _, f := range s.Filters {
		t.Run(f.Query+f.Wrong, func(t *testing.T) {
			if f.Wrong != "" {
				s.call(t, s.Full, http.MethodGet, "?"+f.Wrong, nil).invalid(t, f.Field)
				return
			}
			res := s.call(t, s.Full, http.MethodGet, "?"+f.Query+"&"+query("search", m), nil)
			res.want(t, http.StatusOK)
			var want []any
			for _, item := range all {
				if f.Keeps(item) {
					want = append(want, item)
				}
			}
			if res.body["totalCount"] != float64(len(want)) || len(want) == 0 || len(want) == len(all) {
				t.Errorf("of %d items %d fit, totalCount is %v", len(all), len(want), res.body["totalCount"])
			}
			if diff := gocmp.Diff(want, res.body["items"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
