package api

import (
	"strings"

	"steward/internal/fault"
	"steward/internal/identity"
)

var (
	createRoleCodes = []fault.Code{fault.CrossTenantForbidden, fault.TenantNotFound, fault.PermissionNotFound, fault.RoleEscalationBlocked, fault.RoleAlreadyExists}
	updateRoleCodes = []fault.Code{fault.RoleNotFound, fault.RoleSystemForbidden, fault.PermissionNotFound, fault.RoleEscalationBlocked, fault.RoleAlreadyExists}
	deleteRoleCodes = []fault.Code{fault.RoleNotFound, fault.RoleSystemForbidden, fault.RoleInUse}
	addRoleCodes    = []fault.Code{fault.Forbidden, fault.Conflict}
	changeRoleCodes = []fault.Code{fault.NotFound, fault.Forbidden, fault.Conflict}
)

var listRolesDoc = "The tenant's own roles and the system roles, with how many users hold each in the tenant. Search looks into name and description. " +
	"Sorted by `name` unless sortBy names another field: `" + strings.Join(identity.RoleSortFields(), "`, `") + "`.\n\n" +
	"Roles are deleted for good, so `includeDeleted` shows nothing more."

const (
	summariseRolesDoc = "Counts the roles that the list with the same search would show, and how often they are held in the tenant."
	lookupRolesDoc    = "The tenant's own roles and the system roles, by name; search looks into name and description. `ids` names stored roles in one call."
	getRoleDoc        = "A role of another tenant does not exist. The ETag changes with the role itself, not with `userCount`."
	createRoleDoc     = "Nobody can put a permission into a role that they do not hold themselves, `*` included; `admin:system` lifts the rule. " +
		"An unknown id in `permissionIds` is `PERMISSION_NOT_FOUND`.\n\n" +
		"The name must be neither that of another role of the tenant nor that of a system role. " +
		"A role made for another tenant can be read with a token of that tenant, and in its list below `/api/v1/admin/tenants`."
	updateRoleDoc = "A field that is left out or null stays as it is. `permissionIds` replaces the whole list, and an empty one takes all permissions away. " +
		"Only permissions that come new must be held by the caller.\n\n" +
		"Whoever holds the role has its new permissions with the next call, and stays signed in."
	deleteRoleDoc = "It is removed for good. A role that users still hold is `ROLE_IN_USE_CONFLICT`."
	userRolesDoc  = "The roles that the user holds in the tenant of the token, by name."
	allRolesDoc   = "The tenant's own roles and the system roles, by name, on one page."
	addRoleDoc    = "Permissions are named by their codes; an unknown one is a validation error on `permissions`. Nobody can put a permission into a role that they do not hold themselves; `admin:system` lifts the rule."
	changeRoleDoc = "A field that is left out or null stays as it is. `permissions` replaces the whole list, and an empty one takes all permissions away. System roles cannot be changed."
	dropRoleDoc   = "It is removed for good. System roles, and roles that users still hold, stay."
)

var (
	createRoleExample = object{"name": "Auditor", "description": "Reads what happened", "permissionIds": []string{exampleID}}
	updateRoleExample = object{"description": "Reads what happened", "permissionIds": []string{exampleID}}
	roleExample       = object{
		"id": exampleID, "tenantId": exampleTenant, "name": "Auditor", "description": "Reads what happened", "isSystemRole": false,
		"permissions": []string{"read:audit-log"}, "permissionIds": []string{exampleID}, "createdAt": exampleTime, "updatedAt": exampleTime,
	}
	countedRoleExample = object{
		"id": exampleID, "tenantId": exampleTenant, "name": "Auditor", "description": "Reads what happened", "isSystemRole": false,
		"permissions": []string{"read:audit-log"}, "permissionIds": []string{exampleID}, "createdAt": exampleTime, "updatedAt": exampleTime, "userCount": 3,
	}
	rolesExample = object{
		"items": []object{countedRoleExample}, "totalCount": 1, "pageNumber": 1, "pageSize": 20, "totalPages": 1, "hasNext": false, "hasPrevious": false,
	}
	roleLookupsExample = object{
		"items":      []object{{"id": exampleID, "name": "Auditor", "description": "Reads what happened"}},
		"totalCount": 1, "pageNumber": 1, "pageSize": 20, "totalPages": 1, "hasNext": false, "hasPrevious": false,
	}
	rolesSummaryExample = object{"totalRoles": 8, "systemRoles": 3, "customRoles": 5, "rolesWithoutUsers": 1, "totalAssignments": 240}
	userRolesExample    = []object{roleExample}

	addRoleExample    = object{"name": "Auditor", "description": "Reads what happened", "permissions": []string{"read:audit-log"}}
	changeRoleExample = object{"permissions": []string{"read:audit-log"}}
	plainRoleExample  = object{"id": exampleID, "name": "Auditor", "description": "Reads what happened", "permissions": []string{"read:audit-log"}}
	allRolesExample   = object{
		"items":      []object{{"id": exampleID, "name": "Auditor", "description": "Reads what happened", "permissions": []string{"read:audit-log"}, "userCount": 3}},
		"totalCount": 1, "page": 1, "pageSize": 1, "totalPages": 1,
	}
)
