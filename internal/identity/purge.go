package identity

import (
	"context"
	"fmt"
	"time"

	"steward/internal/db"
)

// forgetFailuresAfter is how long wrong passwords are remembered that did not reach the limit.
const forgetFailuresAfter = 24 * time.Hour

// purgeBatch bounds one delete, so that it never holds the store for long.
const purgeBatch = 500

// Purge removes a bounded number of rows of each kind that nothing needs any more, and reports how
// many went. Ended sessions stay as long as an access token of theirs could come back, so that it hears why.
func (s *Service) Purge(ctx context.Context) (int64, error) {
	now := s.now()
	var total int64
	for _, p := range []struct {
		statement string
		before    time.Time
	}{
		{deleteOldRefreshTokens, now.Time},
		{deleteEndedRefreshTokens, now.Add(-2 * tenantTokenTTL)},
		{deleteOldSessions, now.Time},
		{deleteEndedSessions, now.Add(-2 * tenantTokenTTL)},
		{deleteOldMailTokens, now.Time},
		{deleteOldLockouts, now.Add(-forgetFailuresAfter)},
	} {
		var n int64
		err := s.db.Write(ctx, func(tx db.Tx) (err error) {
			n, err = tx.Exec(ctx, p.statement, db.At(p.before), purgeBatch)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("purge identity: %w", err)
		}
		total += n
	}
	return total, nil
}
