package resource_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/resource/resourcetest"
)

type page = resource.PagedResult[resourcetest.Gadget]

// codes lists the codes of a page in its order.
func codes(p page) string {
	var all []string
	for _, g := range p.Items {
		all = append(all, g.Code)
	}
	return strings.Join(all, " ")
}

func at(t *testing.T, text string) *db.Time {
	t.Helper()
	return new(instant(t, text).First())
}

func instant(t *testing.T, text string) *resource.Instant {
	t.Helper()
	var i resource.Instant
	if err := i.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return &i
}

// shelf is what the lists below are about; the third was deleted.
func shelf(t *testing.T, ctx context.Context, g *gadgets) (maker uuid.UUID) {
	maker = uuid.MustParse("0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e4f")
	for _, body := range []gadget{
		{Code: "a", Label: "beta", Kind: "Small", Size: 3, Weight: 1.5, DueAt: at(t, "2026-01-31T23:59:59.999999Z")},
		{Code: "b", Label: "Alpha", Kind: "Large", Size: 1, Weight: -2, IsReady: true, Note: new("y"), MakerID: &maker},
		{Code: "c", Label: "alpha", Kind: "Large", Size: 2, Weight: 0, Note: new("x"), DueAt: at(t, "2026-02-01T00:00:00Z")},
		{Code: "d", Label: "Gamma 100%_\\", Kind: "Small", Size: 2, Weight: 10, IsReady: true, MakerID: new(uuid.Max), DueAt: at(t, "2026-01-01")},
		{Code: "e", Label: "ÉCOLE Straße", Kind: "Small", Size: 20, Weight: 9, Note: new("")},
	} {
		made := must[resourcetest.Gadget](t)(g.Create(ctx, body))
		if body.Code == "c" {
			if err := g.Delete(ctx, made.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return maker
}

func TestListSortsByEveryScalarField(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, _ *db.DB, g *gadgets, _ *parts) {
		shelf(t, ctx, g)
		want := map[string]string{
			"id": "a b c d e", "createdAt": "a b c d e", "updatedAt": "a b d e c", "tenantId": "a b c d e", "code": "a b c d e",
			"label": "b c a d e", "kind": "b c a d e", "size": "b c d a e", "weight": "b c a e d", "isReady": "a c e b d",
			"note": "a d e c b", "makerId": "a c e b d", "dueAt": "b e d a c", "isDeleted": "a b d e c", "deletedAt": "a b d e c",
		}
		if diff := cmp.Diff(len(want), len(g.Sortable())); diff != "" {
			t.Errorf("sortable are %v: %s", g.Sortable(), diff)
		}
		for field, order := range want {
			for direction, order := range map[string]string{"Ascending": order, "desc": reversed(order)} {
				p := resource.Params{SortBy: strings.ToUpper(field), SortDirection: direction, IncludeDeleted: true}
				if got := codes(must[page](t)(g.List(ctx, query{Params: p}))); got != order {
					t.Errorf("%s %s: got %s, want %s", field, direction, got, order)
				}
			}
		}
		_, err := g.List(ctx, query{Params: resource.Params{SortBy: "tags"}})
		if diff := cmp.Diff([]string{"sortBy"}, wrongFields(t, err)); diff != "" {
			t.Error(diff)
		}
	})
}

func reversed(order string) string {
	all := strings.Fields(order)
	slices.Reverse(all)
	return strings.Join(all, " ")
}

func TestListPagesWithoutGapsOrRepeats(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, _ *db.DB, g *gadgets, _ *parts) {
		for i := range 7 {
			must[resourcetest.Gadget](t)(g.Create(ctx, gadget{Code: fmt.Sprint(i), Kind: "Small"}))
		}
		var seen []string
		for number := 1; number <= 3; number++ {
			p := must[page](t)(g.List(ctx, query{Params: resource.Params{PageNumber: number, PageSize: 3, SortBy: "kind"}}))
			seen = append(seen, codes(p))
			if p.TotalCount != 7 || p.TotalPages != 3 || p.HasNext != (number < 3) || p.HasPrevious != (number > 1) {
				t.Errorf("page %d: %+v", number, p)
			}
		}
		if got := strings.Join(seen, " "); got != "0 1 2 3 4 5 6" {
			t.Errorf("pages hold %s", got)
		}
		beyond := must[page](t)(g.List(ctx, query{Params: resource.Params{Page: 1 << 30}}))
		if beyond.Items == nil || len(beyond.Items) != 0 || beyond.TotalCount != 7 {
			t.Errorf("beyond the end: %+v", beyond)
		}
	})
}

func TestListSearches(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, _ *db.DB, g *gadgets, _ *parts) {
		shelf(t, ctx, g)
		for term, want := range map[string]string{
			"ALPHA": "b", "a": "a b d e", "%": "d", "_": "d", `\`: "d", "100%_": "d", "1_0": "", "'; DROP TABLE gadgets; --": "",
			"école": "e", "STRASSE": "", "straße": "e", " beta ": "a", "a\nbeta": "a",
		} {
			p := must[page](t)(g.List(ctx, query{Params: resource.Params{Search: term}}))
			if codes(p) != want || p.TotalCount != len(strings.Fields(want)) {
				t.Errorf("%q finds %q (%d in all), want %q", term, codes(p), p.TotalCount, want)
			}
		}
	})
}

func TestListFilters(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, _ *db.DB, g *gadgets, _ *parts) {
		maker := shelf(t, ctx, g)
		tests := []struct {
			name  string
			query query
			want  string
		}{
			{"a flag", query{IsReady: new(true)}, "b d"},
			{"a flag that is off", query{IsReady: new(false)}, "a e"},
			{"another name of a field", query{Ready: new(true)}, "b d"},
			{"a text, exactly", query{Label: new("Alpha")}, "b"},
			{"a text that looks like SQL", query{Label: new("' OR 1=1 --")}, ""},
			{"a word", query{Kind: new("Small")}, "a d e"},
			{"from a number", query{MinSize: new(int64(3))}, "a e"},
			{"up to a number", query{MaxSize: new(int64(2))}, "b d"},
			{"between", query{MinSize: new(int64(2)), MaxSize: new(int64(3))}, "a d"},
			{"an id", query{MakerID: &maker}, "b"},
			{"from a day", query{DueFrom: instant(t, "2026-01-31")}, "a"},
			{"to the end of a day", query{DueTo: instant(t, "2026-01-31")}, "a d"},
			{"to an instant", query{DueTo: instant(t, "2026-01-31T23:59:59Z")}, "d"},
			{"all together with a search", query{IsReady: new(true), Kind: new("Small"), Params: resource.Params{Search: "gam"}}, "d"},
			{"with deleted ones", query{Kind: new("Large"), Params: resource.Params{IncludeDeleted: true}}, "b c"},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p := must[page](t)(g.List(ctx, tt.query))
				if codes(p) != tt.want || p.TotalCount != len(strings.Fields(tt.want)) {
					t.Errorf("got %q (%d in all), want %q", codes(p), p.TotalCount, tt.want)
				}
			})
		}
		_, err := g.List(ctx, query{Label: new("\x00")})
		if diff := cmp.Diff([]string{"label"}, wrongFields(t, err)); diff != "" {
			t.Error(diff)
		}
		_, err = g.List(ctx, query{Params: resource.Params{PageSize: 1000}})
		wantFault(t, err, fault.Validation)
	})
}
