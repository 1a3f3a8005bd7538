package identity

// Names of what every store has from its first start.
const (
	DefaultTenant = "default"

	roleSuperAdministrator  = "Super Administrator"
	roleTenantAdministrator = "Tenant Administrator"
	roleMember              = "Member"
)

// shippedPermission is a permission that some route of the program asks for.
type shippedPermission struct {
	code, category, description string
	// holders are the system roles that have it; the Super Administrator has them all by the wildcard.
	holders []string
}

var (
	administrators = []string{roleTenantAdministrator}
	everybody      = []string{roleTenantAdministrator, roleMember}
)

// shippedPermissions is the catalogue as it is installed; start adds what is missing and changes
// nothing that is there.
var shippedPermissions = []shippedPermission{
	{"*", "System", "Everything", []string{roleSuperAdministrator}},
	{"admin:system", "System", "Administer every tenant", nil},
	{"manage:all-users", "System", "Administer the users of every tenant", nil},
	{"manage:all-tenants", "System", "Reach every tenant", nil},

	{"read:users", "Users", "See users", administrators},
	{"create:users", "Users", "Add users", administrators},
	{"update:users", "Users", "Change users", administrators},
	{"delete:users", "Users", "Remove users", administrators},

	{"read:roles", "Roles", "See roles", administrators},
	{"create:roles", "Roles", "Add roles", administrators},
	{"update:roles", "Roles", "Change roles", administrators},
	{"delete:roles", "Roles", "Remove roles", administrators},

	{"read:permissions", "Permissions", "See the catalogue of permissions", administrators},
	{"create:permissions", "Permissions", "Add permissions", nil},
	{"update:permissions", "Permissions", "Change permissions", nil},
	{"delete:permissions", "Permissions", "Remove permissions", nil},

	{"read:tenants", "Tenants", "See the tenant and those below it", administrators},
	{"create:tenants", "Tenants", "Add tenants", nil},
	{"update:tenants", "Tenants", "Change the tenant and those below it", nil},
	{"delete:tenants", "Tenants", "Remove tenants", nil},

	{"read:apps", "Apps", "See apps", nil},
	{"create:apps", "Apps", "Register apps", nil},
	{"update:apps", "Apps", "Change apps", nil},
	{"delete:apps", "Apps", "Remove apps", nil},

	{"read:api-keys", "API keys", "See API keys", administrators},
	{"create:api-keys", "API keys", "Make API keys", administrators},
	{"update:api-keys", "API keys", "Change API keys", administrators},
	{"delete:api-keys", "API keys", "Revoke API keys", administrators},

	{"read:audit-log", "Audit", "Read the audit log", administrators},

	{"read:reports", "Reports", "See report templates, own reports and schedules", everybody},
	{"create:reports", "Reports", "Run reports", everybody},
	{"delete:reports", "Reports", "Remove own reports", everybody},
	{"read:all-reports", "Reports", "See everybody's reports", administrators},
	{"manage:report-schedules", "Reports", "Schedule reports", administrators},

	{"read:jobs", "Jobs", "See jobs", administrators},
	{"manage:jobs", "Jobs", "Enqueue, cancel and retry jobs", administrators},
	{"work:jobs", "Jobs", "Work on jobs from outside", nil},

	{"read:notifications", "Notifications", "See notifications and templates", administrators},
	{"send:notifications", "Notifications", "Send notifications", administrators},
	{"manage:notification-templates", "Notifications", "Change notification templates", administrators},
	{"manage:user-notifications", "Notifications", "Act on other users' in-app notifications", administrators},
}

var systemRoles = []struct{ name, description string }{
	{roleSuperAdministrator, "May do everything in every tenant"},
	{roleTenantAdministrator, "May do everything inside the tenant"},
	{roleMember, "Own notifications and own reports"},
}
