package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
)

func TestARemovedUserLeavesTheTenantAndTheAccountGoesWithTheLast(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		for _, route := range []string{"/api/v1/users/", "/api/users/"} {
			t.Run(route+" with several bindings", func(t *testing.T) {
				p := o.user(t, at(in(o.home, o.member), "isDefault", true), in(o.other, o.member))
				here, there := o.enter(t, p, o.home).Token, o.enter(t, p, o.other).Token
				home, other := o.userCount(t, o.home), o.userCount(t, o.other)
				remove(t, o.Server, route+p.ID, o.admin.Token).Want(t, http.StatusOK)
				wantEnded(t, o.Server, here, "SESSION_INVALIDATED")
				wantEnded(t, o.Server, there, "SESSION_INVALIDATED")
				o.Get(t, "/api/v1/users/"+p.ID, o.admin.Token).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
				wantMembers(t, o.Get(t, "/api/v1/admin/users/"+p.ID, o.admin.Token).Want(t, http.StatusOK).JSON, m{"isActive": true, "tenants": []m{{"tenantId": o.other, "roleIds": []string{o.member}, "isDefault": false}}})
				if o.userCount(t, o.home) != home-1 || o.userCount(t, o.other) != other {
					t.Error("the tenants count otherwise")
				}
				o.enter(t, p, o.other)
				o.wantTrail(t, p.ID, "user.created", "user.unbound")
			})
			t.Run(route+" with one binding", func(t *testing.T) {
				p := o.user(t, in(o.home, o.member))
				token := o.Login(t, p.Email, password).Token
				remove(t, o.Server, route+p.ID, o.admin.Token).Want(t, http.StatusOK)
				wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
				o.Get(t, "/api/v1/admin/users/"+p.ID, o.admin.Token).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
				o.TryLogin(t, p.Email, password).WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
				o.wantTrail(t, p.ID, "user.created", "user.deleted")
			})
		}
		t.Run("a closed binding elsewhere is a binding", func(t *testing.T) {
			p := o.user(t, in(o.home, o.member), in(o.other, o.member))
			manager := o.caller(t, o.other, "update:users", "create:reports", "read:reports", "delete:reports")
			o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", manager.Token, nil).Want(t, http.StatusOK)
			remove(t, o.Server, "/api/v1/users/"+p.ID, o.admin.Token).Want(t, http.StatusOK)
			o.Get(t, "/api/v1/admin/users/"+p.ID, o.admin.Token).Want(t, http.StatusOK)
		})
		t.Run("on the admin route the account goes at once", func(t *testing.T) {
			p := o.user(t, in(o.home, o.member), in(o.other, o.member))
			token := o.enter(t, p, o.other).Token
			home, other := o.userCount(t, o.home), o.userCount(t, o.other)
			o.Post(t, "/api/auth/request-password-reset", "", m{"email": p.Email}).Want(t, http.StatusOK)
			_, link := o.Link(t, p.Email)
			if gone := remove(t, o.Server, "/api/v1/admin/users/"+p.ID, o.admin.Token).Want(t, http.StatusOK); len(gone.Raw) != 0 {
				t.Errorf("a body: %s", gone.Raw)
			}
			wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
			if o.userCount(t, o.home) != home-1 || o.userCount(t, o.other) != other-1 {
				t.Error("the tenants count otherwise")
			}
			o.Post(t, "/api/auth/reset-password", "", m{"email": p.Email, "token": link, "newPassword": "my own words"}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR")
			remove(t, o.Server, "/api/v1/admin/users/"+p.ID, o.admin.Token).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
		})
		t.Run("the place of a deleted user is free", func(t *testing.T) {
			small := o.tenant(t, m{"maxUsers": 1})
			p := o.user(t, in(small, o.member))
			remove(t, o.Server, "/api/v1/admin/users/"+p.ID, o.admin.Token).Want(t, http.StatusOK)
			next := o.user(t, in(small, o.member))
			remove(t, o.Server, "/api/v1/admin/users/"+next.ID, o.admin.Token).Want(t, http.StatusOK)
			remove(t, o.Server, "/api/v1/tenants/"+small, o.admin.Token).Want(t, http.StatusOK)
		})
	})
}

func TestActivation(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		call := func(t *testing.T, p person, verb string) {
			t.Helper()
			if a := o.Post(t, "/api/v1/users/"+p.ID+"/"+verb, admin, nil).Want(t, http.StatusOK); len(a.Raw) != 0 {
				t.Errorf("a body: %s", a.Raw)
			}
		}
		update := func(active bool, route string) func(t *testing.T, p person) {
			return func(t *testing.T, p person) {
				t.Helper()
				put(t, o.Server, route+p.ID, admin, m{"isActive": active}).Want(t, http.StatusOK)
			}
		}
		for _, way := range []struct {
			name    string
			off, on func(t *testing.T, p person)
		}{
			{"by its own routes", func(t *testing.T, p person) { call(t, p, "deactivate") }, func(t *testing.T, p person) { call(t, p, "activate") }},
			{"by an update", update(false, "/api/v1/users/"), update(true, "/api/v1/users/")},
			{"by an unversioned update", update(false, "/api/users/"), update(true, "/api/users/")},
		} {
			t.Run(way.name+", with another active binding", func(t *testing.T) {
				p := o.user(t, in(o.home, o.role(t, o.home, "read:users")), in(o.other, o.role(t, o.other, "read:users")))
				here, there := o.enter(t, p, o.home).Token, o.enter(t, p, o.other).Token
				path := "/api/v1/users/" + p.ID
				first := o.Get(t, path, admin).Header.Get("ETag")
				way.off(t, p)
				way.off(t, p)
				closed := o.Get(t, path, admin).Want(t, http.StatusOK)
				if closed.JSON["isActive"] != false || closed.Header.Get("ETag") == first {
					t.Errorf("after deactivation: %s", closed.Raw)
				}
				o.Get(t, "/api/v1/users", here).WantProblem(t, http.StatusForbidden, "TENANT_FORBIDDEN")
				o.Get(t, "/api/users", here).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
				wantAlive(t, o.Server, here)
				o.Get(t, "/api/v1/users", there).Want(t, http.StatusOK)
				wantMembers(t, o.Get(t, "/api/v1/users/"+p.ID, there).JSON, m{"isActive": true})
				wantMembers(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin).JSON, m{"isActive": true})
				var tenants []m
				decodeList(t, o.Get(t, "/api/v1/admin/users/"+p.ID+"/tenants", admin), &tenants)
				for _, tenant := range tenants {
					wantMembers(t, tenant, m{"isActive": tenant["tenantId"] == o.other})
				}
				o.Post(t, "/api/auth/switch-tenant", there, m{"tenantId": o.home}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")

				way.on(t, p)
				way.on(t, p)
				o.Get(t, "/api/v1/users", here).Want(t, http.StatusOK)
				wantMembers(t, o.Get(t, path, admin).JSON, m{"isActive": true})
				o.wantTrail(t, p.ID, "user.created", "user.deactivated", "user.activated")
			})
			t.Run(way.name+", with the last active binding the account closes too", func(t *testing.T) {
				p := o.user(t, in(o.home, o.member), in(o.other, o.member))
				manager := o.caller(t, o.other, "update:users", "create:reports", "read:reports", "delete:reports")
				o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", manager.Token, nil).Want(t, http.StatusOK)
				token := o.Login(t, p.Email, password).Token
				way.off(t, p)
				wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
				o.TryLogin(t, p.Email, password).WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_DISABLED")
				wantMembers(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin).JSON, m{"isActive": false})

				way.on(t, p)
				wantMembers(t, o.Get(t, "/api/v1/users/"+p.ID, admin).JSON, m{"isActive": true})
				wantMembers(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin).JSON, m{"isActive": true})
				wantMembers(t, o.TryLogin(t, p.Email, password).Want(t, http.StatusOK).Data(t)["currentTenant"].(m), m{"id": o.home})
			})
		}
		t.Run("an account that an administrator closes is closed in every tenant", func(t *testing.T) {
			p := o.user(t, in(o.home, o.member), in(o.other, o.member))
			token := o.enter(t, p, o.other).Token
			path := "/api/v1/admin/users/" + p.ID
			wantMembers(t, put(t, o.Server, path, admin, m{"isActive": false}).Want(t, http.StatusOK).JSON, m{"isActive": false})
			wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
			o.TryLogin(t, p.Email, password).WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_DISABLED")
			wantMembers(t, o.Get(t, "/api/v1/users/"+p.ID, admin).JSON, m{"isActive": false})
			put(t, o.Server, path, admin, m{"isActive": false, "firstName": "Still"}).Want(t, http.StatusOK)
			wantMembers(t, put(t, o.Server, path, admin, m{"isActive": true}).Want(t, http.StatusOK).JSON, m{"isActive": true})
			o.enter(t, p, o.home)
			o.wantTrail(t, p.ID, "user.created", "user.deactivated", "user.updated", "user.activated")
		})
		t.Run("a version never comes twice", func(t *testing.T) {
			p := o.user(t, in(o.home, o.member))
			seen := map[string]bool{}
			for i := range 20 {
				seen[put(t, o.Server, "/api/v1/users/"+p.ID, admin, m{"firstName": fmt.Sprint(i), "isActive": i%2 == 1}).Want(t, http.StatusOK).Header.Get("ETag")] = true
			}
			if len(seen) != 20 {
				t.Errorf("%d versions of 20", len(seen))
			}
			last := o.Get(t, "/api/v1/users/"+p.ID, admin)
			o.Clock.Advance(-5 * time.Second) // somebody has set it
			defer o.Clock.Advance(5 * time.Second)
			next := put(t, o.Server, "/api/v1/users/"+p.ID, admin, m{"firstName": "Later"}).Want(t, http.StatusOK)
			if !changedAt(t, next).After(changedAt(t, last)) {
				t.Errorf("%s, then %s", last.Raw, next.Raw)
			}
		})
	})
}

func changedAt(t *testing.T, a apptest.Answer) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, a.JSON["updatedAt"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNobodyRemovesThemselves(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		o.user(t, in(o.home, systemRole(t, o.Server, "Super Administrator"))) // so that it is not about the last one
		clerk := o.caller(t, o.home, "read:users", "update:users", "delete:users", "manage:all-users")
		for _, p := range []person{o.admin, clerk} {
			stale := map[string]string{"If-Match": `"stale"`}
			for _, a := range []apptest.Answer{
				remove(t, o.Server, "/api/v1/users/"+p.ID, p.Token),
				o.with(t, http.MethodDelete, "/api/v1/users/"+p.ID, p.Token, nil, stale),
				o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", p.Token, nil),
				put(t, o.Server, "/api/v1/users/"+p.ID, p.Token, m{"firstName": "x", "isActive": false}),
				remove(t, o.Server, "/api/v1/admin/users/"+p.ID, p.Token),
				put(t, o.Server, "/api/v1/admin/users/"+p.ID, p.Token, m{"firstName": "x", "isActive": false, "tenants": []m{}}),
				o.with(t, http.MethodPut, "/api/v1/admin/users/"+p.ID, p.Token, m{"isActive": false}, stale),
				remove(t, o.Server, "/api/v1/tenants/"+o.home+"/users/"+p.ID, p.Token),
			} {
				a.WantProblem(t, http.StatusConflict, "SELF_CONFLICT")
			}
			remove(t, o.Server, "/api/users/"+p.ID, p.Token).WantEnvelope(t, http.StatusConflict, "CONFLICT")
			put(t, o.Server, "/api/users/"+p.ID, p.Token, m{"isActive": false}).WantEnvelope(t, http.StatusConflict, "CONFLICT")
			put(t, o.Server, "/api/v1/users/"+p.ID, p.Token, m{"firstName": "Own", "isActive": true}).Want(t, http.StatusOK)
			put(t, o.Server, "/api/v1/admin/users/"+p.ID, p.Token, m{"lastName": "Name", "isActive": true}).Want(t, http.StatusOK)
			o.Post(t, "/api/v1/users/"+p.ID+"/activate", p.Token, nil).Want(t, http.StatusOK)
			wantMembers(t, o.Get(t, "/api/v1/users/"+p.ID, p.Token).JSON, m{"fullName": "Own Name", "isActive": true})
		}
	})
}

func TestTheLastSuperAdministratorStays(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		super := systemRole(t, o.Server, "Super Administrator")
		operator := o.caller(t, o.home, "admin:system", "read:users", "update:users", "delete:users").Token
		ways := map[string]func(p person) apptest.Answer{
			"delete":     func(p person) apptest.Answer { return remove(t, o.Server, "/api/v1/users/"+p.ID, operator) },
			"deactivate": func(p person) apptest.Answer { return o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", operator, nil) },
			"scoped update": func(p person) apptest.Answer {
				return put(t, o.Server, "/api/v1/users/"+p.ID, operator, m{"isActive": false})
			},
			"admin delete": func(p person) apptest.Answer { return remove(t, o.Server, "/api/v1/admin/users/"+p.ID, operator) },
			"admin update": func(p person) apptest.Answer {
				return put(t, o.Server, "/api/v1/admin/users/"+p.ID, operator, m{"isActive": false})
			},
			"strip roles": func(p person) apptest.Answer {
				return put(t, o.Server, "/api/v1/admin/users/"+p.ID, operator, m{"tenants": []m{in(o.home, o.member)}})
			},
			"take all bindings": func(p person) apptest.Answer {
				return put(t, o.Server, "/api/v1/admin/users/"+p.ID, operator, m{"tenants": []m{}})
			},
			"move without role": func(p person) apptest.Answer {
				return put(t, o.Server, "/api/v1/admin/users/"+p.ID, operator, m{"tenants": []m{in(o.other)}})
			},
			"take out of a tenant": func(p person) apptest.Answer {
				return remove(t, o.Server, "/api/v1/tenants/"+o.home+"/users/"+p.ID, operator)
			},
			"unversioned delete": func(p person) apptest.Answer { return remove(t, o.Server, "/api/users/"+p.ID, operator) },
			"unversioned roles": func(p person) apptest.Answer {
				return put(t, o.Server, "/api/users/"+p.ID, operator, m{"roles": []string{"Member"}})
			},
			"unversioned update": func(p person) apptest.Answer {
				return put(t, o.Server, "/api/users/"+p.ID, operator, m{"isActive": false})
			},
		}
		refused := func(t *testing.T, p person) {
			t.Helper()
			for name, way := range ways {
				if a := way(p); strings.HasPrefix(name, "unversioned") {
					a.WantEnvelope(t, http.StatusConflict, "CONFLICT")
				} else {
					a.WantProblem(t, http.StatusConflict, "LAST_ADMINISTRATOR_CONFLICT")
				}
			}
			put(t, o.Server, "/api/v1/admin/users/"+p.ID, p.Token, m{"tenants": []m{}}).WantProblem(t, http.StatusConflict, "LAST_ADMINISTRATOR_CONFLICT")
			put(t, o.Server, "/api/users/"+p.ID, p.Token, m{"roles": []string{}}).WantEnvelope(t, http.StatusConflict, "CONFLICT")
			wantAlive(t, o.Server, p.Token)
			wantMembers(t, o.Get(t, "/api/v1/users/"+p.ID, p.Token).Want(t, http.StatusOK).JSON, m{"isActive": true, "roles": []string{"Super Administrator"}})
		}
		t.Run("where there is no other", func(t *testing.T) { refused(t, o.admin) })
		t.Run("where the others cannot use the role", func(t *testing.T) {
			shut := o.tenant(t, m{})
			o.user(t, in(shut, super))
			put(t, o.Server, "/api/v1/tenants/"+shut, o.admin.Token, m{"isActive": false}).Want(t, http.StatusOK)
			put(t, o.Server, "/api/v1/admin/users/"+o.user(t, in(o.home, super)).ID, o.admin.Token, m{"isActive": false}).Want(t, http.StatusOK)
			o.Post(t, "/api/v1/users/"+o.user(t, in(o.home, super), in(o.other)).ID+"/deactivate", o.admin.Token, nil).Want(t, http.StatusOK)
			remove(t, o.Server, "/api/v1/admin/users/"+o.user(t, in(o.home, super)).ID, o.admin.Token).Want(t, http.StatusOK)
			o.user(t, in(o.home, o.role(t, o.home, "*")))
			refused(t, o.admin)
		})
		t.Run("what leaves the role alone is fine", func(t *testing.T) {
			put(t, o.Server, "/api/v1/admin/users/"+o.admin.ID, operator, m{"firstName": "Root", "tenants": []m{in(o.home, super, o.member)}}).Want(t, http.StatusOK)
			put(t, o.Server, "/api/v1/admin/users/"+o.admin.ID, operator, m{"tenants": []m{in(o.home, super)}}).Want(t, http.StatusOK)
			ordinary := o.user(t, in(o.home, o.member))
			remove(t, o.Server, "/api/v1/users/"+ordinary.ID, operator).Want(t, http.StatusOK)
			put(t, o.Server, "/api/v1/admin/users/"+o.admin.ID, operator, m{"tenants": []m{in(o.home), in(o.other, super)}}).Want(t, http.StatusOK)
			put(t, o.Server, "/api/v1/admin/users/"+o.admin.ID, operator, m{"tenants": []m{in(o.home, super)}}).Want(t, http.StatusOK)
		})
		t.Run("where there is another, each way works", func(t *testing.T) {
			o.admin = o.signIn(t, apptest.AdminEmail, apptest.AdminPassword) // it has changed tenants
			o.user(t, in(o.other, super))
			for name, way := range ways {
				if a := way(o.user(t, in(o.home, super))); a.Status != http.StatusOK {
					t.Errorf("%s: %s", name, a.Raw)
				}
			}
		})
	})
}

func TestAdministratorsWhoRemoveEachOtherAtOnceLeaveOne(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		super := systemRole(t, o.Server, "Super Administrator")
		left := o.admin
		peer := func(t *testing.T, tenant string) person {
			t.Helper()
			p := person{Email: o.unique("peer") + "@example.com"}
			o.Post(t, "/api/v1/admin/users", left.Token, m{"email": p.Email, "password": password, "tenants": []m{in(tenant, super)}}).Want(t, http.StatusCreated)
			return o.signIn(t, p.Email, password)
		}
		for name, way := range map[string]func(by, of person) int{
			"delete":        func(by, of person) int { return remove(t, o.Server, "/api/v1/admin/users/"+of.ID, by.Token).Status },
			"scoped delete": func(by, of person) int { return remove(t, o.Server, "/api/v1/users/"+of.ID, by.Token).Status },
			"deactivate": func(by, of person) int {
				return put(t, o.Server, "/api/v1/admin/users/"+of.ID, by.Token, m{"isActive": false}).Status
			},
			"scoped": func(by, of person) int { return o.Post(t, "/api/v1/users/"+of.ID+"/deactivate", by.Token, nil).Status },
			"strip": func(by, of person) int {
				return put(t, o.Server, "/api/users/"+of.ID, by.Token, m{"roles": []string{"Member"}}).Status
			},
			"take the binding": func(by, of person) int {
				return remove(t, o.Server, "/api/v1/tenants/"+o.home+"/users/"+of.ID, by.Token).Status
			},
		} {
			t.Run(name, func(t *testing.T) {
				for range 3 {
					all := []person{left, peer(t, o.home), peer(t, o.home)}
					statuses := parallel(6, func(i int) int {
						return way(all[i%3], all[(i+1+i/3)%3])
					})
					var standing []person
					for _, p := range all {
						if o.Get(t, "/api/v1/admin/users?pageSize=1", p.Token).Status == http.StatusOK {
							standing = append(standing, p)
						}
					}
					holders := one[int](t, o.Server, `
						SELECT count(*) FROM binding_roles br JOIN bindings b ON b.user_id = br.user_id AND b.tenant_id = br.tenant_id
						JOIN users u ON u.id = b.user_id WHERE br.role_id = $1 AND b.is_active AND u.is_active AND u.deleted_at IS NULL`, super)
					if len(standing) == 0 || holders != len(standing) || count(statuses, http.StatusInternalServerError)+count(statuses, http.StatusServiceUnavailable) > 0 {
						t.Fatalf("%d holders, %d standing after %v", holders, len(standing), statuses)
					}
					left = standing[0]
					for _, p := range standing[1:] {
						remove(t, o.Server, "/api/v1/admin/users/"+p.ID, left.Token).Want(t, http.StatusOK)
					}
				}
			})
		}
	})
}

func TestNobodyChangesAnAccountThatMayDoMore(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		clerk := o.caller(t, o.home, "read:users", "update:users", "delete:users").Token
		manager := o.caller(t, o.home, "manage:all-users").Token
		operator := o.caller(t, o.home, "admin:system", "update:users").Token
		above := o.user(t, in(o.home, o.role(t, o.home, "read:users", "read:jobs")))
		refuse := func(t *testing.T, p person) {
			t.Helper()
			for _, a := range []apptest.Answer{
				put(t, o.Server, "/api/v1/users/"+p.ID, clerk, m{"firstName": "x"}),
				put(t, o.Server, "/api/v1/users/"+p.ID, clerk, m{}),
				remove(t, o.Server, "/api/v1/users/"+p.ID, clerk),
				o.Post(t, "/api/v1/users/"+p.ID+"/activate", clerk, nil),
				o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", clerk, nil),
				remove(t, o.Server, "/api/v1/tenants/"+o.home+"/users/"+p.ID, clerk),
				put(t, o.Server, "/api/v1/admin/users/"+p.ID, manager, m{"firstName": "x"}),
				put(t, o.Server, "/api/v1/admin/users/"+p.ID, manager, m{"tenants": []m{}}),
				remove(t, o.Server, "/api/v1/admin/users/"+p.ID, manager),
				o.Post(t, "/api/v1/admin/users/"+p.ID+"/unlock", manager, nil),
				o.Post(t, "/api/v1/admin/users/"+p.ID+"/reset-password", manager, nil),
			} {
				a.WantProblem(t, http.StatusForbidden, "FORBIDDEN")
			}
			for _, a := range []apptest.Answer{
				put(t, o.Server, "/api/users/"+p.ID, clerk, m{"fullName": "x"}),
				put(t, o.Server, "/api/users/"+p.ID, clerk, m{"roles": []string{}}),
				remove(t, o.Server, "/api/users/"+p.ID, clerk),
				o.Post(t, "/api/users/"+p.ID+"/roles", clerk, m{"roleNames": []string{"Member"}}),
			} {
				a.WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			}
			if o.mails(t, p.Email) != 0 {
				t.Error("a mail was sent all the same")
			}
		}
		t.Run("somebody with one permission more", func(t *testing.T) { refuse(t, above) })
		t.Run("somebody with the wildcard", func(t *testing.T) { refuse(t, o.user(t, in(o.home, o.role(t, o.home, "*")))) })
		t.Run("though their binding is closed", func(t *testing.T) {
			p := o.user(t, in(o.home, o.role(t, o.home, "read:jobs")), in(o.other))
			o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", o.admin.Token, nil).Want(t, http.StatusOK)
			refuse(t, p)
		})
		t.Run("they are seen all the same", func(t *testing.T) {
			wantMembers(t, o.Get(t, "/api/v1/users/"+above.ID, clerk).Want(t, http.StatusOK).JSON, m{"firstName": "", "isActive": true})
			o.Get(t, "/api/v1/admin/users/"+above.ID, manager).Want(t, http.StatusOK)
		})
		t.Run("who holds no more may be changed", func(t *testing.T) {
			level := o.user(t, in(o.home, o.role(t, o.home, "read:users", "delete:users")))
			put(t, o.Server, "/api/v1/users/"+level.ID, clerk, m{"firstName": "x"}).Want(t, http.StatusOK)
			o.Post(t, "/api/v1/users/"+level.ID+"/deactivate", clerk, nil).Want(t, http.StatusOK)
			o.Post(t, "/api/v1/users/"+level.ID+"/activate", clerk, nil).Want(t, http.StatusOK)
			remove(t, o.Server, "/api/v1/users/"+level.ID, clerk).Want(t, http.StatusOK)
		})
		t.Run("who holds more elsewhere may be changed from here", func(t *testing.T) {
			p := o.user(t, in(o.home, o.role(t, o.home, "read:users")), in(o.other, o.role(t, o.other, "read:jobs")))
			put(t, o.Server, "/api/v1/users/"+p.ID, clerk, m{"firstName": "x"}).Want(t, http.StatusOK)
			stranger := o.user(t, in(o.other, o.role(t, o.other, "read:jobs")))
			put(t, o.Server, "/api/v1/admin/users/"+stranger.ID, manager, m{"firstName": "x"}).Want(t, http.StatusOK)
			o.Post(t, "/api/v1/admin/users/"+stranger.ID+"/unlock", manager, nil).Want(t, http.StatusOK)
			o.Post(t, "/api/v1/admin/users/"+stranger.ID+"/reset-password", manager, nil).Want(t, http.StatusOK)
			remove(t, o.Server, "/api/v1/admin/users/"+stranger.ID, manager).Want(t, http.StatusOK)
		})
		t.Run("admin:system lifts the rule", func(t *testing.T) {
			put(t, o.Server, "/api/v1/users/"+above.ID, operator, m{"firstName": "x"}).Want(t, http.StatusOK)
			o.Post(t, "/api/v1/admin/users/"+above.ID+"/unlock", operator, nil).Want(t, http.StatusOK)
			remove(t, o.Server, "/api/v1/admin/users/"+above.ID, operator).Want(t, http.StatusOK)
		})
	})
}

func TestNobodyGivesRolesThatHoldMoreThanTheyDo(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		clerk := o.caller(t, o.home, "read:users", "create:users", "update:users", "read:jobs").Token
		manager := o.caller(t, o.home, "manage:all-users", "read:jobs").Token
		operator := o.caller(t, o.home, "admin:system", "create:users", "update:users").Token
		fine, fineName := o.namedRole(t, o.home, "read:jobs")
		much, muchName := o.namedRole(t, o.home, "read:jobs", "manage:jobs")
		fineThere, muchThere := o.role(t, o.other, "read:jobs"), o.role(t, o.other, "read:jobs", "manage:jobs")
		target := func(t *testing.T) string { return o.user(t, in(o.home, fine)).ID }
		const blocked = "ROLE_ASSIGNMENT_ESCALATION_BLOCKED"

		t.Run("on creation", func(t *testing.T) {
			for _, roles := range [][]string{{much}, {fine, much}, {systemRole(t, o.Server, "Super Administrator")}, {o.member}} {
				o.Post(t, "/api/v1/users", clerk, m{"email": "rise@example.com", "tenants": []m{in(o.home, roles...)}}).WantProblem(t, http.StatusForbidden, blocked)
				o.Post(t, "/api/v1/admin/users", manager, m{"email": "rise@example.com", "tenants": []m{in(o.other, fineThere), in(o.home, roles...)}}).WantProblem(t, http.StatusForbidden, blocked)
			}
			o.Post(t, "/api/users", clerk, m{"email": "rise@example.com", "roles": []string{fineName, muchName}}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			if n := one[int](t, o.Server, `SELECT count(*) FROM users WHERE email = 'rise@example.com'`); n != 0 {
				t.Error("one was made all the same")
			}
			o.Post(t, "/api/v1/users", clerk, m{"email": "fine@example.com", "tenants": []m{in(o.home, fine)}}).Want(t, http.StatusCreated)
			o.Post(t, "/api/v1/admin/users", manager, m{"email": "fine2@example.com", "tenants": []m{in(o.home, fine), in(o.other, fineThere)}}).Want(t, http.StatusCreated)
			o.Post(t, "/api/users", clerk, m{"email": "fine3@example.com", "roles": []string{fineName}}).Want(t, http.StatusCreated)
		})
		t.Run("the role Member is not chosen by the caller", func(t *testing.T) {
			wantMembers(t, o.Post(t, "/api/v1/users", clerk, m{"email": "member@example.com"}).Want(t, http.StatusCreated).JSON, m{"roles": []string{"Member"}})
			o.Post(t, "/api/users", clerk, m{"email": "member2@example.com"}).Want(t, http.StatusCreated)
		})
		t.Run("on update", func(t *testing.T) {
			id := target(t)
			for _, matrix := range [][]m{{in(o.home, fine, much)}, {in(o.home, fine), in(o.other, muchThere)}} {
				put(t, o.Server, "/api/v1/admin/users/"+id, manager, m{"firstName": "x", "tenants": matrix}).WantProblem(t, http.StatusForbidden, blocked)
			}
			put(t, o.Server, "/api/users/"+id, clerk, m{"fullName": "x", "roles": []string{muchName}}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			wantMembers(t, o.Get(t, "/api/v1/users/"+id, clerk).JSON, m{"firstName": "", "roles": []string{fineName}})
			put(t, o.Server, "/api/v1/admin/users/"+id, manager, m{"tenants": []m{in(o.home, fine), in(o.other, fineThere)}}).Want(t, http.StatusOK)
			put(t, o.Server, "/api/users/"+id, clerk, m{"roles": []string{fineName}}).Want(t, http.StatusOK)
		})
		t.Run("what is held already is not given anew", func(t *testing.T) {
			id := o.user(t, in(o.other, muchThere)).ID
			put(t, o.Server, "/api/v1/admin/users/"+id, manager, m{"tenants": []m{in(o.other, muchThere, fineThere), in(o.home, fine)}}).Want(t, http.StatusOK)
			put(t, o.Server, "/api/v1/admin/users/"+id, manager, m{"tenants": []m{in(o.other, fineThere), in(o.home, fine)}}).Want(t, http.StatusOK)
			put(t, o.Server, "/api/v1/admin/users/"+id, manager, m{"tenants": []m{in(o.other, muchThere)}}).WantProblem(t, http.StatusForbidden, blocked)
		})
		t.Run("on assignment", func(t *testing.T) {
			id := target(t)
			o.Post(t, "/api/users/"+id+"/roles", clerk, m{"roleNames": []string{fineName, muchName}}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			o.Post(t, "/api/users/"+id+"/roles", clerk, m{"roleNames": []string{"Super Administrator"}}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			o.Post(t, "/api/users/"+id+"/roles", clerk, m{"roleNames": []string{fineName}}).Want(t, http.StatusOK)
		})
		t.Run("on binding", func(t *testing.T) {
			id := target(t)
			o.Post(t, "/api/v1/admin/users/"+id+"/tenants", manager, in(o.other, fineThere, muchThere)).WantProblem(t, http.StatusForbidden, blocked)
			stranger := o.user(t).ID
			o.Post(t, "/api/v1/tenants/"+o.home+"/users", clerk, m{"userId": stranger, "roleIds": []string{fine, much}}).WantProblem(t, http.StatusForbidden, blocked)
			o.Post(t, "/api/v1/admin/users/"+id+"/tenants", manager, in(o.other, fineThere)).Want(t, http.StatusCreated)
			o.Post(t, "/api/v1/tenants/"+o.home+"/users", clerk, m{"userId": stranger, "roleIds": []string{fine}}).Want(t, http.StatusCreated)
		})
		t.Run("admin:system lifts the rule", func(t *testing.T) {
			made := o.Post(t, "/api/v1/users", operator, m{"email": "lifted@example.com", "tenants": []m{in(o.home, much)}}).Want(t, http.StatusCreated).JSON["id"].(string)
			o.Post(t, "/api/v1/admin/users/"+made+"/tenants", operator, in(o.other, muchThere)).Want(t, http.StatusCreated)
			o.Post(t, "/api/users/"+made+"/roles", operator, m{"roleNames": []string{"Super Administrator"}}).Want(t, http.StatusOK)
		})
	})
}

func TestWhoMayCallTheRoutesOfUsers(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		p := o.user(t, in(o.home))
		global := o.Login(t, o.user(t).Email, password).Token
		every := []string{"read:users", "create:users", "update:users", "delete:users", "manage:all-users", "admin:system"}
		_, empty := o.namedRole(t, o.home)
		newcomer := func() m { return m{"email": o.unique("new") + "@example.com", "tenants": []m{}} }
		for _, c := range []struct {
			method, path string
			body         any
			needs        []string
		}{
			{"GET", "/api/v1/users", nil, []string{"read:users"}},
			{"GET", "/api/v1/users/" + p.ID, nil, []string{"read:users"}},
			{"GET", "/api/v1/users/by-email/" + p.Email, nil, []string{"read:users"}},
			{"GET", "/api/v1/users/" + p.ID + "/permissions", nil, []string{"read:users"}},
			{"GET", "/api/v1/users/" + p.ID + "/roles", nil, []string{"read:users"}},
			{"GET", "/api/v1/users/" + p.ID + "/tenants", nil, []string{"read:users"}},
			{"POST", "/api/v1/users", newcomer(), []string{"create:users"}},
			{"PUT", "/api/v1/users/" + p.ID, m{}, []string{"update:users"}},
			{"POST", "/api/v1/users/" + p.ID + "/activate", nil, []string{"update:users"}},
			{"POST", "/api/v1/users/" + p.ID + "/deactivate", m{}, []string{"update:users"}},
			{"DELETE", "/api/v1/users/" + o.user(t, in(o.home)).ID, nil, []string{"delete:users"}},
			{"GET", "/api/v1/admin/users", nil, []string{"manage:all-users", "admin:system"}},
			{"POST", "/api/v1/admin/users", nil, []string{"manage:all-users", "admin:system"}},
			{"GET", "/api/v1/admin/users/" + p.ID, nil, []string{"manage:all-users", "admin:system"}},
			{"PUT", "/api/v1/admin/users/" + p.ID, m{}, []string{"manage:all-users", "admin:system"}},
			{"GET", "/api/v1/admin/users/" + p.ID + "/tenants", nil, []string{"manage:all-users", "admin:system"}},
			{"POST", "/api/v1/admin/users/" + p.ID + "/tenants", nil, []string{"manage:all-users", "admin:system"}},
			{"POST", "/api/v1/admin/users/" + p.ID + "/unlock", nil, []string{"manage:all-users", "admin:system"}},
			{"POST", "/api/v1/admin/users/" + p.ID + "/reset-password", nil, []string{"manage:all-users", "admin:system"}},
			{"DELETE", "/api/v1/admin/users/", nil, []string{"manage:all-users", "admin:system"}},
			{"GET", "/api/v1/tenants/" + o.home + "/users", nil, []string{"read:users"}},
			{"POST", "/api/v1/tenants/" + o.home + "/users", nil, []string{"update:users"}},
			{"DELETE", "/api/v1/tenants/" + o.home + "/users/" + o.user(t, in(o.home)).ID, nil, []string{"update:users"}},
			{"GET", "/api/users", nil, []string{"read:users"}},
			{"GET", "/api/users/" + p.ID, nil, []string{"read:users"}},
			{"POST", "/api/users", newcomer(), []string{"create:users"}},
			{"PUT", "/api/users/" + p.ID, m{}, []string{"update:users"}},
			{"POST", "/api/users/" + p.ID + "/roles", m{"roleNames": []string{empty}}, []string{"update:users"}},
			{"DELETE", "/api/users/" + o.user(t, in(o.home)).ID, nil, []string{"delete:users"}},
		} {
			t.Run(c.method+" "+strings.NewReplacer(p.ID, "{id}", o.home, "{tenant}").Replace(c.path), func(t *testing.T) {
				plain := strings.HasPrefix(c.path, "/api/users")
				lacking := o.caller(t, o.home, slices.DeleteFunc(slices.Clone(every), func(code string) bool { return slices.Contains(c.needs, code) })...).Token
				path := c.path
				call := func(token string) apptest.Answer {
					body := c.body
					switch {
					case c.method == "POST" && c.path == "/api/v1/admin/users":
						body = newcomer()
					case c.method == "POST" && strings.HasSuffix(c.path, "/tenants"):
						tenant := o.tenant(t, m{})
						body = in(tenant, o.role(t, tenant))
					case c.method == "POST" && strings.HasSuffix(c.path, "/users") && strings.Contains(c.path, "/tenants/"):
						body = m{"userId": o.user(t).ID, "roleIds": []string{o.role(t, o.home)}}
					case c.path == "/api/v1/admin/users/":
						path = c.path + o.user(t).ID
					}
					return o.with(t, c.method, path, token, body, nil)
				}
				if plain {
					call("").WantEnvelope(t, http.StatusUnauthorized, "UNAUTHORIZED")
					call(global).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
					call(lacking).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
				} else {
					call("").WantProblem(t, http.StatusUnauthorized, "TOKEN_MISSING")
					call(global).WantProblem(t, http.StatusForbidden, "TENANT_FORBIDDEN")
					call(lacking).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
				}
				for _, code := range c.needs {
					if a := call(o.caller(t, o.home, code).Token); a.Status >= 300 {
						t.Errorf("with %s: %s", code, a.Raw)
					}
				}
			})
		}
		o.Get(t, "/api/v1/users/"+uuid.NewString(), o.caller(t, o.home, "manage:all-users").Token).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
	})
}

func TestChangesOfUsersAndTenantsWaitForEachOtherInOneOrder(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		super := systemRole(t, o.Server, "Super Administrator")
		admin := o.admin.Token
		tenants := []string{o.tenant(t, m{}), o.tenant(t, m{})}
		people := []person{o.user(t, in(o.home, super)), o.user(t, in(o.home, super)), o.user(t, in(o.home, super))}
		before := o.App.Store().Stats().Retries
		parallel(8, func(worker int) bool {
			for i := range 14 {
				p, tenant, odd := people[(worker+i)%3], tenants[i/2%2], i%2 == 1
				var a apptest.Answer
				switch (worker + 2*i) % 7 {
				case 0:
					a = o.Post(t, "/api/v1/admin/users/"+p.ID+"/tenants", admin, at(in(tenant, super), "isDefault", odd))
				case 1:
					a = remove(t, o.Server, "/api/v1/tenants/"+tenant+"/users/"+p.ID, admin)
				case 2:
					a = put(t, o.Server, "/api/v1/tenants/"+tenant, admin, m{"name": fmt.Sprint(worker, i), "isActive": odd})
				case 3:
					a = put(t, o.Server, "/api/v1/admin/users/"+p.ID, admin, m{"isActive": odd, "tenants": []m{in(tenants[1], super), in(o.home, super), in(tenants[0], o.member)}})
				case 4:
					a = o.Post(t, "/api/v1/users/"+p.ID+"/"+map[bool]string{true: "activate", false: "deactivate"}[odd], admin, nil)
				case 5:
					a = o.Post(t, "/api/users/"+p.ID+"/roles", admin, m{"roleNames": []string{"Member"}})
				default:
					a = o.TryLogin(t, p.Email, map[bool]string{true: password, false: "guess"}[odd])
				}
				if a.Status >= 500 {
					t.Errorf("unexpected answer: %s", a.Raw)
				}
			}
			return true
		})
		if retries := o.App.Store().Stats().Retries - before; retries != 0 {
			t.Errorf("%d times two transactions waited for each other", retries)
		}
		for _, tenant := range append(tenants, o.home) {
			if bound := one[int](t, o.Server, `SELECT count(*) FROM bindings b JOIN users u ON u.id = b.user_id AND u.deleted_at IS NULL WHERE b.tenant_id = $1`, tenant); bound != o.userCount(t, tenant) {
				t.Errorf("%d are bound, %d counted", bound, o.userCount(t, tenant))
			}
		}
	})
}
