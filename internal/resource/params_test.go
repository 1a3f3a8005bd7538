package resource_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

var sorting = resource.NewSorting("createdAt", "id",
	resource.SortField{Name: "id", SQL: "id"},
	resource.SortField{Name: "name", SQL: "name", Text: true},
	resource.SortField{Name: "createdAt", SQL: "created_at"},
	resource.SortField{Name: "deletedAt", SQL: "deleted_at", Nullable: true},
)

// wrongFields lists the fields that a validation fault names; nil for no error.
func wrongFields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	f, ok := fault.From(err)
	if !ok || f.Code != fault.Validation {
		t.Fatalf("not a validation fault: %v", err)
	}
	var names []string
	for _, field := range f.Fields {
		names = append(names, field.Name)
		if field.Message == "" {
			t.Errorf("%s is refused without a reason", field.Name)
		}
	}
	return names
}

func TestSelect(t *testing.T) {
	tests := []struct {
		name   string
		params resource.Params
		order  string
		search string
		wrong  []string
	}{
		{"nothing given", resource.Params{}, "created_at, id", "", nil},
		{"texts sort regardless of case", resource.Params{SortBy: "name"}, "lower(name), id", "", nil},
		{"names and directions in any case", resource.Params{SortBy: "CREATEDat", SortDirection: "descending"}, "created_at DESC, id DESC", "", nil},
		{"the short directions", resource.Params{SortDirection: "DESC"}, "created_at DESC, id DESC", "", nil},
		{"nulls come first", resource.Params{SortBy: "deletedAt", SortDirection: "asc"}, "deleted_at NULLS FIRST, id", "", nil},
		{"and last the other way round", resource.Params{SortBy: "deletedAt", SortDirection: "desc"}, "deleted_at DESC NULLS LAST, id DESC", "", nil},
		{"the tie breaker alone", resource.Params{SortBy: "id", SortDirection: "Descending"}, "id DESC", "", nil},
		{"outer spaces of a search", resource.Params{Search: "  a b "}, "created_at, id", "a b", nil},
		{"a long search", resource.Params{Search: strings.Repeat("é", 200)}, "created_at, id", strings.Repeat("é", 200), nil},
		{"a search that is too long", resource.Params{Search: strings.Repeat("é", 201)}, "", "", []string{"search"}},
		{"NUL in a search", resource.Params{Search: "a\x00b"}, "", "", []string{"search"}},
		{"a search that is no text", resource.Params{Search: "\xff"}, "", "", []string{"search"}},
		{"SQL is no field", resource.Params{SortBy: "id; DROP TABLE apps"}, "", "", []string{"sortBy"}},
		{"everything wrong at once", resource.Params{Page: -1, PageSize: 101, SortBy: "x", SortDirection: "up"}, "", "",
			[]string{"page", "pageSize", "sortBy", "sortDirection"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.params.Select(sorting)
			if diff := cmp.Diff(tt.wrong, wrongFields(t, err)); diff != "" {
				t.Error(diff)
			}
			if got.Order.SQL() != tt.order || got.Search != tt.search {
				t.Errorf("got order %q and search %q, want %q and %q", got.Order.SQL(), got.Search, tt.order, tt.search)
			}
		})
	}
}

func TestAnUnknownSortFieldIsToldWhatThereIs(t *testing.T) {
	_, err := sorting.Order("size", "")
	f, _ := fault.From(err)
	if want := "must be one of id, name, createdAt, deletedAt"; f == nil || f.Fields[0].Message != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestSearchPattern(t *testing.T) {
	for term, want := range map[string]string{
		"Abc": "%abc%", "50%": `%50\%%`, "a_b": `%a\_b%`, `c:\d`: `%c:\\d%`, "ÉCOLE": "%école%",
	} {
		if got := resource.SearchPattern(term); got != want {
			t.Errorf("%s: got %s, want %s", term, got, want)
		}
	}
}

func TestMaySeeDeleted(t *testing.T) {
	ctx := t.Context()
	if err := resource.MaySeeDeleted(ctx, "delete:apps"); !fault.Is(err, fault.MissingPermission) {
		t.Errorf("nobody: %v", err)
	}
	for permission, allowed := range map[string]bool{"delete:apps": true, "*": true, "read:apps": false} {
		err := resource.MaySeeDeleted(scope.WithActor(ctx, &scope.Actor{Permissions: []string{permission}}), "delete:apps")
		if allowed != (err == nil) || (!allowed && !fault.Is(err, fault.MissingPermission)) {
			t.Errorf("%s: %v", permission, err)
		}
	}
}

func FuzzSelect(f *testing.F) {
	f.Add(1, 0, 20, "name", "asc", "term")
	f.Add(-1, 1<<40, 0, "createdAT", "DESCENDING", "100%_\\")
	f.Add(0, 0, 101, "id--", "", "\x00\xff")
	f.Fuzz(func(t *testing.T, page, number, size int, sortBy, direction, search string) {
		s, err := resource.Params{Page: page, PageNumber: number, PageSize: size, SortBy: sortBy, SortDirection: direction, Search: search}.Select(sorting)
		if err != nil {
			if len(wrongFields(t, err)) == 0 {
				t.Fatal("refused without naming a field")
			}
			return
		}
		if s.Page < 1 || s.Size < 1 || s.Size > resource.MaxPageSize {
			t.Errorf("window %+v", s.Window)
		}
		if offset, found := s.Offset(1_000_000); found && (offset < 0 || offset >= 1_000_000) {
			t.Errorf("offset %d of %+v", offset, s.Window)
		}
		if strings.ContainsAny(s.Order.SQL(), ";'\"-") {
			t.Errorf("order %q", s.Order.SQL())
		}
		if !utf8.ValidString(s.Search) || strings.Contains(s.Search, "\x00") {
			t.Errorf("search %q", s.Search)
		}
		pattern := strings.NewReplacer(`\\`, "", `\%`, "", `\_`, "").Replace(resource.SearchPattern(s.Search))
		if strings.Count(pattern, "%") != 2 || strings.Contains(pattern, "_") {
			t.Errorf("pattern %q lets a character of %q act as a wildcard", pattern, s.Search)
		}
	})
}
