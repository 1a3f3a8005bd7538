package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
)

// bindRoute is one of the two routes that add a binding.
type bindRoute struct {
	name string
	call func(t *testing.T, token, user, tenant string, roles any, isDefault any) apptest.Answer
}

func (o *office) bindRoutes() []bindRoute {
	return []bindRoute{
		{"POST /api/v1/admin/users/{id}/tenants", func(t *testing.T, token, user, tenant string, roles, isDefault any) apptest.Answer {
			t.Helper()
			return o.Post(t, "/api/v1/admin/users/"+user+"/tenants", token, m{"tenantId": tenant, "roleIds": roles, "isDefault": isDefault})
		}},
		{"POST /api/v1/tenants/{id}/users", func(t *testing.T, token, user, tenant string, roles, isDefault any) apptest.Answer {
			t.Helper()
			return o.Post(t, "/api/v1/tenants/"+tenant+"/users", token, m{"userId": user, "roleIds": roles, "isDefault": isDefault})
		}},
	}
}

func TestABindingIsAdded(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		for _, route := range o.bindRoutes() {
			t.Run(route.name, func(t *testing.T) {
				t.Run("beside the others, and the answer shows them all", func(t *testing.T) {
					p := o.user(t, at(in(o.home, o.member), "isDefault", true))
					token := o.Login(t, p.Email, password).Token
					role := o.role(t, o.other, "read:users")
					before, version := o.userCount(t, o.other), o.Get(t, "/api/v1/admin/users/"+p.ID, admin).Header.Get("ETag")
					a := route.call(t, admin, p.ID, o.other, []string{role, o.member, role}, false).Want(t, http.StatusCreated)
					wantShape(t, a.JSON, adminShape...)
					if a.Header.Get("Location") != "/api/v1/admin/users/"+p.ID || a.Header.Get("ETag") == version {
						t.Errorf("headers %v", a.Header)
					}
					stored := o.Get(t, "/api/v1/admin/users/"+p.ID, admin).Want(t, http.StatusOK)
					if string(stored.Raw) != string(a.Raw) || stored.Header.Get("ETag") != a.Header.Get("ETag") {
						t.Errorf("answered %s, stored %s", a.Raw, stored.Raw)
					}
					got := matrix(t, stored)
					if len(got) != 2 || got[o.home] != o.member+" *" || len(strings.Fields(got[o.other])) != 2 || !strings.Contains(got[o.other], role) {
						t.Errorf("tenants %v", got)
					}
					if o.userCount(t, o.other) != before+1 {
						t.Error("the tenant does not count them")
					}
					wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
					o.Get(t, "/api/v1/users", o.enter(t, p, o.other).Token).Want(t, http.StatusOK)
					o.wantTrail(t, p.ID, "user.created", "user.bound")
				})
				t.Run("a default takes the mark from the others", func(t *testing.T) {
					p := o.user(t, at(in(o.home, o.member), "isDefault", true))
					route.call(t, admin, p.ID, o.other, []string{o.member}, true).Want(t, http.StatusCreated)
					wantMatrix(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin), map[string]string{o.home: o.member, o.other: o.member + " *"})
					wantMembers(t, o.TryLogin(t, p.Email, password).Data(t)["currentTenant"].(m), m{"id": o.other})
				})
				t.Run("no default leaves it", func(t *testing.T) {
					for _, none := range []any{false, nil} {
						p := o.user(t, at(in(o.home, o.member), "isDefault", true))
						route.call(t, admin, p.ID, o.other, []string{o.member}, none).Want(t, http.StatusCreated)
						wantMatrix(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin), map[string]string{o.home: o.member + " *", o.other: o.member})
					}
				})
				t.Run("again is a conflict that merges nothing", func(t *testing.T) {
					p := o.user(t, at(in(o.home, o.member), "isDefault", true), in(o.other, o.member))
					role := o.role(t, o.other)
					token := o.enter(t, p, o.home).Token
					first := o.Get(t, "/api/v1/admin/users/"+p.ID, admin)
					route.call(t, admin, p.ID, o.other, []string{role}, true).WantProblem(t, http.StatusConflict, "USER_ALREADY_ASSIGNED")
					if now := o.Get(t, "/api/v1/admin/users/"+p.ID, admin); string(now.Raw) != string(first.Raw) {
						t.Errorf("it was changed: %s", now.Raw)
					}
					wantAlive(t, o.Server, token)
					o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", admin, nil).Want(t, http.StatusOK)
					route.call(t, admin, p.ID, o.home, []string{o.member}, false).WantProblem(t, http.StatusConflict, "USER_ALREADY_ASSIGNED")
				})
				t.Run("an inactive user is taken, a deleted one is not", func(t *testing.T) {
					p := o.user(t, in(o.home, o.member))
					put(t, o.Server, "/api/v1/admin/users/"+p.ID, admin, m{"isActive": false}).Want(t, http.StatusOK)
					wantMembers(t, route.call(t, admin, p.ID, o.other, []string{o.member}, false).Want(t, http.StatusCreated).JSON, m{"isActive": false})
					remove(t, o.Server, "/api/v1/admin/users/"+p.ID, admin).Want(t, http.StatusOK)
					route.call(t, admin, p.ID, o.tenant(t, m{}), []string{o.member}, false).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
				})
				t.Run("a group takes users like any other, and so does an inactive tenant", func(t *testing.T) {
					for _, body := range []m{{"type": "Group"}, {"isActive": false}} {
						route.call(t, admin, o.user(t).ID, o.tenant(t, body), []string{o.member}, false).Want(t, http.StatusCreated)
					}
				})
				t.Run("fifty roles are taken, repeated ones count once", func(t *testing.T) {
					tenant := o.tenant(t, m{})
					roles := make([]string, 51)
					for i := range roles {
						roles[i] = o.role(t, tenant)
					}
					route.call(t, admin, o.user(t).ID, tenant, roles, false).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "roleIds")
					repeated := []string{}
					for range 30 {
						repeated = append(repeated, roles[:50]...)
					}
					p := o.user(t)
					route.call(t, admin, p.ID, tenant, repeated, false).Want(t, http.StatusCreated)
					if got := matrix(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin)); len(strings.Fields(got[tenant])) != 50 {
						t.Errorf("%d roles", len(strings.Fields(got[tenant])))
					}
				})
				t.Run("an idempotency key replays the answer instead of the conflict", func(t *testing.T) {
					p := o.user(t)
					path, body := "/api/v1/admin/users/"+p.ID+"/tenants", in(o.home, o.member)
					if strings.Contains(route.name, "{id}/users") {
						path, body = "/api/v1/tenants/"+o.home+"/users", m{"userId": p.ID, "roleIds": []string{o.member}}
					}
					key := map[string]string{"Idempotency-Key": p.ID}
					first, second := o.with(t, http.MethodPost, path, admin, body, key).Want(t, http.StatusCreated), o.with(t, http.MethodPost, path, admin, body, key).Want(t, http.StatusCreated)
					if string(first.Raw) != string(second.Raw) || first.Header.Get("Location") != second.Header.Get("Location") {
						t.Errorf("%s, then %s", first.Raw, second.Raw)
					}
				})
			})
		}
	})
}

func TestABindingIsRefusedInTheOrderOfTheContract(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		manager := o.caller(t, o.home, "manage:all-users", "update:users", "manage:all-tenants", "read:jobs").Token
		full := o.tenant(t, m{"maxUsers": 1})
		bound := o.user(t, in(full))
		free := o.user(t)
		fine, much, foreign := o.role(t, full, "read:jobs"), o.role(t, full, "manage:jobs"), o.role(t, o.other, "manage:jobs")
		nobody, nowhere, nothing := uuid.NewString(), uuid.NewString(), uuid.NewString()
		many := make([]string, 51)
		for i := range many {
			many[i] = uuid.NewString()
		}
		for _, route := range o.bindRoutes() {
			for _, c := range []struct {
				name         string
				user, tenant string
				roles        any
				status       int
				code         string
			}{
				{"no roles before all else", nobody, nowhere, []string{}, http.StatusBadRequest, "VALIDATION_ERROR"},
				{"null as roles", nobody, nowhere, nil, http.StatusBadRequest, "VALIDATION_ERROR"},
				{"a nil role", nobody, nowhere, []string{nothing, uuid.Nil.String()}, http.StatusBadRequest, "VALIDATION_ERROR"},
				{"an empty role", nobody, nowhere, []string{""}, http.StatusBadRequest, "VALIDATION_ERROR"},
				{"too many roles", nobody, nowhere, many, http.StatusBadRequest, "VALIDATION_ERROR"},
				{"the user before the tenant", nobody, nowhere, []string{nothing}, http.StatusNotFound, "USER_NOT_FOUND"},
				{"the tenant before the role", free.ID, nowhere, []string{nothing, much}, http.StatusNotFound, "TENANT_NOT_FOUND"},
				{"an unknown role before escalation", bound.ID, full, []string{much, nothing}, http.StatusNotFound, "ROLE_NOT_FOUND"},
				{"a role of another tenant, likewise", bound.ID, full, []string{much, foreign}, http.StatusNotFound, "ROLE_NOT_FOUND"},
				{"escalation before the binding that is there", bound.ID, full, []string{fine, much}, http.StatusForbidden, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED"},
				{"the binding that is there before capacity", bound.ID, full, []string{fine}, http.StatusConflict, "USER_ALREADY_ASSIGNED"},
				{"capacity last", free.ID, full, []string{fine}, http.StatusBadRequest, "TENANT_CAPACITY_REACHED"},
			} {
				t.Run(route.name+": "+c.name, func(t *testing.T) {
					a := route.call(t, manager, c.user, c.tenant, c.roles, false).WantProblem(t, c.status, c.code)
					if _, isList := a.JSON["errors"].([]any); isList == (c.code == "VALIDATION_ERROR") {
						t.Errorf("errors: %s", a.Raw)
					}
				})
			}
		}
		admin := "/api/v1/admin/users/" + nobody + "/tenants"
		for name, c := range map[string]struct {
			path  string
			body  any
			field string
		}{
			"no tenant":          {admin, m{"roleIds": []string{nothing}}, "tenantId"},
			"null as tenant":     {admin, m{"tenantId": nil, "roleIds": []string{nothing}}, "tenantId"},
			"the nil tenant":     {admin, in(uuid.Nil.String(), nothing), "tenantId"},
			"an empty tenant":    {admin, in("", nothing), "tenantId"},
			"no roles":           {admin, m{"tenantId": nowhere}, "roleIds"},
			"empty roles":        {admin, in(nowhere), "roleIds"},
			"a nil role":         {admin, in(nowhere, nothing, uuid.Nil.String()), "roleIds[1]"},
			"default is no flag": {admin, at(in(nowhere, nothing), "isDefault", "yes"), "isDefault"},
			"a bad user":         {"/api/v1/admin/users/x/tenants", in(nowhere, nothing), "id"},
			"no user":            {"/api/v1/tenants/" + nowhere + "/users", m{"roleIds": []string{nothing}}, "userId"},
			"the nil user":       {"/api/v1/tenants/" + nowhere + "/users", m{"userId": uuid.Nil.String(), "roleIds": []string{nothing}}, "userId"},
			"a bad tenant":       {"/api/v1/tenants/x/users", m{"userId": nobody, "roleIds": []string{nothing}}, "id"},
		} {
			t.Run(name, func(t *testing.T) {
				o.Post(t, c.path, manager, c.body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
			})
		}
		if o.userCount(t, full) != 1 {
			t.Error("somebody came in")
		}
		o.wantTrail(t, free.ID, "user.created")
	})
}

func TestBindingsAtOnce(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		routes := o.bindRoutes()
		t.Run("one user to one tenant is one 201 and one 409", func(t *testing.T) {
			for range 5 {
				p := o.user(t, at(in(o.home, o.member), "isDefault", true))
				before := o.userCount(t, o.other)
				answers := parallel(2, func(i int) apptest.Answer {
					return routes[i].call(t, admin, p.ID, o.other, []string{o.member}, true)
				})
				if answers[0].Status == http.StatusCreated {
					answers[1].WantProblem(t, http.StatusConflict, "USER_ALREADY_ASSIGNED")
				} else {
					answers[0].WantProblem(t, http.StatusConflict, "USER_ALREADY_ASSIGNED")
					answers[1].Want(t, http.StatusCreated)
				}
				wantMatrix(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin), map[string]string{o.home: o.member, o.other: o.member + " *"})
				if o.userCount(t, o.other) != before+1 {
					t.Error("the tenant counts otherwise")
				}
			}
		})
		t.Run("many for the last places of a tenant", func(t *testing.T) {
			tenant := o.tenant(t, m{"maxUsers": 3})
			people := make([]person, 8)
			for i := range people {
				people[i] = o.user(t)
			}
			answers := parallel(10, func(i int) apptest.Answer {
				if i >= len(people) {
					return o.Post(t, "/api/v1/admin/users", admin, m{"email": fmt.Sprint("squeeze", i, "@example.com"), "password": password, "tenants": []m{in(tenant, o.member)}})
				}
				if i%3 == 2 {
					return put(t, o.Server, "/api/v1/admin/users/"+people[i].ID, admin, m{"tenants": []m{in(tenant, o.member)}})
				}
				return routes[i%2].call(t, admin, people[i].ID, tenant, []string{o.member}, false)
			})
			in := 0
			for _, a := range answers {
				if a.Status == http.StatusCreated || a.Status == http.StatusOK {
					in++
				} else {
					a.WantProblem(t, http.StatusBadRequest, "TENANT_CAPACITY_REACHED")
				}
			}
			bound := one[int](t, o.Server, `SELECT count(*) FROM bindings WHERE tenant_id = $1`, tenant)
			if in != 3 || bound != 3 || o.userCount(t, tenant) != 3 {
				t.Errorf("%d came in, %d are bound, %d counted", in, bound, o.userCount(t, tenant))
			}
		})
		t.Run("users come and go while the tenant changes", func(t *testing.T) {
			tenant := o.tenant(t, m{})
			people := []person{o.user(t), o.user(t), o.user(t)}
			statuses := parallel(18, func(i int) int {
				p := people[i%3]
				switch i / 3 % 3 {
				case 0:
					return routes[0].call(t, admin, p.ID, tenant, []string{o.member}, false).Status
				case 1:
					return put(t, o.Server, "/api/v1/tenants/"+tenant, admin, m{"name": fmt.Sprint("Renamed ", i)}).Status
				default:
					return remove(t, o.Server, "/api/v1/tenants/"+tenant+"/users/"+p.ID, admin).Status
				}
			})
			for _, status := range statuses {
				if status >= 500 {
					t.Errorf("statuses %v", statuses)
				}
			}
			if bound := one[int](t, o.Server, `SELECT count(*) FROM bindings WHERE tenant_id = $1`, tenant); bound != o.userCount(t, tenant) {
				t.Errorf("%d are bound, %d counted", bound, o.userCount(t, tenant))
			}
		})
	})
}
