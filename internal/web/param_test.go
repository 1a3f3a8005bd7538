package web

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

type pageInput struct {
	Page     int `query:"page" default:"1" minimum:"1"`
	PageSize int `query:"pageSize" default:"20" minimum:"1" maximum:"100"`
}

type searchInput struct {
	ID ID `path:"id"`
	pageInput
	Email     string     `query:"email" maxLength:"10"`
	IsActive  *bool      `query:"isActive"`
	IDs       []ID       `query:"ids" maxItems:"3"`
	Levels    []int8     `query:"levels"`
	Direction string     `query:"sortDirection" enum:"Ascending,Descending"`
	Since     *time.Time `query:"since"`
	Until     db.Time    `query:"until"`
	Score     float64    `query:"score"`
	Count     uint16     `query:"count"`
	Tenant    *ID        `query:"tenantId"`
	Plain     uuid.UUID  `query:"plain"`
	App       string     `header:"X-App-Id" maxLength:"5"`
	Need      string     `query:"need" required:"true"`
}

const someID = "0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e4f"

func paramServer(t *testing.T, got *searchInput) http.Handler {
	s := newTestServer(t, Options{})
	Handle(s, problems.Get("/api/v1/things/{id}", Public, ""), func(_ context.Context, in *searchInput) (*Reply[None], error) {
		*got = *in
		return Done(""), nil
	})
	return s.Handler()
}

func TestParametersReachTheHandler(t *testing.T) {
	var got searchInput
	h := paramServer(t, &got)
	other := "0197a3c2-5f10-7c3e-9d44-6a0b1c2d3e50"
	wantStatus(t, call(t, h, "GET", "/api/v1/things/"+someID+"?need=x&page=3&isActive=False&ids="+someID+","+other+"&ids="+other+
		"&levels=1,2&levels=3&sortDirection=descending&since=2026-01-31T12:00:00Z&until=2026-01-31T12:00:00Z&score=1.5&count=7&tenantId="+someID+
		"&plain="+someID+"&unknown=1&email=", "", "X-App-Id", "app"), 200)
	isActive := false
	id, since := ID{uuid.MustParse(someID)}, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	want := searchInput{
		ID: id, pageInput: pageInput{Page: 3, PageSize: 20}, IsActive: &isActive, IDs: []ID{id, {uuid.MustParse(other)}, {uuid.MustParse(other)}},
		Levels: []int8{1, 2, 3}, Direction: "Descending", Since: &since, Until: db.Time{Time: since}, Score: 1.5, Count: 7, Tenant: &id,
		Plain: id.UUID, App: "app", Need: "x",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	wantStatus(t, call(t, h, "GET", "/api/v1/things/00000000-0000-0000-0000-000000000000?need=x", ""), 200)
	wantEqual(t, "the nil id in a path", got.ID, ID{})
	wantEqual(t, "an optional flag", got.IsActive, (*bool)(nil))
}

func TestBadParametersAreNamed(t *testing.T) {
	var got searchInput
	h := paramServer(t, &got)
	for _, c := range []struct{ query, field, message string }{
		{"", "need", "is required"},
		{"need=x&page=0", "page", "must be at least 1"},
		{"need=x&page=x", "page", "must be a whole number"},
		{"need=x&page=99999999999999999999", "page", "must be a whole number"},
		{"need=x&page=1&page=2", "page", "must be given once"},
		{"need=x&pageSize=101", "pageSize", "must be at most 100"},
		{"need=x&email=aaaaaaaaaaa", "email", "must have at most 10 characters"},
		{"need=x&email=%ff", "email", "must be UTF-8 text without the NUL character"},
		{"need=x&email=a%00", "email", "must be UTF-8 text without the NUL character"},
		{"need=x&isActive=maybe", "isActive", "must be true or false"},
		{"need=x&ids=" + someID + ",x", "ids", "must be a UUID"},
		{"need=x&ids=a,b,c,d", "ids", "must have at most 3 items"},
		{"need=x&levels=1,300", "levels", "must be a whole number"},
		{"need=x&sortDirection=up", "sortDirection", "must be one of: Ascending, Descending"},
		{"need=x&since=yesterday", "since", "must be a timestamp such as 2026-01-31T12:00:00Z"},
		{"need=x&until=yesterday", "until", "must be a timestamp such as 2026-01-31T12:00:00Z"},
		{"need=x&score=NaN", "score", "must be a number"},
		{"need=x&count=-1", "count", "must be a whole number"},
		{"need=x&tenantId=00000000-0000-0000-0000-000000000000", "tenantId", "must not be empty"},
		{"need=x&plain=x", "plain", "must be a UUID"},
	} {
		t.Run(c.field+" "+c.message, func(t *testing.T) {
			w := call(t, h, "GET", "/api/v1/things/"+someID+"?"+c.query, "")
			wantStatus(t, w, 400)
			messages, _ := decode(t, w)["errors"].(map[string]any)[c.field].([]any)
			if len(messages) == 0 || messages[0] != c.message {
				t.Errorf("%s: errors are %v", c.query, w.Body)
			}
		})
	}
	w := call(t, h, "GET", "/api/v1/things/not-a-guid?need=x", "")
	wantStatus(t, w, 400)
	wantEqual(t, "body", decode(t, w)["errors"].(map[string]any)["id"].([]any)[0], "must be a UUID")
	w = call(t, h, "GET", "/api/v1/things/"+someID+"?need=x", "", "X-App-Id", "far too long")
	wantStatus(t, w, 400)
}

func TestPathsAreUnescapedOnce(t *testing.T) {
	s := newTestServer(t, Options{})
	var got string
	Handle(s, problems.Get("/api/v1/by-email/{id}", Public, ""), func(_ context.Context, in *getThing) (*Reply[None], error) {
		got = in.ID
		return Done(""), nil
	})
	for _, want := range []string{"a@b.c", "a+b/c@d", "100%25", "ä ö"} {
		wantStatus(t, call(t, s.Handler(), "GET", "/api/v1/by-email/"+url.PathEscape(want), ""), 200)
		wantEqual(t, "parameter", got, want)
	}
	wantStatus(t, call(t, s.Handler(), "GET", "/api/v1/by-email/%ff", ""), 400)
}
