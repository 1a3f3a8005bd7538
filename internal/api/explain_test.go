package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"steward/internal/app/apptest"
)

func TestExplainPermission(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		tenant, other := defaultTenant(t, s), newTenant(t, s, "Other")
		reader := newHolder(t, s, tenant, "read:users").Token
		member, super := systemRole(t, s, "Member"), systemRole(t, s, "Super Administrator")
		small := newRole(t, s, admin, m{"name": "Small", "permissionIds": permissionIDs(t, s, "read:jobs")})["id"].(string)
		large := newRole(t, s, admin, m{"name": "Large", "permissionIds": permissionIDs(t, s, "read:jobs", "read:roles", "read:users")})["id"].(string)
		explain := func(token, user, query string) apptest.Answer {
			t.Helper()
			return s.Get(t, "/api/v1/users/"+user+"/permissions/explain?"+query, token)
		}
		reasons := func(a apptest.Answer) string {
			t.Helper()
			var all []string
			for _, item := range a.Want(t, http.StatusOK).JSON["missing"].([]any) {
				all = append(all, item.(m)["reason"].(string))
				if text := item.(m)["message"].(string); !strings.Contains(a.JSON["explanation"].(string), text) {
					t.Errorf("the explanation does not say %q: %s", text, a.Raw)
				}
			}
			if granted := a.JSON["isGranted"].(bool); granted != (len(all) == 0) {
				t.Errorf("granted is %v with %v missing", granted, all)
			}
			return strings.Join(all, " ")
		}
		grants := func(list any) string {
			var all []string
			for _, item := range list.([]any) {
				all = append(all, fmt.Sprint(item.(m)["roleName"], "/", item.(m)["via"]))
			}
			return strings.Join(all, " ")
		}

		t.Run("through which roles it is granted", func(t *testing.T) {
			user := newMember(t, s, tenant, small, large, member)
			a := explain(reader, user, "permission=READ:jobs").Want(t, http.StatusOK)
			first := a.JSON["grantedBy"].([]any)[0].(m)
			want := m{"roleId": large, "roleName": "Large", "isSystemRole": false, "via": "permission", "tenantId": tenant}
			if fmt.Sprint(first) != fmt.Sprint(want) || grants(a.JSON["grantedBy"]) != "Large/permission Small/permission" {
				t.Errorf("granted by %s", a.Raw)
			}
			if a.JSON["userId"] != user || a.JSON["tenantId"] != tenant || a.JSON["tenantName"] != "Default" || a.JSON["permission"] != "read:jobs" || a.JSON["isKnown"] != true ||
				a.JSON["description"] != "See jobs" || a.JSON["isGranted"] != true || reasons(a) != "" || len(a.JSON["suggestedRoles"].([]any)) != 0 || len(a.JSON) != 12 ||
				a.JSON["explanation"] != "Test Person has read:jobs in Default through Large, Small." {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
			if names := column(a.JSON["heldRoles"], "name"); !slices.Equal(names, []any{"Large", "Member", "Small"}) {
				t.Errorf("holds %v", names)
			}
		})
		t.Run("by the wildcard", func(t *testing.T) {
			user := newMember(t, s, tenant, super, small)
			for permission, want := range map[string]string{
				"read:jobs": "Small/permission Super Administrator/wildcard", "admin:system": "Super Administrator/wildcard",
				"*": "Super Administrator/permission", "press:button": "Super Administrator/wildcard",
			} {
				a := explain(reader, user, "permission="+permission)
				if got := grants(a.Want(t, http.StatusOK).JSON["grantedBy"]); got != want || reasons(a) != "" || a.JSON["isKnown"] != (permission != "press:button") {
					t.Errorf("%s: %s", permission, a.Raw)
				}
			}
		})
		t.Run("what is missing", func(t *testing.T) {
			user := newMember(t, s, tenant, member)
			a := explain(admin, user, "permission=read:jobs")
			if reasons(a) != "NotInRoles" || grants(a.JSON["suggestedRoles"]) != "Small/permission Large/permission Tenant Administrator/permission Super Administrator/wildcard" {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
			if a := explain(reader, user, "permission=read:jobs"); reasons(a) != "NotInRoles" || len(a.JSON["suggestedRoles"].([]any)) != 0 {
				t.Errorf("roles are proposed to somebody who may not see roles: %s", a.Raw)
			}
			if a := explain(admin, user, "permission=press:button"); reasons(a) != "PermissionUnknown NotInRoles" || a.JSON["isKnown"] != false || a.JSON["description"] != "" || len(a.JSON["suggestedRoles"].([]any)) != 0 {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
			if a := explain(admin, newMember(t, s, tenant), "permission=read:jobs"); reasons(a) != "NoRoles" || len(a.JSON["heldRoles"].([]any)) != 0 {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
		})
		t.Run("what is switched off", func(t *testing.T) {
			user := newMember(t, s, tenant, large)
			bind(t, s, user, other, false)
			s.Post(t, "/api/v1/users/"+user+"/deactivate", admin, nil).Want(t, http.StatusOK)
			if a := explain(reader, user, "permission=read:users"); reasons(a) != "BindingInactive" || grants(a.JSON["grantedBy"]) != "Large/permission" {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
			put(t, s, "/api/v1/admin/users/"+user, admin, m{"isActive": false}).Want(t, http.StatusOK)
			if a := explain(reader, user, "permission=read:users"); reasons(a) != "AccountInactive BindingInactive" {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
			s.Write(t, `UPDATE tenants SET is_active = FALSE WHERE id = $1`, other)
			if a := explain(admin, user, "permission=read:reports&tenantId="+other); reasons(a) != "AccountInactive TenantInactive" || a.JSON["tenantId"] != other || a.JSON["grantedBy"].([]any)[0].(m)["tenantId"] != other {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
			s.Write(t, `UPDATE tenants SET is_active = TRUE WHERE id = $1`, other)
		})
		t.Run("who is not bound", func(t *testing.T) {
			user := newMember(t, s, other, member)
			explain(reader, user, "permission=read:users").WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			if a := explain(admin, user, "permission=read:users"); reasons(a) != "NotBound" {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
			explain(admin, newMark(), "permission=read:users").WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			s.Write(t, `UPDATE users SET deleted_at = created_at WHERE id = $1`, user)
			explain(admin, user, "permission=read:users").WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
		})
		t.Run("it agrees with the door", func(t *testing.T) {
			for _, permissions := range [][]string{{}, {"read:roles"}, {"read:roles", "read:users"}} {
				caller := newHolder(t, s, tenant, permissions...)
				granted := reasons(explain(admin, caller.ID, "permission=read:roles")) == ""
				if open := s.Get(t, "/api/v1/roles", caller.Token).Status == http.StatusOK; open != granted {
					t.Errorf("with %v the door is open: %v, explained as granted: %v", permissions, open, granted)
				}
			}
		})
		t.Run("what is refused", func(t *testing.T) {
			user := newMember(t, s, tenant, member)
			for _, query := range []string{"", "permission=", "permission=users", "permission=read:", "permission=a:b:c", "permission=" + strings.Repeat("a", 65) + ":b"} {
				explain(reader, user, query).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "permission")
			}
			explain(reader, "me", "permission=read:users").WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "userId")
			explain(reader, user, "permission=read:users&tenantId=here").WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "tenantId")
			explain(reader, user, "permission=read:users&tenantId="+other).WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
			explain(admin, user, "permission=read:users&tenantId="+newMark()).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			explain(newHolder(t, s, tenant, "read:roles").Token, user, "permission=read:users").WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			explain("", user, "permission=read:users").WantProblem(t, http.StatusUnauthorized, "TOKEN_MISSING")
			explain(reader, user, "permission=read:users&tenantId="+tenant).Want(t, http.StatusOK)
		})
	})
}
