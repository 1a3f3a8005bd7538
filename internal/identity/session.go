package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// Session is one signed-in device in one tenant, as its owner sees it.
type Session struct {
	ID         uuid.UUID  `db:"id"`
	TenantID   *uuid.UUID `db:"tenant_id"`
	TenantName *string    `db:"tenant_name"`
	AppID      string     `db:"app_id"`
	Device     string     `db:"device"`
	Address    string     `db:"address"`
	CreatedAt  db.Time    `db:"created_at"`
	LastUsedAt db.Time    `db:"last_used_at"`
	ExpiresAt  db.Time    `db:"expires_at"`
}

// maxSessionsShown bounds the list of own sessions; nobody reads further.
const maxSessionsShown = 100

// openSession starts a session for a user whose row tx has locked and returns its refresh token.
func (s *Service) openSession(ctx context.Context, tx db.Tx, u User, tenant uuid.UUID, app string) (session uuid.UUID, refresh string, err error) {
	session, err = newID()
	if err != nil {
		return uuid.Nil, "", err
	}
	now, origin := s.now(), scope.OriginFrom(ctx)
	if err := insertSession(ctx, tx, sessionRow{
		ID: session, UserID: u.ID, TenantID: optionalID(tenant), Generation: u.Generation, AppID: app,
		Device: origin.UserAgent, Address: origin.Address, At: now, ExpiresAt: db.At(now.Add(refreshTokenTTL)),
	}); err != nil {
		return uuid.Nil, "", err
	}
	refresh, err = s.issueRefresh(ctx, tx, session, now)
	return session, refresh, err
}

func (s *Service) issueRefresh(ctx context.Context, tx db.Tx, session uuid.UUID, now db.Time) (string, error) {
	token, hash := newOpaque()
	return token, insertRefreshToken(ctx, tx, hash, session, now, db.At(now.Add(refreshTokenTTL)))
}

// endSessions ends every session of the user: their tokens are refused from the moment tx commits,
// on this node at once and on the others within a second.
func (s *Service) endSessions(ctx context.Context, tx db.Tx, user uuid.UUID, reason string) error {
	now := s.now()
	if err := raiseGeneration(ctx, tx, user, now); err != nil {
		return fmt.Errorf("end sessions of user %s: %w", user, err)
	}
	if err := endUserSessions(ctx, tx, user, reason, now); err != nil {
		return fmt.Errorf("end sessions of user %s: %w", user, err)
	}
	return changedUser(ctx, tx, user)
}

// Logout ends every session of the caller.
func (s *Service) Logout(ctx context.Context) error {
	actor := scope.ActorFrom(ctx)
	return s.db.Write(ctx, func(tx db.Tx) error {
		if err := s.endSessions(ctx, tx, actor.UserID, endedByLogout); err != nil {
			return err
		}
		return s.audit(ctx, tx, "user.signed-out", actor.UserID, nil)
	})
}

// OwnSessions lists the caller's live sessions, the latest used first.
func (s *Service) OwnSessions(ctx context.Context) ([]Session, error) {
	return listLiveSessions(ctx, s.db, scope.ActorFrom(ctx).UserID, s.now(), maxSessionsShown)
}

// EndOwnSession ends one session of the caller; NOT_FOUND where the caller has no such live session.
func (s *Service) EndOwnSession(ctx context.Context, id uuid.UUID) error {
	actor := scope.ActorFrom(ctx)
	return s.db.Write(ctx, func(tx db.Tx) error {
		ended, err := endSession(ctx, tx, id, actor.UserID, endedByOwner, s.now())
		if err != nil {
			return err
		}
		if !ended {
			return fault.New(fault.NotFound, "You have no open session with this id.")
		}
		if err := s.audit(ctx, tx, "user.session-ended", actor.UserID, map[string]any{"session": id}); err != nil {
			return err
		}
		return changedUser(ctx, tx, actor.UserID)
	})
}

// audit notes something that happened to an account.
func (s *Service) audit(ctx context.Context, tx db.Tx, action string, user uuid.UUID, after any) error {
	return audit.Write(ctx, tx, audit.Entry{
		Action: action, TargetType: "user", TargetID: user.String(), After: after, At: s.now().Time,
	})
}

// auditChange notes what was changed about an account.
func (s *Service) auditChange(ctx context.Context, tx db.Tx, action string, user uuid.UUID, before, after any) error {
	return audit.Write(ctx, tx, audit.Entry{
		Action: action, TargetType: "user", TargetID: user.String(), Before: before, After: after, At: s.now().Time,
	})
}

// auditAs notes what the owner of the pass did, who is not the caller yet.
func (s *Service) auditAs(ctx context.Context, tx db.Tx, action string, p pass) error {
	actor := &scope.Actor{UserID: p.user, Email: p.email}
	if p.tenant != nil {
		actor.TenantID = p.tenant.ID
	}
	return s.audit(scope.WithActor(ctx, actor), tx, action, p.user, map[string]any{"session": p.session})
}

func optionalID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func tokenLifetime(tenant uuid.UUID) time.Duration {
	if tenant == uuid.Nil {
		return globalTokenTTL
	}
	return tenantTokenTTL
}
