package resourcetest

import (
	"net/http"
	"testing"
)

// each calls every route of the resource with the token, on an item that exists.
func (s *suite) each(t *testing.T, token string, check func(t *testing.T, writes bool, res *response)) Body {
	t.Helper()
	item := s.make(t)
	id := "/" + item["id"].(string)
	for _, route := range []struct {
		method, suffix string
		body           any
		writes         bool
	}{
		{http.MethodGet, "", nil, false},
		{http.MethodGet, id, nil, false},
		{http.MethodPost, "", s.body(), true},
		{http.MethodPut, id, s.Update, true},
		{http.MethodDelete, id, nil, true},
		{http.MethodPost, "/bulk-delete", Body{"ids": []any{item["id"]}}, true},
	} {
		check(t, route.writes, s.call(t, token, route.method, route.suffix, route.body))
	}
	return item
}

func (s *suite) access(t *testing.T) {
	_, before := s.find(t)
	var items []Body
	items = append(items, s.each(t, "", func(t *testing.T, _ bool, res *response) {
		res.problem(t, http.StatusUnauthorized, "TOKEN_MISSING")
	}))
	items = append(items, s.each(t, s.Nobody, func(t *testing.T, _ bool, res *response) {
		res.problem(t, http.StatusForbidden, "MISSING_PERMISSION")
	}))
	items = append(items, s.each(t, s.Reader, func(t *testing.T, writes bool, res *response) {
		if writes {
			res.problem(t, http.StatusForbidden, "MISSING_PERMISSION")
		} else {
			res.want(t, http.StatusOK)
		}
	}))
	for _, item := range items {
		same(t, "an item after refused calls", item, s.item(t, item["id"]))
	}
	if _, after := s.find(t); after["totalCount"] != before["totalCount"].(float64)+float64(len(items)) {
		t.Errorf("refused calls created items: %v, then %v", before["totalCount"], after["totalCount"])
	}
}

func (s *suite) includeDeleted(t *testing.T) {
	m := mark(t)
	item := s.make(t, Body{s.Text: m})
	id := "/" + item["id"].(string)
	s.call(t, s.Full, http.MethodDelete, id, nil).want(t, s.DeleteStatus)
	if !s.SoftDelete {
		s.call(t, s.Full, http.MethodGet, id+"?includeDeleted=true", nil).problem(t, http.StatusNotFound, s.NotFound)
		if items, _ := s.find(t, "search", m, "includeDeleted", "true"); len(items) != 0 {
			t.Errorf("an item that was removed is listed: %v", items)
		}
		return
	}
	res := s.call(t, s.Full, http.MethodGet, id+"?includeDeleted=true", nil)
	res.want(t, http.StatusOK)
	if when, _ := res.body["deletedAt"].(string); res.body["isDeleted"] != true || when == "" {
		t.Errorf("a deleted item is answered as %s", res.Body)
	}
	for include, want := range map[string]int{"true": 1, "false": 0} {
		if items, page := s.find(t, "search", m, "includeDeleted", include); len(items) != want || page["totalCount"] != float64(want) {
			t.Errorf("includeDeleted=%s lists %d items (totalCount %v), want %d", include, len(items), page["totalCount"], want)
		}
	}
	for _, suffix := range []string{"?includeDeleted=true", id + "?includeDeleted=true"} {
		s.call(t, s.Reader, http.MethodGet, suffix, nil).problem(t, http.StatusForbidden, "MISSING_PERMISSION")
	}
	s.call(t, s.Reader, http.MethodGet, id, nil).problem(t, http.StatusNotFound, s.NotFound)
}

func (s *suite) otherTenants(t *testing.T) {
	if s.Elsewhere == "" {
		t.Skip("the resource belongs to no tenant")
	}
	m := mark(t)
	item := s.make(t, Body{s.Text: m})
	id := "/" + item["id"].(string)
	s.call(t, s.Elsewhere, http.MethodGet, id, nil).problem(t, http.StatusNotFound, s.NotFound)
	s.call(t, s.Elsewhere, http.MethodPut, id, s.Update).problem(t, http.StatusNotFound, s.NotFound)
	s.call(t, s.Elsewhere, http.MethodDelete, id, nil).problem(t, http.StatusNotFound, s.NotFound)
	bulk := s.call(t, s.Elsewhere, http.MethodPost, "/bulk-delete", Body{"ids": []any{item["id"]}})
	if bulk.want(t, http.StatusOK); bulk.body["succeeded"] != 0.0 || bulk.body["failed"] != 1.0 {
		t.Errorf("a bulk call reaches another tenant: %s", bulk.Body)
	}
	list := s.call(t, s.Elsewhere, http.MethodGet, "?"+query("search", m, "includeDeleted", "true"), nil)
	if list.want(t, http.StatusOK); list.body["totalCount"] != 0.0 {
		t.Errorf("a list reaches another tenant: %s", list.Body)
	}
	same(t, "an item after calls from another tenant", item, s.item(t, item["id"]))
}

func (s *suite) wrongMethod(t *testing.T) {
	res := s.call(t, s.Full, http.MethodPatch, "/"+unknownID(t), Body{})
	res.problem(t, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	if res.Header().Get("Allow") == "" {
		t.Error("a wrong method is not told which are right")
	}
}
