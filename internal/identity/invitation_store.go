package identity

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/resource"
)

const invitationColumns = `id, tenant_id, user_id, email, role_ids, message, is_new_account, invited_by, invited_by_email,
	link_hash, created_at, sent_at, expires_at, accepted_at, revoked_at, email_confirmed, status`

// invitationFrom shows the invitations of the tenant bound to $1 with the state that they have at the
// time bound to $2.
const invitationFrom = ` FROM (
	SELECT i.*, u.email_confirmed, CASE
		WHEN i.accepted_at IS NOT NULL THEN '` + InvitationAccepted + `'
		WHEN i.revoked_at IS NOT NULL OR u.deleted_at IS NOT NULL OR b.user_id IS NULL THEN '` + InvitationRevoked + `'
		WHEN i.expires_at <= $2 THEN '` + InvitationExpired + `'
		ELSE '` + InvitationPending + `' END AS status
	FROM invitations i
	JOIN users u ON u.id = i.user_id
	LEFT JOIN bindings b ON b.user_id = i.user_id AND b.tenant_id = i.tenant_id
	WHERE i.tenant_id = $1) AS invitation`

// invitationFilter is the WHERE of a query over invitationFrom. Its text is made of constants only.
type invitationFilter struct {
	where []string
	args  []any
}

func newInvitationFilter(tenant uuid.UUID, now db.Time) *invitationFilter {
	return &invitationFilter{args: []any{tenant, now}}
}

func (f *invitationFilter) bind(value any) string {
	f.args = append(f.args, value)
	return "$" + strconv.Itoa(len(f.args))
}

func (f *invitationFilter) add(condition string) { f.where = append(f.where, condition) }

func (f *invitationFilter) sql() string {
	if len(f.where) == 0 {
		return invitationFrom
	}
	return invitationFrom + " WHERE " + strings.Join(f.where, " AND ")
}

func countInvitations(ctx context.Context, q db.Queryer, f *invitationFilter) (int, error) {
	return db.One[int](ctx, q, `SELECT count(*)`+f.sql(), f.args...)
}

func listInvitations(ctx context.Context, q db.Queryer, f *invitationFilter, order string, limit, offset int) ([]Invitation, error) {
	text := `SELECT ` + invitationColumns + f.sql() + ` ORDER BY ` + order + ` LIMIT ` + f.bind(limit) + ` OFFSET ` + f.bind(offset)
	return db.All[Invitation](ctx, q, text, f.args...)
}

// findInvitation returns sql.ErrNoRows where the tenant has none with the id.
func findInvitation(ctx context.Context, q db.Queryer, f *invitationFilter, id uuid.UUID) (Invitation, error) {
	f.add("id = " + f.bind(id))
	return db.One[Invitation](ctx, q, `SELECT `+invitationColumns+f.sql(), f.args...)
}

func insertInvitation(ctx context.Context, tx db.Tx, i Invitation) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO invitations (id, tenant_id, user_id, email, role_ids, message, is_new_account, invited_by, invited_by_email,
			link_hash, created_at, sent_at, expires_at, accepted_at, search_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		i.ID, i.TenantID, i.UserID, i.Email, i.RoleIDs, i.Message, i.IsNewAccount, i.InvitedBy, i.InvitedByEmail,
		i.LinkHash, i.CreatedAt, i.SentAt, i.ExpiresAt, i.AcceptedAt, resource.SearchKey(i.Email, i.Message, i.InvitedByEmail))
	return err
}

func setInvitationSent(ctx context.Context, tx db.Tx, i Invitation) error {
	_, err := tx.Exec(ctx, `UPDATE invitations SET sent_at = $2, expires_at = $3, link_hash = $4 WHERE id = $1`,
		i.ID, i.SentAt, i.ExpiresAt, i.LinkHash)
	return err
}

func setInvitationRevoked(ctx context.Context, tx db.Tx, id uuid.UUID, at db.Time) error {
	_, err := tx.Exec(ctx, `UPDATE invitations SET revoked_at = $2 WHERE id = $1`, id, at)
	return err
}

// closeInvitations revokes what is still open for the user in the tenant.
func closeInvitations(ctx context.Context, tx db.Tx, user, tenant uuid.UUID, at db.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE invitations SET revoked_at = $3
		WHERE user_id = $1 AND tenant_id = $2 AND accepted_at IS NULL AND revoked_at IS NULL`, user, tenant, at)
	return err
}

// setInvitationsAccepted leaves out those to tenants that the user was taken out of meanwhile.
func setInvitationsAccepted(ctx context.Context, tx db.Tx, user uuid.UUID, at db.Time) ([]Invitation, error) {
	return db.All[Invitation](ctx, tx, `
		UPDATE invitations SET accepted_at = $2
		WHERE user_id = $1 AND accepted_at IS NULL AND revoked_at IS NULL
			AND tenant_id IN (SELECT tenant_id FROM bindings WHERE user_id = $1)
		RETURNING id, tenant_id`, user, at)
}

// deleteLink makes one link useless; a newer one of another invitation stays.
func deleteLink(ctx context.Context, tx db.Tx, user uuid.UUID, hash string) error {
	_, err := tx.Exec(ctx, `DELETE FROM mail_tokens WHERE user_id = $1 AND purpose = $2 AND hash = $3`, user, purposeInvite, hash)
	return err
}

func listRoleRefs(ctx context.Context, q db.Queryer, ids []string) ([]RoleRef, error) {
	return db.All[RoleRef](ctx, q, `SELECT id, name FROM roles WHERE id IN (`+db.In(1, len(ids))+`)`, db.Args(nil, ids)...)
}
