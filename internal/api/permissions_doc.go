package api

import (
	"strings"

	"steward/internal/fault"
	"steward/internal/identity"
)

var (
	updatePermissionCodes = []fault.Code{fault.PermissionNotFound, fault.PermissionSystemForbidden}
	deletePermissionCodes = []fault.Code{fault.PermissionNotFound, fault.PermissionSystemForbidden, fault.PermissionInUse}
)

var (
	listPermissionsDoc = "One catalogue for all tenants. Search looks into code, description and category. " +
		"Sorted by `code` unless sortBy names another field: `" + strings.Join(identity.PermissionSortFields(), "`, `") + "`.\n\n" +
		"Permissions are deleted for good, so `includeDeleted` shows nothing more."
	permissionCatalogDoc = "The catalogue by category; the pages are pages of categories. Search looks into code, description and category, and a group holds the permissions that match. " +
		"Spellings of a category that differ in case are one group. Sorted by `category` unless sortBy is `permissionCount`."
)

const (
	permissionCategoriesDoc = "Categories in use in which the text occurs, by name, to complete what somebody types."
	getPermissionDoc        = "The ETag changes with the permission itself, not with `roleCount`."
	permissionByCodeDoc     = "A text that no permission has as its code, in whatever form, is `PERMISSION_NOT_FOUND`. " + getPermissionDoc
	createPermissionDoc     = "A code is `<action>:<resource>`, each half of 1 to 64 ASCII letters, digits, `.`, `_` and `-`; only the shipped `*` is a wildcard. " +
		"Nobody holds a new permission until a role does. Outer space of description and category is taken off."
	updatePermissionDoc = "A field that is left out or null stays as it is; an empty text clears it. The code never changes: other services may know it.\n\n" +
		"Of a system permission only the description can be changed; to send its own category again is no change."
	deletePermissionDoc = "It is removed for good. While a role of any tenant holds it, it is `PERMISSION_IN_USE_CONFLICT`, so nobody's rights change."
	importTemplateDoc   = "The file can be imported as it stands. A CSV file names the category in each line and is the same in both modes but for its name."
	importDoc           = "All or none: where one row fails, nothing is written and `applied` is false. Permissions that exist are skipped, or with `upsert` updated; what a row leaves out then stays as it is, and an empty text clears it. " +
		"The category of a system permission cannot be changed. A code that comes twice, in any case, fails the second time.\n\n" +
		"The answer is 200 also where rows failed: each row tells what became of it, or in a dry run and where `applied` is false what would have. " +
		"At most 10,000 rows at once. Each change has an audit entry of its own."
	importBodyDoc     = importDoc + "\n\nMode Permissions takes the list `permissions`, mode Catalog the list `categories`."
	importFileDoc     = importDoc + "\n\nA form of at most 10 MiB. CSV columns other than the three are ignored, `code` must be there; a column that is missing leaves its field as it is, an empty cell clears it."
	allPermissionsDoc = "The whole catalogue by name, on one page."
	addPermissionDoc  = "A name is `<action>:<resource>`, each half of 1 to 64 ASCII letters, digits, `.`, `_` and `-`. Nobody holds a new permission until a role does."
)

var (
	createPermissionExample = object{"code": "approve:invoices", "description": "Approve invoices", "category": "Billing"}
	updatePermissionExample = object{"description": "Approve invoices of any amount"}
	permissionExample       = object{
		"id": exampleID, "code": "approve:invoices", "description": "Approve invoices", "category": "Billing", "isSystem": false,
		"roleCount": 2, "createdAt": exampleTime, "updatedAt": exampleTime,
	}
	permissionsExample       = examplePage(permissionExample)
	permissionCatalogExample = examplePage(object{"category": "Billing", "permissionCount": 1, "permissions": []object{permissionExample}})
	categoriesExample        = object{"items": []object{{"category": "Billing", "permissionCount": 1}}}

	importBodyExample   = object{"permissions": []object{createPermissionExample, {"code": "pay invoices"}}}
	importResultExample = object{
		"mode": "Permissions", "dryRun": false, "upsert": true, "applied": false, "total": 2,
		"created": 1, "updated": 0, "unchanged": 0, "skipped": 0, "failed": 1,
		"rows": []object{
			{"row": 1, "code": "approve:invoices", "outcome": "Created", "errors": []string{}},
			{"row": 2, "code": "pay invoices", "outcome": "Failed", "errors": []string{
				"code must be <action>:<resource>, each of 1 to 64 letters, digits, dots, underscores and hyphens"}},
		},
	}

	addPermissionExample   = object{"name": "approve:invoices", "description": "Approve invoices", "category": "Billing"}
	plainPermissionExample = object{"id": exampleID, "name": "approve:invoices", "description": "Approve invoices", "category": "Billing"}
	allPermissionsExample  = object{"items": []object{plainPermissionExample}, "totalCount": 1, "page": 1, "pageSize": 1, "totalPages": 1}
)

// examplePage is a page that holds the one item.
func examplePage(item object) object {
	return object{
		"items": []object{item}, "totalCount": 1, "pageNumber": 1, "pageSize": 20, "totalPages": 1, "hasNext": false, "hasPrevious": false,
	}
}
