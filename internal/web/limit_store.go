package web

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"steward/internal/db"
)

// sharedVerdict is what the cluster says; rule is set where one refused.
type sharedVerdict struct {
	verdict
	rule *rule
	key  windowKey
}

// sharedClaim is one window in the store that a request wants to be counted in.
type sharedClaim struct {
	key  windowKey
	name string
}

var errOverShared = errors.New("a shared limit is used up")

// takeShared counts a request in the windows that the cluster shares: in all of them or, where one is
// full, in none. The caller has already passed the windows of this node, so a flood ends there.
func (s *Server) takeShared(ctx context.Context, keys []windowKey, now time.Time) (sharedVerdict, error) {
	var claims []sharedClaim
	for _, key := range keys {
		if key.rule.shared && s.options.DB != nil {
			claims = append(claims, sharedClaim{key: key, name: key.storeName()})
		}
	}
	if len(claims) == 0 {
		return sharedVerdict{}, nil
	}
	// One order for everybody: two requests cannot wait for each other.
	slices.SortFunc(claims, func(a, b sharedClaim) int { return strings.Compare(a.name, b.name) })
	var result sharedVerdict
	err := s.options.DB.Write(ctx, func(tx db.Tx) error {
		result = sharedVerdict{}
		for _, claim := range claims {
			v, err := takeWindow(ctx, tx, claim.name, claim.key.rule.limit, now)
			if err != nil {
				return err
			}
			if result.verdict = result.tighter(v); !v.ok {
				result.rule, result.key = claim.key.rule, claim.key
				return errOverShared // nothing of this is kept
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errOverShared) {
		return sharedVerdict{}, fmt.Errorf("count a request at its limit: %w", err)
	}
	return result, nil
}

// storeName is the key of the window in the store.
func (k windowKey) storeName() string {
	return k.route.name + ":" + k.rule.name + ":" + netip.AddrFrom16(k.who).Unmap().String() + ":" + k.word
}

// takeWindow adds now to the instants of a window unless it is full.
func takeWindow(ctx context.Context, tx db.Tx, name string, limit Limit, now time.Time) (verdict, error) {
	hits, err := lockWindow(ctx, tx, name, now.Add(limit.Window))
	if err != nil {
		return verdict{}, err
	}
	live := slices.DeleteFunc(hits, func(at time.Time) bool { return !at.Add(limit.Window).After(now) })
	if len(live) >= limit.N {
		return verdict{limit: limit.N, reset: live[len(live)-limit.N].Add(limit.Window).Sub(now)}, nil
	}
	live = append(live, now)
	_, err = tx.Exec(ctx, `UPDATE limit_windows SET hits = $2, expires_at = $3 WHERE key = $1`,
		name, writeHits(live), db.At(now.Add(limit.Window)))
	return verdict{ok: true, limit: limit.N, remaining: limit.N - len(live), reset: live[0].Add(limit.Window).Sub(now)}, err
}

// lockWindow reads the instants of a window, which nobody else can change before the commit.
func lockWindow(ctx context.Context, tx db.Tx, name string, expires time.Time) ([]time.Time, error) {
	if _, err := tx.Exec(ctx, `INSERT INTO limit_windows (key, hits, expires_at) VALUES ($1, '', $2) ON CONFLICT (key) DO NOTHING`,
		name, db.At(expires)); err != nil {
		return nil, err
	}
	var text string
	if err := tx.QueryRow(ctx, `SELECT hits FROM limit_windows WHERE key = $1`+tx.Dialect().ForUpdate(), name).Scan(&text); err != nil {
		return nil, err
	}
	return readHits(text), nil
}

// Instants are kept in microseconds, so that a window ends when it should.
func writeHits(hits []time.Time) string {
	var text []byte
	for i, at := range hits {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, at.UnixMicro(), 36)
	}
	return string(text)
}

func readHits(text string) []time.Time {
	var hits []time.Time
	for field := range strings.FieldsSeq(text) {
		if at, err := strconv.ParseInt(field, 36, 64); err == nil {
			hits = append(hits, time.UnixMicro(at))
		}
	}
	return hits
}
