package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestUnversionedUsers(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		plainShape := []string{"id", "email", "fullName", "roles", "isActive", "createdAt"}
		role, roleName := o.namedRole(t, o.home, "read:users")
		extra, extraName := o.namedRole(t, o.home, "read:jobs")
		a := o.Post(t, "/api/users", admin, m{"email": "grace@example.com", "password": password, "fullName": "  Grace  Brewster Hopper ", "roles": []string{strings.ToUpper(roleName), "member", roleName}, "sendWelcomeEmail": true}).Want(t, http.StatusCreated)
		id := a.Data(t)["id"].(string)
		path := "/api/users/" + id

		t.Run("a created user stands in data", func(t *testing.T) {
			wantShape(t, a.JSON, "isSuccess", "data")
			wantShape(t, a.Data(t), plainShape...)
			wantMembers(t, a.JSON, m{"isSuccess": true})
			wantMembers(t, a.Data(t), m{"email": "grace@example.com", "fullName": "Grace Brewster Hopper", "roles": []string{"Member", roleName}, "isActive": true})
			if a.Header.Get("Location") != path {
				t.Errorf("at %s", a.Header.Get("Location"))
			}
			wantMembers(t, o.Get(t, "/api/v1/users/"+id, admin).JSON, m{"firstName": "Grace", "lastName": "Brewster Hopper"})
			if mail := o.Mail(t, "grace@example.com"); mail.Subject != "Welcome" || strings.Contains(mail.Text, password) {
				t.Errorf("mail: %s", mail.Text)
			}
			o.Login(t, "grace@example.com", password)
		})
		t.Run("it is read", func(t *testing.T) {
			got := o.Get(t, path, admin).Want(t, http.StatusOK)
			wantShape(t, got.JSON, "isSuccess", "data")
			if fmt.Sprint(got.Data(t)) != fmt.Sprint(a.Data(t)) || got.Header.Get("ETag") == "" {
				t.Errorf("unexpected user: %s", got.Raw)
			}
		})
		t.Run("without a password the person gets a link, and nothing twice", func(t *testing.T) {
			for _, body := range []m{{}, {"password": nil, "fullName": nil, "roles": nil, "sendWelcomeEmail": nil}, {"fullName": "", "roles": []string{}, "sendWelcomeEmail": true}} {
				who := o.unique("linked") + "@example.com"
				made := o.Post(t, "/api/users", admin, at(body, "email", who)).Want(t, http.StatusCreated).Data(t)
				wantMembers(t, made, m{"roles": []string{"Member"}, "fullName": ""})
				_, token := o.Link(t, who)
				o.Post(t, "/api/auth/reset-password", "", m{"email": who, "token": token, "newPassword": "my own words"}).Want(t, http.StatusOK)
				o.Login(t, who, "my own words")
				if n := one[int](t, o.Server, `SELECT count(*) FROM mailbox WHERE recipient = $1 AND subject <> 'Your password was changed'`, who); n != 1 {
					t.Errorf("%d mails", n)
				}
			}
		})
		t.Run("an update changes what it names", func(t *testing.T) {
			for _, c := range []struct {
				body m
				want m
			}{
				{m{}, m{"fullName": "Grace Brewster Hopper", "roles": []string{"Member", roleName}}},
				{m{"fullName": nil, "phoneNumber": nil, "isActive": nil, "roles": nil}, m{"fullName": "Grace Brewster Hopper", "roles": []string{"Member", roleName}, "isActive": true}},
				{m{"fullName": "Grace Hopper", "phoneNumber": "+1"}, m{"fullName": "Grace Hopper", "roles": []string{"Member", roleName}}},
				{m{"roles": []string{extraName, extraName}}, m{"fullName": "Grace Hopper", "roles": []string{extraName}}},
				{m{"roles": []string{}}, m{"roles": []string{}}},
				{m{"fullName": "", "phoneNumber": "", "roles": []string{roleName}}, m{"fullName": "", "roles": []string{roleName}}},
				{m{"fullName": "Admiral"}, m{"fullName": "Admiral"}},
			} {
				got := put(t, o.Server, path, admin, c.body).Want(t, http.StatusOK)
				wantShape(t, got.JSON, "isSuccess", "data")
				wantShape(t, got.Data(t), plainShape...)
				wantMembers(t, got.Data(t), c.want)
				if stored := o.Get(t, path, admin); string(stored.Raw) != string(got.Raw) || stored.Header.Get("ETag") != got.Header.Get("ETag") {
					t.Errorf("answered %s, stored %s", got.Raw, stored.Raw)
				}
			}
			wantMembers(t, o.Get(t, "/api/v1/users/"+id, admin).JSON, m{"firstName": "Admiral", "lastName": "", "phoneNumber": ""})
		})
		t.Run("roles are added to those held, at once and without a sign-out", func(t *testing.T) {
			p := o.user(t, in(o.home, o.member))
			token := o.Login(t, p.Email, password).Token
			o.Get(t, "/api/users", token).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			for range 2 {
				got := o.Post(t, "/api/users/"+p.ID+"/roles", admin, m{"roleNames": []string{strings.ToUpper(roleName), "Member"}}).Want(t, http.StatusOK)
				wantShape(t, got.JSON, "isSuccess", "data", "message")
				wantShape(t, got.Data(t), plainShape...)
				wantMembers(t, got.Data(t), m{"id": p.ID, "roles": []string{"Member", roleName}})
				if got.JSON["isSuccess"] != true || got.JSON["message"] == "" {
					t.Errorf("unexpected answer: %s", got.Raw)
				}
			}
			o.Get(t, "/api/users", token).Want(t, http.StatusOK)
			put(t, o.Server, "/api/users/"+p.ID, admin, m{"roles": []string{"Member"}}).Want(t, http.StatusOK)
			o.Get(t, "/api/users", token).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			o.wantTrail(t, p.ID, "user.created", "user.tenants-changed", "user.tenants-changed")
		})
		t.Run("roles elsewhere are left alone", func(t *testing.T) {
			there := o.role(t, o.other)
			p := o.user(t, in(o.home, role, extra), in(o.other, there))
			put(t, o.Server, "/api/users/"+p.ID, admin, m{"roles": []string{roleName}}).Want(t, http.StatusOK)
			o.Post(t, "/api/users/"+p.ID+"/roles", admin, m{"roleNames": []string{roleName}}).Want(t, http.StatusOK)
			wantMatrix(t, o.Get(t, "/api/v1/admin/users/"+p.ID, admin), map[string]string{o.home: role, o.other: there})
		})
		t.Run("what is wrong is refused by name", func(t *testing.T) {
			_, foreign := o.namedRole(t, o.other)
			many := make([]string, 51)
			for i := range many {
				many[i] = fmt.Sprint("role", i)
			}
			long := strings.Repeat("ä", 101)
			for _, c := range []struct {
				name  string
				body  m
				field string
			}{
				{"a long first name", m{"fullName": long + " b"}, "fullName"},
				{"a long last name", m{"fullName": "a " + long}, "fullName"},
				{"a name on two lines", m{"fullName": "a\nb"}, "fullName"},
				{"a blank name", m{"fullName": "  "}, "fullName"},
				{"a name that is no text", m{"fullName": 1}, "fullName"},
				{"an unknown role", m{"roles": []string{roleName, "nobody"}}, "roles"},
				{"the same by its place", m{"roles": []string{roleName, "nobody"}}, "roles[1]"},
				{"a role of another tenant", m{"roles": []string{foreign}}, "roles"},
				{"an empty role", m{"roles": []string{""}}, "roles"},
				{"too many roles", m{"roles": many}, "roles"},
				{"roles that are no list", m{"roles": roleName}, "roles"},
			} {
				t.Run(c.name, func(t *testing.T) {
					o.Post(t, "/api/users", admin, at(c.body, "email", "wrong@example.com")).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
					put(t, o.Server, path, admin, c.body).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
				})
			}
			for field, body := range map[string]m{"email": {"fullName": "x"}, "password": {"email": "wrong@example.com", "password": "short"}, "sendWelcomeEmail": {"email": "wrong@example.com", "sendWelcomeEmail": "yes"}} {
				o.Post(t, "/api/users", admin, body).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
			}
			for field, body := range map[string]m{"phoneNumber": {"phoneNumber": "x"}, "isActive": {"isActive": "x"}} {
				put(t, o.Server, path, admin, body).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
			}
			for _, names := range []any{nil, []string{}, []string{"nobody"}, []string{foreign}, many, "Member"} {
				o.Post(t, path+"/roles", admin, m{"roleNames": names}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "roleNames")
			}
			o.Post(t, "/api/users", admin, m{"email": "GRACE@example.com"}).WantEnvelope(t, http.StatusConflict, "CONFLICT")
			o.Get(t, "/api/users/x", admin).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
			for _, unknown := range []string{uuid.NewString(), uuid.Nil.String()} {
				o.Get(t, "/api/users/"+unknown, admin).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
				put(t, o.Server, "/api/users/"+unknown, admin, m{}).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
				remove(t, o.Server, "/api/users/"+unknown, admin).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
				o.Post(t, "/api/users/"+unknown+"/roles", admin, m{"roleNames": []string{"Member"}}).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
			}
			small := o.tenant(t, m{"maxUsers": 1})
			o.Post(t, "/api/users", o.caller(t, small, "create:users").Token, m{"email": "late@example.com"}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR")
		})
		t.Run("the list stands in data and at the top", func(t *testing.T) {
			home := o.tenant(t, m{})
			reader := o.caller(t, home, "read:users").Token
			for i := range 4 {
				p := o.user(t, in(home))
				put(t, o.Server, "/api/v1/admin/users/"+p.ID, admin, m{"firstName": fmt.Sprint("Name", i), "isActive": i%2 == 0}).Want(t, http.StatusOK)
			}
			named := o.user(t, in(home, o.member))
			put(t, o.Server, "/api/v1/admin/users/"+named.ID, admin, m{"lastName": "Solo"}).Want(t, http.StatusOK)
			a := o.Get(t, "/api/users?page=2&pageSize=4", reader).Want(t, http.StatusOK)
			wantShape(t, a.JSON, "isSuccess", "data", "items", "totalCount", "page", "pageSize", "totalPages")
			wantShape(t, a.Data(t), "items", "totalCount", "page", "pageSize", "totalPages")
			wantMembers(t, a.JSON, m{"isSuccess": true, "totalCount": 6, "page": 2, "pageSize": 4, "totalPages": 2})
			wantMembers(t, a.Data(t), m{"items": a.JSON["items"], "totalCount": 6, "page": 2, "pageSize": 4, "totalPages": 2})
			items := a.JSON["items"].([]any)
			if len(items) != 2 {
				t.Fatalf("unexpected page: %s", a.Raw)
			}
			wantShape(t, items[0], plainShape...)
			wantMembers(t, o.Get(t, "/api/users", reader).JSON, m{"page": 1, "pageSize": 20, "totalPages": 1})
			for query, want := range map[string]string{
				"search=NAME":                                     "[Name0 Name1 Name2 Name3]",
				"search=name&isActive=true":                       "[Name0 Name2]",
				"search=name&isActive=false&sortBy=fullName":      "[Name1 Name3]",
				"search=name&sortBy=FULLNAME&sortDirection=desc":  "[Name3 Name2 Name1 Name0]",
				"search=name&sortBy=email&sortDirection=asc":      "[Name0 Name1 Name2 Name3]",
				"search=name&sortBy=id&sortDirection=DESC":        "[Name3 Name2 Name1 Name0]",
				"search=name&sortBy=createdAt&sortDirection=desc": "[Name3 Name2 Name1 Name0]",
				"search=name&sortBy=isActive&sortDirection=asc":   "[Name1 Name3 Name0 Name2]",
				"role=MEMBER":             "[Solo]",
				"search=name&role=member": "[]",
				"search=name&sortDirection=Descending&pageSize=4":   "[Name3 Name2 Name1 Name0]",
				"search=name&role=nobody&isActive=true&pageSize=10": "[]",
			} {
				a := o.Get(t, "/api/users?"+query, reader).Want(t, http.StatusOK)
				names := column(a.JSON["items"], "fullName")
				if got := fmt.Sprint(names); got != want || a.JSON["totalCount"] != float64(len(names)) {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
			for query, field := range map[string]string{"page=0": "page", "pageSize=101": "pageSize", "pageSize=0": "pageSize", "isActive=x": "isActive", "sortBy=phone": "sortBy", "sortDirection=up": "sortDirection"} {
				o.Get(t, "/api/users?"+query, reader).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
			}
			if empty := o.Get(t, "/api/users?search=nothing", reader).Want(t, http.StatusOK); !strings.Contains(string(empty.Raw), `"items":[]`) || empty.JSON["totalPages"] != 0.0 {
				t.Errorf("unexpected list: %s", empty.Raw)
			}
		})
		t.Run("a delete says so", func(t *testing.T) {
			got := remove(t, o.Server, path, admin).Want(t, http.StatusOK)
			wantShape(t, got.JSON, "isSuccess", "message")
			if got.JSON["isSuccess"] != true || got.JSON["message"] == "" {
				t.Errorf("unexpected answer: %s", got.Raw)
			}
			remove(t, o.Server, path, admin).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
		})
	})
}
