// Package api lists every route of the program and says how each looks on the wire.
package api

import (
	"net/http"

	"steward/internal/fault"
	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// API is what the handlers call.
type API struct {
	Identity *identity.Service
	Apps     *resource.Resource[identity.App, identity.CreateApp, identity.UpdateApp, identity.AppQuery]
	APIKeys  *resource.Resource[identity.APIKey, identity.CreateAPIKey, identity.UpdateAPIKey, identity.APIKeyQuery]
	// Issuer is that of the tokens, and the address of the key set.
	Issuer string
}

// Mount puts every route on the server. A line says: method, path, who may call, what it is for, what
// differs from its group, and the function that answers.
func (a *API) Mount(s *web.Server) {
	auth := web.Group{Convention: web.Envelope, Limit: "identity", Tag: "Authentication"}
	web.Handle(s, auth.Post("/api/auth/login", web.Public, "Sign in with e-mail and password").Limited("login").As(fault.AccountLocked, http.StatusUnauthorized).Errors(loginCodes...).Doc(loginDoc).Example(loginExample, grantExample), a.login)
	web.Handle(s, auth.Post("/api/auth/social-login", web.Public, "Sign in with an account at a social provider").Errors(socialCodes...).Doc(socialDoc).Example(socialExample, grantExample), a.socialLogin)
	web.Handle(s, auth.Post("/api/auth/register", web.Public, "Make an account").Limited("register").Status(http.StatusCreated).SuccessKey("success").Errors(fault.Forbidden, fault.Conflict).Doc(registerDoc).Example(registerExample, registeredExample), a.register)
	web.Handle(s, auth.Post("/api/auth/refresh", web.Public, "Exchange a refresh token for a new pair").Errors(fault.TokenInvalid, fault.TokenExpired, fault.Forbidden).Doc(refreshDoc).Example(refreshExample, refreshedExample), a.refresh)
	web.Handle(s, auth.Post("/api/auth/logout", web.AnyToken.InPerson(), "Sign out everywhere").Doc(logoutDoc), a.logout)
	web.Handle(s, auth.Post("/api/auth/switch-tenant", web.AnyToken.InPerson(), "Enter another tenant").Errors(fault.Forbidden).Doc(switchDoc).Example(switchExample, switchedExample), a.switchTenant)
	web.Handle(s, auth.Get("/api/auth/me", web.AnyToken.InPerson(), "Who is calling").Doc(meDoc).Example(nil, meExample), a.me)
	web.Handle(s, auth.Get("/api/auth/me/complete", web.AnyToken.InPerson(), "Profile of the caller").Doc("The same as `GET /api/auth/me?include=profile`.").Example(nil, profileExample), a.meComplete)
	web.Handle(s, auth.Post("/api/auth/request-password-reset", web.Public, "Ask for a password reset mail").Limited("reset").Doc(resetRequestDoc).Example(emailExample, nil), a.requestPasswordReset)
	web.Handle(s, auth.Post("/api/auth/reset-password", web.Public, "Choose a new password by the link of a mail").Doc(resetDoc).Example(resetExample, nil), a.resetPassword)
	web.Handle(s, auth.Post("/api/auth/change-password", web.TenantToken.InPerson(), "Change the own password").Errors(fault.AccountLocked).Doc(changeDoc).Example(changeExample, nil), a.changePassword)
	web.Handle(s, auth.Post("/api/auth/confirm-email", web.Public, "Confirm an e-mail address by the link of a mail").Example(confirmExample, nil), a.confirmEmail)
	web.Handle(s, auth.Post("/api/auth/resend-confirmation", web.Public, "Ask for another confirmation mail").Limited("reset").Doc(resendDoc).Example(emailExample, nil), a.resendConfirmation)
	web.Handle(s, auth.Get("/api/auth/sessions", web.TenantToken.InPerson(), "Own sessions").Doc(sessionsDoc).Example(nil, sessionsExample), a.sessions)
	web.Handle(s, auth.Delete("/api/auth/sessions/{id}", web.TenantToken.InPerson(), "End one of the own sessions").Errors(fault.NotFound).Doc(endSessionDoc), a.endSession)

	users := web.Group{Convention: web.Problem, Limit: "identity", Tag: "Users"}
	web.Handle(s, users.Get("/api/v1/users", web.Permission("read:users"), "List users").Doc(listUsersDoc).Example(nil, usersExample), a.listUsers)
	web.Handle(s, users.Get("/api/v1/users/{id}", web.Permission("read:users"), "Get one user").Errors(fault.UserNotFound).Example(nil, userExample), a.getUser)
	web.Handle(s, users.Get("/api/v1/users/by-email/{email}", web.Permission("read:users"), "Get one user by e-mail").Errors(fault.UserNotFound).Example(nil, userExample), a.getUserByEmail)
	web.Handle(s, users.Post("/api/v1/users", web.Permission("create:users"), "Create a user").Status(http.StatusCreated).Idempotent().Errors(createUserCodes...).Doc(createUserDoc).Example(createUserExample, userExample), a.createUser)
	web.Handle(s, users.Put("/api/v1/users/{id}", web.Permission("update:users"), "Update a user").Errors(updateUserCodes...).Doc(updateUserDoc).Example(updateUserExample, userExample), a.updateUser)
	web.Handle(s, users.Delete("/api/v1/users/{id}", web.Permission("delete:users"), "Remove a user").Errors(removeUserCodes...).Doc(deleteUserDoc), a.deleteUser)
	web.Handle(s, users.Get("/api/v1/users/{userId}/permissions", web.Permission("read:users"), "Permissions of a user").Errors(fault.UserNotFound).Doc(userPermissionsDoc).Example(nil, []string{"read:users"}), a.userPermissions)
	web.Handle(s, users.Get("/api/v1/users/{userId}/tenants", web.Permission("read:users"), "Tenants of a user").Errors(fault.UserNotFound).Doc(userTenantsDoc).Example(nil, userTenantsExample), a.userTenants)
	web.Handle(s, users.Post("/api/v1/users/{id}/activate", web.Permission("update:users"), "Let a user in").Errors(fault.UserNotFound, fault.Forbidden).Doc(activateUserDoc), a.activateUser)
	web.Handle(s, users.Post("/api/v1/users/{id}/deactivate", web.Permission("update:users"), "Keep a user out").Errors(removeUserCodes...).Doc(deactivateUserDoc), a.deactivateUser)
	web.Handle(s, users.Get("/api/v1/tenants/{id}/users", web.Permission("read:users"), "List the users of a tenant").Errors(fault.TenantNotFound, fault.CrossTenantForbidden).Doc(listTenantUsersDoc).Example(nil, usersExample), a.listTenantUsers)
	web.Handle(s, users.Post("/api/v1/tenants/{id}/users", web.Permission("update:users"), "Bind a user to a tenant").Status(http.StatusCreated).Idempotent().Errors(append(bindCodes, fault.CrossTenantForbidden)...).Doc(addTenantUserDoc).Example(addTenantUserExample, adminUserExample), a.addTenantUser)
	web.Handle(s, users.Delete("/api/v1/tenants/{id}/users/{userId}", web.Permission("update:users"), "Take a user out of a tenant").Errors(append(removeUserCodes, fault.TenantNotFound, fault.CrossTenantForbidden)...).Doc(dropTenantUserDoc), a.dropTenantUser)

	web.Handle(s, users.Get("/api/v1/users/{userId}/permissions/explain", web.Permission("read:users"), "Why a user may or may not do something").Errors(fault.UserNotFound, fault.TenantNotFound, fault.CrossTenantForbidden).Doc(explainDoc).Example(nil, explanationExample), a.explainPermission)

	invitations := web.Group{Convention: web.Problem, Limit: "identity", Tag: "Invitations"}
	web.Handle(s, invitations.Post("/api/v1/users/invite", web.Permission("create:users"), "Invite somebody").Status(http.StatusCreated).Idempotent().Errors(inviteCodes...).Doc(inviteDoc).Example(inviteExample, invitationExample), a.inviteUser)
	web.Handle(s, invitations.Get("/api/v1/users/invitations", web.Permission("read:users"), "List invitations").Doc(listInvitationsDoc).Example(nil, invitationsExample), a.listInvitations)
	web.Handle(s, invitations.Get("/api/v1/users/invitations/{id}", web.Permission("read:users"), "Get one invitation").Errors(fault.InvitationNotFound).Example(nil, invitationExample), a.getInvitation)
	web.Handle(s, invitations.Post("/api/v1/users/invitations/{id}/resend", web.Permission("create:users"), "Mail an invitation again").Idempotent().Errors(changeInvitationCodes...).Doc(resendInvitationDoc).Example(nil, invitationExample), a.resendInvitation)
	web.Handle(s, invitations.Delete("/api/v1/users/invitations/{id}", web.Permission("create:users"), "Revoke an invitation").Errors(revokeInvitationCodes...).Doc(revokeDoc), a.revokeInvitation)

	anyUser := web.Permission("admin:system", "manage:all-users")
	adminUsers := web.Group{Convention: web.Problem, Limit: "identity", Tag: "Admin users"}
	web.Handle(s, adminUsers.Get("/api/v1/admin/users", anyUser, "List users of every tenant").Doc(listAnyUsersDoc).Example(nil, adminUsersExample), a.listAnyUsers)
	web.Handle(s, adminUsers.Post("/api/v1/admin/users", anyUser, "Create a user in any tenants").Status(http.StatusCreated).Idempotent().Errors(createUserCodes...).Doc(createAnyUserDoc).Example(createUserExample, userExample), a.createAnyUser)
	web.Handle(s, adminUsers.Get("/api/v1/admin/users/{id}", anyUser, "Get any user with the matrix of tenants").Errors(fault.UserNotFound).Example(nil, adminUserExample), a.getAnyUser)
	web.Handle(s, adminUsers.Put("/api/v1/admin/users/{id}", anyUser, "Update any user").Errors(changeAnyUserCodes...).Doc(updateAnyUserDoc).Example(updateAnyUserExample, adminUserExample), a.updateAnyUser)
	web.Handle(s, adminUsers.Delete("/api/v1/admin/users/{id}", anyUser, "Delete any user").Errors(removeUserCodes...).Doc(deleteAnyUserDoc), a.deleteAnyUser)
	web.Handle(s, adminUsers.Get("/api/v1/admin/users/{id}/tenants", anyUser, "Tenants of any user").Errors(fault.UserNotFound).Example(nil, userTenantsExample), a.anyUserTenants)
	web.Handle(s, adminUsers.Post("/api/v1/admin/users/{id}/tenants", anyUser, "Bind any user to a tenant").Status(http.StatusCreated).Idempotent().Errors(bindCodes...).Doc(bindDoc).Example(bindExample, adminUserExample), a.bindTenant)
	web.Handle(s, adminUsers.Post("/api/v1/admin/users/{id}/unlock", anyUser, "Lift a lockout").Errors(fault.UserNotFound, fault.Forbidden), a.unlockUser)
	web.Handle(s, adminUsers.Post("/api/v1/admin/users/{id}/reset-password", anyUser, "Mail a reset link").Idempotent().Errors(fault.UserNotFound, fault.Forbidden).Doc(startResetDoc), a.startReset)

	olderUsers := web.Group{Convention: web.Envelope, Limit: "identity", Tag: "Users (unversioned)"}
	web.Handle(s, olderUsers.Get("/api/users", web.Permission("read:users"), "List users").Example(nil, plainUsersExample), a.plainUsers)
	web.Handle(s, olderUsers.Get("/api/users/{id}", web.Permission("read:users"), "Get one user").Errors(fault.UserNotFound).Example(nil, plainUserExample), a.plainUser)
	web.Handle(s, olderUsers.Post("/api/users", web.Permission("create:users"), "Create a user").Status(http.StatusCreated).Idempotent().Errors(createUserCodes...).Doc(createUserDoc).Example(addUserExample, plainUserExample), a.addUser)
	web.Handle(s, olderUsers.Put("/api/users/{id}", web.Permission("update:users"), "Update a user").Errors(changeUserCodes...).Doc(updateUserDoc).Example(changeUserExample, plainUserExample), a.changeUser)
	web.Handle(s, olderUsers.Delete("/api/users/{id}", web.Permission("delete:users"), "Remove a user").Errors(removeUserCodes...).Doc(deleteUserDoc), a.dropUser)
	web.Handle(s, olderUsers.Post("/api/users/{userId}/roles", web.Permission("update:users"), "Give a user more roles").Errors(addRolesCodes...).Doc(addRolesDoc).Example(addRolesExample, plainUserExample), a.addRoles)

	tenants := web.Group{Convention: web.Problem, Limit: "identity", Tag: "Tenants"}
	web.Handle(s, tenants.Get("/api/v1/tenants", web.Permission("read:tenants"), "List tenants").Doc(listTenantsDoc).Example(nil, tenantsExample), a.listTenants)
	web.Handle(s, tenants.Get("/api/v1/tenants/summary", web.Permission("read:tenants"), "Count tenants").Doc(summariseTenantsDoc).Example(nil, tenantsSummaryExample), a.summariseTenants)
	web.Handle(s, tenants.Get("/api/v1/tenants/lookup", web.Permission("read:tenants"), "Tenants for a picker").Doc(lookupTenantsDoc).Example(nil, tenantLookupsExample), a.lookupTenants)
	web.Handle(s, tenants.Get("/api/v1/tenants/{id}", web.Permission("read:tenants"), "Get one tenant").Errors(fault.TenantNotFound, fault.CrossTenantForbidden).Doc(getTenantDoc).Example(nil, tenantExample), a.getTenant)
	web.Handle(s, tenants.Post("/api/v1/tenants", web.Permission("create:tenants"), "Create a tenant").Status(http.StatusCreated).Idempotent().Errors(createTenantCodes...).Doc(createTenantDoc).Example(createTenantExample, tenantExample), a.createTenant)
	web.Handle(s, tenants.Put("/api/v1/tenants/{id}", web.Permission("update:tenants"), "Update a tenant").Errors(updateTenantCodes...).Doc(updateTenantDoc).Example(updateTenantExample, tenantExample), a.updateTenant)
	web.Handle(s, tenants.Delete("/api/v1/tenants/{id}", web.Permission("delete:tenants"), "Delete a tenant").Errors(deleteTenantCodes...).Doc(deleteTenantDoc), a.deleteTenant)

	adminTenants := web.Group{Convention: web.Problem, Limit: "identity", Tag: "Admin tenants"}
	web.Handle(s, adminTenants.Get("/api/v1/admin/tenants/summary", web.Permission("admin:system", "manage:all-tenants"), "Count tenants of the whole installation").Doc(summariseTenantsDoc).Example(nil, tenantsSummaryExample), a.summariseTenants)
	web.Handle(s, adminTenants.Get("/api/v1/admin/tenants/lookup", web.Permission("admin:system", "manage:all-tenants"), "Tenants of the whole installation for a picker").Doc(lookupTenantsDoc).Example(nil, tenantLookupsExample), a.lookupTenants)
	web.Handle(s, adminTenants.Get("/api/v1/admin/tenants/{tenantId}/roles", web.Permission("admin:system"), "List the roles of any tenant").Errors(fault.TenantNotFound).Doc(listRolesDoc).Example(nil, rolesExample), a.listTenantRoles)
	web.Handle(s, adminTenants.Get("/api/v1/admin/tenants/{tenantId}/roles/lookup", web.Permission("admin:system", "manage:all-tenants"), "Roles of any tenant for a picker").Errors(fault.TenantNotFound).Doc(lookupRolesDoc).Example(nil, roleLookupsExample), a.lookupTenantRoles)

	olderTenants := web.Group{Convention: web.Envelope, Limit: "identity", Tag: "Tenants (unversioned)"}
	web.Handle(s, olderTenants.Get("/api/tenants", web.Permission("read:tenants").And("admin:system"), "List all tenants").Doc(allTenantsDoc).Example(nil, allTenantsExample), a.allTenants)
	web.Handle(s, olderTenants.Post("/api/tenants", web.Permission("create:tenants").And("admin:system"), "Create a tenant").Status(http.StatusCreated).Idempotent().Errors(createTenantCodes...).Doc(createTenantDoc).Example(newTenantExample, tenantExample), a.createTenant)
	web.Handle(s, olderTenants.Get("/api/tenants/current", web.TenantToken, "The tenant of the token").Doc(currentTenantDoc).Example(nil, tenantExample), a.currentTenant)

	roles := web.Group{Convention: web.Problem, Limit: "identity", Tag: "Roles"}
	web.Handle(s, roles.Get("/api/v1/roles", web.Permission("read:roles"), "List roles").Doc(listRolesDoc).Example(nil, rolesExample), a.listRoles)
	web.Handle(s, roles.Get("/api/v1/roles/summary", web.Permission("read:roles"), "Count roles").Doc(summariseRolesDoc).Example(nil, rolesSummaryExample), a.summariseRoles)
	web.Handle(s, roles.Get("/api/v1/roles/lookup", web.Permission("read:roles"), "Roles for a picker").Doc(lookupRolesDoc).Example(nil, roleLookupsExample), a.lookupRoles)
	web.Handle(s, roles.Get("/api/v1/roles/{id}", web.Permission("read:roles"), "Get one role").Errors(fault.RoleNotFound).Doc(getRoleDoc).Example(nil, countedRoleExample), a.getRole)
	web.Handle(s, roles.Post("/api/v1/roles", web.Permission("create:roles"), "Create a role").Status(http.StatusCreated).Idempotent().Errors(createRoleCodes...).Doc(createRoleDoc).Example(createRoleExample, roleExample), a.createRole)
	web.Handle(s, roles.Put("/api/v1/roles/{id}", web.Permission("update:roles"), "Update a role").Errors(updateRoleCodes...).Doc(updateRoleDoc).Example(updateRoleExample, roleExample), a.updateRole)
	web.Handle(s, roles.Delete("/api/v1/roles/{id}", web.Permission("delete:roles"), "Delete a role").Errors(deleteRoleCodes...).Doc(deleteRoleDoc), a.deleteRole)
	web.Handle(s, roles.Get("/api/v1/users/{userId}/roles", web.Permission("read:users"), "Roles of a user").Errors(fault.UserNotFound).Doc(userRolesDoc).Example(nil, userRolesExample), a.userRoles)

	olderRoles := web.Group{Convention: web.Envelope, Limit: "identity", Tag: "Roles (unversioned)"}
	web.Handle(s, olderRoles.Get("/api/roles", web.Permission("read:roles"), "List roles").Doc(allRolesDoc).Example(nil, allRolesExample), a.allRoles)
	web.Handle(s, olderRoles.Post("/api/roles", web.Permission("create:roles"), "Create a role").Status(http.StatusCreated).Idempotent().Errors(addRoleCodes...).Doc(addRoleDoc).Example(addRoleExample, plainRoleExample), a.addRole)
	web.Handle(s, olderRoles.Put("/api/roles/{id}", web.Permission("update:roles"), "Update a role").Errors(changeRoleCodes...).Doc(changeRoleDoc).Example(changeRoleExample, plainRoleExample), a.changeRole)
	web.Handle(s, olderRoles.Delete("/api/roles/{id}", web.Permission("delete:roles"), "Delete a role").Errors(changeRoleCodes...).Doc(dropRoleDoc), a.deleteRole)

	permissions := web.Group{Convention: web.Problem, Limit: "identity", Tag: "Permissions"}
	web.Handle(s, permissions.Get("/api/v1/permissions", web.Permission("read:permissions"), "List permissions").Doc(listPermissionsDoc).Example(nil, permissionsExample), a.listPermissions)
	web.Handle(s, permissions.Get("/api/v1/permissions/catalog", web.Permission("read:permissions"), "Permissions by category").Doc(permissionCatalogDoc).Example(nil, permissionCatalogExample), a.permissionCatalog)
	web.Handle(s, permissions.Get("/api/v1/permissions/catalog/categories", web.Permission("read:permissions"), "Suggest categories").Doc(permissionCategoriesDoc).Example(nil, categoriesExample), a.permissionCategories)
	web.Handle(s, permissions.Get("/api/v1/permissions/import/template", web.Permission("create:permissions"), "Download a template for imports").Files("text/csv", "application/json").Doc(importTemplateDoc), a.importTemplate)
	web.Handle(s, permissions.Get("/api/v1/permissions/by-code/{code}", web.Permission("read:permissions"), "Get one permission by its code").Errors(fault.PermissionNotFound).Doc(permissionByCodeDoc).Example(nil, permissionExample), a.getPermissionByCode)
	web.Handle(s, permissions.Get("/api/v1/permissions/{id}", web.Permission("read:permissions"), "Get one permission").Errors(fault.PermissionNotFound).Doc(getPermissionDoc).Example(nil, permissionExample), a.getPermission)
	web.Handle(s, permissions.Post("/api/v1/permissions", web.Permission("create:permissions"), "Create a permission").Status(http.StatusCreated).Idempotent().Errors(fault.PermissionAlreadyExists).Doc(createPermissionDoc).Example(createPermissionExample, permissionExample), a.createPermission)
	web.Handle(s, permissions.Post("/api/v1/permissions/import", web.Permission("create:permissions"), "Import permissions").Idempotent().Doc(importBodyDoc).Example(importBodyExample, importResultExample), a.importPermissions)
	web.Handle(s, permissions.Post("/api/v1/permissions/import/file", web.Permission("create:permissions"), "Import permissions from a file").MaxBody(maxImportFile).Idempotent().Doc(importFileDoc).Example(nil, importResultExample), a.importPermissionFile)
	web.Handle(s, permissions.Put("/api/v1/permissions/{id}", web.Permission("update:permissions"), "Update a permission").Errors(updatePermissionCodes...).Doc(updatePermissionDoc).Example(updatePermissionExample, permissionExample), a.updatePermission)
	web.Handle(s, permissions.Delete("/api/v1/permissions/{id}", web.Permission("delete:permissions"), "Delete a permission").Errors(deletePermissionCodes...).Doc(deletePermissionDoc), a.deletePermission)

	olderPermissions := web.Group{Convention: web.Envelope, Limit: "identity", Tag: "Permissions (unversioned)"}
	web.Handle(s, olderPermissions.Get("/api/permissions", web.Permission("read:permissions"), "List permissions").Doc(allPermissionsDoc).Example(nil, allPermissionsExample), a.allPermissions)
	web.Handle(s, olderPermissions.Post("/api/permissions", web.Permission("create:permissions"), "Create a permission").Status(http.StatusCreated).Idempotent().Errors(fault.Conflict).Doc(addPermissionDoc).Example(addPermissionExample, plainPermissionExample), a.addPermission)

	trail := web.Group{Convention: web.Problem, Limit: "identity", Tag: "Audit log"}
	web.Handle(s, trail.Get("/api/v1/audit-log", web.Permission("read:audit-log"), "List changes").Errors(fault.CrossTenantForbidden).Doc(listAuditDoc).Example(nil, auditExample), a.listAudit)
	web.Handle(s, trail.Get("/api/v1/audit-log/export", web.Permission("read:audit-log"), "Download changes").Files("text/csv").Errors(fault.CrossTenantForbidden).Doc(exportAuditDoc), a.exportAudit)

	keys := web.Group{Convention: web.Problem, Tag: "Token verification"}
	web.Handle(s, keys.Get("/.well-known/jwks.json", web.Public, "Public keys").Doc(jwksDoc), a.jwks)
	web.Handle(s, keys.Get("/.well-known/openid-configuration", web.Public, "Issuer of the tokens").Example(nil, discoveryExample), a.discovery)

	plain := web.Group{Convention: web.Problem, Limit: "general", Tag: "Apps"}
	web.Mount(s, plain, "/api/v1/apps", a.Apps)
	web.Mount(s, web.Group{Convention: web.Problem, Limit: "general", Tag: "API keys"}, "/api/v1/api-keys", a.APIKeys)
}
