package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

// Profile is what the store knows of a caller, in the tenant of the token.
type Profile struct {
	User        User
	Roles       []string
	Permissions []string
	Tenants     []Membership

	roleIDs []uuid.UUID
}

// Claims returns what the caller's token says of them: no look at the store, and so as of the moment
// it was issued.
func (s *Service) Claims(bearer string) (*Claims, error) { return s.signer.Verify(bearer) }

// Profile returns the caller's profile. It is kept for half an hour, and any write that would change
// it makes every node forget it.
func (s *Service) Profile(ctx context.Context) (*Profile, error) {
	actor := scope.ActorFrom(ctx)
	key := cacheKey{tenant: actor.TenantID}
	now, age := s.clock(), profileTTL
	if !s.db.Listening() {
		age = principalAgeDeaf
	}
	if p, ok := s.profiles.get(actor.UserID, key, now, age); ok {
		return p, nil
	}
	ticket := s.profiles.ticket(actor.UserID)
	p, err := loadProfile(ctx, s.db, actor)
	if err != nil {
		return nil, fmt.Errorf("load profile of user %s: %w", actor.UserID, err)
	}
	s.profiles.put(actor.UserID, key, p, now, ticket)
	return p, nil
}

func loadProfile(ctx context.Context, q db.Queryer, actor *scope.Actor) (*Profile, error) {
	u, err := findUser(ctx, q, actor.UserID)
	if err != nil {
		return nil, err
	}
	p := &Profile{User: u, Roles: []string{}, Permissions: []string{}}
	if p.Tenants, err = listOpenTenants(ctx, q, u.ID); err != nil {
		return nil, err
	}
	if actor.InTenant {
		a, err := readAccess(ctx, q, u.ID, actor.TenantID)
		if err != nil {
			return nil, err
		}
		p.Roles, p.Permissions, p.roleIDs = a.roles, a.permissions, a.roleIDs
	}
	return p, nil
}

// JWKS is the published key set.
func (s *Service) JWKS() []byte { return s.keyring.JWKS() }
