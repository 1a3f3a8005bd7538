package identity

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// cacheShards spreads the locks; the other two bound the memory.
const (
	cacheShards      = 64
	cacheShardUsers  = 2000
	cacheUserEntries = 64
)

// cacheKey names one entry of a user: one session or API key in one tenant, or with no session a
// tenant's view.
type cacheKey struct{ session, tenant uuid.UUID }

// cache keeps what was read about users until a write about them drops it. A value read before a
// drop is never stored after it: a reader takes a ticket first, and a drop makes tickets void.
type cache[V any] struct {
	shards       [cacheShards]cacheShard[V]
	hits, misses atomic.Uint64
}

type cacheShard[V any] struct {
	mu    sync.RWMutex
	users map[uuid.UUID]map[cacheKey]cacheEntry[V]
	drops uint64
}

type cacheEntry[V any] struct {
	value    V
	loadedAt time.Time
}

func newCache[V any]() *cache[V] {
	c := &cache[V]{}
	for i := range c.shards {
		c.shards[i].users = map[uuid.UUID]map[cacheKey]cacheEntry[V]{}
	}
	return c
}

// shard goes by the last byte, which is random in a UUID v7.
func (c *cache[V]) shard(user uuid.UUID) *cacheShard[V] { return &c.shards[user[15]%cacheShards] }

// get returns an entry that is younger than maxAge.
func (c *cache[V]) get(user uuid.UUID, key cacheKey, now time.Time, maxAge time.Duration) (V, bool) {
	s := c.shard(user)
	s.mu.RLock()
	entry, ok := s.users[user][key]
	s.mu.RUnlock()
	if !ok || now.Sub(entry.loadedAt) >= maxAge {
		c.misses.Add(1)
		var none V
		return none, false
	}
	c.hits.Add(1)
	return entry.value, true
}

// ticket is taken before the value is read from the store.
func (c *cache[V]) ticket(user uuid.UUID) uint64 {
	s := c.shard(user)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.drops
}

// put stores the value unless something was dropped since the ticket was taken.
func (c *cache[V]) put(user uuid.UUID, key cacheKey, value V, now time.Time, ticket uint64) {
	s := c.shard(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drops != ticket {
		return
	}
	entries, ok := s.users[user]
	if !ok {
		s.makeRoom()
		entries = map[cacheKey]cacheEntry[V]{}
		s.users[user] = entries
	}
	if len(entries) >= cacheUserEntries {
		clear(entries)
	}
	entries[key] = cacheEntry[V]{value: value, loadedAt: now}
}

// makeRoom evicts some user; Go's map order makes it a random one.
func (s *cacheShard[V]) makeRoom() {
	if len(s.users) < cacheShardUsers {
		return
	}
	for user := range s.users {
		delete(s.users, user)
		return
	}
}

// drop forgets everything about the user.
func (c *cache[V]) drop(user uuid.UUID) {
	s := c.shard(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops++
	delete(s.users, user)
}

// dropWhere forgets the entries that match, for changes that touch many users at once.
func (c *cache[V]) dropWhere(match func(key cacheKey, value V) bool) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.drops++
		for user, entries := range s.users {
			for key, entry := range entries {
				if match(key, entry.value) {
					delete(entries, key)
				}
			}
			if len(entries) == 0 {
				delete(s.users, user)
			}
		}
		s.mu.Unlock()
	}
}

// dropAll forgets everything.
func (c *cache[V]) dropAll() { c.dropWhere(func(cacheKey, V) bool { return true }) }
