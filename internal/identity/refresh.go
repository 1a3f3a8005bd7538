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
	var p pass
	hash := hashOpaque(token)
	err := s.db.Write(ctx, func(tx db.Tx) error {
		now := s.now()
		session, err := spendRefreshToken(ctx, tx, hash, now)
		if errors.Is(err, sql.ErrNoRows) {
			return errTokenRefused
		}
		if err != nil {
			return fmt.Errorf("spend refresh token: %w", err)
		}
		p, err = s.renew(ctx, tx, session, tenant, now)
		return err
	})
	if errors.Is(err, errTokenRefused) {
		return Grant{}, s.refuseRefresh(ctx, hash)
	}
	if err != nil {
		return Grant{}, err
	}
	return s.grant(p)
}

var errTokenRefused = errors.New("refresh token refused")

// renew prolongs the session and reads everything that goes into its next access token.
func (s *Service) renew(ctx context.Context, tx db.Tx, session, tenant uuid.UUID, now db.Time) (pass, error) {
	live, err := touchSession(ctx, tx, session, now, db.At(now.Add(refreshTokenTTL)))
	if errors.Is(err, sql.ErrNoRows) {
		return pass{}, errTokenRefused
	}
	if err != nil {
		return pass{}, fmt.Errorf("touch session %s: %w", session, err)
	}
	p := pass{session: session, access: access{roles: []string{}, permissions: []string{}}}
	if p.user, err = findUser(ctx, tx, live.UserID); err != nil {
		return p, fmt.Errorf("refresh session %s: %w", session, err)
	}
	p.user.Generation = live.Generation
	if err := s.renewTenant(ctx, tx, &p, live, tenant); err != nil {
		return p, err
	}
	p.refresh, err = s.issueRefresh(ctx, tx, session, now)
	return p, err
}

// renewTenant stays in the session's tenant or moves the session to the one asked for.
func (s *Service) renewTenant(ctx context.Context, tx db.Tx, p *pass, live liveSession, asked uuid.UUID) error {
	tenant := asked
	if tenant == uuid.Nil && live.TenantID != nil {
		tenant = *live.TenantID
	}
	if tenant == uuid.Nil {
		return nil
	}
	open, err := requireOpenTenant(ctx, tx, p.user.ID, tenant)
	if err != nil {
		return err
	}
	p.tenant = &open
	if p.access, err = readAccess(ctx, tx, p.user.ID, tenant); err != nil {
		return err
	}
	if live.TenantID == nil || *live.TenantID != tenant {
		return setSessionTenant(ctx, tx, p.session, tenant)
	}
	return nil
}

// requireOpenTenant fails with FORBIDDEN where the user may not enter the tenant; whether it exists
// is not told.
func requireOpenTenant(ctx context.Context, q db.Queryer, user, tenant uuid.UUID) (Membership, error) {
	m, err := findOpenTenant(ctx, q, user, tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return m, fault.New(fault.Forbidden, "You may not enter this tenant.")
	}
	if err != nil {
		return m, fmt.Errorf("look up tenant %s: %w", tenant, err)
	}
	return m, nil
}

// refuseRefresh finds out why a token was refused, and ends the session of one that looks stolen.
func (s *Service) refuseRefresh(ctx context.Context, hash string) error {
	invalid := fault.New(fault.TokenInvalid, "The refresh token is not valid; sign in again.")
	token, err := findRefreshToken(ctx, s.db, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return invalid
	}
	if err != nil {
		return fmt.Errorf("look up refresh token: %w", err)
	}
	now := s.now()
	switch {
	case token.EndReason != "":
		return invalid
	case token.SpentAt == nil && !token.ExpiresAt.After(now.Time):
		return fault.New(fault.TokenExpired, "The refresh token has expired; sign in again.")
	case token.SpentAt == nil || now.Sub(token.SpentAt.Time) <= refreshReuseTime:
		return invalid
	}
	if err := s.endStolen(ctx, token, now); err != nil {
		return err
	}
	return invalid
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
