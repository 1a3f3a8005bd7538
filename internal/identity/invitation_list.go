package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// InvitationsQuery is what the list of invitations takes. Revoked ones stay in it, so includeDeleted
// shows nothing more.
type InvitationsQuery struct {
	resource.Params
	Status string `query:"status" enum:"Pending,Accepted,Expired,Revoked" doc:"Only invitations in this state, in any case."`
}

var invitationSorting = resource.NewSorting("createdAt", "id",
	resource.SortField{Name: "id", SQL: "id"},
	resource.SortField{Name: "userId", SQL: "user_id"},
	resource.SortField{Name: "email", SQL: "email", Text: true},
	resource.SortField{Name: "emailConfirmed", SQL: "email_confirmed"},
	resource.SortField{Name: "status", SQL: "status"},
	resource.SortField{Name: "message", SQL: "message", Text: true},
	resource.SortField{Name: "isNewAccount", SQL: "is_new_account"},
	resource.SortField{Name: "invitedBy", SQL: "invited_by"},
	resource.SortField{Name: "invitedByEmail", SQL: "invited_by_email", Text: true},
	resource.SortField{Name: "createdAt", SQL: "created_at"},
	resource.SortField{Name: "sentAt", SQL: "sent_at"},
	resource.SortField{Name: "expiresAt", SQL: "expires_at", Nullable: true},
	resource.SortField{Name: "acceptedAt", SQL: "accepted_at", Nullable: true},
	resource.SortField{Name: "revokedAt", SQL: "revoked_at", Nullable: true},
)

// InvitationSortFields lists what invitations can be sorted by, for the API reference.
func InvitationSortFields() []string { return invitationSorting.Names() }

// ListInvitations lists the invitations to the caller's tenant, oldest first unless the query says
// otherwise.
func (s *Service) ListInvitations(ctx context.Context, query InvitationsQuery) (resource.PagedResult[Invitation], error) {
	var none resource.PagedResult[Invitation]
	selection, err := query.Select(invitationSorting)
	if err != nil {
		return none, err
	}
	f := newInvitationFilter(scope.ActorFrom(ctx).TenantID, s.now())
	if query.Status != "" {
		f.add("status = " + f.bind(query.Status))
	}
	if selection.Search != "" {
		f.add(resource.SearchSQL("search_key", f.bind(resource.SearchPattern(selection.Search))))
	}
	total, err := countInvitations(ctx, s.db, f)
	if err != nil {
		return none, fmt.Errorf("count invitations: %w", err)
	}
	offset, found := selection.Offset(total)
	if !found {
		return resource.NewPage[Invitation](nil, total, selection.Window), nil
	}
	invitations, err := listInvitations(ctx, s.db, f, selection.Order.SQL(), selection.Size, offset)
	if err != nil {
		return none, fmt.Errorf("list invitations: %w", err)
	}
	return resource.NewPage(invitations, total, selection.Window), addInvitedRoles(ctx, s.db, invitations)
}

// GetInvitation reads an invitation to the caller's tenant; INVITATION_NOT_FOUND for every other.
func (s *Service) GetInvitation(ctx context.Context, id uuid.UUID) (Invitation, error) {
	return s.readInvitation(ctx, s.db, scope.ActorFrom(ctx).TenantID, id)
}

func (s *Service) requireInvitation(ctx context.Context, q db.Queryer, tenant, id uuid.UUID) (Invitation, error) {
	i, err := findInvitation(ctx, q, newInvitationFilter(tenant, s.now()), id)
	if errors.Is(err, sql.ErrNoRows) {
		return i, fault.New(fault.InvitationNotFound, "There is no invitation with the id %s.", id)
	}
	if err != nil {
		return i, fmt.Errorf("read invitation %s: %w", id, err)
	}
	return i, nil
}

// readInvitation is requireInvitation with the names of the roles.
func (s *Service) readInvitation(ctx context.Context, q db.Queryer, tenant, id uuid.UUID) (Invitation, error) {
	i, err := s.requireInvitation(ctx, q, tenant, id)
	if err != nil {
		return i, err
	}
	one := []Invitation{i}
	err = addInvitedRoles(ctx, q, one)
	return one[0], err
}

// addInvitedRoles names the roles of all invitations in one query.
func addInvitedRoles(ctx context.Context, q db.Queryer, invitations []Invitation) error {
	var ids []string
	for _, i := range invitations {
		ids = append(ids, i.RoleIDs...)
	}
	roles, err := listRoleRefs(ctx, q, withoutRepeats(ids))
	if err != nil {
		return fmt.Errorf("name the roles of invitations: %w", err)
	}
	byID := make(map[string]RoleRef, len(roles))
	for _, r := range roles {
		byID[r.ID.String()] = r
	}
	for i := range invitations {
		invitations[i].Roles = []RoleRef{}
		for _, id := range invitations[i].RoleIDs {
			if role, ok := byID[id]; ok {
				invitations[i].Roles = append(invitations[i].Roles, role)
			}
		}
	}
	return nil
}
