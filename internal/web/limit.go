package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"steward/internal/fault"
	"steward/internal/scope"
)

// LimitKeyed is an input whose requests are also counted by a word of theirs, as login is by e-mail.
type LimitKeyed interface{ LimitKey() string }

// audience is whose requests a rule counts together.
type audience int

const (
	byCaller         audience = iota + 1 // the user of the token or else the address, on one route
	byAddress                            // the client address
	byAddressAndWord                     // the client address and the input's LimitKey
)

// rule is one limit of a class.
type rule struct {
	name  string
	by    audience
	limit Limit
	// shared rules hold for the whole cluster.
	shared  bool
	refused prometheus.Counter
}

// DefaultLimits are the figures of the contract, by the name of the setting.
func DefaultLimits() map[string]Limit {
	return map[string]Limit{
		"login":         {N: 10, Window: time.Minute},
		"login-address": {N: 60, Window: time.Minute},
		"register":      {N: 5, Window: time.Minute},
		"reset":         {N: 3, Window: time.Minute},
		"identity":      {N: 100, Window: time.Minute},
		"general":       {N: 1000, Window: time.Minute},
	}
}

// newRules makes the classes of limits that routes name. A limit that is not set is the contract's.
func newRules(set map[string]Limit, refused *prometheus.CounterVec) map[string][]*rule {
	limits := DefaultLimits()
	for name, limit := range set {
		if _, ok := limits[name]; !ok || limit.N < 1 || limit.Window <= 0 {
			panic(fmt.Sprintf("web: there is no rate limit %q of %d in %s", name, limit.N, limit.Window))
		}
		limits[name] = limit
	}
	make := func(name string, by audience, shared bool) *rule {
		return &rule{name: name, by: by, limit: limits[name], shared: shared, refused: refused.WithLabelValues(name)}
	}
	return map[string][]*rule{
		"login":    {make("login-address", byAddress, true), make("login", byAddressAndWord, true)},
		"register": {make("register", byAddress, true)},
		"reset":    {make("reset", byAddress, true)},
		"identity": {make("identity", byCaller, false)},
		"general":  {make("general", byCaller, false)},
	}
}

// rulesOf returns the rules of a route, and whether they wait for the word in its body.
func (s *Server) rulesOf(route *Route) (rules []*rule, wait bool) {
	for _, class := range route.limits {
		of, ok := s.rules[class]
		if !ok {
			panic(fmt.Sprintf("%s: there is no class of limits called %q", route, class))
		}
		rules = append(rules, of...)
	}
	for _, r := range rules {
		wait = wait || r.by == byAddressAndWord
	}
	if s.options.LimitsOff {
		return nil, false
	}
	return rules, wait
}

// glance refuses a request whose limit is used up before its body is read, and counts nothing.
func (e *endpoint) glance(ex *exchange, actor *scope.Actor) error {
	now := e.s.now()
	for _, rule := range e.rules {
		if rule.by == byAddressAndWord {
			continue
		}
		if v := e.s.windows.peek(e.windowKey(rule, ex, actor, ""), now); !v.ok {
			return e.refuseOver(ex, rule, v)
		}
	}
	return nil
}

// admit counts a request at every limit of its route, or at none where one refuses it. A request
// whose body could not be read has no word; it counts at the limits that need none.
func (e *endpoint) admit(ctx context.Context, ex *exchange, actor *scope.Actor, word string) error {
	if len(e.rules) == 0 {
		return nil
	}
	now := e.s.now()
	keys := make([]windowKey, 0, 2)
	var tightest verdict
	for _, rule := range e.rules {
		if rule.by == byAddressAndWord && word == "" {
			continue
		}
		key := e.windowKey(rule, ex, actor, word)
		v := e.s.windows.take(key, now)
		if !v.ok {
			e.s.undoAll(keys, now)
			return e.refuseOver(ex, rule, v)
		}
		keys = append(keys, key)
		tightest = tightest.tighter(v)
	}
	shared, err := e.s.takeShared(ctx, keys, now)
	if err != nil {
		return err
	}
	if shared.rule != nil {
		e.s.undoAll(keys, now)
		e.s.windows.bar(shared.key, now, shared.reset)
		return e.refuseOver(ex, shared.rule, shared.verdict)
	}
	ex.setRateHeaders(tightest.tighter(shared.verdict))
	return nil
}

func (s *Server) undoAll(keys []windowKey, now time.Time) {
	for _, key := range keys {
		s.windows.undo(key, now)
	}
}

func (e *endpoint) windowKey(r *rule, ex *exchange, actor *scope.Actor, word string) windowKey {
	key := windowKey{rule: r, route: e}
	switch r.by {
	case byCaller:
		if actor != nil {
			key.user, key.who = true, actor.Caller()
			return key
		}
	case byAddressAndWord:
		sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(word))))
		key.word = hex.EncodeToString(sum[:16]) // short, and no e-mail address in the store
	}
	key.who = addressKey(ex.client)
	return key
}

// addressKey counts an IPv6 client by its network of 64 bits: one household or one machine owns all
// the addresses in it.
func addressKey(address netip.Addr) [16]byte {
	if address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			address = network.Addr()
		}
	}
	return address.As16()
}

func (e *endpoint) refuseOver(ex *exchange, r *rule, v verdict) error {
	r.refused.Inc()
	ex.setRateHeaders(v)
	return fault.New(fault.RateLimited, "At most %d requests are allowed in %s.", r.limit.N, spell(r.limit.Window)).RetryIn(v.reset)
}

func spell(d time.Duration) string {
	if d == time.Minute {
		return "a minute"
	}
	return d.String()
}

func (ex *exchange) setRateHeaders(v verdict) {
	if v.limit == 0 {
		return
	}
	h := ex.Header()
	h["Ratelimit-Limit"] = ex.value(0, strconv.Itoa(v.limit))
	h["Ratelimit-Remaining"] = ex.value(1, strconv.Itoa(v.remaining))
	h["Ratelimit-Reset"] = ex.value(2, seconds(v.reset))
}

// seconds rounds up, so that nobody comes back too early.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
