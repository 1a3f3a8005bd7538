package fault

import "net/http"

// Code names a refusal. Clients branch on it, so a released code never changes its meaning.
type Code string

// Meaning is what one code stands for on the wire.
type Meaning struct {
	Code   Code
	Status int
	Title  string
	// Envelope is the code shown on envelope routes, whose clients know a shorter list.
	Envelope Code
}

// The codes any route may answer.
const (
	Validation           Code = "VALIDATION_ERROR"
	BadRequest           Code = "BAD_REQUEST"
	NotFound             Code = "NOT_FOUND"
	MethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	Conflict             Code = "CONFLICT"
	PreconditionFailed   Code = "PRECONDITION_FAILED"
	BodyTooLarge         Code = "BODY_TOO_LARGE"
	UnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	NotAcceptable        Code = "NOT_ACCEPTABLE"
	IdempotencyMismatch  Code = "IDEMPOTENCY_KEY_UNPROCESSABLE"
	IdempotencyBusy      Code = "IDEMPOTENCY_KEY_CONFLICT"
	RateLimited          Code = "RATE_LIMITED"
	RequestTimeout       Code = "REQUEST_TIMEOUT"
	Internal             Code = "INTERNAL_ERROR"
	Unavailable          Code = "SERVICE_UNAVAILABLE"
)

// The codes of who is calling and what they may do.
const (
	Unauthorized         Code = "UNAUTHORIZED"
	TokenMissing         Code = "TOKEN_MISSING"
	TokenInvalid         Code = "TOKEN_INVALID"
	TokenExpired         Code = "TOKEN_EXPIRED"
	TokenRevoked         Code = "TOKEN_REVOKED"
	SessionInvalidated   Code = "SESSION_INVALIDATED"
	InvalidCredentials   Code = "INVALID_CREDENTIALS"
	AccountLocked        Code = "ACCOUNT_LOCKED"
	AccountDisabled      Code = "ACCOUNT_DISABLED"
	EmailNotConfirmed    Code = "EMAIL_NOT_CONFIRMED"
	Forbidden            Code = "FORBIDDEN"
	MissingPermission    Code = "MISSING_PERMISSION"
	TenantForbidden      Code = "TENANT_FORBIDDEN"
	CrossTenantForbidden Code = "CROSS_TENANT_FORBIDDEN"
)

// The codes of users, roles, permissions and tenants.
const (
	UserNotFound              Code = "USER_NOT_FOUND"
	UserAlreadyExists         Code = "USER_ALREADY_EXISTS"
	UserAlreadyAssigned       Code = "USER_ALREADY_ASSIGNED"
	LastAdministratorConflict Code = "LAST_ADMINISTRATOR_CONFLICT"
	SelfConflict              Code = "SELF_CONFLICT"
	RoleNotFound              Code = "ROLE_NOT_FOUND"
	RoleAlreadyExists         Code = "ROLE_ALREADY_EXISTS"
	RoleInUse                 Code = "ROLE_IN_USE_CONFLICT"
	RoleSystemForbidden       Code = "ROLE_SYSTEM_FORBIDDEN"
	RoleEscalationBlocked     Code = "ROLE_ASSIGNMENT_ESCALATION_BLOCKED"
	PermissionNotFound        Code = "PERMISSION_NOT_FOUND"
	PermissionAlreadyExists   Code = "PERMISSION_ALREADY_EXISTS"
	PermissionInUse           Code = "PERMISSION_IN_USE_CONFLICT"
	PermissionSystemForbidden Code = "PERMISSION_SYSTEM_FORBIDDEN"
	TenantNotFound            Code = "TENANT_NOT_FOUND"
	TenantAlreadyExists       Code = "TENANT_ALREADY_EXISTS"
	TenantInUse               Code = "TENANT_IN_USE_CONFLICT"
	TenantCapacityReached     Code = "TENANT_CAPACITY_REACHED"
	InvitationNotFound        Code = "INVITATION_NOT_FOUND"
	InvitationClosed          Code = "INVITATION_CLOSED_CONFLICT"
)

// The codes of plain resources.
const (
	AppNotFound         Code = "APP_NOT_FOUND"
	AppAlreadyExists    Code = "APP_ALREADY_EXISTS"
	APIKeyNotFound      Code = "API_KEY_NOT_FOUND"
	APIKeyAlreadyExists Code = "API_KEY_ALREADY_EXISTS"
)

// codes is the one place that ties a code to a status. Suffixes follow the contract (_NOT_FOUND is
// 404, _CONFLICT is 409, ...); codes_test.go holds every row to that rule or to a named exception.
var codes = []Meaning{
	{Code: Validation, Status: http.StatusBadRequest, Title: "The request is not valid"},
	{Code: BadRequest, Status: http.StatusBadRequest, Title: "The request cannot be understood", Envelope: Validation},
	{Code: NotFound, Status: http.StatusNotFound, Title: "Nothing is here"},
	{Code: MethodNotAllowed, Status: http.StatusMethodNotAllowed, Title: "The method is not allowed here"},
	{Code: NotAcceptable, Status: http.StatusNotAcceptable, Title: "No acceptable representation exists"},
	{Code: RequestTimeout, Status: http.StatusRequestTimeout, Title: "The request took too long to arrive"},
	{Code: Conflict, Status: http.StatusConflict, Title: "It already exists"},
	{Code: PreconditionFailed, Status: http.StatusPreconditionFailed, Title: "It was changed by someone else"},
	{Code: BodyTooLarge, Status: http.StatusRequestEntityTooLarge, Title: "The body is too large"},
	{Code: UnsupportedMediaType, Status: http.StatusUnsupportedMediaType, Title: "The content type is not supported"},
	{Code: IdempotencyMismatch, Status: http.StatusUnprocessableEntity, Title: "The idempotency key was used for another request"},
	{Code: IdempotencyBusy, Status: http.StatusConflict, Title: "The first call with this idempotency key still runs"},
	{Code: RateLimited, Status: http.StatusTooManyRequests, Title: "Too many requests"},
	{Code: Internal, Status: http.StatusInternalServerError, Title: "Something went wrong on our side"},
	{Code: Unavailable, Status: http.StatusServiceUnavailable, Title: "The service cannot answer right now"},

	{Code: Unauthorized, Status: http.StatusUnauthorized, Title: "Authentication is required"},
	{Code: TokenMissing, Status: http.StatusUnauthorized, Title: "A bearer token is required", Envelope: Unauthorized},
	{Code: TokenInvalid, Status: http.StatusUnauthorized, Title: "The token is not valid"},
	{Code: TokenExpired, Status: http.StatusUnauthorized, Title: "The token has expired"},
	{Code: TokenRevoked, Status: http.StatusUnauthorized, Title: "The session was ended", Envelope: TokenInvalid},
	{Code: SessionInvalidated, Status: http.StatusUnauthorized, Title: "The session is no longer valid", Envelope: TokenInvalid},
	{Code: InvalidCredentials, Status: http.StatusUnauthorized, Title: "The e-mail or the password is wrong"},
	{Code: AccountLocked, Status: http.StatusLocked, Title: "The account is locked"},
	{Code: AccountDisabled, Status: http.StatusUnauthorized, Title: "The account is disabled"},
	{Code: EmailNotConfirmed, Status: http.StatusUnauthorized, Title: "The e-mail address is not confirmed"},
	{Code: Forbidden, Status: http.StatusForbidden, Title: "Not allowed"},
	{Code: MissingPermission, Status: http.StatusForbidden, Title: "A permission is missing", Envelope: Forbidden},
	{Code: TenantForbidden, Status: http.StatusForbidden, Title: "The tenant is not open to this token", Envelope: Forbidden},
	{Code: CrossTenantForbidden, Status: http.StatusForbidden, Title: "The target lies in a tenant out of reach", Envelope: Forbidden},

	{Code: UserNotFound, Status: http.StatusNotFound, Title: "The user does not exist", Envelope: NotFound},
	{Code: UserAlreadyExists, Status: http.StatusConflict, Title: "The user already exists", Envelope: Conflict},
	{Code: UserAlreadyAssigned, Status: http.StatusConflict, Title: "The user is bound to the tenant already", Envelope: Conflict},
	{Code: LastAdministratorConflict, Status: http.StatusConflict, Title: "No administrator would be left", Envelope: Conflict},
	{Code: SelfConflict, Status: http.StatusConflict, Title: "Nobody can do this to themselves", Envelope: Conflict},
	{Code: RoleNotFound, Status: http.StatusNotFound, Title: "The role does not exist", Envelope: NotFound},
	{Code: RoleAlreadyExists, Status: http.StatusConflict, Title: "The role already exists", Envelope: Conflict},
	{Code: RoleInUse, Status: http.StatusConflict, Title: "Users still hold the role", Envelope: Conflict},
	{Code: RoleSystemForbidden, Status: http.StatusForbidden, Title: "System roles cannot be changed", Envelope: Forbidden},
	{Code: RoleEscalationBlocked, Status: http.StatusForbidden, Title: "Nobody can grant what they do not hold", Envelope: Forbidden},
	{Code: PermissionNotFound, Status: http.StatusNotFound, Title: "The permission does not exist", Envelope: NotFound},
	{Code: PermissionAlreadyExists, Status: http.StatusConflict, Title: "The permission already exists", Envelope: Conflict},
	{Code: PermissionInUse, Status: http.StatusConflict, Title: "Roles still hold the permission", Envelope: Conflict},
	{Code: PermissionSystemForbidden, Status: http.StatusForbidden, Title: "System permissions are protected", Envelope: Forbidden},
	{Code: TenantNotFound, Status: http.StatusNotFound, Title: "The tenant does not exist", Envelope: NotFound},
	{Code: TenantAlreadyExists, Status: http.StatusConflict, Title: "The tenant already exists", Envelope: Conflict},
	{Code: TenantInUse, Status: http.StatusConflict, Title: "The tenant still has users or children", Envelope: Conflict},
	{Code: TenantCapacityReached, Status: http.StatusBadRequest, Title: "The tenant is full", Envelope: Validation},
	{Code: InvitationNotFound, Status: http.StatusNotFound, Title: "The invitation does not exist", Envelope: NotFound},
	{Code: InvitationClosed, Status: http.StatusConflict, Title: "The invitation was accepted or revoked", Envelope: Conflict},

	{Code: AppNotFound, Status: http.StatusNotFound, Title: "The app does not exist", Envelope: NotFound},
	{Code: AppAlreadyExists, Status: http.StatusConflict, Title: "The app already exists", Envelope: Conflict},
	{Code: APIKeyNotFound, Status: http.StatusNotFound, Title: "The API key does not exist", Envelope: NotFound},
	{Code: APIKeyAlreadyExists, Status: http.StatusConflict, Title: "An API key with this name already exists", Envelope: Conflict},
}

var meanings = func() map[Code]Meaning {
	all := make(map[Code]Meaning, len(codes))
	for _, m := range codes {
		if m.Envelope == "" {
			m.Envelope = m.Code
		}
		all[m.Code] = m
	}
	return all
}()

// Meaning tells status, title and envelope code. A code that is not in the list means INTERNAL_ERROR,
// so that a typo can never leave as a success.
func (c Code) Meaning() Meaning {
	if m, ok := meanings[c]; ok {
		return m
	}
	return meanings[Internal]
}

// All lists every code in the order of this file, for the generated documentation.
func All() []Meaning { return append([]Meaning(nil), codes...) }
