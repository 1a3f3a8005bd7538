// Package scope carries who asks, for which tenant and from where, through a context.
package scope

import (
	"context"
	"slices"

	"github.com/google/uuid"
)

// Wildcard is the permission that satisfies every check.
const Wildcard = "*"

// Actor is the caller of a request, with the permissions held at this moment (not those the token
// was issued with).
type Actor struct {
	UserID    uuid.UUID
	SessionID uuid.UUID
	// APIKeyID is set where a machine calls with an API key: there is no session then, and UserID, Name
	// and Email are those of whoever made the key.
	APIKeyID uuid.UUID
	Name     string
	Email    string

	// TenantID and TenantName are those of the token; zero for a global token.
	TenantID   uuid.UUID
	TenantName string
	// InTenant is true when the token names a tenant that is active and to which the caller has an
	// active binding. Routes that work on a tenant's data ask for it.
	InTenant bool

	Roles       []string
	Permissions []string
}

// Can reports whether the actor holds the permission, directly or by the wildcard.
func (a Actor) Can(permission string) bool {
	return slices.Contains(a.Permissions, permission) || slices.Contains(a.Permissions, Wildcard)
}

// CanAny reports whether the actor holds at least one of the permissions.
func (a Actor) CanAny(permissions ...string) bool { return slices.ContainsFunc(permissions, a.Can) }

// IsKey reports whether a machine calls, with an API key of UserID.
func (a Actor) IsKey() bool { return a.APIKeyID != uuid.Nil }

// Caller is whose calls are counted and told apart: a key has limits and idempotency keys of its own, so
// that a machine cannot use up those of the person who made its key.
func (a Actor) Caller() uuid.UUID {
	if a.IsKey() {
		return a.APIKeyID
	}
	return a.UserID
}

// Origin is where a request came from: what the audit log and the session list show.
type Origin struct {
	Address   string
	UserAgent string
	TraceID   string
}

type (
	actorKey  struct{}
	originKey struct{}
)

// WithActor returns a context that carries the actor.
func WithActor(ctx context.Context, a *Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorFrom returns the caller, or nil where nobody is signed in (public routes, commands, purges).
func ActorFrom(ctx context.Context) *Actor {
	a, _ := ctx.Value(actorKey{}).(*Actor)
	return a
}

// WithOrigin returns a context that carries the origin.
func WithOrigin(ctx context.Context, o *Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginFrom returns the origin; the zero Origin where the work did not come over HTTP.
func OriginFrom(ctx context.Context) Origin {
	if o, ok := ctx.Value(originKey{}).(*Origin); ok {
		return *o
	}
	return Origin{}
}
