package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// Refresh spends a refresh token and gives a new pair for the same session, in another tenant where
// one is named. A token works once: TOKEN_INVALID for one that is unknown, spent or of an ended
// session, TOKEN_EXPIRED for one that is too old, FORBIDDEN for a tenant that is not open to the user.
// A spent token that comes back later than a lost answer could explain ends the whole session.
func (s *Service) Refresh(ctx context.Context, token string, tenant uuid.UUID) (Grant, error) {
	hash := hashOpaque(token)
	found, err := s.findSpendable(ctx, hash)
	if err != nil {
		return Grant{}, err
	}
	p, err := s.renewal(ctx, found, tenant)
	if err != nil {
		return Grant{}, err
	}
	err = s.db.Write(ctx, func(tx db.Tx) error { return s.rotate(ctx, tx, hash, found, &p) })
	if errors.Is(err, errTokenRefused) { // another call was faster, or the session has just ended
		_, err = s.findSpendable(ctx, hash)
		if err == nil {
			err = invalidRefresh()
		}
	}
	if err != nil {
		return Grant{}, err
	}
	return s.grant(p)
}

var errTokenRefused = errors.New("refresh token refused")

func invalidRefresh() *fault.Fault {
	return fault.New(fault.TokenInvalid, "The refresh token is not valid; sign in again.")
}

// findSpendable looks a token up and refuses one that cannot be spent. It ends the session of one that
// looks stolen.
func (s *Service) findSpendable(ctx context.Context, hash string) (refreshToken, error) {
	token, err := findRefreshToken(ctx, s.db, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return token, invalidRefresh()
	}
	if err != nil {
		return token, fmt.Errorf("look up refresh token: %w", err)
	}
	now := s.now()
	switch {
	case token.EndReason != "":
		return token, invalidRefresh()
	case token.SpentAt == nil && !token.ExpiresAt.After(now.Time):
		return token, fault.New(fault.TokenExpired, "The refresh token has expired; sign in again.")
	case token.SpentAt == nil:
		return token, nil
	case now.Sub(token.SpentAt.Time) <= refreshReuseTime:
		return token, invalidRefresh()
	}
	if err := s.endStolen(ctx, token, now); err != nil {
		return token, err
	}
	return token, invalidRefresh()
}

// renewal is what the next access token of the session will say, in its tenant or in the one asked
// for. It comes from the same memory that every request is checked against.
func (s *Service) renewal(ctx context.Context, token refreshToken, tenant uuid.UUID) (pass, error) {
	if tenant == uuid.Nil && token.TenantID != nil {
		tenant = *token.TenantID
	}
	state, err := s.principal(ctx, &Claims{UserID: token.UserID, SessionID: token.SessionID, TenantID: tenant})
	if err != nil {
		return pass{}, err
	}
	if state.refusal != nil {
		return pass{}, invalidRefresh()
	}
	actor := state.actor
	p := pass{
		user: token.UserID, name: actor.Name, email: actor.Email, generation: token.Generation, session: token.SessionID,
		access: access{roles: []string{}, permissions: []string{}},
	}
	if tenant == uuid.Nil {
		return p, nil
	}
	if !actor.InTenant {
		return p, closedTenant()
	}
	p.tenant = &Membership{ID: tenant, Name: actor.TenantName}
	p.access = access{roles: actor.Roles, permissions: actor.Permissions}
	return p, nil
}

// rotate spends the token, prolongs the session and issues the next token, or fails with
// errTokenRefused and does nothing of it: of two calls at once exactly one succeeds.
func (s *Service) rotate(ctx context.Context, tx db.Tx, hash string, token refreshToken, p *pass) error {
	now := s.now()
	spent, err := spendRefreshToken(ctx, tx, hash, now)
	if err != nil {
		return fmt.Errorf("spend refresh token: %w", err)
	}
	if !spent {
		return errTokenRefused
	}
	live, err := touchSession(ctx, tx, token.SessionID, now, db.At(now.Add(refreshTokenTTL)))
	if err != nil {
		return fmt.Errorf("touch session %s: %w", token.SessionID, err)
	}
	if !live {
		return errTokenRefused
	}
	if p.tenant != nil && (token.TenantID == nil || *token.TenantID != p.tenant.ID) {
		if err := setSessionTenant(ctx, tx, token.SessionID, p.tenant.ID); err != nil {
			return err
		}
	}
	p.refresh, err = s.issueRefresh(ctx, tx, token.SessionID, now)
	return err
}

func closedTenant() *fault.Fault { return fault.New(fault.Forbidden, "You may not enter this tenant.") }

// requireOpenTenant fails with FORBIDDEN where the user may not enter the tenant; whether it exists
// is not told.
func requireOpenTenant(ctx context.Context, q db.Queryer, user, tenant uuid.UUID) (Membership, error) {
	m, err := findOpenTenant(ctx, q, user, tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return m, closedTenant()
	}
	if err != nil {
		return m, fmt.Errorf("look up tenant %s: %w", tenant, err)
	}
	return m, nil
}

func (s *Service) endStolen(ctx context.Context, token refreshToken, now db.Time) error {
	return s.db.Write(ctx, func(tx db.Tx) error {
		ended, err := endSession(ctx, tx, token.SessionID, token.UserID, endedByReuse, now)
		if err != nil || !ended {
			return err
		}
		if err := s.audit(ctx, tx, "user.refresh-token-reused", token.UserID, map[string]any{"session": token.SessionID}); err != nil {
			return err
		}
		return changedUser(ctx, tx, token.UserID)
	})
}

// SwitchTenant opens a second session of the caller in another tenant; the first stays as it is. It
// fails with FORBIDDEN where the tenant is not open to the caller.
func (s *Service) SwitchTenant(ctx context.Context, tenant uuid.UUID) (Grant, error) {
	actor := scope.ActorFrom(ctx)
	var p pass
	err := s.db.Write(ctx, func(tx db.Tx) error {
		u, err := lockUser(ctx, tx, actor.UserID)
		if err != nil {
			return fmt.Errorf("switch tenant: %w", err)
		}
		open, err := requireOpenTenant(ctx, tx, u.ID, tenant)
		if err != nil {
			return err
		}
		app, err := findSessionApp(ctx, tx, actor.SessionID)
		if errors.Is(err, sql.ErrNoRows) { // ended since the token was checked
			return fault.New(fault.TokenRevoked, "The session was ended.")
		}
		if err != nil {
			return fmt.Errorf("switch tenant: %w", err)
		}
		if p, err = s.openPass(ctx, tx, u, &open, app); err != nil {
			return err
		}
		return s.auditAs(ctx, tx, "user.tenant-switched", p)
	})
	if err != nil {
		return Grant{}, err
	}
	return s.grant(p)
}
