package resourcetest

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
)

func (s *suite) update(t *testing.T) {
	item := s.make(t)
	id := "/" + item["id"].(string)
	before := s.etag(t, item["id"])
	changed := s.call(t, s.Full, http.MethodPut, id, s.Update)
	changed.want(t, http.StatusOK)
	for field, value := range s.Update {
		if !asSent(value, changed.body[field]) {
			t.Errorf("%s is answered as %v, sent as %v", field, changed.body[field], value)
		}
	}
	same(t, "an updated item", changed.body, s.item(t, item["id"]))
	if after := s.etag(t, item["id"]); after == before || after != changed.Header().Get("ETag") {
		t.Errorf("the ETag went from %q to %q, and the update answered %q", before, after, changed.Header().Get("ETag"))
	}

	nothing := Body{"thisFieldIsNotKnown": 1}
	for field := range s.Update {
		nothing[field] = nil
	}
	for what, body := range map[string]Body{"nothing given": {}, "null everywhere": nothing} {
		res := s.call(t, s.Full, http.MethodPut, id, body)
		res.want(t, http.StatusOK)
		same(t, what, changed.body, res.body)
	}
	if s.OptionalText != "" {
		s.clear(t, id)
	}
}

// clear checks that an empty text clears an optional one, and that leaving it out does not.
func (s *suite) clear(t *testing.T, id string) {
	for _, step := range []struct {
		body Body
		want string
	}{{Body{s.OptionalText: "something"}, "something"}, {Body{}, "something"}, {Body{s.OptionalText: nil}, "something"}, {Body{s.OptionalText: ""}, ""}} {
		res := s.call(t, s.Full, http.MethodPut, id, step.body)
		if res.want(t, http.StatusOK); res.body[s.OptionalText] != step.want {
			t.Errorf("%v makes %s %q, want %q", step.body, s.OptionalText, res.body[s.OptionalText], step.want)
		}
	}
}

func (s *suite) updateRefused(t *testing.T) {
	item := s.make(t)
	id := "/" + item["id"].(string)
	for _, tt := range s.InvalidUpdates {
		t.Run(tt.Name, func(t *testing.T) {
			s.call(t, s.Full, http.MethodPut, id, tt.Change).invalid(t, tt.Field)
		})
	}
	s.call(t, s.Full, http.MethodPut, id, "{").invalid(t)
	s.call(t, s.Full, http.MethodPut, "/not-an-id", s.Update).invalid(t, "id")
	s.call(t, s.Full, http.MethodPut, "/"+unknownID(t), s.Update).problem(t, http.StatusNotFound, s.NotFound)
	same(t, "an item after refused updates", item, s.item(t, item["id"]))
}

func (s *suite) ifMatch(t *testing.T) {
	item := s.make(t)
	id := "/" + item["id"].(string)
	stale := s.etag(t, item["id"])
	s.call(t, s.Full, http.MethodPut, id, s.Update, "If-Match", stale).want(t, http.StatusOK)
	present := s.item(t, item["id"])
	for _, header := range []string{stale, `"something else"`} {
		s.call(t, s.Full, http.MethodPut, id, Body{s.Text: "changed"}, "If-Match", header).
			problem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
		s.call(t, s.Full, http.MethodDelete, id, nil, "If-Match", header).
			problem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
	}
	same(t, "an item after refused changes", present, s.item(t, item["id"]))
	s.call(t, s.Full, http.MethodPut, id, Body{s.Text: "changed"}, "If-Match", "*").want(t, http.StatusOK)
	fresh := s.etag(t, item["id"])
	s.call(t, s.Full, http.MethodGet, id, nil, "If-None-Match", fresh).want(t, http.StatusNotModified)
	s.call(t, s.Full, http.MethodDelete, id, nil, "If-Match", fresh).want(t, s.DeleteStatus)
}

func (s *suite) delete(t *testing.T) {
	m := mark(t)
	item := s.make(t, Body{s.Text: m})
	id := "/" + item["id"].(string)
	res := s.call(t, s.Full, http.MethodDelete, id, nil)
	if res.want(t, s.DeleteStatus); res.Body.Len() > 0 {
		t.Errorf("a deletion answers %s", res.Body)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		s.call(t, s.Full, method, id, nil).problem(t, http.StatusNotFound, s.NotFound)
	}
	s.call(t, s.Full, http.MethodPut, id, s.Update).problem(t, http.StatusNotFound, s.NotFound)
	if items, page := s.find(t, "search", m); len(items) != 0 || page["totalCount"] != 0.0 {
		t.Errorf("a deleted item is listed: %v", page)
	}
	s.make(t, Body{s.Unique: item[s.Unique]})
	s.call(t, s.Full, http.MethodDelete, "/not-an-id", nil).invalid(t, "id")
	s.call(t, s.Full, http.MethodDelete, "/"+unknownID(t), nil).problem(t, http.StatusNotFound, s.NotFound)
}

func (s *suite) bulkDelete(t *testing.T) {
	first, second, kept := s.make(t), s.make(t), s.make(t)
	missing := unknownID(t)
	res := s.call(t, s.Full, http.MethodPost, "/bulk-delete", Body{"ids": []any{first["id"], missing, second["id"], first["id"]}})
	res.want(t, http.StatusOK)
	failures, _ := res.body["failures"].([]any)
	if res.body["succeeded"] != 2.0 || res.body["failed"] != 1.0 || len(failures) != 1 {
		t.Fatalf("a bulk deletion of two items and a missing one answers %s", res.Body)
	}
	if f := failures[0].(Body); f["id"] != missing || f["code"] != s.NotFound || f["message"] == "" {
		t.Errorf("the failure is %v", f)
	}
	for _, gone := range []Body{first, second} {
		s.call(t, s.Full, http.MethodGet, "/"+gone["id"].(string), nil).problem(t, http.StatusNotFound, s.NotFound)
	}
	same(t, "an item that was not named", kept, s.item(t, kept["id"]))
	clean := s.call(t, s.Full, http.MethodPost, "/bulk-delete", Body{"ids": []any{kept["id"]}})
	clean.want(t, http.StatusOK)
	if failures, ok := clean.body["failures"].([]any); !ok || len(failures) != 0 {
		t.Errorf("without failures it answers %s", clean.Body)
	}
}

func (s *suite) bulkRefused(t *testing.T) {
	item := s.make(t)
	many := make([]any, 501)
	for i := range many {
		many[i] = item["id"]
	}
	for field, wrong := range map[string][]Body{
		"ids":    {{}, {"ids": nil}, {"ids": []any{}}, {"ids": item["id"]}, {"ids": many}},
		"ids[1]": {{"ids": []any{item["id"], "not-an-id"}}, {"ids": []any{item["id"], uuid.Nil.String()}}, {"ids": []any{item["id"], 5}}},
	} {
		for _, body := range wrong {
			s.call(t, s.Full, http.MethodPost, "/bulk-delete", body).invalid(t, field)
		}
	}
	same(t, "an item after refused bulk calls", item, s.item(t, item["id"]))
}
