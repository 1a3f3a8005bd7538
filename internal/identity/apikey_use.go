package identity

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

// How the last use of keys is written down.
const (
	keyUseEvery   = time.Minute
	keyUseBatch   = 16
	keyUsePending = 10_000
	keyUseTimeout = 10 * time.Second
)

// keyUses are the keys whose use is still to be written, each once.
type keyUses struct {
	mu      sync.Mutex
	pending map[uuid.UUID]bool
	writing bool
}

// add reports whether the caller must start to write.
func (u *keyUses) add(id uuid.UUID) (start bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pending) >= keyUsePending {
		return false // the next use will be noted
	}
	if u.pending == nil {
		u.pending = map[uuid.UUID]bool{}
	}
	u.pending[id] = true
	start = !u.writing
	u.writing = true
	return start
}

// take hands out some of the keys, or none and lets the next add start a writer.
func (u *keyUses) take() []uuid.UUID {
	u.mu.Lock()
	defer u.mu.Unlock()
	var some []uuid.UUID
	for id := range u.pending {
		if len(some) == keyUseBatch {
			break
		}
		some = append(some, id)
		delete(u.pending, id)
	}
	u.writing = len(some) > 0
	return some
}

// noteUse has the use of a key written down, at most once a minute and never while the caller waits.
func (s *Service) noteUse(key *apiKeyState, now time.Time) {
	at, last := now.UnixMicro(), key.lastUse.Load()
	if at-last < keyUseEvery.Microseconds() || !key.lastUse.CompareAndSwap(last, at) {
		return
	}
	if s.keyUses.add(key.id) {
		go s.writeUses()
	}
}

func (s *Service) writeUses() {
	for ids := s.keyUses.take(); len(ids) > 0; ids = s.keyUses.take() {
		ctx, cancel := context.WithTimeout(context.Background(), keyUseTimeout)
		now := s.now()
		err := s.db.Write(ctx, func(tx db.Tx) error { return setKeysUsed(ctx, tx, ids, now, db.At(now.Add(-keyUseEvery))) })
		cancel()
		if err != nil && !errors.Is(err, db.ErrClosed) {
			s.log.Warn("the use of API keys was not written down", "error", err)
		}
	}
}
