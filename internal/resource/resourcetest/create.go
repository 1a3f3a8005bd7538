package resourcetest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func same(t *testing.T, what string, want, got Body) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs: %s", what, diff)
	}
}

// asSent compares what was sent with what was answered; an instant may come back in another zone.
func asSent(sent, answered any) bool {
	if text, ok := sent.(string); ok {
		other, isText := answered.(string)
		x, errX := time.Parse(time.RFC3339Nano, text)
		y, errY := time.Parse(time.RFC3339Nano, other)
		return isText && (text == other || errX == nil && errY == nil && x.Equal(y))
	}
	return fmt.Sprint(sent) == fmt.Sprint(answered)
}

func (s *suite) create(t *testing.T) {
	body := s.body(Body{"thisFieldIsNotKnown": Body{"a": 1}})
	res := s.call(t, s.Full, http.MethodPost, "", body)
	res.want(t, http.StatusCreated)
	if id, err := uuid.Parse(res.body["id"].(string)); err != nil || id.Version() != 7 {
		t.Errorf("the id %v is no UUID v7", res.body["id"])
	}
	delete(body, "thisFieldIsNotKnown")
	for field, value := range body {
		if !asSent(value, res.body[field]) {
			t.Errorf("%s is answered as %v, sent as %v", field, res.body[field], value)
		}
	}
	location, ok := strings.CutPrefix(res.Header().Get("Location"), s.Path)
	if !ok {
		t.Fatalf("Location is %q", res.Header().Get("Location"))
	}
	read := s.call(t, s.Full, http.MethodGet, location, nil)
	read.want(t, http.StatusOK)
	same(t, "what Location points to", s.readable(t, res.body), read.body)
	if tag := read.Header().Get("ETag"); tag == "" || tag != res.Header().Get("ETag") {
		t.Errorf("created with the ETag %q, read with %q", res.Header().Get("ETag"), tag)
	}

	for _, tt := range s.InvalidCreates {
		t.Run(tt.Name, func(t *testing.T) {
			s.call(t, s.Full, http.MethodPost, "", s.body(tt.Change)).invalid(t, tt.Field)
		})
	}
	for _, broken := range []string{"", "{", "[]", "null", `"text"`, `{"a":1}{"b":2}`} {
		s.call(t, s.Full, http.MethodPost, "", broken).invalid(t)
	}
	s.call(t, s.Full, http.MethodPost, "", s.body(), "Content-Type", "text/plain").
		problem(t, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
}

// createTwice checks that of equal items one exists, also when they come at once.
func (s *suite) createTwice(t *testing.T) {
	item := s.make(t)
	taken, _ := item[s.Unique].(string)
	for _, spelling := range []string{taken, strings.ToUpper(taken), strings.ToLower(taken)} {
		s.call(t, s.Full, http.MethodPost, "", s.body(Body{s.Unique: spelling})).
			problem(t, http.StatusConflict, s.AlreadyExists)
	}
	other := s.make(t)
	s.call(t, s.Full, http.MethodPut, "/"+other["id"].(string), Body{s.Unique: taken}).
		problem(t, http.StatusConflict, s.AlreadyExists)
	same(t, "an item whose update was refused", other, s.item(t, other["id"]))

	body := s.body()
	answers := make([]*response, 4)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() { answers[i] = s.call(t, s.Full, http.MethodPost, "", body) })
	}
	wait.Wait()
	created := 0
	for _, res := range answers {
		if res.Code == http.StatusCreated {
			created++
		} else {
			res.problem(t, http.StatusConflict, s.AlreadyExists)
		}
	}
	if created != 1 {
		t.Errorf("%d of %d equal creations at once succeeded", created, len(answers))
	}
}

func (s *suite) idempotency(t *testing.T) {
	m, key := mark(t), uuid.NewString()
	body := s.body(Body{s.Text: m})
	first := s.call(t, s.Full, http.MethodPost, "", body, "Idempotency-Key", key)
	first.want(t, http.StatusCreated)
	again := s.call(t, s.Full, http.MethodPost, "", body, "Idempotency-Key", key)
	again.want(t, http.StatusCreated)
	same(t, "a replayed answer", s.readable(t, first.body), again.body)
	if again.Header().Get("Location") != first.Header().Get("Location") {
		t.Errorf("replayed with the Location %q", again.Header().Get("Location"))
	}
	s.call(t, s.Full, http.MethodPost, "", s.body(Body{s.Text: m}), "Idempotency-Key", key).
		problem(t, http.StatusUnprocessableEntity, "IDEMPOTENCY_KEY_UNPROCESSABLE")
	if items, _ := s.find(t, "search", m); len(items) != 1 {
		t.Errorf("%d items were made under one key", len(items))
	}
}

func (s *suite) get(t *testing.T) {
	item := s.make(t)
	same(t, "a read item", item, s.item(t, item["id"]))
	for _, malformed := range []string{"/1", "/not-an-id", "/" + item["id"].(string) + "0", "/%00", "/' OR 1=1"} {
		s.call(t, s.Full, http.MethodGet, strings.ReplaceAll(malformed, " ", "%20"), nil).invalid(t, "id")
	}
	for _, missing := range []string{unknownID(t), uuid.Nil.String()} {
		s.call(t, s.Full, http.MethodGet, "/"+missing, nil).problem(t, http.StatusNotFound, s.NotFound)
	}
	s.call(t, s.Full, http.MethodGet, "/"+item["id"].(string)+"?includeDeleted=perhaps", nil).invalid(t, "includeDeleted")
}
