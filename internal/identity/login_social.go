package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/config"
	"steward/internal/db"
	"steward/internal/fault"
)

// SocialLogin is what a caller shows who has an account elsewhere.
type SocialLogin struct {
	Provider        string
	AccessToken     string
	PreferredTenant uuid.UUID
	AppID           string
}

// SocialLogin lets the provider verify the token and opens a session for the account linked to that
// person, linking or making one where that is safe. It fails with CONFLICT where an account has the
// e-mail but never proved that it owns it.
func (s *Service) SocialLogin(ctx context.Context, in SocialLogin) (Grant, error) {
	person, err := s.social.Verify(ctx, in.Provider, in.AccessToken)
	if err != nil {
		return Grant{}, err
	}
	user, err := s.accountOf(ctx, person)
	if err != nil {
		return Grant{}, err
	}
	return s.signIn(ctx, user, entry{
		preferred: in.PreferredTenant, app: in.AppID, audit: "user.signed-in",
		first: func(db.Tx, User) error { return nil },
	})
}

// accountOf finds the account of a person known to a provider, or makes it.
func (s *Service) accountOf(ctx context.Context, person SocialUser) (uuid.UUID, error) {
	id, err := findIdentity(ctx, s.db, person.Issuer, person.Subject)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return id, fmt.Errorf("find linked account: %w", err)
	}
	wrong := fields{}
	wrong.checkEmail("email", person.Email)
	if !person.EmailVerified || wrong.fault() != nil {
		return id, fault.New(fault.InvalidCredentials, "The provider does not vouch for an e-mail address of this account.")
	}
	id, err = s.link(ctx, person)
	if fault.Is(err, fault.UserAlreadyExists) { // a parallel call made the account: link to that
		id, err = s.link(ctx, person)
	}
	return id, err
}

// link ties the person to the account with their e-mail, which it makes where there is none.
func (s *Service) link(ctx context.Context, person SocialUser) (id uuid.UUID, err error) {
	err = s.db.Write(ctx, func(tx db.Tx) error {
		u, err := s.linkable(ctx, tx, person)
		if err != nil {
			return err
		}
		linked, err := insertIdentity(ctx, tx, person.Issuer, person.Subject, u.ID, s.now())
		if err != nil {
			return fmt.Errorf("link account: %w", err)
		}
		if !linked { // a parallel call was first
			id, err = findIdentity(ctx, tx, person.Issuer, person.Subject)
			return err
		}
		id = u.ID
		return s.audit(ctx, tx, "user.identity-linked", u.ID, map[string]any{"issuer": person.Issuer})
	})
	return id, err
}

// linkable returns the confirmed account with the person's e-mail, or a new one.
func (s *Service) linkable(ctx context.Context, tx db.Tx, person SocialUser) (User, error) {
	u, err := findUserByEmail(ctx, tx, person.Email)
	if err == nil && !u.EmailConfirmed {
		return u, fault.New(fault.Conflict, "An account with this e-mail exists, and its address was never confirmed. Sign in with its password and confirm the address first.")
	}
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return u, err
	}
	if s.cfg.Registration == config.RegistrationOff {
		return u, fault.New(fault.Forbidden, "Registration is switched off; ask an administrator for an account.")
	}
	if u, err = s.newUser(person.Email, person.Name); err != nil {
		return u, err
	}
	u.EmailConfirmed, u.ProfilePictureURL = true, person.PictureURL
	return u, s.enrol(ctx, tx, u)
}
