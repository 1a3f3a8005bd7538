package web

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/fault"
)

type order struct {
	Body struct {
		Item string `json:"item"`
	}
}

type ordered struct {
	Number int    `json:"number"`
	Secret string `json:"secret"`
	Big    int64  `json:"big"`
}

// shop counts how often an order was really placed.
type shop struct {
	mu     sync.Mutex
	placed int
	before func(item string) error
}

func (s *shop) place(_ context.Context, in *order) (*Reply[ordered], error) {
	s.mu.Lock()
	s.placed++
	number := s.placed
	s.mu.Unlock()
	if s.before != nil {
		if err := s.before(in.Body.Item); err != nil {
			return nil, err
		}
	}
	return Created(fmt.Sprintf("/api/v1/orders/%d", number), ordered{Number: number, Secret: "hunter2", Big: 1 << 60}).WithETag("v1"), nil
}

func (s *shop) serve(t *testing.T, d *db.DB, c *clock) func(body, key, token string) *httptest.ResponseRecorder {
	server := newTestServer(t, Options{DB: d, Now: c.Now, Timeout: 10 * time.Second})
	Handle(server, problems.Post("/api/v1/orders", Permission("read:things"), "").Status(201).Idempotent().OnceShown("secret"), s.place)
	Handle(server, envelopes.Post("/api/orders", TenantToken, "").Status(201).Idempotent().OnceShown("secret"), s.place)
	h := server.Handler()
	return func(body, key, token string) *httptest.ResponseRecorder {
		path := "/api/v1/orders"
		if strings.HasPrefix(key, "envelope") {
			path = "/api/orders"
		}
		return call(t, h, "POST", path, body, append(as(token), "Idempotency-Key", key)...)
	}
}

func TestAKeyReplaysTheFirstAnswer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, c := &shop{}, newClock()
		post := s.serve(t, d, c)
		first := post(`{"item":"lamp"}`, "k1", "admin")
		wantStatus(t, first, 201)
		wantEqual(t, "body", first.Body.String(), `{"number":1,"secret":"hunter2","big":1152921504606846976}`)
		wantEqual(t, "replayed", first.Header().Get("Idempotency-Replayed"), "")

		again := post(`{"item":"lamp"}`, "k1", "admin")
		wantStatus(t, again, 201)
		wantEqual(t, "body without the secret", again.Body.String(), `{"number":1,"big":1152921504606846976}`)
		for name, want := range map[string]string{
			"Idempotency-Replayed": "true", "Location": "/api/v1/orders/1", "ETag": `"v1"`, "Content-Type": "application/json",
		} {
			wantEqual(t, name, again.Header().Get(name), want)
		}
		wantEqual(t, "placed", s.placed, 1)

		other := post(`{"item":"desk"}`, "k1", "admin")
		wantStatus(t, other, 422)
		wantEqual(t, "code", decode(t, other)["code"], "IDEMPOTENCY_KEY_UNPROCESSABLE")

		wantEqual(t, "another caller", decode(t, post(`{"item":"lamp"}`, "k1", "reader"))["number"], 2.0)
		wantEqual(t, "another key", decode(t, post(`{"item":"lamp"}`, "k2", "admin"))["number"], 3.0)

		post(`{"item":"lamp"}`, "envelope", "admin")
		wantEqual(t, "envelope", post(`{"item":"lamp"}`, "envelope", "admin").Body.String(), `{"isSuccess":true,"data":{"number":4,"big":1152921504606846976}}`)

		c.Move(24*time.Hour + time.Second)
		wantEqual(t, "a day later", decode(t, post(`{"item":"lamp"}`, "k1", "admin"))["number"], 5.0)
	})
}

func TestRefusalsAreReplayedAndFailuresAreNot(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &shop{}
		post := s.serve(t, d, newClock())
		s.before = func(item string) error {
			switch item {
			case "taken":
				return fault.New(fault.AppAlreadyExists, "Taken.")
			case "later":
				return fault.New(fault.Conflict, "Not yet.").RetryIn(time.Second)
			case "panic":
				panic("boom")
			default:
				return errors.New("broken")
			}
		}
		for _, c := range []struct {
			item   string
			status int
			kept   bool
		}{{"taken", 409, true}, {"later", 409, false}, {"broken", 500, false}, {"panic", 500, false}} {
			body := `{"item":"` + c.item + `"}`
			wantStatus(t, post(body, c.item, "admin"), c.status)
			before := s.placed
			w := post(body, c.item, "admin")
			wantStatus(t, w, c.status)
			wantEqual(t, c.item+" was kept", s.placed == before, c.kept)
			wantEqual(t, c.item+" is replayed", w.Header().Get("Idempotency-Replayed") == "true", c.kept)
		}
		wantStatus(t, post(`{"item":7}`, "bad", "admin"), 400)
		s.before = nil
		wantStatus(t, post(`{"item":"lamp"}`, "bad", "admin"), 201)
	})
}

func TestAKeyIsTakenWhileTheFirstCallRuns(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		s, c := &shop{}, newClock()
		here, there := s.serve(t, a, c), s.serve(t, b, c)
		began, goOn, done := make(chan bool), make(chan bool), make(chan *httptest.ResponseRecorder)
		s.before = func(string) error { began <- true; <-goOn; return nil }
		go func() { done <- here(`{"item":"lamp"}`, "k", "admin") }()
		<-began

		busy := there(`{"item":"lamp"}`, "k", "admin")
		wantStatus(t, busy, 409)
		wantEqual(t, "code", decode(t, busy)["code"], "IDEMPOTENCY_KEY_CONFLICT")
		wantEqual(t, "Retry-After", busy.Header().Get("Retry-After"), "2")
		wantStatus(t, there(`{"item":"desk"}`, "k", "admin"), 422)

		// The first runner is given up after its time limit; what it answers late is not kept.
		c.Move(16 * time.Second)
		s.before = nil
		second := there(`{"item":"lamp"}`, "k", "admin")
		wantStatus(t, second, 201)
		goOn <- true
		wantEqual(t, "late answer", decode(t, <-done)["number"], 1.0)
		wantEqual(t, "kept answer", decode(t, here(`{"item":"lamp"}`, "k", "admin"))["number"], 2.0)
		wantEqual(t, "placed", s.placed, 2)
	})
}

func TestParallelCallsWithOneKeyRunOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &shop{}
		post := s.serve(t, d, newClock())
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				if w := post(`{"item":"lamp"}`, "k", "admin"); w.Code != 201 && w.Code != 409 {
					t.Errorf("status %d: %s", w.Code, w.Body)
				}
			})
		}
		wait.Wait()
		wantEqual(t, "placed", s.placed, 1)
	})
}

func TestKeysAreCheckedAfterTheCaller(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &shop{}
		post := s.serve(t, d, newClock())
		for _, key := range []string{strings.Repeat("k", 256), "k\x01", "schlüssel"} {
			w := post(`{"item":"lamp"}`, key, "admin")
			wantStatus(t, w, 400)
			if decode(t, w)["errors"].(map[string]any)["Idempotency-Key"] == nil {
				t.Errorf("the header is not named: %s", w.Body)
			}
		}
		wantStatus(t, post(`{"item":"lamp"}`, strings.Repeat("k", 255), "admin"), 201)
		wantStatus(t, post(`{"item":"lamp"}`, "k", "rubbish"), 401)
		wantStatus(t, post(`{"item":"lamp"}`, "k", "nobody"), 403)
		var kept int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM idempotency_keys`).Scan(&kept); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "kept keys", kept, 1)
	})
}

func TestOnceShownFieldsAreCutOut(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{``, ``},
		{`{"secret":{"a":[1]},"x":1.50}`, `{"x":1.50}`},
		{`{"isSuccess":true,"data":{"a":{"token":"x","id":1},"secret":"y"}}`, `{"isSuccess":true,"data":{"a":{"id":1}}}`},
		{`{"other":{"secret":1}}`, `{"other":{"secret":1}}`},
		{`[{"secret":1}]`, `[{"secret":1}]`},
	} {
		got, err := withoutFields([]byte(c.body), []string{"secret", "a.token"})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "body", string(got), c.want)
	}
}
