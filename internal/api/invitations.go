package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"steward/internal/fault"
	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// invitationDto is an invitation to the tenant of the token.
type invitationDto struct {
	ID             uuid.UUID  `json:"id"`
	UserID         uuid.UUID  `json:"userId" doc:"The account that was made, or that had the e-mail."`
	Email          string     `json:"email"`
	EmailConfirmed bool       `json:"emailConfirmed" doc:"Whether somebody has shown that the account and the address belong together. False for an existing account means: make sure that it is the person you mean."`
	Status         string     `json:"status" enum:"Pending,Accepted,Expired,Revoked"`
	RoleIDs        []string   `json:"roleIds" doc:"The roles that the invitation gave."`
	Roles          []roleRef  `json:"roles" doc:"Those of them that still exist."`
	Message        string     `json:"message"`
	IsNewAccount   bool       `json:"isNewAccount" doc:"Whether the account was made for the invitation."`
	InvitedBy      uuid.UUID  `json:"invitedBy"`
	InvitedByEmail string     `json:"invitedByEmail"`
	CreatedAt      time.Time  `json:"createdAt"`
	SentAt         time.Time  `json:"sentAt" doc:"When it was mailed last."`
	ExpiresAt      *time.Time `json:"expiresAt" doc:"When the link ends; null where none was needed."`
	AcceptedAt     *time.Time `json:"acceptedAt"`
	RevokedAt      *time.Time `json:"revokedAt"`
}

func invitationOf(i identity.Invitation) invitationDto {
	dto := invitationDto{
		ID: i.ID, UserID: i.UserID, Email: i.Email, EmailConfirmed: i.EmailConfirmed, Status: i.Status, RoleIDs: i.RoleIDs, Roles: make([]roleRef, len(i.Roles)), Message: i.Message,
		IsNewAccount: i.IsNewAccount, InvitedBy: i.InvitedBy, InvitedByEmail: i.InvitedByEmail, CreatedAt: i.CreatedAt.Time, SentAt: i.SentAt.Time,
		ExpiresAt: optionalTime(i.ExpiresAt), AcceptedAt: optionalTime(i.AcceptedAt), RevokedAt: optionalTime(i.RevokedAt),
	}
	for n, r := range i.Roles {
		dto.Roles[n] = roleRef(r)
	}
	return dto
}

type inviteInput struct {
	Body struct {
		Email   string    `json:"email" minLength:"1" maxLength:"254"`
		RoleIDs *[]web.ID `json:"roleIds,omitempty" maxItems:"1000" doc:"1 to 50 roles in the tenant of the token, repeated ones count once; left out or null means Member."`
		Message string    `json:"message,omitempty" maxLength:"2000" doc:"Shown in the mail."`
	}
}

func (a *API) inviteUser(ctx context.Context, in *inviteInput) (*web.Reply[invitationDto], error) {
	invite := identity.Invite{Email: in.Body.Email, Message: in.Body.Message}
	if in.Body.RoleIDs != nil {
		invite.RoleIDs = new(plainIDs(*in.Body.RoleIDs))
	}
	i, err := a.Identity.InviteUser(ctx, invite)
	if err != nil {
		return nil, err
	}
	return web.Created("/api/v1/users/invitations/"+i.ID.String(), invitationOf(i)), nil
}

func (a *API) listInvitations(ctx context.Context, in *identity.InvitationsQuery) (*web.Reply[resource.PagedResult[invitationDto]], error) {
	page, err := a.Identity.ListInvitations(ctx, *in)
	if err != nil {
		return nil, err
	}
	return web.OK(resource.MapPage(page, invitationOf)), nil
}

type invitationInput struct {
	ID web.ID `path:"id"`
}

func (a *API) getInvitation(ctx context.Context, in *invitationInput) (*web.Reply[invitationDto], error) {
	return invitationReply(a.Identity.GetInvitation(ctx, in.ID.UUID))
}

func (a *API) resendInvitation(ctx context.Context, in *invitationInput) (*web.Reply[invitationDto], error) {
	return invitationReply(a.Identity.ResendInvitation(ctx, in.ID.UUID))
}

func invitationReply(i identity.Invitation, err error) (*web.Reply[invitationDto], error) {
	if err != nil {
		return nil, err
	}
	return web.OK(invitationOf(i)), nil
}

func (a *API) revokeInvitation(ctx context.Context, in *invitationInput) (*web.Reply[web.None], error) {
	return done(a.Identity.RevokeInvitation(ctx, in.ID.UUID))
}

var (
	inviteCodes           = []fault.Code{fault.UserNotFound, fault.RoleNotFound, fault.RoleEscalationBlocked, fault.UserAlreadyAssigned, fault.TenantCapacityReached}
	changeInvitationCodes = []fault.Code{fault.InvitationNotFound, fault.InvitationClosed, fault.Forbidden}
	revokeInvitationCodes = append([]fault.Code{fault.LastAdministratorConflict}, changeInvitationCodes...)
)

const (
	inviteDoc = "Binds the account with the e-mail to the tenant of the token, under the rules of the additive binding. " +
		"Where nobody has the e-mail an account is made, and it gets a mail with a link that works once and for seven days to choose its password. " +
		"Somebody who can sign in already is only told; that invitation is accepted at once."
	listInvitationsDoc  = "Invitations to the tenant of the token, oldest first. One whose user was taken out of the tenant before they got in counts as revoked."
	resendInvitationDoc = "Mails the invitation again with a new link for another seven days; the earlier link stops working. An expired invitation is pending again."
	revokeDoc           = "The link stops working and the user leaves the tenant. An account that nobody ever used and that has no other tenant is deleted with it."
)

var (
	invitationExample = object{
		"id": exampleID, "userId": exampleID, "email": "grace@example.com", "emailConfirmed": false, "status": "Pending", "roleIds": []string{exampleID},
		"roles": []object{{"id": exampleID, "name": "Member"}}, "message": "See you on Monday.", "isNewAccount": true,
		"invitedBy": exampleID, "invitedByEmail": "ada@example.com", "createdAt": exampleTime, "sentAt": exampleTime,
		"expiresAt": "2026-11-22T10:00:00Z", "acceptedAt": nil, "revokedAt": nil,
	}
	invitationsExample = onePage(invitationExample)
	inviteExample      = object{"email": "grace@example.com", "roleIds": []string{exampleID}, "message": "See you on Monday."}
)
