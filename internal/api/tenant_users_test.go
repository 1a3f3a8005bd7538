package api_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
)

func TestUsersOfATenant(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		group := o.tenant(t, m{"type": "Group"})
		child := o.tenant(t, m{"parentTenantId": group, "type": "Group"})
		grandchild := o.tenant(t, m{"parentTenantId": child})
		lead := o.caller(t, group, "read:users", "update:users", "delete:users")
		clerk := o.caller(t, child, "read:users", "update:users")
		reaching := o.caller(t, o.home, "read:users", "update:users", "manage:all-tenants")
		role, roleName := o.namedRole(t, grandchild, "read:users")
		path := func(tenant string) string { return "/api/v1/tenants/" + tenant + "/users" }

		t.Run("they are listed with the roles and the state that they have there", func(t *testing.T) {
			p := o.user(t, in(grandchild, role), in(group, o.member))
			a := o.Get(t, path(grandchild), lead.Token).Want(t, http.StatusOK)
			wantShape(t, a.JSON, "items", "totalCount", "pageNumber", "pageSize", "totalPages", "hasNext", "hasPrevious")
			wantMembers(t, a.JSON, m{"totalCount": 1})
			item := a.JSON["items"].([]any)[0].(m)
			wantShape(t, item, userShape...)
			wantMembers(t, item, m{"id": p.ID, "roles": []string{roleName}, "isActive": true})
			o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", o.caller(t, grandchild, "read:users", "update:users").Token, nil).Want(t, http.StatusOK)
			for query, want := range map[string]float64{
				"roleName=" + roleName: 1, "roleName=member": 0, "isActive=false": 1, "isActive=true": 1, "search=" + p.Email: 1, "search=nobody": 0,
				"isLockedOut=true": 0, "isLockedOut=false": 2, "pageSize=1": 2,
			} {
				if list := o.Get(t, path(grandchild)+"?"+query, lead.Token).Want(t, http.StatusOK); list.JSON["totalCount"] != want {
					t.Errorf("%s: %s", query, list.Raw)
				}
			}
		})
		t.Run("who may delete sees the deleted", func(t *testing.T) {
			gone := o.user(t, in(child))
			remove(t, o.Server, "/api/v1/admin/users/"+gone.ID, admin).Want(t, http.StatusOK)
			o.Get(t, path(child)+"?includeDeleted=true", clerk.Token).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			before := o.Get(t, path(child), lead.Token).Want(t, http.StatusOK).JSON["totalCount"].(float64)
			if got := o.Get(t, path(child)+"?includeDeleted=true", lead.Token).Want(t, http.StatusOK); got.JSON["totalCount"] != before+1 {
				t.Errorf("unexpected list: %s", got.Raw)
			}
		})
		t.Run("reach is the own tenant and those below", func(t *testing.T) {
			for _, c := range []struct {
				who     person
				tenant  string
				reached bool
			}{
				{lead, group, true}, {lead, child, true}, {lead, grandchild, true}, {lead, o.home, false}, {lead, o.other, false},
				{clerk, child, true}, {clerk, grandchild, true}, {clerk, group, false}, {clerk, o.home, false},
				{reaching, o.home, true}, {reaching, group, true}, {reaching, grandchild, true},
				{o.admin, grandchild, true}, {o.admin, o.other, true},
			} {
				p := o.user(t)
				own := o.role(t, c.tenant)
				list := o.Get(t, path(c.tenant), c.who.Token)
				bound := o.Post(t, path(c.tenant), c.who.Token, m{"userId": p.ID, "roleIds": []string{own}})
				if !c.reached {
					list.WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
					bound.WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
					o.Post(t, path(c.tenant), c.who.Token, m{"userId": uuid.NewString(), "roleIds": []string{own}}).WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
					inside := o.user(t, in(c.tenant, own))
					remove(t, o.Server, path(c.tenant)+"/"+inside.ID, c.who.Token).WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
					remove(t, o.Server, path(c.tenant)+"/"+uuid.NewString(), c.who.Token).WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
					continue
				}
				list.Want(t, http.StatusOK)
				bound.Want(t, http.StatusCreated)
				remove(t, o.Server, path(c.tenant)+"/"+p.ID, c.who.Token).Want(t, http.StatusOK)
			}
		})
		t.Run("the answer shows only the tenants that the caller reaches", func(t *testing.T) {
			p := o.user(t, in(o.other, o.member), in(grandchild, role))
			a := o.Post(t, path(child), lead.Token, m{"userId": p.ID, "roleIds": []string{o.role(t, child)}}).Want(t, http.StatusCreated)
			if len(a.JSON["tenants"].([]any)) != 2 {
				t.Errorf("unexpected tenants: %s", a.Raw)
			}
			if got := matrix(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin)); len(got) != 3 {
				t.Errorf("stored tenants: %v", got)
			}
		})
		t.Run("a user is taken out, and the account stays", func(t *testing.T) {
			p := o.user(t, at(in(child, o.role(t, child)), "isDefault", true))
			token := o.Login(t, p.Email, password).Token
			before, version := o.userCount(t, child), o.Get(t, "/api/v1/admin/users/"+p.ID, admin).Header.Get("ETag")
			if a := remove(t, o.Server, path(child)+"/"+p.ID, lead.Token).Want(t, http.StatusOK); len(a.Raw) != 0 {
				t.Errorf("a body: %s", a.Raw)
			}
			wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
			got := o.Get(t, "/api/v1/admin/users/"+p.ID, admin).Want(t, http.StatusOK)
			wantMembers(t, got.JSON, m{"isActive": true, "tenants": []m{}})
			if o.userCount(t, child) != before-1 || got.Header.Get("ETag") == version {
				t.Error("the tenant or the version stayed")
			}
			remove(t, o.Server, path(child)+"/"+p.ID, lead.Token).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			o.Post(t, path(child), lead.Token, m{"userId": p.ID, "roleIds": []string{o.role(t, child)}}).Want(t, http.StatusCreated)
			o.wantTrail(t, p.ID, "user.created", "user.unbound", "user.bound")
			trail := all(t, o.Server, `SELECT action || ' ' || tenant_id FROM audit_log WHERE target_id = '`+p.ID+`' AND action LIKE 'user.%bound' ORDER BY id`)
			if trail != "user.unbound "+child+"\nuser.bound "+child {
				t.Errorf("trail %s", trail)
			}
		})
		t.Run("not one who may do more there", func(t *testing.T) {
			p := o.user(t, in(child, o.role(t, child, "read:jobs")))
			remove(t, o.Server, path(child)+"/"+p.ID, lead.Token).WantProblem(t, http.StatusForbidden, "FORBIDDEN")
			above := o.user(t, in(child), in(group, o.role(t, group, "read:jobs")))
			remove(t, o.Server, path(child)+"/"+above.ID, lead.Token).WantProblem(t, http.StatusForbidden, "FORBIDDEN")
			remove(t, o.Server, path(child)+"/"+p.ID, admin).Want(t, http.StatusOK)
		})
		t.Run("what does not exist", func(t *testing.T) {
			p := o.user(t, in(o.other))
			for _, nowhere := range []string{uuid.NewString(), uuid.Nil.String()} {
				o.Get(t, path(nowhere), admin).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
				remove(t, o.Server, path(nowhere)+"/"+p.ID, admin).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			}
			o.Post(t, path(uuid.NewString()), lead.Token, m{"userId": p.ID, "roleIds": []string{o.member}}).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			for _, nobody := range []string{uuid.NewString(), uuid.Nil.String(), p.ID} {
				remove(t, o.Server, path(o.home)+"/"+nobody, admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			}
			o.Get(t, path("x"), admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
			remove(t, o.Server, path(o.home)+"/x", admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "userId")
		})
	})
}
