package web

import (
	"context"
	"net/http"
	"strings"

	"steward/internal/fault"
	"steward/internal/scope"
)

// Authenticator turns a bearer token into the actor behind it, checked against the present state.
// Its error is a *fault.Fault with one of the 401 codes.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (*scope.Actor, error)
}

type accessKind int

const (
	accessUnset accessKind = iota
	accessPublic
	accessAnyToken
	accessTenantToken
)

// Access says who may call a route. The zero value is refused at start, so that a route which names
// no access can never be open by mistake.
type Access struct {
	kind     accessKind
	anyOf    []string
	and      string
	inPerson bool
}

var (
	// Public opens a route to everybody; a token is not looked at.
	Public = Access{kind: accessPublic}
	// AnyToken asks for a valid token, global ones included.
	AnyToken = Access{kind: accessAnyToken}
	// TenantToken asks for a token of a tenant that is open to the caller.
	TenantToken = Access{kind: accessTenantToken}
)

// Permission asks for a tenant token whose holder has at least one of the permissions.
func Permission(anyOf ...string) Access {
	return Access{kind: accessTenantToken, anyOf: append([]string{}, anyOf...)}
}

// And asks for one more permission beside them.
func (a Access) And(permission string) Access { a.and = permission; return a }

// InPerson asks for somebody who has signed in: an API key does not do.
func (a Access) InPerson() Access { a.inPerson = true; return a }

// authenticate finds the caller. Its error is held back until the request was counted.
func (e *endpoint) authenticate(ctx context.Context, r *http.Request) (*scope.Actor, error) {
	if e.route.access.kind == accessPublic {
		return nil, nil
	}
	bearer, err := bearerOf(r.Header)
	if err != nil {
		return nil, err
	}
	return e.s.options.Auth.Authenticate(ctx, bearer)
}

func bearerOf(h http.Header) (string, error) {
	given := h["Authorization"]
	if len(given) == 0 || given[0] == "" {
		return "", fault.New(fault.TokenMissing, "A bearer token is required.")
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimSpace(token)
	if len(given) > 1 || token == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", fault.New(fault.TokenInvalid, "The Authorization header must be: Bearer <token>.")
	}
	return token, nil
}

// check decides whether a known caller may use the route.
func (a *Access) check(actor *scope.Actor) error {
	if a.inPerson && actor.IsKey() {
		return fault.New(fault.Forbidden, "This is for people who have signed in; an API key does not do.")
	}
	if a.kind != accessTenantToken {
		return nil
	}
	if !actor.InTenant {
		return fault.New(fault.TenantForbidden, "The token does not open a tenant that is active and that you belong to.")
	}
	if len(a.anyOf) > 0 && !actor.CanAny(a.anyOf...) {
		return fault.New(fault.MissingPermission, "You need the permission %s.", strings.Join(a.anyOf, " or "))
	}
	if a.and != "" && !actor.Can(a.and) {
		return fault.New(fault.MissingPermission, "You need the permission %s too.", a.and)
	}
	return nil
}

var (
	challenge        = []string{"Bearer"}
	challengeInvalid = []string{`Bearer error="invalid_token"`}
)

// challengeOf tells a client by which scheme to come back.
func challengeOf(code fault.Code) []string {
	if code == fault.TokenMissing {
		return challenge
	}
	return challengeInvalid
}
