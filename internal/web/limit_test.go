package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

// clock is a time that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type loginTest struct {
	Body struct {
		Email string `json:"email" minLength:"1"`
	}
}

func (in *loginTest) LimitKey() string { return in.Body.Email }

func limitServer(t testing.TB, o Options) http.Handler {
	s := newTestServer(t, o)
	Handle(s, envelopes.Post("/api/auth/login", Public, "").Limited("login"), func(context.Context, *loginTest) (*Reply[None], error) { return Done("in"), nil })
	Handle(s, envelopes.Post("/api/auth/register", Public, "").Limited("register"), okHandler)
	Handle(s, envelopes.Post("/api/auth/reset", Public, "").Limited("reset"), okHandler)
	g := Group{Convention: Problem, Limit: "identity"}
	Handle(s, g.Get("/api/v1/a", AnyToken, ""), okHandler)
	Handle(s, g.Get("/api/v1/b", AnyToken, ""), okHandler)
	Handle(s, g.Get("/api/v1/free", AnyToken, "").Limited(), okHandler)
	return s.Handler()
}

// from sends a request from an address.
func from(h http.Handler, address, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = address + ":1234"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func statuses(n int, call func(i int) int) map[int]int {
	counts := map[int]int{}
	for i := range n {
		counts[call(i)]++
	}
	return counts
}

func wantStatuses(t *testing.T, what string, got map[int]int, want map[int]int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: statuses are %v, want %v", what, got, want)
	}
}

func TestLimitsCountByCallerAndRoute(t *testing.T) {
	c := newClock()
	h := limitServer(t, Options{Now: c.Now, Limits: map[string]Limit{"identity": {N: 3, Window: time.Minute}}})
	get := func(address, path, token string) func(int) int {
		return func(int) int {
			return from(h, address, "GET", path, "", "Authorization", "Bearer "+token).Code
		}
	}
	wantStatuses(t, "one caller", statuses(5, get("192.0.2.1", "/api/v1/a", "reader")), map[int]int{200: 3, 429: 2})
	wantStatuses(t, "the same caller elsewhere", statuses(1, get("192.0.2.9", "/api/v1/a", "reader")), map[int]int{429: 1})
	wantStatuses(t, "another route", statuses(1, get("192.0.2.1", "/api/v1/b", "reader")), map[int]int{200: 1})
	wantStatuses(t, "another caller", statuses(1, get("192.0.2.1", "/api/v1/a", "admin")), map[int]int{200: 1})
	wantStatuses(t, "a route without a limit", statuses(9, get("192.0.2.1", "/api/v1/free", "reader")), map[int]int{200: 9})
	wantStatuses(t, "bad tokens by address", statuses(5, get("192.0.2.2", "/api/v1/a", "rubbish")), map[int]int{401: 3, 429: 2})
	wantStatuses(t, "bad tokens of another address", statuses(1, get("192.0.2.3", "/api/v1/a", "rubbish")), map[int]int{401: 1})
}

func TestLimitedAnswersCarryTheirHeaders(t *testing.T) {
	c := newClock()
	h := limitServer(t, Options{Now: c.Now, Limits: map[string]Limit{"identity": {N: 2, Window: time.Minute}}})
	get := func() *httptest.ResponseRecorder {
		return from(h, "192.0.2.1", "GET", "/api/v1/a", "", as("reader")...)
	}
	header := func(w *httptest.ResponseRecorder) string {
		h := w.Header()
		return fmt.Sprintf("%d %s %s %s %s", w.Code, h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"), h.Get("RateLimit-Reset"), h.Get("Retry-After"))
	}
	wantEqual(t, "first", header(get()), "200 2 1 60 ")
	c.Move(20 * time.Second)
	wantEqual(t, "second", header(get()), "200 2 0 40 ")
	c.Move(500 * time.Millisecond)
	w := get()
	wantEqual(t, "third", header(w), "429 2 0 40 40")
	wantEqual(t, "code", decode(t, w)["code"], "RATE_LIMITED")
	wantEqual(t, "type", decode(t, w)["type"], "https://errors.test/rate-limited")
}

func TestAWindowSlides(t *testing.T) {
	c := newClock()
	w := newWindows(c.Now())
	for _, limit := range []Limit{{N: 10, Window: time.Minute}, {N: 1000, Window: time.Minute}, {N: 1 << 40, Window: time.Minute}} {
		key := windowKey{rule: &rule{limit: limit}}
		var passed []time.Time
		for range 30_000 {
			c.Move(37 * time.Millisecond)
			if w.take(key, c.Now()).ok {
				passed = append(passed, c.Now())
			}
		}
		if len(passed) < 10 {
			t.Fatalf("only %d passed", len(passed))
		}
		for i := limit.N; i < len(passed); i++ {
			if span := passed[i].Sub(passed[i-limit.N]); span < limit.Window {
				t.Fatalf("%d requests passed within %s", limit.N+1, span)
			}
		}
		if held := len(w.shard(key).byKey[key].bursts); held > 300 {
			t.Errorf("a limit of %d holds %d instants", limit.N, held)
		}
	}
}

func TestAWindowOpensAgainToTheInstant(t *testing.T) {
	c := newClock()
	w := newWindows(c.Now())
	key := windowKey{rule: &rule{limit: Limit{N: 1, Window: time.Minute}}}
	wantEqual(t, "first", w.take(key, c.Now()).ok, true)
	c.Move(time.Minute - 1)
	wantEqual(t, "a moment early", w.take(key, c.Now()).ok, false)
	c.Move(1)
	wantEqual(t, "in time", w.take(key, c.Now()).ok, true)
}

func TestTheMemoryOfLimitsIsBounded(t *testing.T) {
	c := newClock()
	w := newWindows(c.Now())
	r := &rule{limit: Limit{N: 5, Window: time.Minute}}
	count := func() (n int) {
		for i := range w.shards {
			n += len(w.shards[i].byKey)
		}
		return n
	}
	address := netip.MustParseAddr("10.0.0.0")
	for range 100_000 {
		address = address.Next()
		w.take(windowKey{rule: r, who: address.As16()}, c.Now())
	}
	if n := count(); n > shardCount*keysPerShard {
		t.Errorf("%d callers are remembered", n)
	}
	c.Move(2 * time.Minute)
	for range 1000 {
		address = address.Next()
		w.take(windowKey{rule: r, who: address.As16()}, c.Now())
	}
	if n := count(); n > 1000 {
		t.Errorf("%d callers are remembered after their windows ended", n)
	}
}

func TestParallelRequestsCannotExceedALimit(t *testing.T) {
	c := newClock()
	h := limitServer(t, Options{Now: c.Now})
	var passed atomic.Int32
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			if from(h, "192.0.2.1", "POST", "/api/auth/register", "").Code == 200 {
				passed.Add(1)
			}
		})
	}
	wait.Wait()
	wantEqual(t, "passed", passed.Load(), int32(5))
}

func TestIPv6ClientsAreCountedByNetwork(t *testing.T) {
	h := limitServer(t, Options{Now: newClock().Now})
	wantStatuses(t, "one network", statuses(7, func(i int) int {
		return from(h, fmt.Sprintf("[2001:db8::%d]", i), "POST", "/api/auth/register", "").Code
	}), map[int]int{200: 5, 429: 2})
	wantEqual(t, "another network", from(h, "[2001:db8:0:1::1]", "POST", "/api/auth/register", "").Code, 200)
}

func TestLimitsCanBeSwitchedOff(t *testing.T) {
	h := limitServer(t, Options{LimitsOff: true})
	w := from(h, "192.0.2.1", "POST", "/api/auth/reset", "")
	wantEqual(t, "header", w.Header().Get("RateLimit-Limit"), "")
	wantStatuses(t, "resets", statuses(9, func(int) int { return from(h, "192.0.2.1", "POST", "/api/auth/reset", "").Code }), map[int]int{200: 9})
}

func TestLoginIsLimitedByAddressAndEmail(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		h := limitServer(t, Options{Now: c.Now, DB: d})
		login := func(address, body string) int { return from(h, address, "POST", "/api/auth/login", body).Code }
		email := func(address, email string) func(int) int {
			return func(int) int { return login(address, `{"email":"`+email+`"}`) }
		}
		wantStatuses(t, "one e-mail", statuses(30, email("192.0.2.1", "a@b.c")), map[int]int{200: 10, 429: 20})
		wantStatuses(t, "the e-mail in capitals", statuses(1, email("192.0.2.1", " A@B.C")), map[int]int{429: 1})
		wantStatuses(t, "from elsewhere", statuses(1, email("192.0.2.2", "a@b.c")), map[int]int{200: 1})
		// 10 were let through so far: refused ones do not count.
		wantStatuses(t, "bad bodies count at the address", statuses(45, func(int) int { return login("192.0.2.1", `{"email":""}`) }), map[int]int{400: 45})
		wantStatuses(t, "other e-mails", statuses(8, func(i int) int { return login("192.0.2.1", fmt.Sprintf(`{"email":"%d@b.c"}`, i)) }), map[int]int{200: 5, 429: 3})
		wantStatuses(t, "bad bodies when it is used up", statuses(1, func(int) int { return login("192.0.2.1", `{`) }), map[int]int{429: 1})
		c.Move(time.Minute)
		wantStatuses(t, "a minute later", statuses(11, email("192.0.2.1", "a@b.c")), map[int]int{200: 10, 429: 1})
	})
}

func TestSharedLimitsHoldForTheCluster(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		c := newClock()
		nodes := []http.Handler{limitServer(t, Options{Now: c.Now, DB: a}), limitServer(t, Options{Now: c.Now, DB: b})}
		register := func(i int) int { return from(nodes[i%2], "192.0.2.1", "POST", "/api/auth/register", "").Code }
		wantStatuses(t, "both nodes", statuses(9, register), map[int]int{200: 5, 429: 4})
		w := from(nodes[1], "192.0.2.1", "POST", "/api/auth/register", "")
		wantEqual(t, "Retry-After", w.Header().Get("Retry-After"), "60")
		c.Move(59 * time.Second)
		wantStatuses(t, "a second early", statuses(2, register), map[int]int{429: 2})
		c.Move(time.Second)
		wantStatuses(t, "a minute later", statuses(9, register), map[int]int{200: 5, 429: 4})
	})
}

func TestParallelRequestsOnTwoNodesCannotExceedALimit(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		c := newClock()
		nodes := []http.Handler{limitServer(t, Options{Now: c.Now, DB: a}), limitServer(t, Options{Now: c.Now, DB: b})}
		var passed, refused atomic.Int32
		var wait sync.WaitGroup
		for i := range 40 {
			wait.Go(func() {
				switch w := from(nodes[i%2], "192.0.2.1", "POST", "/api/auth/login", `{"email":"a@b.c"}`); w.Code {
				case 200:
					passed.Add(1)
				case 429:
					refused.Add(1)
				default:
					t.Errorf("status %d: %s", w.Code, w.Body)
				}
			})
		}
		wait.Wait()
		wantEqual(t, "passed", passed.Load(), int32(10))
		wantEqual(t, "refused", refused.Load(), int32(30))
	})
}

func TestPurgeRemovesWhatNobodyNeeds(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		s := newTestServer(t, Options{Now: c.Now, DB: d})
		Handle(s, envelopes.Post("/api/auth/reset", Public, "").Limited("reset"), okHandler)
		Handle(s, problems.Post("/api/v1/things", AnyToken, "").Idempotent(), okHandler)
		h := s.Handler()
		from(h, "192.0.2.1", "POST", "/api/auth/reset", "")
		call(t, h, "POST", "/api/v1/things", "", append(as("admin"), "Idempotency-Key", "k")...)
		for _, step := range []struct {
			move    time.Duration
			removed int64
		}{{0, 0}, {2 * time.Minute, 1}, {24 * time.Hour, 1}, {0, 0}} {
			c.Move(step.move)
			removed, err := s.Purge(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, "removed", removed, step.removed)
		}
	})
}
