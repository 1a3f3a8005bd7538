package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
	"steward/internal/config"
)

func TestAUserIsCreatedReadChangedAndRemoved(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		role := o.role(t, o.home, "read:users")
		a := o.Post(t, "/api/v1/users", admin, m{
			"email": " Ada@Example.com ", "password": password, "isPasswordEncrypted": false, "firstName": " Ada ", "lastName": "Lovelace",
			"phoneNumber": "+44 (20) 7946-0958", "tenants": []m{in(o.home, role, o.member, role)}, "appIds": []string{"crm", "erp"}, "isActive": true, "unknown": 1,
		}).Want(t, http.StatusCreated)
		id := a.JSON["id"].(string)
		path := "/api/v1/users/" + id

		t.Run("the answer is the UserDto", func(t *testing.T) {
			wantShape(t, a.JSON, userShape...)
			wantMembers(t, a.JSON, m{
				"email": "Ada@Example.com", "firstName": "Ada", "lastName": "Lovelace", "fullName": "Ada Lovelace", "phoneNumber": "+44 (20) 7946-0958",
				"profilePictureUrl": "", "isActive": true, "emailConfirmed": false, "isLockedOut": false, "lockoutExpiresAt": nil,
				"appIds": []string{"crm", "erp"}, "lastLoginAt": nil, "updatedAt": a.JSON["createdAt"],
			})
			if roles := texts(a.JSON["roles"]); len(roles) != 2 || roles[0] != "Member" {
				t.Errorf("roles %v", roles)
			}
			if a.Header.Get("Location") != path || a.Header.Get("ETag") == "" || !strings.HasSuffix(a.JSON["createdAt"].(string), "Z") {
				t.Errorf("headers %v of %s", a.Header, a.Raw)
			}
			if o.mails(t, "Ada@Example.com") != 0 {
				t.Error("a mail was sent to somebody who has a password")
			}
		})
		t.Run("it is read by id and by e-mail in any case", func(t *testing.T) {
			for _, read := range []string{path, "/api/v1/users/by-email/ADA@example.COM", "/api/v1/users/by-email/" + url.PathEscape("ada@example.com")} {
				got := o.Get(t, read, admin).Want(t, http.StatusOK)
				if string(got.Raw) != string(a.Raw) || got.Header.Get("ETag") != a.Header.Get("ETag") {
					t.Errorf("%s: %s", read, got.Raw)
				}
			}
		})
		t.Run("the account works", func(t *testing.T) {
			login := o.TryLogin(t, "ada@example.com", password).Want(t, http.StatusOK).Data(t)
			wantMembers(t, login, m{"isFirstLogin": true, "mustChangePassword": false, "permissions": []string{"create:reports", "delete:reports", "read:reports", "read:users"}})
			wantMembers(t, login["currentTenant"].(m), m{"id": o.home, "isDefault": false})
			got := o.Get(t, path, admin)
			if got.JSON["lastLoginAt"] == nil || got.JSON["updatedAt"] != a.JSON["updatedAt"] {
				t.Errorf("after a sign-in: %s", got.Raw)
			}
			o.with(t, http.MethodPost, "/api/auth/login", "", m{"email": "ada@example.com", "password": password}, map[string]string{"X-App-Id": "CRM"}).Want(t, http.StatusOK)
			o.with(t, http.MethodPost, "/api/auth/login", "", m{"email": "ada@example.com", "password": password}, map[string]string{"X-App-Id": "cms"}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
		})
		t.Run("its permissions, roles and tenants", func(t *testing.T) {
			if got := strings.TrimSpace(string(o.Get(t, path+"/permissions", admin).Want(t, http.StatusOK).Raw)); got != `["create:reports","delete:reports","read:reports","read:users"]` {
				t.Errorf("permissions %s", got)
			}
			var roles, tenants []m
			decodeList(t, o.Get(t, path+"/roles", admin).Want(t, http.StatusOK), &roles)
			decodeList(t, o.Get(t, path+"/tenants", admin).Want(t, http.StatusOK), &tenants)
			if len(roles) != 2 || len(tenants) != 1 {
				t.Fatalf("roles %v, tenants %v", roles, tenants)
			}
			wantShape(t, tenants[0], tenantShape...)
			wantMembers(t, tenants[0], m{"tenantId": o.home, "tenantName": "Default", "tenantIdentifier": "default", "isDefault": false, "isActive": true})
			if joined := tenants[0]["joinedAt"].(string); joined < a.JSON["createdAt"].(string) || !strings.HasSuffix(joined, "Z") {
				t.Errorf("joined at %s", joined)
			}
			wantMembers(t, tenants[0]["roles"].([]any)[0].(m), m{"id": o.member, "name": "Member"})
			wantShape(t, tenants[0]["roles"].([]any)[0], "id", "name")
		})
		t.Run("an update changes what it names and nothing else", func(t *testing.T) {
			for _, c := range []struct {
				name string
				body m
				want m
			}{
				{"nothing", m{}, m{"firstName": "Ada", "lastName": "Lovelace"}},
				{"null", m{"firstName": nil, "lastName": nil, "phoneNumber": nil, "appIds": nil, "isActive": nil}, m{"firstName": "Ada", "appIds": []string{"crm", "erp"}, "isActive": true}},
				{"the same again", m{"firstName": "Ada", "lastName": " Lovelace ", "isActive": true, "appIds": []string{"crm", "erp"}}, m{"firstName": "Ada"}},
				{"unknown fields", m{"email": "other@example.com", "tenants": []m{}, "roles": []string{}}, m{"email": "Ada@Example.com"}},
				{"a name", m{"lastName": " King "}, m{"firstName": "Ada", "lastName": "King", "fullName": "Ada King"}},
				{"empty texts", m{"firstName": "", "phoneNumber": "", "appIds": []string{}}, m{"firstName": "", "fullName": "King", "phoneNumber": "", "appIds": []string{}}},
			} {
				t.Run(c.name, func(t *testing.T) {
					before := o.Get(t, path, admin)
					got := put(t, o.Server, path, admin, c.body).Want(t, http.StatusOK)
					wantShape(t, got.JSON, userShape...)
					wantMembers(t, got.JSON, c.want)
					changed := got.JSON["fullName"] != before.JSON["fullName"]
					if (got.Header.Get("ETag") != before.Header.Get("ETag")) != changed || (got.JSON["updatedAt"] != before.JSON["updatedAt"]) != changed {
						t.Errorf("version %s after %s", got.Header.Get("ETag"), before.Header.Get("ETag"))
					}
					if after := o.Get(t, path, admin); string(after.Raw) != string(got.Raw) || after.Header.Get("ETag") != got.Header.Get("ETag") {
						t.Errorf("answered %s, stored %s", got.Raw, after.Raw)
					}
				})
			}
			o.wantTrail(t, id, "user.created", "user.updated", "user.updated")
		})
		t.Run("If-Match keeps others' changes", func(t *testing.T) {
			first := o.Get(t, path, admin).Header.Get("ETag")
			seen := map[string]string{"If-Match": first}
			o.with(t, http.MethodPut, path, admin, m{"firstName": "A"}, seen).Want(t, http.StatusOK)
			for _, base := range []string{"/api/v1/users/", "/api/v1/admin/users/"} {
				o.with(t, http.MethodPut, base+id, admin, m{"firstName": "B"}, seen).WantProblem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
				o.with(t, http.MethodDelete, base+id, admin, nil, seen).WantProblem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
			}
			o.with(t, http.MethodPut, "/api/users/"+id, admin, m{"fullName": "B"}, seen).WantEnvelope(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
			o.with(t, http.MethodDelete, "/api/users/"+id, admin, nil, seen).WantEnvelope(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
			if got := o.Get(t, path, admin).JSON["firstName"]; got != "A" {
				t.Errorf("first name %v", got)
			}
			o.with(t, http.MethodGet, path, admin, nil, map[string]string{"If-None-Match": o.Get(t, path, admin).Header.Get("ETag")}).Want(t, http.StatusNotModified)
		})
		t.Run("it is removed, and its e-mail is free again", func(t *testing.T) {
			token := o.Login(t, "ada@example.com", password).Token
			before := o.userCount(t, o.home)
			if gone := remove(t, o.Server, path, admin).Want(t, http.StatusOK); len(gone.Raw) != 0 {
				t.Errorf("a body: %s", gone.Raw)
			}
			if o.userCount(t, o.home) != before-1 {
				t.Error("the tenant still counts them")
			}
			wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
			for _, read := range []string{path, path + "/permissions", path + "/roles", path + "/tenants", "/api/v1/users/by-email/ada@example.com", "/api/v1/admin/users/" + id, "/api/v1/admin/users/" + id + "/tenants"} {
				o.Get(t, read, admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			}
			remove(t, o.Server, path, admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			put(t, o.Server, path, admin, m{}).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			o.TryLogin(t, "ada@example.com", password).WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
			if got := o.Get(t, "/api/v1/roles/"+role, admin).JSON["userCount"]; got != 0.0 {
				t.Errorf("%v hold the role", got)
			}
			remove(t, o.Server, "/api/v1/roles/"+role, admin).Want(t, http.StatusOK)
			again := o.Post(t, "/api/v1/users", admin, m{"email": "ada@example.com", "password": password}).Want(t, http.StatusCreated).JSON
			if again["id"] == id || fmt.Sprint(again["roles"]) != "[Member]" {
				t.Errorf("the second account: %v", again)
			}
			o.Login(t, "ada@example.com", password)
		})
		t.Run("who may delete sees the deleted", func(t *testing.T) {
			reader, deleter := o.caller(t, o.home, "read:users").Token, o.caller(t, o.home, "read:users", "delete:users").Token
			for _, read := range []string{path, "/api/v1/users"} {
				o.Get(t, read+"?includeDeleted=true", reader).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			}
			got := o.Get(t, path+"?includeDeleted=true", deleter).Want(t, http.StatusOK)
			wantShape(t, got.JSON, append(slices.Clone(userShape), "deletedAt")...)
			wantMembers(t, got.JSON, m{"id": id, "isActive": false, "roles": []string{}})
			for query, want := range map[string]float64{"": 1, "&includeDeleted=false": 1, "&includeDeleted=true": 2, "&includeDeleted=true&isActive=true": 1, "&includeDeleted=true&isActive=false": 1} {
				if list := o.Get(t, "/api/v1/users?search=ada@example"+query, deleter).Want(t, http.StatusOK); list.JSON["totalCount"] != want || len(list.JSON["items"].([]any)) != int(want) {
					t.Errorf("%s: %s", query, list.Raw)
				}
				if list := o.Get(t, "/api/v1/admin/users?search=ada@example"+query, admin).Want(t, http.StatusOK); list.JSON["totalCount"] != want {
					t.Errorf("%s: %s", query, list.Raw)
				}
			}
			o.Get(t, "/api/v1/admin/users/"+id, admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			wantShape(t, o.Get(t, "/api/v1/admin/users/"+id+"?includeDeleted=true", admin).Want(t, http.StatusOK).JSON, append(slices.Clone(adminShape), "deletedAt")...)
		})
	})
}

func TestBodiesOfUsersAreChecked(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		kept := o.user(t, in(o.home, o.member))
		many := make([]string, 51)
		for i := range many {
			many[i] = uuid.NewString()
		}
		tenants := make([]m, 1001)
		for i := range tenants {
			tenants[i] = in(uuid.NewString())
		}
		nilID := uuid.Nil.String()
		sealed := strings.Split(seal(t, encryptionKey(t, o.Server), password), ".")
		sealed[1] = sealed[4] // not the key that the rest was sealed with
		broken := strings.Join(sealed, ".")
		both := []string{"/api/v1/users", "/api/v1/admin/users"}

		t.Run("on creation", func(t *testing.T) {
			for _, c := range []struct {
				name  string
				body  m
				field string
			}{
				{"no e-mail", m{}, "email"},
				{"null as e-mail", m{"email": nil}, "email"},
				{"an empty e-mail", m{"email": ""}, "email"},
				{"an e-mail that is none", m{"email": "ada"}, "email"},
				{"an e-mail with a name", m{"email": "Ada <ada@example.com>"}, "email"},
				{"a long e-mail", m{"email": strings.Repeat("a", 250) + "@b.co"}, "email"},
				{"an e-mail that is no text", m{"email": 1}, "email"},
				{"a short password", m{"password": "seven77"}, "password"},
				{"a long password", m{"password": strings.Repeat("a", 129)}, "password"},
				{"a broken JWE", m{"password": broken, "isPasswordEncrypted": true}, "password"},
				{"a flag that is none", m{"isPasswordEncrypted": "yes"}, "isPasswordEncrypted"},
				{"another flag that is none", m{"mustChangePassword": 1}, "mustChangePassword"},
				{"a long first name", m{"firstName": strings.Repeat("ä", 101)}, "firstName"},
				{"a long last name", m{"lastName": strings.Repeat("ä", 101)}, "lastName"},
				{"a name on two lines", m{"firstName": "a\nb"}, "firstName"},
				{"a last name with a bell", m{"lastName": "\a"}, "lastName"},
				{"a phone with letters", m{"phoneNumber": "call me"}, "phoneNumber"},
				{"a long phone", m{"phoneNumber": strings.Repeat("1", 33)}, "phoneNumber"},
				{"apps that are no list", m{"appIds": "crm"}, "appIds"},
				{"an empty app", m{"appIds": []string{"crm", ""}}, "appIds[1]"},
				{"a long app", m{"appIds": []string{strings.Repeat("a", 101)}}, "appIds[0]"},
				{"too many apps", m{"appIds": make([]string, 101)}, "appIds"},
				{"active that is no flag", m{"isActive": "true"}, "isActive"},
				{"tenants that are no list", m{"tenants": m{}}, "tenants"},
				{"a tenant without an id", m{"tenants": []m{{"roleIds": []string{}}}}, "tenants[0].tenantId"},
				{"a tenant with the nil id", m{"tenants": []m{in(nilID)}}, "tenants[0].tenantId"},
				{"a tenant with a bad id", m{"tenants": []m{in("x")}}, "tenants[0].tenantId"},
				{"a tenant without roles", m{"tenants": []m{{"tenantId": o.home}}}, "tenants[0].roleIds"},
				{"null as roles", m{"tenants": []m{{"tenantId": o.home, "roleIds": nil}}}, "tenants[0].roleIds"},
				{"a nil role", m{"tenants": []m{in(o.home, o.member, nilID)}}, "tenants[0].roleIds[1]"},
				{"an empty role", m{"tenants": []m{in(o.home, "")}}, "tenants[0].roleIds[0]"},
				{"too many roles", m{"tenants": []m{in(o.home, many...)}}, "tenants[0].roleIds"},
				{"a tenant twice", m{"tenants": []m{in(o.home, o.member), in(o.home)}}, "tenants[1].tenantId"},
				{"two defaults", m{"tenants": []m{at(in(o.home), "isDefault", true), at(in(o.other), "isDefault", true)}}, "tenants"},
				{"a default that is no flag", m{"tenants": []m{at(in(o.home), "isDefault", 1)}}, "tenants[0].isDefault"},
				{"too many tenants", m{"tenants": tenants}, "tenants"},
			} {
				t.Run(c.name, func(t *testing.T) {
					body := c.body
					if _, named := body["email"]; !named && c.field != "email" {
						body = at(body, "email", "wrong@example.com")
					}
					for _, path := range both {
						o.Post(t, path, admin, body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
					}
				})
			}
			for _, path := range both {
				a := o.Post(t, path, admin, m{"email": "ada", "firstName": "a\nb", "phoneNumber": "x", "password": "short", "appIds": []string{"\a"}}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR")
				for _, field := range []string{"email", "firstName", "phoneNumber", "password", "appIds[0]"} {
					a.WantField(t, field)
				}
				o.Post(t, path, admin, "{").WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR")
				o.Post(t, path, admin, m{"email": strings.ToUpper(kept.Email)}).WantProblem(t, http.StatusConflict, "USER_ALREADY_EXISTS")
			}
			if n := one[int](t, o.Server, `SELECT count(*) FROM users WHERE email = 'wrong@example.com'`); n != 0 {
				t.Error("one was made all the same")
			}
		})
		t.Run("on update", func(t *testing.T) {
			for _, c := range []struct {
				name  string
				body  m
				field string
			}{
				{"a long first name", m{"firstName": strings.Repeat("ä", 101)}, "firstName"},
				{"a last name on two lines", m{"lastName": "a\nb"}, "lastName"},
				{"a name that is no text", m{"firstName": 1}, "firstName"},
				{"a phone with letters", m{"phoneNumber": "call me"}, "phoneNumber"},
				{"an empty app", m{"appIds": []string{""}}, "appIds[0]"},
				{"too many apps", m{"appIds": make([]string, 101)}, "appIds"},
				{"active that is no flag", m{"isActive": 1}, "isActive"},
			} {
				t.Run(c.name, func(t *testing.T) {
					for _, path := range both {
						put(t, o.Server, path+"/"+kept.ID, admin, at(c.body, "lastName", c.body["lastName"])).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
					}
				})
			}
			for _, c := range []struct {
				name  string
				body  any
				field string
			}{
				{"no list", "x", "tenants"},
				{"the nil id", []m{in(nilID)}, "tenants[0].tenantId"},
				{"a nil role", []m{in(o.home, nilID)}, "tenants[0].roleIds[0]"},
				{"too many roles", []m{in(o.home, many...)}, "tenants[0].roleIds"},
				{"a tenant twice", []m{in(o.home), in(o.home)}, "tenants[1].tenantId"},
				{"two defaults", []m{at(in(o.home), "isDefault", true), at(in(o.other), "isDefault", true)}, "tenants"},
			} {
				t.Run("tenants: "+c.name, func(t *testing.T) {
					put(t, o.Server, "/api/v1/admin/users/"+kept.ID, admin, m{"firstName": "Changed", "tenants": c.body}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
				})
			}
			wantMembers(t, o.Get(t, "/api/v1/users/"+kept.ID, admin).JSON, m{"firstName": "", "lastName": "", "roles": []string{"Member"}})
		})
		t.Run("ids in paths", func(t *testing.T) {
			for _, path := range []string{"/api/v1/users/", "/api/v1/admin/users/"} {
				o.Get(t, path+"x", admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
				put(t, o.Server, path+"x", admin, m{}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
				for _, unknown := range []string{uuid.NewString(), nilID} {
					o.Get(t, path+unknown, admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
					put(t, o.Server, path+unknown, admin, m{}).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
					remove(t, o.Server, path+unknown, admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
				}
			}
			for _, path := range []string{"permissions", "roles", "tenants"} {
				o.Get(t, "/api/v1/users/x/"+path, admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "userId")
				o.Get(t, "/api/v1/users/"+uuid.NewString()+"/"+path, admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			}
			o.Get(t, "/api/v1/users/by-email/nobody@example.com", admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
		})
	})
}

func TestWaysToMakeAUser(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		t.Run("an e-mail alone makes a Member, who gets a mail with a link to choose a password", func(t *testing.T) {
			for i, body := range []m{{}, {"tenants": []m{}}, {"tenants": nil, "password": nil, "isPasswordEncrypted": nil, "firstName": nil, "lastName": nil, "phoneNumber": nil, "appIds": nil, "isActive": nil, "mustChangePassword": nil}, {"password": "", "mustChangePassword": true}} {
				who := fmt.Sprint("plain", i, "@example.com")
				made := o.Post(t, "/api/v1/users", admin, at(body, "email", who)).Want(t, http.StatusCreated).JSON
				wantMembers(t, made, m{"roles": []string{"Member"}, "fullName": "", "appIds": []string{}, "isActive": true, "emailConfirmed": false})
				o.TryLogin(t, who, "").Want(t, http.StatusBadRequest)
				link, token := o.Link(t, who)
				if link.Host != "steward.test" || link.Path != "/invitation" || link.Query().Get("email") != who || o.mails(t, who) != 1 {
					t.Errorf("link %s", link)
				}
				o.Post(t, "/api/auth/reset-password", "", m{"email": who, "token": token, "newPassword": "my own words"}).Want(t, http.StatusOK)
				login := o.TryLogin(t, who, "my own words").Want(t, http.StatusOK).Data(t)
				wantMembers(t, login, m{"isFirstLogin": true, "mustChangePassword": false})
				o.Post(t, "/api/auth/reset-password", "", m{"email": who, "token": token, "newPassword": "again and again"}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
				if got := o.Get(t, "/api/v1/users/"+made["id"].(string), admin).JSON; got["emailConfirmed"] != true {
					t.Error("whoever reads the mail has the address")
				}
			}
		})
		t.Run("on the admin route it is bound to nothing", func(t *testing.T) {
			a := o.Post(t, "/api/v1/admin/users", admin, m{"email": "free@example.com", "password": password}).Want(t, http.StatusCreated)
			wantShape(t, a.JSON, userShape...)
			path := "/api/v1/admin/users/" + a.JSON["id"].(string)
			if a.Header.Get("Location") != path || fmt.Sprint(a.JSON["roles"]) != "[]" {
				t.Errorf("%s at %s", a.Raw, a.Header.Get("Location"))
			}
			wantMembers(t, o.Get(t, path, admin).Want(t, http.StatusOK).JSON, m{"tenants": []m{}})
			o.Get(t, "/api/v1/users/"+a.JSON["id"].(string), admin).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			wantMembers(t, o.TryLogin(t, "free@example.com", password).Want(t, http.StatusOK).Data(t), m{"isGlobal": true, "requiresTenantSelection": false})
		})
		t.Run("with several tenants and a default", func(t *testing.T) {
			role := o.role(t, o.other, "read:jobs")
			made := o.Post(t, "/api/v1/admin/users", admin, m{"email": "many@example.com", "password": password, "tenants": []m{at(in(o.other, role, o.member), "isDefault", true), at(in(o.home, o.member), "isDefault", nil)}}).Want(t, http.StatusCreated).JSON
			wantMembers(t, made, m{"roles": []string{"Member"}})
			login := o.TryLogin(t, "many@example.com", password).Want(t, http.StatusOK).Data(t)
			wantMembers(t, login, m{"smartAutoSwitched": true, "permissions": []string{"create:reports", "delete:reports", "read:jobs", "read:reports"}})
			wantMembers(t, login["currentTenant"].(m), m{"id": o.other, "isDefault": true})
		})
		t.Run("a binding may have no roles", func(t *testing.T) {
			made := o.Post(t, "/api/v1/users", admin, m{"email": "bare@example.com", "tenants": []m{at(in(o.home), "isDefault", true)}}).Want(t, http.StatusCreated).JSON
			wantMembers(t, made, m{"roles": []string{}})
			if got := strings.TrimSpace(string(o.Get(t, "/api/v1/users/"+made["id"].(string)+"/permissions", admin).Raw)); got != "[]" {
				t.Errorf("permissions %s", got)
			}
		})
		t.Run("with an encrypted password that must be changed", func(t *testing.T) {
			sealed := seal(t, encryptionKey(t, o.Server), password)
			o.Post(t, "/api/v1/users", admin, m{"email": "sealed@example.com", "password": sealed, "isPasswordEncrypted": true, "mustChangePassword": true}).Want(t, http.StatusCreated)
			wantMembers(t, o.TryLogin(t, "sealed@example.com", password).Want(t, http.StatusOK).Data(t), m{"mustChangePassword": true})
			o.Post(t, "/api/v1/users", admin, m{"email": "unsealed@example.com", "password": password, "isPasswordEncrypted": true}).Want(t, http.StatusCreated)
			o.Login(t, "unsealed@example.com", password)
		})
		t.Run("an account that is not active", func(t *testing.T) {
			made := o.Post(t, "/api/v1/users", admin, m{"email": "later@example.com", "password": password, "isActive": false}).Want(t, http.StatusCreated).JSON
			wantMembers(t, made, m{"isActive": false, "roles": []string{"Member"}})
			o.TryLogin(t, "later@example.com", password).WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_DISABLED")
			o.Post(t, "/api/v1/users/"+made["id"].(string)+"/activate", admin, nil).Want(t, http.StatusOK)
			o.Login(t, "later@example.com", password)
		})
		t.Run("another tenant cannot be named on the scoped route", func(t *testing.T) {
			for _, tenants := range [][]m{{in(o.other, o.member)}, {in(o.home, o.member), in(o.other, o.member)}, {in(uuid.NewString(), o.member)}} {
				o.Post(t, "/api/v1/users", admin, m{"email": "cross@example.com", "tenants": tenants}).WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
			}
			if n := one[int](t, o.Server, `SELECT count(*) FROM users WHERE email = 'cross@example.com'`); n != 0 {
				t.Error("it was made all the same")
			}
		})
		t.Run("what does not exist cannot be named", func(t *testing.T) {
			foreign := o.role(t, o.other)
			for _, path := range []string{"/api/v1/users", "/api/v1/admin/users"} {
				for _, role := range []string{uuid.NewString(), foreign} {
					o.Post(t, path, admin, m{"email": "lost@example.com", "tenants": []m{in(o.home, o.member, role)}}).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
				}
			}
			o.Post(t, "/api/v1/admin/users", admin, m{"email": "lost@example.com", "tenants": []m{in(o.home, foreign), in(uuid.NewString(), o.member)}}).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			gone := o.tenant(t, m{})
			remove(t, o.Server, "/api/v1/tenants/"+gone, admin).Want(t, http.StatusOK)
			o.Post(t, "/api/v1/admin/users", admin, m{"email": "lost@example.com", "tenants": []m{in(gone, o.member)}}).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			if n := one[int](t, o.Server, `SELECT count(*) FROM users WHERE email = 'lost@example.com'`); n != 0 {
				t.Error("it was made all the same")
			}
		})
		t.Run("a full tenant takes nobody", func(t *testing.T) {
			full := o.tenant(t, m{"maxUsers": 1})
			manager := o.caller(t, full, "create:users", "create:reports", "delete:reports", "read:reports")
			o.Post(t, "/api/v1/users", manager.Token, m{"email": "late@example.com"}).WantProblem(t, http.StatusBadRequest, "TENANT_CAPACITY_REACHED")
			o.Post(t, "/api/v1/users", manager.Token, m{"email": "late@example.com", "tenants": []m{in(full, o.member)}}).WantProblem(t, http.StatusBadRequest, "TENANT_CAPACITY_REACHED")
			o.Post(t, "/api/v1/admin/users", admin, m{"email": "late@example.com", "tenants": []m{in(o.home, o.member), in(full, o.member)}}).WantProblem(t, http.StatusBadRequest, "TENANT_CAPACITY_REACHED")
			if o.mails(t, "late@example.com") != 0 || o.userCount(t, full) != 1 {
				t.Error("something was written all the same")
			}
		})
		t.Run("an idempotency key makes one account and sends one mail", func(t *testing.T) {
			for _, path := range []string{"/api/v1/users", "/api/v1/admin/users", "/api/users"} {
				who, key := o.unique("once")+"@example.com", map[string]string{"Idempotency-Key": "create"}
				first := o.with(t, http.MethodPost, path, admin, m{"email": who}, key).Want(t, http.StatusCreated)
				second := o.with(t, http.MethodPost, path, admin, m{"email": who}, key).Want(t, http.StatusCreated)
				if string(first.Raw) != string(second.Raw) || first.Header.Get("Location") != second.Header.Get("Location") || o.mails(t, who) != 1 {
					t.Errorf("%s, then %s", first.Raw, second.Raw)
				}
				o.with(t, http.MethodPost, path, admin, m{"email": "x" + who}, key).Want(t, http.StatusUnprocessableEntity)
			}
		})
		t.Run("many callers race for one e-mail", func(t *testing.T) {
			before := o.userCount(t, o.home)
			statuses := parallel(8, func(i int) int {
				return o.Post(t, "/api/v1/users", admin, m{"email": []string{"race@example.com", "RACE@example.com"}[i%2]}).Status
			})
			if count(statuses, http.StatusCreated) != 1 || count(statuses, http.StatusConflict) != 7 || o.userCount(t, o.home) != before+1 {
				t.Errorf("want one account: %v", statuses)
			}
		})
		t.Run("a lockout of the address shows on the new account", func(t *testing.T) {
			for range 5 {
				o.TryLogin(t, "early@example.com", "guess").Want(t, http.StatusUnauthorized)
			}
			made := o.Post(t, "/api/v1/users", admin, m{"email": "early@example.com", "password": password}).Want(t, http.StatusCreated).JSON
			if made["isLockedOut"] != true || made["lockoutExpiresAt"] == nil {
				t.Errorf("unexpected user: %v", made)
			}
		})
	})
}

func TestAMadeAccountConfirmsItsAddressWhereThatIsAskedFor(t *testing.T) {
	apptest.Each(t, func(c *config.Config) { c.RequireConfirmedEmail = true }, func(t *testing.T, s *apptest.Server) {
		o := newOffice(t, s)
		o.Post(t, "/api/v1/users", o.admin.Token, m{"email": email, "password": password}).Want(t, http.StatusCreated)
		o.TryLogin(t, email, password).WantEnvelope(t, http.StatusUnauthorized, "EMAIL_NOT_CONFIRMED")
		_, token := o.Link(t, email)
		o.Post(t, "/api/auth/confirm-email", "", m{"email": email, "token": token}).Want(t, http.StatusOK)
		o.Login(t, email, password)
	})
}

func TestAUserOfAnotherTenantDoesNotExistOnScopedRoutes(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		stranger := o.user(t, in(o.other, o.member))
		unbound := o.user(t)
		token := o.admin.Token
		for _, p := range []person{stranger, unbound} {
			path := "/api/v1/users/" + p.ID
			for _, a := range []apptest.Answer{
				o.Get(t, path, token), o.Get(t, path+"?includeDeleted=true", token), o.Get(t, path+"/permissions", token), o.Get(t, path+"/roles", token), o.Get(t, path+"/tenants", token),
				o.Get(t, "/api/v1/users/by-email/"+p.Email, token), put(t, o.Server, path, token, m{"firstName": "x"}), remove(t, o.Server, path, token),
				o.Post(t, path+"/activate", token, nil), o.Post(t, path+"/deactivate", token, nil),
			} {
				a.WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			}
			plain := "/api/users/" + p.ID
			for _, a := range []apptest.Answer{
				o.Get(t, plain, token), put(t, o.Server, plain, token, m{"fullName": "x"}), remove(t, o.Server, plain, token), o.Post(t, plain+"/roles", token, m{"roleNames": []string{"Member"}}),
			} {
				a.WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
			}
			for _, list := range []string{"/api/v1/users?search=", "/api/users?search="} {
				if a := o.Get(t, list+p.Email, token).Want(t, http.StatusOK); a.JSON["totalCount"] != 0.0 {
					t.Errorf("%s shows them: %s", list, a.Raw)
				}
			}
		}
		if got := o.Get(t, "/api/v1/admin/users/"+stranger.ID, token).Want(t, http.StatusOK); got.JSON["isActive"] != true || got.JSON["firstName"] != "" || len(got.JSON["tenants"].([]any)) != 1 {
			t.Errorf("it was changed: %s", got.Raw)
		}
	})
}
