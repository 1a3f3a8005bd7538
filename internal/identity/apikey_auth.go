package identity

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// A key is stw_<prefix>_<secret>: 8 characters that may be shown and 256 random bits as 43 letters and
// digits. The fixed form lets scanners of source code find a key that was leaked.
const (
	keyMark         = "stw_"
	keyPrefixLength = 8
	keySecretLength = 43
	keyLength       = len(keyMark) + keyPrefixLength + 1 + keySecretLength
)

func newSecretKey() (prefix, key string) {
	prefix = keyMark + strings.ToLower(rand.Text()[:keyPrefixLength])
	var bits [32]byte
	rand.Read(bits[:])
	secret := new(big.Int).SetBytes(bits[:]).Text(62)
	return prefix, prefix + "_" + strings.Repeat("0", keySecretLength-len(secret)) + secret
}

func isAPIKey(bearer string) bool { return strings.HasPrefix(bearer, keyMark) }

// apiKeyRef is what never changes about a key.
type apiKeyRef struct {
	ID        uuid.UUID `db:"id"`
	TenantID  uuid.UUID `db:"tenant_id"`
	CreatedBy uuid.UUID `db:"created_by"`
}

// apiKeyState is what a principal has beside the rest where it stands for a key.
type apiKeyState struct {
	id        uuid.UUID
	expiresAt *db.Time
	lastUse   atomic.Int64 // in microseconds; the last one that was noted
}

// authenticateKey is Authenticate for an API key. A key that was switched off or deleted is
// TOKEN_REVOKED; one whose maker is gone, or out of the tenant, is SESSION_INVALIDATED.
func (s *Service) authenticateKey(ctx context.Context, bearer string) (*scope.Actor, error) {
	ref, err := s.findAPIKey(ctx, bearer)
	if err != nil {
		return nil, err
	}
	p, err := s.recall(ref.CreatedBy, cacheKey{session: ref.ID, tenant: ref.TenantID}, func() (*principal, error) {
		return loadAPIKey(ctx, s.db, ref)
	})
	if err != nil {
		return nil, err
	}
	if p.refusal != nil {
		return nil, p.refusal
	}
	now := s.clock()
	if p.key.expiresAt != nil && !now.Before(p.key.expiresAt.Time) {
		return nil, fault.New(fault.TokenExpired, "The API key has expired.")
	}
	s.noteUse(p.key, now)
	return &p.actor, nil
}

// findKey tells which key it is, from memory where it was seen before.
func (s *Service) findAPIKey(ctx context.Context, bearer string) (apiKeyRef, error) {
	if len(bearer) != keyLength {
		return apiKeyRef{}, invalidToken(errors.New("not the length of an API key"))
	}
	hash := hashOpaque(bearer)
	if ref, ok := s.keyRefs.get(hash); ok {
		return ref, nil
	}
	ref, err := findAPIKeyRef(ctx, s.db, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return ref, invalidToken(errors.New("unknown API key"))
	}
	if err != nil {
		return ref, fmt.Errorf("look up API key: %w", err)
	}
	s.keyRefs.put(hash, ref)
	return ref, nil
}

func loadAPIKey(ctx context.Context, q db.Queryer, ref apiKeyRef) (*principal, error) {
	row, err := readAPIKey(ctx, q, ref.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return &principal{refusal: revokedKey()}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load API key %s: %w", ref.ID, err)
	}
	if refusal := row.refusal(); refusal != nil {
		return &principal{refusal: refusal}, nil
	}
	p := &principal{key: &apiKeyState{id: ref.ID, expiresAt: row.ExpiresAt}, actor: scope.Actor{
		UserID: ref.CreatedBy, APIKeyID: ref.ID, TenantID: ref.TenantID, TenantName: row.TenantName.String,
		Name: displayName(row.FirstName, row.LastName, row.Email), Email: row.Email,
		InTenant: row.BindingActive.Bool && row.TenantActive.Bool, Roles: []string{},
	}}
	if row.LastUsedAt != nil {
		p.key.lastUse.Store(row.LastUsedAt.UnixMicro())
	}
	if !p.actor.InTenant {
		return p, nil
	}
	maker, err := readAccess(ctx, q, ref.CreatedBy, ref.TenantID)
	if err != nil {
		return nil, err
	}
	p.actor.Permissions, p.roleIDs = common(row.Permissions, maker.permissions), maker.roleIDs
	return p, nil
}

func revokedKey() *fault.Fault { return fault.New(fault.TokenRevoked, "The API key was revoked.") }

// refusal tells why the key is refused, or nil.
func (r apiKeyRow) refusal() *fault.Fault {
	switch {
	case r.DeletedAt != nil || !r.IsActive:
		return revokedKey()
	case !r.UserActive || r.UserDeletedAt != nil || !r.BindingActive.Valid:
		return fault.New(fault.SessionInvalidated, "The account that made the API key is closed, or has left the tenant.")
	}
	return nil
}

// common lists what both the key and its maker may do, each of which may be everything.
func common(key, maker []string) []string {
	if slices.Contains(key, scope.Wildcard) {
		return maker
	}
	holder := scope.Actor{Permissions: maker}
	return slices.DeleteFunc(slices.Clone(key), func(code string) bool { return !holder.Can(code) })
}

// maxKeyRefs bounds the keys that are remembered.
const maxKeyRefs = 50_000

// keyRefs remembers genuine keys by their hashes. What it knows never changes, so nothing is ever
// dropped but to make room.
type keyRefs struct {
	mu   sync.RWMutex
	refs map[string]apiKeyRef
}

func (k *keyRefs) get(hash string) (apiKeyRef, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	ref, ok := k.refs[hash]
	return ref, ok
}

func (k *keyRefs) put(hash string, ref apiKeyRef) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refs == nil {
		k.refs = map[string]apiKeyRef{}
	}
	if len(k.refs) >= maxKeyRefs {
		for some := range k.refs { // a random one
			delete(k.refs, some)
			break
		}
	}
	k.refs[hash] = ref
}
