package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestListsOfUsers(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		home := o.tenant(t, m{}) // with these people and nobody else
		auditor, auditorName := o.namedRole(t, home)
		people := map[string]person{}
		add := func(name, first, last, phone string, bindings ...m) {
			o.Clock.Advance(time.Second)
			p := o.user(t, bindings...)
			put(t, o.Server, "/api/v1/admin/users/"+p.ID, o.admin.Token, m{"firstName": first, "lastName": last, "phoneNumber": phone}).Want(t, http.StatusOK)
			people[name] = p
		}
		add("ann", "ann", "Zimmer", "3", in(home, o.member))
		add("Bob", "Bob", "Young 100%", "1", in(home, o.member, auditor))
		add("Émile", "Émile", "xavier_1", "2", in(home, auditor), in(o.other, o.member))
		add("off", "", "Solo", "", in(home), in(o.other))
		add("shut", "Shut", "Account", "", in(home, o.member))
		add("locked", "Locked", "Out", "9", in(home))
		add("expired", "Expired", "Lock", "", in(home))
		add("stranger", "ann", "Elsewhere", "", in(o.other, o.member))
		lead := o.caller(t, home, "read:users", "update:users", "read:reports", "create:reports", "delete:reports")
		names := map[string]string{lead.ID: "lead"}
		for name, p := range people {
			names[p.ID] = name
		}
		for range 5 {
			o.TryLogin(t, people["expired"].Email, "guess")
		}
		o.Clock.Advance(16 * time.Minute)
		for range 5 {
			o.TryLogin(t, people["locked"].Email, "guess")
		}
		o.Post(t, "/api/v1/users/"+people["off"].ID+"/deactivate", lead.Token, nil).Want(t, http.StatusOK)
		o.Post(t, "/api/v1/users/"+people["shut"].ID+"/deactivate", lead.Token, nil).Want(t, http.StatusOK)
		o.Login(t, people["Bob"].Email, password)
		deleted := o.user(t, in(home, o.member))
		remove(t, o.Server, "/api/v1/admin/users/"+deleted.ID, o.admin.Token).Want(t, http.StatusOK)

		shown := func(t *testing.T, path, token string) string {
			t.Helper()
			a := o.Get(t, path, token).Want(t, http.StatusOK)
			var list []string
			for _, id := range column(a.JSON["items"], "id") {
				list = append(list, names[id.(string)])
			}
			if a.JSON["totalCount"] != float64(len(list)) {
				t.Errorf("%s: total %v of %v", path, a.JSON["totalCount"], list)
			}
			return strings.Join(list, " ")
		}
		const everybody = "ann Bob Émile off shut locked expired lead"

		t.Run("the items are UserDtos of the tenant of the token", func(t *testing.T) {
			a := o.Get(t, "/api/v1/users", lead.Token).Want(t, http.StatusOK)
			wantShape(t, a.JSON, "items", "totalCount", "pageNumber", "pageSize", "totalPages", "hasNext", "hasPrevious")
			wantMembers(t, a.JSON, m{"totalCount": 8, "pageNumber": 1, "pageSize": 20, "totalPages": 1, "hasNext": false, "hasPrevious": false})
			items := a.JSON["items"].([]any)
			for i, id := range column(a.JSON["items"], "id") {
				wantShape(t, items[i], userShape...)
				if got := o.Get(t, "/api/v1/users/"+id.(string), lead.Token).Want(t, http.StatusOK); fmt.Sprint(got.JSON) != fmt.Sprint(items[i]) {
					t.Errorf("listed %v, read %s", items[i], got.Raw)
				}
			}
			wantMembers(t, items[1].(m), m{"roles": []string{"Member", auditorName}})
			wantMembers(t, items[3].(m), m{"isActive": false, "fullName": "Solo"})
			wantMembers(t, items[5].(m), m{"isLockedOut": true})
			wantMembers(t, items[6].(m), m{"isLockedOut": false})
			if items[6].(m)["lockoutExpiresAt"] == nil {
				t.Error("an expired lockout that was not cleared is shown")
			}
		})
		t.Run("filters narrow the total too", func(t *testing.T) {
			for query, want := range map[string]string{
				"":                                      everybody,
				"isActive=true":                         "ann Bob Émile locked expired lead",
				"isActive=false":                        "off shut",
				"roleName=member":                       "ann Bob shut",
				"roleName=" + auditorName:               "Bob Émile",
				"roleName=nobody":                       "",
				"roleName=MEMBER&isActive=true":         "ann Bob",
				"roleName=member&isActive=false":        "shut",
				"isLockedOut=true":                      "locked",
				"isLockedOut=false":                     "ann Bob Émile off shut expired lead",
				"isLockedOut=false&isActive=true":       "ann Bob Émile expired lead",
				"isLockedOut=true&isActive=false":       "",
				"search=ANN":                            "ann",
				"search=ann+zim":                        "ann",
				"search=%20zimmer%20":                   "ann",
				"search=%C3%89MI":                       "Émile",
				"search=%C3%A9mile+X":                   "Émile",
				"search=100%25":                         "Bob",
				"search=%25":                            "Bob",
				"search=r_1":                            "Émile",
				"search=" + people["off"].Email[:7]:     "off",
				"search=@example.com&isActive=false":    "off shut",
				"search=ann&roleName=member&isActive=1": "ann",
				"search=nothing":                        "",
			} {
				if got := shown(t, "/api/v1/users?"+query, lead.Token); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
		})
		t.Run("on the admin route", func(t *testing.T) {
			admin := o.admin.Token
			for query, want := range map[string]string{
				"tenantId=" + home:                                   everybody,
				"tenantId=" + home + "&isActive=false":               "shut",
				"tenantId=" + home + "&isActive=true":                "ann Bob Émile off locked expired lead",
				"tenantId=" + home + "&roleName=member":              "ann Bob shut",
				"tenantId=" + o.other:                                "Émile off stranger",
				"tenantId=" + o.other + "&roleName=member":           "Émile stranger",
				"tenantId=" + o.other + "&roleName=" + auditorName:   "",
				"tenantId=" + uuid.NewString():                       "",
				"roleName=" + auditorName:                            "Bob Émile",
				"roleName=member&search=e":                           "ann Bob Émile shut stranger",
				"isLockedOut=true":                                   "locked",
				"search=ann":                                         "ann stranger",
				"search=ann&tenantId=" + home:                        "ann",
				"search=ann&isLockedOut=false&tenantId=" + o.other:   "stranger",
				"isActive=false":                                     "shut",
				"roleName=super%20administrator&search=zimmer":       "",
				"sortBy=email&sortDirection=desc&search=xavier_&a=b": "Émile",
			} {
				if got := shown(t, "/api/v1/admin/users?"+query, admin); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
			a := o.Get(t, "/api/v1/admin/users?tenantId="+home, admin)
			for i, item := range a.JSON["items"].([]any) {
				wantShape(t, item, adminShape...)
				if got := o.Get(t, "/api/v1/admin/users/"+item.(m)["id"].(string), admin); fmt.Sprint(got.JSON) != fmt.Sprint(item) {
					t.Errorf("%d: listed %v, read %s", i, item, got.Raw)
				}
			}
			wantMembers(t, a.JSON["items"].([]any)[3].(m), m{"isActive": true})
			total := o.Get(t, "/api/v1/admin/users", admin).JSON["totalCount"].(float64)
			if live := one[int](t, o.Server, `SELECT count(*) FROM users WHERE deleted_at IS NULL`); int(total) != live {
				t.Errorf("total %v of %d", total, live)
			}
			o.Get(t, "/api/v1/admin/users?tenantId="+uuid.Nil.String(), admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "tenantId")
			o.Get(t, "/api/v1/admin/users?tenantId=x", admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "tenantId")
		})
		t.Run("a role counts in active tenants only, unless the tenant is named", func(t *testing.T) {
			closed := o.tenant(t, m{})
			role, name := o.namedRole(t, closed)
			p := o.user(t, in(closed, role))
			names[p.ID] = "closed"
			put(t, o.Server, "/api/v1/tenants/"+closed, o.admin.Token, m{"isActive": false}).Want(t, http.StatusOK)
			for query, want := range map[string]string{"": "", "&tenantId=" + closed: "closed"} {
				if got := shown(t, "/api/v1/admin/users?roleName="+name+query, o.admin.Token); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
		})
		t.Run("sorted by every field, both ways, with ties broken by id", func(t *testing.T) {
			fields := []string{"id", "email", "firstName", "lastName", "phoneNumber", "isActive", "isLockedOut", "lockoutExpiresAt", "createdAt", "UPDATEDAT"}
			scoped := append([]string{"fullName", "profilePictureUrl", "emailConfirmed", "lastLoginAt"}, fields...)
			for path, sortable := range map[string][]string{"/api/v1/users?": scoped, "/api/v1/admin/users?tenantId=" + home + "&": fields, "/api/v1/tenants/" + home + "/users?": scoped} {
				token := o.admin.Token
				if path == "/api/v1/users?" {
					token = lead.Token
				}
				for _, field := range sortable {
					up := column(o.Get(t, path+"sortBy="+field, token).Want(t, http.StatusOK).JSON["items"], "id")
					down := column(o.Get(t, path+"sortDirection=Descending&sortBy="+field, token).Want(t, http.StatusOK).JSON["items"], "id")
					slices.Reverse(down)
					if len(up) != 8 || !slices.Equal(up, down) {
						t.Errorf("%s%s: %v, and reversed %v", path, field, up, down)
					}
				}
			}
			for query, want := range map[string]string{
				"":                                         everybody,
				"sortBy=firstName":                         "off lead ann Bob expired locked shut Émile",
				"sortBy=isActive":                          "off shut ann Bob Émile locked expired lead",
				"sortBy=isLockedOut":                       "ann Bob Émile off shut expired lead locked",
				"sortBy=isLockedOut&sortDirection=desc":    "locked lead expired shut off Émile Bob ann",
				"sortBy=lockoutExpiresAt":                  "ann Bob Émile off shut lead expired locked",
				"sortBy=lastLoginAt&sortDirection=DESC":    "Bob lead expired locked shut off Émile ann",
				"sortBy=phoneNumber&sortDirection=desc":    "locked ann Émile Bob lead expired shut off",
				"sortBy=CreatedAt&sortDirection=ascending": everybody,
			} {
				if got := shown(t, "/api/v1/users?"+query, lead.Token); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
			full := column(o.Get(t, "/api/v1/users?sortBy=fullName", lead.Token).JSON["items"], "fullName")
			if fmt.Sprint(full[:7]) != "[ ann Zimmer Bob Young 100% Expired Lock Locked Out Shut Account Solo]" {
				t.Errorf("by full name: %q", full)
			}
			for _, path := range []string{"/api/v1/users", "/api/v1/admin/users"} {
				o.Get(t, path+"?sortBy=roles", o.admin.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "sortBy")
				o.Get(t, path+"?sortDirection=up", o.admin.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "sortDirection")
			}
		})
		t.Run("pages", func(t *testing.T) {
			a := o.Get(t, "/api/v1/users?pageSize=3&page=2", lead.Token).Want(t, http.StatusOK)
			wantMembers(t, a.JSON, m{"totalCount": 8, "pageNumber": 2, "pageSize": 3, "totalPages": 3, "hasNext": true, "hasPrevious": true})
			if ids := column(a.JSON["items"], "id"); names[ids[0].(string)] != "off" || len(ids) != 3 {
				t.Errorf("unexpected page: %s", a.Raw)
			}
			last := o.Get(t, "/api/v1/users?pageSize=3&pageNumber=3", lead.Token).Want(t, http.StatusOK)
			if wantMembers(t, last.JSON, m{"hasNext": false}); len(last.JSON["items"].([]any)) != 2 {
				t.Errorf("unexpected page: %s", last.Raw)
			}
			beyond := o.Get(t, "/api/v1/admin/users?pageSize=100&page=2147483647", o.admin.Token).Want(t, http.StatusOK)
			if beyond.JSON["totalCount"] == 0.0 || len(beyond.JSON["items"].([]any)) != 0 {
				t.Errorf("unexpected page: %s", beyond.Raw)
			}
			for query, field := range map[string]string{
				"pageSize=101": "pageSize", "pageSize=0": "pageSize", "pageSize=x": "pageSize", "page=0": "page", "page=-1": "page", "page=x": "page", "pageNumber=0": "pageNumber",
				"isActive=perhaps": "isActive", "isLockedOut=x": "isLockedOut", "includeDeleted=x": "includeDeleted",
				"search=" + strings.Repeat("a", 201): "search", "roleName=" + strings.Repeat("a", 101): "roleName",
			} {
				for _, path := range []string{"/api/v1/users?", "/api/v1/admin/users?", "/api/v1/tenants/" + home + "/users?"} {
					o.Get(t, path+query, o.admin.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
				}
			}
		})
	})
}
