package api

import (
	"strings"

	"steward/internal/fault"
	"steward/internal/identity"
)

var (
	createTenantCodes = []fault.Code{fault.TenantNotFound, fault.CrossTenantForbidden, fault.TenantAlreadyExists}
	updateTenantCodes = []fault.Code{fault.TenantNotFound, fault.CrossTenantForbidden, fault.TenantAlreadyExists, fault.TenantInUse, fault.LastAdministratorConflict}
	deleteTenantCodes = []fault.Code{fault.TenantNotFound, fault.CrossTenantForbidden, fault.TenantInUse}
)

const reachDoc = "Callers see the tenant of their token and all below it; with `manage:all-tenants` or `admin:system` they see every tenant."

var listTenantsDoc = reachDoc + " Search looks into name, identifier and domain. " +
	"Sorted by `name` unless sortBy names another field: `" + strings.Join(identity.TenantSortFields(), "`, `") + "`."

const (
	summariseTenantsDoc = "Counts what the list with the same parameters would show. " + reachDoc
	lookupTenantsDoc    = "Sorted by name; search looks into name, identifier and domain. " + reachDoc
	getTenantDoc        = "A tenant that is neither that of the token nor below it is `CROSS_TENANT_FORBIDDEN`, unless the caller holds `manage:all-tenants` or `admin:system`. The ETag changes with the tenant itself, not with `userCount`."
	createTenantDoc     = "Nobody is bound to the new tenant. The parent must be a `Group` in the caller's reach; a tenant at the top is for callers with `manage:all-tenants` or `admin:system`.\n\n" +
		"An identifier that is left out is made from the name, with a number behind it where that one is taken."
	updateTenantDoc = "A field that is left out or null stays as it is. An empty text clears `domain`, puts a setting back to its default, and as `parentTenantId` takes the tenant to the top; `maxUsers` 0 lifts the limit.\n\n" +
		"A tenant moves below a `Group` in the caller's reach that is neither itself nor below it, at most 64 levels deep; to the top only by callers with `manage:all-tenants` or `admin:system`. " +
		"A `Group` with tenants below it stays one (`TENANT_IN_USE_CONFLICT`).\n\n" +
		"Tokens of a tenant that is switched off answer `TENANT_FORBIDDEN` at once."
	deleteTenantDoc  = "It is marked as deleted, stays stored and is shown only with `includeDeleted`; its identifier is free again. The default tenant and tenants that have users or tenants below them are `TENANT_IN_USE_CONFLICT`."
	allTenantsDoc    = "Every tenant, by name, on one page."
	currentTenantDoc = "The tenant of the token, with no permission asked."
)

var (
	newTenantExample = object{"name": "Acme Ltd", "identifier": "acme", "domain": "acme.example.com", "settings": object{"timezone": "Europe/London", "language": "en-GB"}}
	tenantExample    = object{
		"id": exampleTenant, "name": "Acme Ltd", "identifier": "acme", "domain": "acme.example.com", "type": "Standard", "parentTenantId": nil,
		"isActive": true, "maxUsers": 250, "userCount": 0, "settings": object{"timezone": "Europe/London", "language": "en-GB"},
		"createdAt": exampleTime, "updatedAt": exampleTime,
	}
	createTenantExample = object{"name": "Acme Ltd", "identifier": "acme", "domain": "acme.example.com", "maxUsers": 250, "settings": object{"timezone": "Europe/London", "language": "en-GB"}}
	updateTenantExample = object{"maxUsers": 250, "isActive": true}
	tenantsExample      = object{
		"items": []object{tenantExample}, "totalCount": 1, "pageNumber": 1, "pageSize": 20, "totalPages": 1, "hasNext": false, "hasPrevious": false,
	}
	allTenantsExample    = object{"items": []object{tenantExample}, "totalCount": 1, "page": 1, "pageSize": 1, "totalPages": 1}
	tenantLookupsExample = object{
		"items":      []object{{"id": exampleTenant, "name": "Acme Ltd", "identifier": "acme", "type": "Standard", "isActive": true}},
		"totalCount": 1, "pageNumber": 1, "pageSize": 20, "totalPages": 1, "hasNext": false, "hasPrevious": false,
	}
	tenantsSummaryExample = object{"totalTenants": 12, "activeTenants": 11, "inactiveTenants": 1, "standardTenants": 10, "groupTenants": 2, "totalUsers": 4210}
)
