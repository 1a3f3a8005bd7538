package api

import "steward/internal/fault"

var (
	createUserCodes    = []fault.Code{fault.UserAlreadyExists, fault.TenantNotFound, fault.RoleNotFound, fault.RoleEscalationBlocked, fault.CrossTenantForbidden, fault.TenantCapacityReached}
	updateUserCodes    = []fault.Code{fault.UserNotFound, fault.Forbidden, fault.LastAdministratorConflict, fault.SelfConflict}
	changeUserCodes    = append([]fault.Code{fault.RoleEscalationBlocked}, updateUserCodes...)
	changeAnyUserCodes = append([]fault.Code{fault.TenantNotFound, fault.RoleNotFound, fault.RoleEscalationBlocked, fault.TenantCapacityReached}, updateUserCodes...)
	addRolesCodes      = []fault.Code{fault.UserNotFound, fault.Forbidden, fault.RoleEscalationBlocked}
	removeUserCodes    = []fault.Code{fault.UserNotFound, fault.Forbidden, fault.LastAdministratorConflict, fault.SelfConflict}
	bindCodes          = []fault.Code{fault.UserNotFound, fault.TenantNotFound, fault.RoleNotFound, fault.RoleEscalationBlocked, fault.UserAlreadyAssigned, fault.TenantCapacityReached}
)

const (
	listUsersDoc       = "Users bound to the tenant of the token, the oldest account first unless sortBy names another scalar field."
	createUserDoc      = "Without a password the person gets a mail with a link to choose one. Without roles the user is a Member of the tenant of the token; no other tenant can be named here."
	updateUserDoc      = "A field that is left out or null stays as it is; an empty text clears one that is optional. Whether the user is active is, here, whether they may enter this tenant."
	deleteUserDoc      = "Takes the user out of this tenant. The account itself is deleted with its last binding."
	userPermissionsDoc = "Codes, in alphabetical order, as held in the tenant of the token now."
	userTenantsDoc     = "Only tenants in the caller's reach: that of the token and those below it, or all with `manage:all-users`, `manage:all-tenants` or `admin:system`."
	activateUserDoc    = "Opens the binding to this tenant, and the account where it was closed."
	deactivateUserDoc  = "Closes the binding to this tenant, and the account too where no other active binding is left."
	listTenantUsersDoc = "The tenant must lie in the caller's reach. Roles and isActive are those in this tenant, not in that of the token."
	addTenantUserDoc   = "Adds one binding and leaves the others as they are. A second call is USER_ALREADY_ASSIGNED and writes nothing. The user's open sessions end. The answer shows the tenants in the caller's reach."
	dropTenantUserDoc  = "Only the binding goes; the account and its other bindings stay. The user's open sessions end."
	listAnyUsersDoc    = "Users of every tenant, or of the one that tenantId names, the oldest account first unless sortBy names another scalar field. isActive is that of the account."
	createAnyUserDoc   = "The account is bound to the tenants that the body names, or to none."
	updateAnyUserDoc   = "Every block is optional. `tenants` replaces the whole matrix; an empty list removes all bindings. Sessions end where a tenant comes or goes, or the account closes; other roles inside a binding count at once."
	deleteAnyUserDoc   = "The account is marked as deleted and all its sessions end."
	bindDoc            = "Adds one binding and leaves the others as they are. A second call is USER_ALREADY_ASSIGNED and writes nothing. The user's open sessions end."
	startResetDoc      = "The owner of the account gets the same mail as by asking for it."
	addRolesDoc        = "Adds the roles to those that the user holds in this tenant."
)

var (
	userExample = object{
		"id": exampleID, "email": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace", "fullName": "Ada Lovelace", "phoneNumber": "",
		"profilePictureUrl": "", "isActive": true, "emailConfirmed": true, "isLockedOut": false, "lockoutExpiresAt": nil,
		"roles": []string{"Member"}, "appIds": []string{}, "createdAt": exampleTime, "updatedAt": exampleTime, "lastLoginAt": exampleTime,
	}
	usersExample       = onePage(userExample)
	exampleBinding     = object{"tenantId": exampleTenant, "roleIds": []string{exampleID}, "isDefault": true}
	createUserExample  = object{"email": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace", "tenants": []object{exampleBinding}}
	updateUserExample  = object{"phoneNumber": "+44 20 7946 0958"}
	userTenantsExample = []object{{
		"tenantId": exampleTenant, "tenantName": "Default", "tenantIdentifier": "default", "isDefault": true, "isActive": true,
		"roles": []object{{"id": exampleID, "name": "Member"}}, "joinedAt": exampleTime,
	}}
	adminUserExample = object{
		"id": exampleID, "email": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace", "phoneNumber": "", "isActive": true,
		"isLockedOut": false, "lockoutExpiresAt": nil, "createdAt": exampleTime, "updatedAt": exampleTime, "appIds": []string{},
		"tenants": []object{exampleBinding},
	}
	adminUsersExample    = onePage(adminUserExample)
	updateAnyUserExample = object{"firstName": "Ada", "tenants": []object{exampleBinding}}
	bindExample          = exampleBinding
	addTenantUserExample = object{"userId": exampleID, "roleIds": []string{exampleID}, "isDefault": false}
	plainUserExample     = object{"id": exampleID, "email": "ada@example.com", "fullName": "Ada Lovelace", "roles": []string{"Member"}, "isActive": true, "createdAt": exampleTime}
	plainUsersExample    = object{"items": []object{plainUserExample}, "totalCount": 1, "page": 1, "pageSize": 20, "totalPages": 1}
	addUserExample       = object{"email": "ada@example.com", "fullName": "Ada Lovelace", "roles": []string{"Member"}, "sendWelcomeEmail": true}
	changeUserExample    = object{"fullName": "Ada King", "roles": []string{"Member"}}
	addRolesExample      = object{"roleNames": []string{"Tenant Administrator"}}
)

// onePage is a list with a single item.
func onePage(item object) object {
	return object{"items": []object{item}, "totalCount": 1, "pageNumber": 1, "pageSize": 20, "totalPages": 1, "hasNext": false, "hasPrevious": false}
}
