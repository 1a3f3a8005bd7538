package identity

import (
	"strings"
	"sync"
	"sync/atomic"
)

const (
	tokenShards = 64
	// evictionSample is how many remembered tokens are looked at to make room for one.
	evictionSample = 8
)

// tokenCache remembers tokens that were verified, because checking a signature costs several times
// the rest of a request. It is keyed by the whole token: Go's maps hash with a random seed and
// compare in full, so no other string can pass for a verified one.
type tokenCache struct {
	shards [tokenShards]tokenShard
	room   int // per shard
}

type tokenShard struct {
	mu           sync.RWMutex
	tokens       map[string]verifiedToken
	hits, misses atomic.Uint64
	_            [64]byte // keeps the locks of two shards off one cache line
}

// verifiedToken counts only under the keys it was verified with.
type verifiedToken struct {
	claims *Claims
	keys   *keySet
}

func newTokenCache(size int) *tokenCache {
	c := &tokenCache{room: max(1, size/tokenShards)}
	for i := range c.shards {
		c.shards[i].tokens = map[string]verifiedToken{}
	}
	return c
}

// shard goes by the tail, which belongs to the signature and is random in every genuine token; only
// those are stored, so that forged ones cannot crowd a shard.
func (c *tokenCache) shard(token string) *tokenShard {
	var tail uint
	for i := max(0, len(token)-8); i < len(token); i++ {
		tail = tail*31 + uint(token[i])
	}
	return &c.shards[tail%tokenShards]
}

// get returns the claims of a token verified under these keys, or nil.
func (c *tokenCache) get(token string, keys *keySet) *Claims {
	s := c.shard(token)
	s.mu.RLock()
	found := s.tokens[token]
	s.mu.RUnlock()
	if found.keys != keys {
		s.misses.Add(1)
		return nil
	}
	s.hits.Add(1)
	return found.claims
}

func (c *tokenCache) put(token string, keys *keySet, claims *Claims) {
	s := c.shard(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tokens) >= c.room {
		s.makeRoom()
	}
	// The token may be a slice of a whole request's buffer, which must not stay alive with it.
	s.tokens[strings.Clone(token)] = verifiedToken{claims: claims, keys: keys}
}

// makeRoom drops, of a few tokens that the map happens to name first, the one that ends soonest.
func (s *tokenShard) makeRoom() {
	var victim string
	var soonest *Claims
	seen := 0
	for token, v := range s.tokens {
		if soonest == nil || v.claims.ExpiresAt.Before(soonest.ExpiresAt) {
			victim, soonest = token, v.claims
		}
		if seen++; seen == evictionSample {
			break
		}
	}
	delete(s.tokens, victim)
}

func (c *tokenCache) drop(token string) {
	s := c.shard(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, token)
}

func (c *tokenCache) stats() (hits, misses uint64, size int) {
	for i := range c.shards {
		s := &c.shards[i]
		hits += s.hits.Load()
		misses += s.misses.Load()
		s.mu.RLock()
		size += len(s.tokens)
		s.mu.RUnlock()
	}
	return hits, misses, size
}
