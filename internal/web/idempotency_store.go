package web

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// takeoverGrace is how long after its time limit a first runner is still waited for.
const takeoverGrace = 5 * time.Second

// What the status of a row says while there is no answer yet.
const (
	attemptRuns    = 0
	attemptWritten = 1 // something was written under the key
)

// keptAttempt is the row of an attempt.
type keptAttempt struct {
	fingerprint string
	status      int
	headers     string
	body        string
	started     db.Time
	expires     db.Time
}

// beginAttempt returns the answer to replay, or nil where the caller now owns the key and must run.
func (s *Server) beginAttempt(ctx context.Context, a *attempt, timeout time.Duration) (*answer, error) {
	var kept *answer
	now := s.now()
	err := s.options.DB.Write(ctx, func(tx db.Tx) error {
		kept = nil
		inserted, err := insertAttempt(ctx, tx, a, now)
		if err != nil || inserted {
			return err
		}
		earlier, err := lockAttempt(ctx, tx, a)
		if err != nil {
			return err
		}
		lost := earlier.status <= attemptWritten && !earlier.started.Add(timeout+takeoverGrace).After(now)
		switch {
		case !earlier.expires.After(now):
			return takeOverAttempt(ctx, tx, a, now)
		case earlier.fingerprint != a.fingerprint:
			return fault.New(fault.IdempotencyMismatch, "The key was used for another request.")
		case lost && earlier.status == attemptWritten:
			return fault.New(fault.IdempotencyBusy, "The first call with this key took effect, but its answer was lost. Read what it made.")
		case lost:
			return takeOverAttempt(ctx, tx, a, now)
		case earlier.status <= attemptWritten:
			return fault.New(fault.IdempotencyBusy, "The first call with this key still runs.").RetryIn(retrySoon)
		}
		kept, err = earlier.answer(scope.OriginFrom(ctx).TraceID)
		return err
	})
	if _, ok := fault.From(err); !ok && err != nil {
		err = fmt.Errorf("begin an idempotent call: %w", err)
	}
	return kept, err
}

func insertAttempt(ctx context.Context, tx db.Tx, a *attempt, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO idempotency_keys (caller, route, key, fingerprint, owner, started_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (caller, route, key) DO NOTHING`,
		a.caller, a.route, a.key, a.fingerprint, a.owner, db.At(now), db.At(now.Add(idempotencyLife)))
	return n == 1, err
}

func lockAttempt(ctx context.Context, tx db.Tx, a *attempt) (keptAttempt, error) {
	var k keptAttempt
	err := tx.QueryRow(ctx, `SELECT fingerprint, status, headers, body, started_at, expires_at FROM idempotency_keys
		WHERE caller = $1 AND route = $2 AND key = $3`+tx.Dialect().ForUpdate(), a.caller, a.route, a.key).
		Scan(&k.fingerprint, &k.status, &k.headers, &k.body, &k.started, &k.expires)
	if errors.Is(err, sql.ErrNoRows) { // it was dropped or purged in between
		return k, unavailable("The call could not be told from an earlier one.").RetryIn(time.Second)
	}
	return k, err
}

func takeOverAttempt(ctx context.Context, tx db.Tx, a *attempt, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE idempotency_keys SET fingerprint = $4, owner = $5, status = 0, headers = '{}', body = '',
		started_at = $6, expires_at = $7 WHERE caller = $1 AND route = $2 AND key = $3`,
		a.caller, a.route, a.key, a.fingerprint, a.owner, db.At(now), db.At(now.Add(idempotencyLife)))
	return err
}

// markAttempt notes in the transaction of the effect that there is one.
func markAttempt(ctx context.Context, tx db.Tx, a *attempt) error {
	_, err := tx.Exec(ctx, `UPDATE idempotency_keys SET status = $5
		WHERE caller = $1 AND route = $2 AND key = $3 AND owner = $4 AND status = $6`,
		a.caller, a.route, a.key, a.owner, attemptWritten, attemptRuns)
	return err
}

// dropAttempt frees the key, if it is still this runner's and nothing was written under it.
func (s *Server) dropAttempt(ctx context.Context, a *attempt) error {
	return s.options.DB.Write(ctx, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM idempotency_keys WHERE caller = $1 AND route = $2 AND key = $3 AND owner = $4 AND status = $5`,
			a.caller, a.route, a.key, a.owner, attemptRuns)
		return err
	})
}

// keepAnswer stores the answer for replay, if the key is still this runner's.
func (s *Server) keepAnswer(ctx context.Context, a *attempt, ans *answer, onceShown []string) error {
	body, err := withoutFields(ans.body, onceShown)
	if err != nil {
		return fmt.Errorf("remove once-shown fields: %w", err)
	}
	headers, err := json.Marshal(map[string]string{
		"Content-Type": ans.contentType, "Location": ans.location, "ETag": ans.etag, "X-Trace-Id": scope.OriginFrom(ctx).TraceID,
	}, json.Deterministic(true))
	if err != nil {
		return err
	}
	return s.options.DB.Write(ctx, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE idempotency_keys SET status = $5, headers = $6, body = $7
			WHERE caller = $1 AND route = $2 AND key = $3 AND owner = $4`,
			a.caller, a.route, a.key, a.owner, ans.status, string(headers), string(body))
		return err
	})
}

// answer is the kept one, but for the trace id in a problem, which is that of the request at hand.
func (k keptAttempt) answer(traceID string) (*answer, error) {
	var headers map[string]string
	if err := json.Unmarshal([]byte(k.headers), &headers); err != nil {
		return nil, fmt.Errorf("read a kept answer: %w", err)
	}
	return &answer{
		status: k.status, contentType: headers["Content-Type"], location: headers["Location"], etag: headers["ETag"],
		body: bytes.ReplaceAll([]byte(k.body), []byte(`"traceId":"`+headers["X-Trace-Id"]+`"`), []byte(`"traceId":"`+traceID+`"`)), replayed: true,
	}, nil
}

// withoutFields copies a JSON body, leaving out the members at the given paths, which begin at the
// data of an envelope or at the body itself.
func withoutFields(body []byte, paths []string) ([]byte, error) {
	if len(paths) == 0 || len(body) == 0 {
		return body, nil
	}
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(body))
	to := jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true))
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
		}
		if err != nil {
			return nil, err
		}
		token = token.Clone() // the pointer below needs the decoder to stay where it is, not the token
		if kind, length := in.StackIndex(in.StackDepth()); kind == '{' && length%2 == 1 {
			path := strings.ReplaceAll(strings.TrimPrefix(string(in.StackPointer()), "/"), "/", ".")
			if slices.Contains(paths, strings.TrimPrefix(path, "data.")) {
				if err := in.SkipValue(); err != nil {
					return nil, err
				}
				continue
			}
		}
		if err := to.WriteToken(token); err != nil {
			return nil, err
		}
	}
}

// Purge removes a bounded number of kept answers and windows that nobody can need any more, and
// tells how many. The caller repeats it from time to time.
func (s *Server) Purge(ctx context.Context) (int64, error) {
	const batch = 500
	now := db.At(s.now())
	var removed int64
	err := s.options.DB.Write(ctx, func(tx db.Tx) error {
		answers, err := tx.Exec(ctx, `DELETE FROM idempotency_keys WHERE (caller, route, key) IN
			(SELECT caller, route, key FROM idempotency_keys WHERE expires_at < $1 LIMIT $2)`, now, batch)
		if err != nil {
			return err
		}
		windows, err := tx.Exec(ctx, `DELETE FROM limit_windows WHERE key IN
			(SELECT key FROM limit_windows WHERE expires_at < $1 LIMIT $2)`, now, batch)
		removed = answers + windows
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge kept answers and limit windows: %w", err)
	}
	return removed, nil
}
