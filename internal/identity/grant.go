package identity

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

// Grant is what a caller gets who has shown who they are: a pair of tokens and what they open.
type Grant struct {
	Token        string
	RefreshToken string
	ExpiresAt    time.Time
	Roles        []string
	Permissions  []string
	// Tenant is nil with a global token, which opens only the choice of a tenant.
	Tenant *Membership

	// The rest is told at sign-in only.
	RequiresTenantSelection bool
	SmartAutoSwitched       bool
	IsFirstLogin            bool
	MustChangePassword      bool
	DaysUntilExpiration     *int
}

// IsGlobal reports whether the token names no tenant.
func (g Grant) IsGlobal() bool { return g.Tenant == nil }

// TokenType is the grant's token type on the wire.
func (g Grant) TokenType() string {
	if g.IsGlobal() {
		return tokenGlobal
	}
	return tokenTenant
}

// Membership is a tenant that a user may enter now.
type Membership struct {
	ID        uuid.UUID `db:"id"`
	Name      string    `db:"name"`
	IsDefault bool      `db:"is_default"`
}

// choice is the outcome of picking a tenant at sign-in.
type choice struct {
	tenant       *Membership
	autoSwitched bool
	mustSelect   bool
}

// chooseTenant follows the caller's preference, then the only way there is, then, if the caller
// wished for nothing, the user's default.
func chooseTenant(open []Membership, preferred uuid.UUID) choice {
	for i := range open {
		if preferred != uuid.Nil && open[i].ID == preferred {
			return choice{tenant: &open[i]}
		}
	}
	if len(open) == 1 {
		return choice{tenant: &open[0]}
	}
	for i := range open {
		if preferred == uuid.Nil && open[i].IsDefault {
			return choice{tenant: &open[i], autoSwitched: true}
		}
	}
	return choice{mustSelect: len(open) > 0}
}

// pass is a session that was just opened or prolonged, in a tenant or in none.
type pass struct {
	user        uuid.UUID
	name, email string
	generation  int64
	session     uuid.UUID
	refresh     string
	tenant      *Membership
	access      access
}

// openPass starts a session in the tenant (nil: a global one) for a user whose row tx has locked.
func (s *Service) openPass(ctx context.Context, tx db.Tx, u User, tenant *Membership, app string) (pass, error) {
	p := pass{
		user: u.ID, name: displayName(u.FirstName, u.LastName, u.Email), email: u.Email, generation: u.Generation,
		tenant: tenant, access: access{roles: []string{}, permissions: []string{}},
	}
	var err error
	var tenantID uuid.UUID
	if tenant != nil {
		tenantID = tenant.ID
		if p.access, err = readAccess(ctx, tx, u.ID, tenant.ID); err != nil {
			return p, err
		}
	}
	p.session, p.refresh, err = s.openSession(ctx, tx, u, tenantID, app)
	return p, err
}

// grant signs the access token of a pass. It is called after the commit: signing takes no lock.
func (s *Service) grant(p pass) (Grant, error) {
	issued := s.clock().UTC().Truncate(time.Second)
	claims := Claims{
		UserID: p.user, SessionID: p.session, Generation: p.generation, Name: p.name, Email: p.email,
		Roles: p.access.roles, Permissions: p.access.permissions, TokenType: tokenGlobal, IssuedAt: issued,
	}
	if p.tenant != nil {
		claims.TokenType, claims.TenantID, claims.TenantName = tokenTenant, p.tenant.ID, p.tenant.Name
	}
	claims.ExpiresAt = issued.Add(tokenLifetime(claims.TenantID))
	token, err := s.signer.Sign(claims)
	if err != nil {
		return Grant{}, err
	}
	return Grant{
		Token: token, RefreshToken: p.refresh, ExpiresAt: claims.ExpiresAt, Tenant: p.tenant,
		Roles: p.access.roles, Permissions: p.access.permissions,
	}, nil
}
