package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// How long what was read about a session may be used. Writes drop it at once; the age is a net below
// that. While other nodes cannot be heard, a second is the promise that can still be kept.
const (
	principalAge     = time.Minute
	principalAgeDeaf = time.Second
)

// Why a session ended. Ends that the user or a thief caused are TOKEN_REVOKED to its tokens, all
// others SESSION_INVALIDATED.
const (
	endedByLogout   = "logout"
	endedByOwner    = "ended"
	endedByReuse    = "reuse"
	endedByPassword = "password"
	endedByBinding  = "binding"
	endedByAccount  = "account"
)

// principal is the present state of one session, or of one API key, in one tenant.
type principal struct {
	actor   scope.Actor
	roleIDs []uuid.UUID
	key     *apiKeyState // nil for a session
	// refusal is why no token of the session is good any more, or nil.
	refusal *fault.Fault
}

// Authenticate tells who bears the token or the API key, as things stand now. It fails with
// TOKEN_INVALID, TOKEN_EXPIRED, TOKEN_REVOKED or SESSION_INVALIDATED.
func (s *Service) Authenticate(ctx context.Context, bearer string) (*scope.Actor, error) {
	if isAPIKey(bearer) {
		return s.authenticateKey(ctx, bearer)
	}
	claims, err := s.signer.Verify(bearer)
	if err != nil {
		return nil, err
	}
	p, err := s.principal(ctx, claims)
	if err != nil {
		return nil, err
	}
	if p.refusal != nil {
		return nil, p.refusal
	}
	return &p.actor, nil
}

func (s *Service) principal(ctx context.Context, c *Claims) (*principal, error) {
	return s.recall(c.UserID, cacheKey{session: c.SessionID, tenant: c.TenantID}, func() (*principal, error) {
		return loadPrincipal(ctx, s.db, c)
	})
}

// recall finds the principal in memory, or loads it and keeps it there.
func (s *Service) recall(user uuid.UUID, key cacheKey, load func() (*principal, error)) (*principal, error) {
	now, age := s.clock(), principalAge
	if !s.db.Listening() {
		age = principalAgeDeaf
	}
	if p, ok := s.principals.get(user, key, now, age); ok {
		return p, nil
	}
	ticket := s.principals.ticket(user)
	p, err := load()
	if err != nil {
		return nil, err
	}
	s.principals.put(user, key, p, now, ticket)
	return p, nil
}

func loadPrincipal(ctx context.Context, q db.Queryer, c *Claims) (*principal, error) {
	state, err := readSessionState(ctx, q, c.SessionID, c.TenantID)
	if errors.Is(err, sql.ErrNoRows) || err == nil && state.UserID != c.UserID {
		return &principal{refusal: fault.New(fault.TokenRevoked, "The session was ended.")}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", c.SessionID, err)
	}
	if refusal := state.refusal(); refusal != nil {
		return &principal{refusal: refusal}, nil
	}
	p := &principal{actor: scope.Actor{
		UserID: state.UserID, SessionID: c.SessionID, TenantID: c.TenantID, TenantName: state.TenantName.String,
		Name: displayName(state.FirstName, state.LastName, state.Email), Email: state.Email,
		InTenant: state.BindingActive.Bool && state.TenantActive.Bool,
	}}
	if !p.actor.InTenant {
		return p, nil
	}
	access, err := readAccess(ctx, q, state.UserID, c.TenantID)
	if err != nil {
		return nil, err
	}
	p.actor.Roles, p.actor.Permissions, p.roleIDs = access.roles, access.permissions, access.roleIDs
	return p, nil
}

// refusal tells why tokens of the session are refused, or nil.
func (st sessionState) refusal() *fault.Fault {
	switch {
	case slices.Contains([]string{endedByLogout, endedByOwner, endedByReuse}, st.EndReason):
		return fault.New(fault.TokenRevoked, "The session was ended.")
	case st.EndReason != "" || st.SessionGeneration != st.UserGeneration || !st.UserActive || st.UserDeletedAt != nil:
		return fault.New(fault.SessionInvalidated, "The session is no longer valid; sign in again.")
	}
	return nil
}

// Topics on which nodes tell each other what changed; the payload is the id.
const (
	topicUser   = "identity.user"
	topicRole   = "identity.role"
	topicTenant = "identity.tenant"
)

// subscribe drops what was cached about whatever a write touched, on this node and on the others.
func (s *Service) subscribe() {
	s.db.Subscribe(topicUser, func(payload string) {
		if id, err := uuid.Parse(payload); err == nil {
			s.principals.drop(id)
			s.profiles.drop(id)
		}
	})
	s.db.Subscribe(topicRole, func(payload string) {
		id, _ := uuid.Parse(payload)
		s.principals.dropWhere(func(_ cacheKey, p *principal) bool { return slices.Contains(p.roleIDs, id) })
		s.profiles.dropWhere(func(_ cacheKey, p *Profile) bool { return slices.Contains(p.roleIDs, id) })
	})
	s.db.Subscribe(topicTenant, func(payload string) {
		id, _ := uuid.Parse(payload)
		s.principals.dropWhere(func(key cacheKey, _ *principal) bool { return key.tenant == id })
		s.profiles.dropAll() // those that lack the tenant too: it may be open again
	})
	s.db.OnResync(func() {
		s.principals.dropAll()
		s.profiles.dropAll()
	})
}

// changedUser makes every node forget what it knows of the user once tx is committed.
func changedUser(ctx context.Context, tx db.Tx, id uuid.UUID) error {
	return tx.Notify(ctx, topicUser, id.String())
}

// CacheStats counts look-ups of session state since the start.
func (s *Service) CacheStats() (hits, misses uint64) {
	return s.principals.hits.Load(), s.principals.misses.Load()
}
