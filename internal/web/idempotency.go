package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	// idempotencyLife is how long an answer is kept for replay.
	idempotencyLife = 24 * time.Hour
	maxIdempotency  = 255
)

// attempt is a call with an Idempotency-Key.
type attempt struct {
	caller, route, key string
	fingerprint        string
	owner              string
}

// newAttempt returns nil where the route or the request asks for no idempotency.
func (e *endpoint) newAttempt(r *http.Request, actor *scope.Actor, raw []byte) (*attempt, error) {
	given := r.Header[idempotencyHeader]
	if !e.route.idempotent || len(given) == 0 {
		return nil, nil
	}
	if len(given) > 1 || !isSaneKey(given[0]) {
		return nil, fault.Invalid(idempotencyHeader, "must be given once, with 1 to %d printable ASCII characters", maxIdempotency)
	}
	return &attempt{
		caller:      actor.Caller().String() + "/" + actor.TenantID.String(),
		route:       e.name,
		key:         given[0],
		fingerprint: fingerprintOf(r, raw),
		owner:       uuid.NewString(),
	}, nil
}

func isSaneKey(key string) bool {
	if len(key) == 0 || len(key) > maxIdempotency {
		return false
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return true
}

// fingerprintOf tells one request from another under the same key.
func fingerprintOf(r *http.Request, raw []byte) string {
	sum := sha256.New()
	for _, part := range []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	sum.Write(raw)
	return hex.EncodeToString(sum.Sum(nil))
}

// once runs call unless an earlier one with the same key has an answer, which is then replayed. An
// answer that is our own failure is not kept: the caller may try again with the same key.
func (e *endpoint) once(ctx context.Context, a *attempt, call func(context.Context) (*answer, error)) (*answer, error) {
	if a == nil {
		return call(ctx)
	}
	kept, err := e.s.beginAttempt(ctx, a, e.timeout)
	if err != nil || kept != nil {
		return kept, err
	}
	settled := false
	// Whatever happens to the caller now, even a panic, the key must not stay taken.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	defer func() {
		if !settled {
			e.s.settle(after, e.s.dropAttempt(after, a))
		}
	}()
	// The key is marked in the very transaction that has the effect: should the program die before the
	// answer is kept, the call is never done a second time.
	ans, err := call(db.WithWitness(ctx, func(tx db.Tx) error { return markAttempt(ctx, tx, a) }))
	if err != nil || ans.status >= http.StatusInternalServerError {
		return ans, err
	}
	settled = true
	e.s.settle(after, e.s.keepAnswer(after, a, ans, e.route.onceShown))
	return ans, nil
}

// settle reports that the fate of a key could not be written down. The call itself is done, so its
// answer stands; the key is free again once the call can no longer be running.
func (s *Server) settle(ctx context.Context, err error) {
	if err != nil {
		s.log.ErrorContext(ctx, "cannot settle an idempotency key", "error", err, "traceId", scope.OriginFrom(ctx).TraceID)
	}
}
