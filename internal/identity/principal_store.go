package identity

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
)

// sessionState is all that decides whether a token of the session is good in the tenant.
type sessionState struct {
	UserID            uuid.UUID      `db:"user_id"`
	SessionGeneration int64          `db:"session_generation"`
	EndReason         string         `db:"end_reason"`
	UserGeneration    int64          `db:"user_generation"`
	UserActive        bool           `db:"user_active"`
	UserDeletedAt     *db.Time       `db:"user_deleted_at"`
	Email             string         `db:"email"`
	FirstName         string         `db:"first_name"`
	LastName          string         `db:"last_name"`
	BindingActive     sql.NullBool   `db:"binding_active"`
	TenantActive      sql.NullBool   `db:"tenant_active"`
	TenantName        sql.NullString `db:"tenant_name"`
}

func readSessionState(ctx context.Context, q db.Queryer, session, tenant uuid.UUID) (sessionState, error) {
	return db.One[sessionState](ctx, q, `
		SELECT s.user_id, s.generation AS session_generation, s.end_reason,
		       u.generation AS user_generation, u.is_active AS user_active, u.deleted_at AS user_deleted_at,
		       u.email, u.first_name, u.last_name,
		       b.is_active AS binding_active, t.is_active AS tenant_active, t.name AS tenant_name
		FROM sessions s
		JOIN users u ON u.id = s.user_id
		LEFT JOIN bindings b ON b.user_id = s.user_id AND b.tenant_id = $2
		LEFT JOIN tenants t ON t.id = b.tenant_id AND t.deleted_at IS NULL
		WHERE s.id = $1`, session, tenant)
}

// access is what a user may do in one tenant.
type access struct {
	roleIDs     []uuid.UUID
	roles       []string
	permissions []string
}

// readAccess reads roles and permissions, each in alphabetical order.
func readAccess(ctx context.Context, q db.Queryer, user, tenant uuid.UUID) (access, error) {
	a := access{roles: []string{}, permissions: []string{}}
	roles, err := db.All[struct {
		ID   uuid.UUID `db:"id"`
		Name string    `db:"name"`
	}](ctx, q, `
		SELECT r.id, r.name FROM binding_roles br JOIN roles r ON r.id = br.role_id
		WHERE br.user_id = $1 AND br.tenant_id = $2 ORDER BY r.name`, user, tenant)
	if err != nil {
		return a, fmt.Errorf("read roles of user %s: %w", user, err)
	}
	for _, r := range roles {
		a.roleIDs, a.roles = append(a.roleIDs, r.ID), append(a.roles, r.Name)
	}
	codes, err := db.All[string](ctx, q, `
		SELECT DISTINCT p.code FROM binding_roles br
		JOIN role_permissions rp ON rp.role_id = br.role_id
		JOIN permissions p ON p.id = rp.permission_id
		WHERE br.user_id = $1 AND br.tenant_id = $2 ORDER BY p.code`, user, tenant)
	if err != nil {
		return a, fmt.Errorf("read permissions of user %s: %w", user, err)
	}
	a.permissions = append(a.permissions, codes...)
	return a, nil
}
