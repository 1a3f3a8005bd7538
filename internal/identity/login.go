package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
)

// Login is what a caller shows to get in with a password.
type Login struct {
	Email           string
	Password        string
	Encrypted       bool
	PreferredTenant uuid.UUID
	AppID           string
}

// Login checks the password and opens a session. It fails with INVALID_CREDENTIALS, ACCOUNT_LOCKED,
// ACCOUNT_DISABLED, EMAIL_NOT_CONFIRMED, or FORBIDDEN where the app is closed to the account. What an
// unknown e-mail hears, and when, does not differ from a wrong password.
func (s *Service) Login(ctx context.Context, in Login) (Grant, error) {
	if err := s.requireUnlocked(ctx, s.db, in.Email); err != nil {
		return Grant{}, err
	}
	user, rehash, err := s.checkPassword(ctx, in)
	if err != nil {
		return Grant{}, err
	}
	return s.signIn(ctx, user.ID, entry{
		preferred: in.PreferredTenant, app: in.AppID, audit: "user.signed-in",
		first: func(tx db.Tx, current User) error {
			if err := s.admit(ctx, tx, in.Email); err != nil {
				return err
			}
			if current.PasswordHash != user.PasswordHash {
				return wrongCredentials() // the password was changed while it was being checked
			}
			if rehash != "" {
				return setRehash(ctx, tx, user.ID, rehash)
			}
			return nil
		},
	})
}

func wrongCredentials() *fault.Fault {
	return fault.New(fault.InvalidCredentials, "The e-mail or the password is wrong.")
}

// checkPassword finds the account and compares; wrong passwords are counted here. rehash is the same
// password under the present parameters, or empty where the stored hash has them.
func (s *Service) checkPassword(ctx context.Context, in Login) (u User, rehash string, err error) {
	u, err = findUserByEmail(ctx, s.db, in.Email)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return u, "", fmt.Errorf("find account: %w", err)
	}
	password, sealed, err := s.openPassword(in.Password, in.Encrypted)
	if err != nil {
		return u, "", err
	}
	right, stale, err := s.verify(ctx, u.PasswordHash, password)
	if err != nil {
		return u, "", err
	}
	if !right || sealed {
		return u, "", s.countFailure(ctx, in.Email, wrongCredentials())
	}
	if stale {
		rehash, err = s.hasher.Hash(ctx, password)
	}
	return u, rehash, err
}

// openPassword returns the password that a client sent. sealed tells that it is encrypted and cannot
// be opened, which is the client's fault; an error is ours.
func (s *Service) openPassword(value string, encrypted bool) (password string, sealed bool, err error) {
	password, err = s.keyring.OpenPassword(value, encrypted)
	if errors.Is(err, errSealed) {
		return "", true, nil
	}
	if err != nil {
		return "", false, fault.New(fault.Unavailable, "The password cannot be opened right now.").Because(err).RetryIn(time.Second)
	}
	return password, false, nil
}

// verify does the same work whether or not there is a hash to compare with.
func (s *Service) verify(ctx context.Context, hash, password string) (right, stale bool, err error) {
	if hash == "" {
		return false, false, s.hasher.VerifyNobody(ctx, password)
	}
	return s.hasher.Verify(ctx, hash, password)
}

// entry is one way of getting in, once the caller has shown who they are.
type entry struct {
	preferred uuid.UUID
	app       string
	audit     string
	// first runs on the locked account before anything else is looked at.
	first func(tx db.Tx, current User) error
}

// signIn opens a session for an account in the tenant that its owner most likely wants.
func (s *Service) signIn(ctx context.Context, user uuid.UUID, e entry) (Grant, error) {
	var u User
	var p pass
	var c choice
	err := s.db.Write(ctx, func(tx db.Tx) (err error) {
		u, err = lockUser(ctx, tx, user)
		if errors.Is(err, sql.ErrNoRows) {
			return wrongCredentials()
		}
		if err != nil {
			return fmt.Errorf("sign in: %w", err)
		}
		if err := e.first(tx, u); err != nil {
			return err
		}
		if err := s.requireOpen(ctx, tx, u, e.app); err != nil {
			return err
		}
		open, err := listOpenTenants(ctx, tx, u.ID)
		if err != nil {
			return fmt.Errorf("list tenants of user %s: %w", u.ID, err)
		}
		if u.LastLoginAt == nil {
			if err := s.acceptInvitations(ctx, tx, u); err != nil {
				return err
			}
		}
		c = chooseTenant(open, e.preferred)
		if p, err = s.openPass(ctx, tx, u, c.tenant, e.app); err != nil {
			return err
		}
		return s.noteSignIn(ctx, tx, p, e.audit)
	})
	if err != nil {
		return Grant{}, err
	}
	g, err := s.grant(p)
	g.SmartAutoSwitched, g.RequiresTenantSelection = c.autoSwitched, c.mustSelect
	g.IsFirstLogin = u.LastLoginAt == nil
	g.DaysUntilExpiration, g.MustChangePassword = s.passwordAge(u)
	return g, err
}

// requireOpen refuses accounts that exist and have shown their password but may not come in.
func (s *Service) requireOpen(ctx context.Context, q db.Queryer, u User, app string) error {
	if !u.IsActive {
		return fault.New(fault.AccountDisabled, "The account is disabled.")
	}
	if s.cfg.RequireConfirmedEmail && !u.EmailConfirmed {
		return fault.New(fault.EmailNotConfirmed, "Confirm the e-mail address first; the link is in the mail you were sent.")
	}
	if app == "" {
		return nil
	}
	closed, err := isAppClosed(ctx, q, app)
	if err != nil {
		return fmt.Errorf("look up app: %w", err)
	}
	if closed || !u.mayUse(app) {
		return fault.New(fault.Forbidden, "This account may not use the app.")
	}
	return nil
}

func (s *Service) noteSignIn(ctx context.Context, tx db.Tx, p pass, action string) error {
	if err := setLastLogin(ctx, tx, p.user, s.now()); err != nil {
		return err
	}
	if err := s.auditAs(ctx, tx, action, p); err != nil {
		return err
	}
	return changedUser(ctx, tx, p.user)
}

// passwordAge tells when the password must be changed under the policy, and whether that is now.
func (s *Service) passwordAge(u User) (days *int, mustChange bool) {
	if s.policy.ExpireDays == 0 || u.PasswordChangedAt == nil {
		return nil, u.MustChangePassword
	}
	expires := u.PasswordChangedAt.AddDate(0, 0, s.policy.ExpireDays)
	left := max(0, int(expires.Sub(s.clock()).Hours()/24))
	return &left, u.MustChangePassword || !s.clock().Before(expires)
}
