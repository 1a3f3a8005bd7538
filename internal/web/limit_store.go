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
	win, err := holdWindow(ctx, tx, name, now.Add(limit.Window))
	if err != nil {
		return verdict{}, err
	}
	at := sinceEpoch(now)
	win.forget(limit, at)
	if win.count >= limit.N {
		return verdict{limit: limit.N, reset: min(win.frees(limit)-at, limit.Window)}, nil
	}
	win.add(limit, at)
	_, err = tx.Exec(ctx, `UPDATE limit_windows SET hits = $2, expires_at = $3 WHERE key = $1`,
		name, win.text(), db.At(now.Add(limit.Window)))
	return verdict{ok: true, limit: limit.N, remaining: limit.N - win.count, reset: min(win.frees(limit)-at, limit.Window)}, err
}

// holdWindow makes the window where there is none, and holds it until the commit.
func holdWindow(ctx context.Context, tx db.Tx, name string, expires time.Time) (*window, error) {
	var text string
	err := tx.QueryRow(ctx, `INSERT INTO limit_windows (key, hits, expires_at) VALUES ($1, '', $2)
		ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING hits`, name, db.At(expires)).Scan(&text)
	if err != nil {
		return nil, err
	}
	return readWindow(text), nil
}

// sinceEpoch is an instant as stored windows count it: in microseconds, so that a window ends when it
// should.
func sinceEpoch(t time.Time) time.Duration { return time.Duration(t.UnixMicro()) * time.Microsecond }

// text writes the bursts of a window as instant:requests.
func (win *window) text() string {
	var text []byte
	for i, b := range win.bursts {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, b.at.Microseconds(), 36)
		text = append(text, ':')
		text = strconv.AppendInt(text, int64(b.n), 36)
	}
	return string(text)
}

func readWindow(text string) *window {
	win := &window{}
	for field := range strings.FieldsSeq(text) {
		at, n, _ := strings.Cut(field, ":")
		instant, wrong := strconv.ParseInt(at, 36, 64)
		requests, wrongToo := strconv.ParseInt(n, 36, 32)
		if wrong == nil && wrongToo == nil {
			win.bursts = append(win.bursts, burst{at: time.Duration(instant) * time.Microsecond, n: int(requests)})
			win.count += int(requests)
		}
	}
	return win
}
