package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

// States of an invitation. One that is pending or expired is open: it can be sent again and revoked.
const (
	InvitationPending  = "Pending"
	InvitationAccepted = "Accepted"
	InvitationExpired  = "Expired"
	InvitationRevoked  = "Revoked"
)

// maxInvitationMessage bounds what an invitation may say, in characters.
const maxInvitationMessage = 2000

// Invitation asks somebody to work in a tenant. They are bound to it from the start; what is open is
// whether they can get in.
type Invitation struct {
	ID             uuid.UUID  `db:"id"`
	TenantID       uuid.UUID  `db:"tenant_id"`
	UserID         uuid.UUID  `db:"user_id"`
	Email          string     `db:"email"`
	RoleIDs        db.Strings `db:"role_ids"`
	Message        string     `db:"message"`
	IsNewAccount   bool       `db:"is_new_account"`
	InvitedBy      uuid.UUID  `db:"invited_by"`
	InvitedByEmail string     `db:"invited_by_email"`
	LinkHash       string     `db:"link_hash"`
	CreatedAt      db.Time    `db:"created_at"`
	SentAt         db.Time    `db:"sent_at"`
	ExpiresAt      *db.Time   `db:"expires_at"`
	AcceptedAt     *db.Time   `db:"accepted_at"`
	RevokedAt      *db.Time   `db:"revoked_at"`
	// EmailConfirmed tells whether somebody has shown that the account and the address belong together.
	EmailConfirmed bool `db:"email_confirmed"`
	// Status is derived: an invitation whose binding or account is gone counts as revoked.
	Status string `db:"status"`
	// Roles are those of RoleIDs that still exist.
	Roles []RoleRef `db:"-"`
}

// IsOpen tells whether the invitation can be sent again and revoked.
func (i Invitation) IsOpen() bool {
	return i.Status == InvitationPending || i.Status == InvitationExpired
}

// Invite is a body that invites somebody.
type Invite struct {
	Email   string
	RoleIDs *[]uuid.UUID // nil: as a Member
	Message string
}

// InviteUser binds the account with the e-mail to the caller's tenant, under the rules of BindTenant. An
// account that cannot sign in yet, and one that is made because nobody has the e-mail, gets a mail with
// a link to choose a password; any other is told that it has another tenant, and has accepted at once.
func (s *Service) InviteUser(ctx context.Context, in Invite) (Invitation, error) {
	made, err := s.prepareInvite(ctx, &in)
	if err != nil {
		return Invitation{}, err
	}
	var invitation Invitation
	err = s.db.Write(ctx, func(tx db.Tx) error {
		b, err := s.invitedBinding(ctx, tx, in)
		if err != nil {
			return err
		}
		u, isNew, err := s.bindInvited(ctx, tx, made, b)
		if err != nil {
			return err
		}
		invitation, err = s.addInvitation(ctx, tx, u, in, b, isNew)
		return err
	})
	return invitation, err
}

// prepareInvite checks what no store is needed for and returns the account that may have to be made.
func (s *Service) prepareInvite(ctx context.Context, in *Invite) (User, error) {
	in.Email, in.Message = strings.TrimSpace(in.Email), strings.TrimSpace(in.Message)
	wrong := fields{}
	wrong.checkEmail("email", in.Email)
	wrong.checkText("message", in.Message, maxInvitationMessage, "\n\r\t")
	if in.RoleIDs != nil {
		*in.RoleIDs = withoutRepeats(*in.RoleIDs)
		wrong.collect(Binding{TenantID: scope.ActorFrom(ctx).TenantID, RoleIDs: *in.RoleIDs}.checkAdditive())
	}
	if err := wrong.fault(); err != nil {
		return User{}, err
	}
	return s.newUser(in.Email, "")
}

// invitedBinding is the binding that the body asks for, if the caller may hand it out. The role of a
// body that names none is chosen by the program: the caller need not hold what it holds.
func (s *Service) invitedBinding(ctx context.Context, tx db.Tx, in Invite) (Binding, error) {
	actor := scope.ActorFrom(ctx)
	b := Binding{TenantID: actor.TenantID}
	if in.RoleIDs != nil {
		b.RoleIDs = *in.RoleIDs
		return b, requireGrants(ctx, tx, actor, b)
	}
	member, err := findRoleByName(ctx, tx, b.TenantID, roleMember)
	if err != nil {
		return b, fmt.Errorf("find role %s: %w", roleMember, err)
	}
	b.RoleIDs = []uuid.UUID{member}
	return b, nil
}

// bindInvited binds the account that has the e-mail, or else the one that was prepared. Which of the two
// it is is settled by the unique key, however many invite the same person at once.
func (s *Service) bindInvited(ctx context.Context, tx db.Tx, made User, b Binding) (u User, isNew bool, err error) {
	if isNew, err = insertUser(ctx, tx, made); err != nil {
		return u, false, err
	}
	if isNew {
		if err := s.addBinding(ctx, tx, made.ID, b); err != nil {
			return u, true, err
		}
		return made, true, s.audit(ctx, tx, "user.created", made.ID, auditedUser(made))
	}
	found, err := findUserByEmail(ctx, tx, made.Email)
	if err != nil { // deleted at this very moment
		return u, false, userFault(made.ID, err)
	}
	if u, err = lockAccount(ctx, tx, found.ID); err != nil {
		return u, false, err
	}
	err = s.alter(ctx, tx, u, func() (bool, error) { return true, s.bindLate(ctx, tx, u.ID, b) })
	return u, false, err
}

// canSignIn tells whether the account needs no link any more.
func (u User) canSignIn() bool { return u.PasswordHash != "" || u.LastLoginAt != nil }

// addInvitation writes the invitation down and mails it.
func (s *Service) addInvitation(ctx context.Context, tx db.Tx, u User, in Invite, b Binding, isNew bool) (Invitation, error) {
	id, err := newID()
	if err != nil {
		return Invitation{}, err
	}
	actor, now := scope.ActorFrom(ctx), s.now()
	i := Invitation{
		ID: id, TenantID: b.TenantID, UserID: u.ID, Email: u.Email, RoleIDs: textsOf(b.RoleIDs), Message: in.Message, IsNewAccount: isNew,
		InvitedBy: actor.UserID, InvitedByEmail: actor.Email, CreatedAt: now, SentAt: now,
	}
	// One that was left open when the user was taken out of the tenant must not come alive again.
	if err := closeInvitations(ctx, tx, u.ID, b.TenantID, now); err != nil {
		return i, fmt.Errorf("close earlier invitations: %w", err)
	}
	if u.canSignIn() {
		i.AcceptedAt = &now
		err = s.sendAdded(ctx, tx, u, i, actor)
	} else {
		err = s.sendLink(ctx, tx, u, &i, actor)
	}
	if err != nil {
		return i, err
	}
	if err := insertInvitation(ctx, tx, i); err != nil {
		return i, fmt.Errorf("add invitation: %w", err)
	}
	if err := s.auditInvitation(ctx, tx, "invitation.created", i, i.audited()); err != nil {
		return i, err
	}
	return s.readInvitation(ctx, tx, b.TenantID, id)
}

func (i Invitation) audited() map[string]any {
	return map[string]any{"userId": i.UserID, "email": i.Email, "roleIds": i.RoleIDs, "isNewAccount": i.IsNewAccount}
}

func textsOf(ids []uuid.UUID) db.Strings {
	texts := make(db.Strings, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
}
