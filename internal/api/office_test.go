package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"steward/internal/app/apptest"
)

// office is a program with a Super Administrator, the tenant they work in and another one. What tests
// need in it is made through the API.
type office struct {
	*apptest.Server
	admin       person
	home, other string
	member      string // the system role
	codes       map[string]string
	made        int
}

// person is somebody who is signed in.
type person struct{ ID, Email, Token string }

func eachOffice(t *testing.T, fn func(t *testing.T, o *office)) {
	t.Helper()
	each(t, func(t *testing.T, s *apptest.Server) { fn(t, newOffice(t, s)) })
}

func newOffice(t *testing.T, s *apptest.Server) *office {
	t.Helper()
	o := &office{Server: s, codes: map[string]string{}}
	o.admin = o.signIn(t, apptest.AdminEmail, apptest.AdminPassword)
	o.home = defaultTenant(t, s)
	o.other = o.tenant(t, m{})
	for _, p := range s.Get(t, "/api/v1/permissions?pageSize=100", o.admin.Token).Want(t, http.StatusOK).JSON["items"].([]any) {
		o.codes[p.(m)["code"].(string)] = p.(m)["id"].(string)
	}
	found := s.Get(t, "/api/v1/roles/lookup?search=member", o.admin.Token).Want(t, http.StatusOK)
	o.member = found.JSON["items"].([]any)[0].(m)["id"].(string)
	return o
}

// unique makes names that nobody has.
func (o *office) unique(word string) string {
	o.made++
	return fmt.Sprintf("%s-%d", word, o.made)
}

func (o *office) signIn(t *testing.T, email, password string) person {
	t.Helper()
	token := o.Login(t, email, password).Token
	return person{ID: claimsOf(t, token)["sub"].(string), Email: email, Token: token}
}

func (o *office) tenant(t *testing.T, body m) string {
	t.Helper()
	body["name"] = o.unique("Tenant")
	return o.Post(t, "/api/v1/tenants", o.admin.Token, body).Want(t, http.StatusCreated).JSON["id"].(string)
}

// role makes a role that holds exactly the permissions.
func (o *office) role(t *testing.T, tenant string, codes ...string) string {
	t.Helper()
	id, _ := o.namedRole(t, tenant, codes...)
	return id
}

func (o *office) namedRole(t *testing.T, tenant string, codes ...string) (id, name string) {
	t.Helper()
	ids := []string{}
	for _, code := range codes {
		ids = append(ids, o.codes[code])
	}
	name = o.unique("Role")
	made := o.Post(t, "/api/v1/roles", o.admin.Token, m{"name": name, "tenantId": tenant, "permissionIds": ids}).Want(t, http.StatusCreated)
	return made.JSON["id"].(string), name
}

// user makes an account with the bindings.
func (o *office) user(t *testing.T, bindings ...m) person {
	t.Helper()
	p := person{Email: o.unique("user") + "@example.com"}
	p.ID = o.Post(t, "/api/v1/admin/users", o.admin.Token, m{"email": p.Email, "password": password, "tenants": append([]m{}, bindings...)}).Want(t, http.StatusCreated).JSON["id"].(string)
	return p
}

// caller makes somebody who holds exactly the permissions in the tenant, and signs them in.
func (o *office) caller(t *testing.T, tenant string, codes ...string) person {
	t.Helper()
	p := o.user(t, in(tenant, o.role(t, tenant, codes...)))
	p.Token = o.Login(t, p.Email, password).Token
	return p
}

// enter signs in to one of several tenants.
func (o *office) enter(t *testing.T, p person, tenant string) person {
	t.Helper()
	p.Token = o.Post(t, "/api/auth/login", "", m{"email": p.Email, "password": password, "preferredTenantId": tenant}).Want(t, http.StatusOK).Pair(t).Token
	if claimsOf(t, p.Token)["tenant_id"] != tenant {
		t.Fatalf("%s did not enter %s", p.Email, tenant)
	}
	return p
}

// in is a tenant assignment item.
func in(tenant string, roles ...string) m {
	return m{"tenantId": tenant, "roleIds": append([]string{}, roles...)}
}

// at changes one member of a body.
func at(body m, name string, value any) m {
	changed := m{name: value}
	for k, v := range body {
		if k != name {
			changed[k] = v
		}
	}
	return changed
}

// wantMembers fails where a member that is named has another value.
func wantMembers(t *testing.T, got m, want m) {
	t.Helper()
	for name, value := range want {
		g, _ := json.Marshal(got[name])
		w, _ := json.Marshal(value)
		if string(g) != string(w) {
			t.Errorf("%s is %s, want %s in %v", name, g, w, got)
		}
	}
}

// wantShape fails where the object has other members than these.
func wantShape(t *testing.T, got any, names ...string) {
	t.Helper()
	var has []string
	for name := range got.(m) {
		has = append(has, name)
	}
	slices.Sort(has)
	slices.Sort(names)
	if !slices.Equal(has, names) {
		t.Errorf("members %v, want %v", has, names)
	}
}

var (
	userShape = []string{"id", "email", "firstName", "lastName", "fullName", "phoneNumber", "profilePictureUrl", "isActive", "emailConfirmed",
		"isLockedOut", "lockoutExpiresAt", "roles", "appIds", "createdAt", "updatedAt", "lastLoginAt"}
	adminShape = []string{"id", "email", "firstName", "lastName", "phoneNumber", "isActive", "isLockedOut", "lockoutExpiresAt",
		"createdAt", "updatedAt", "appIds", "tenants"}
	tenantShape = []string{"tenantId", "tenantName", "tenantIdentifier", "isDefault", "isActive", "roles", "joinedAt"}
)

// with is a call with headers.
func (o *office) with(t *testing.T, method, path, token string, body any, header map[string]string) apptest.Answer {
	t.Helper()
	return o.Do(t, apptest.Request{Method: method, Path: path, Token: token, Body: body, Header: header})
}

// mails counts the mails to an address.
func (o *office) mails(t *testing.T, to string) int {
	t.Helper()
	return one[int](t, o.Server, `SELECT count(*) FROM mailbox WHERE recipient = $1`, to)
}

// userCount is what the tenant says of itself.
func (o *office) userCount(t *testing.T, tenant string) int {
	t.Helper()
	return int(o.Get(t, "/api/v1/tenants/"+tenant, o.admin.Token).Want(t, http.StatusOK).JSON["userCount"].(float64))
}

// wantTrail fails where the audit log tells otherwise about the account.
func (o *office) wantTrail(t *testing.T, user string, want ...string) {
	t.Helper()
	actions := strings.Fields(all(t, o.Server, `SELECT action FROM audit_log WHERE target_id = '`+user+`' AND action NOT LIKE 'user.signed%' ORDER BY id`))
	if !slices.Equal(actions, want) {
		t.Errorf("trail %v, want %v", actions, want)
	}
}
