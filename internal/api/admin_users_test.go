package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
)

// matrix is the tenants of an AdminUserEditDto by tenant: roles, and a star behind the default.
func matrix(t *testing.T, a apptest.Answer) map[string]string {
	t.Helper()
	tenants := map[string]string{}
	for _, item := range a.Want(t, http.StatusOK).JSON["tenants"].([]any) {
		b := item.(m)
		wantShape(t, b, "tenantId", "roleIds", "isDefault")
		text := strings.Join(texts(b["roleIds"]), " ")
		if b["isDefault"] == true {
			text += " *"
		}
		tenants[b["tenantId"].(string)] = text
	}
	return tenants
}

func wantMatrix(t *testing.T, a apptest.Answer, want map[string]string) {
	t.Helper()
	if got := matrix(t, a); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("tenants %v, want %v", got, want)
	}
}

func TestAnyUserIsReadAndChangedWithTheMatrix(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		admin := o.admin.Token
		here, there := o.role(t, o.home, "read:users"), o.role(t, o.other, "read:users")
		third := o.tenant(t, m{})
		fresh := func(t *testing.T) (person, string) {
			p := o.user(t, at(in(o.home, o.member), "isDefault", true), in(o.other, there))
			return p, "/api/v1/admin/users/" + p.ID
		}
		get := func(t *testing.T, path string) apptest.Answer { return o.Get(t, path, admin) }

		t.Run("the answer is the AdminUserEditDto", func(t *testing.T) {
			p, path := fresh(t)
			a := get(t, path).Want(t, http.StatusOK)
			wantShape(t, a.JSON, adminShape...)
			wantMembers(t, a.JSON, m{"id": p.ID, "email": p.Email, "firstName": "", "lastName": "", "phoneNumber": "", "isActive": true, "isLockedOut": false, "lockoutExpiresAt": nil, "appIds": []string{}})
			wantMatrix(t, a, map[string]string{o.home: o.member + " *", o.other: there})
			if a.Header.Get("ETag") == "" || a.Header.Get("ETag") != get(t, "/api/v1/users/"+p.ID).Header.Get("ETag") {
				t.Error("both reads have one version")
			}
		})
		t.Run("its tenants", func(t *testing.T) {
			p, path := fresh(t)
			var tenants []m
			decodeList(t, get(t, path+"/tenants").Want(t, http.StatusOK), &tenants)
			if len(tenants) != 2 {
				t.Fatalf("tenants %v", tenants)
			}
			for _, tenant := range tenants {
				wantShape(t, tenant, tenantShape...)
			}
			wantMembers(t, tenants[0], m{"tenantId": o.home, "tenantName": "Default", "tenantIdentifier": "default", "isDefault": true, "isActive": true, "roles": []m{{"id": o.member, "name": "Member"}}})
			wantMembers(t, tenants[1], m{"tenantId": o.other, "isDefault": false, "isActive": true})
			if a := get(t, "/api/v1/admin/users/"+o.user(t).ID+"/tenants").Want(t, http.StatusOK); strings.TrimSpace(string(a.Raw)) != "[]" {
				t.Errorf("with none: %s", a.Raw)
			}
			get(t, "/api/v1/admin/users/"+uuid.NewString()+"/tenants").WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			reader := o.caller(t, o.home, "read:users").Token
			decodeList(t, o.Get(t, "/api/v1/users/"+p.ID+"/tenants", reader).Want(t, http.StatusOK), &tenants)
			if len(tenants) != 1 || tenants[0]["tenantId"] != o.home {
				t.Errorf("a caller without reach sees %v", tenants)
			}
			decodeList(t, o.Get(t, "/api/v1/users/"+p.ID+"/tenants", o.caller(t, o.home, "read:users", "manage:all-users").Token), &tenants)
			if len(tenants) != 2 {
				t.Errorf("a caller with reach sees %v", tenants)
			}
		})
		t.Run("an update changes the blocks that it names", func(t *testing.T) {
			p, path := fresh(t)
			first := get(t, path)
			for _, body := range []m{{}, {"firstName": nil, "lastName": nil, "phoneNumber": nil, "appIds": nil, "isActive": nil, "tenants": nil}, {"isActive": true, "tenants": []m{in(o.other, there, there), at(in(o.home, o.member), "isDefault", true)}}} {
				if a := put(t, o.Server, path, admin, body).Want(t, http.StatusOK); string(a.Raw) != string(first.Raw) || a.Header.Get("ETag") != first.Header.Get("ETag") {
					t.Errorf("%v changed it: %s", body, a.Raw)
				}
			}
			token := o.enter(t, p, o.other).Token
			a := put(t, o.Server, path, admin, m{"firstName": "Ada", "lastName": "King", "phoneNumber": "1", "appIds": []string{"crm"}}).Want(t, http.StatusOK)
			wantShape(t, a.JSON, adminShape...)
			wantMembers(t, a.JSON, m{"firstName": "Ada", "lastName": "King", "phoneNumber": "1", "appIds": []string{"crm"}, "tenants": first.JSON["tenants"]})
			if a.Header.Get("ETag") == first.Header.Get("ETag") || a.JSON["updatedAt"] == first.JSON["updatedAt"] {
				t.Error("the version stayed")
			}
			wantAlive(t, o.Server, token)
			if got := get(t, "/api/v1/admin/users?search=ada+ki"); got.JSON["totalCount"] != 1.0 {
				t.Errorf("the new name is not found: %s", got.Raw)
			}
			o.wantTrail(t, p.ID, "user.created", "user.updated")
		})
		t.Run("an empty list removes all bindings", func(t *testing.T) {
			p, path := fresh(t)
			token := o.enter(t, p, o.other).Token
			home, other := o.userCount(t, o.home), o.userCount(t, o.other)
			wantMatrix(t, put(t, o.Server, path, admin, m{"tenants": []m{}}), map[string]string{})
			wantMatrix(t, get(t, path), map[string]string{})
			wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
			if o.userCount(t, o.home) != home-1 || o.userCount(t, o.other) != other-1 {
				t.Error("the tenants count otherwise")
			}
			wantMembers(t, o.TryLogin(t, p.Email, password).Want(t, http.StatusOK).Data(t), m{"isGlobal": true, "requiresTenantSelection": false})
			o.wantTrail(t, p.ID, "user.created", "user.tenants-changed")
		})
		t.Run("a list replaces the whole matrix", func(t *testing.T) {
			p, path := fresh(t)
			token := o.enter(t, p, o.other).Token
			version := get(t, path).Header.Get("ETag")
			other, count := o.userCount(t, o.other), o.userCount(t, third)
			a := put(t, o.Server, path, admin, m{"tenants": []m{at(in(third, o.member), "isDefault", true), in(o.home, here, o.member)}})
			wantMatrix(t, a, matrix(t, get(t, path)))
			if got := matrix(t, a); len(got) != 2 || got[third] != o.member+" *" || !strings.Contains(got[o.home], here) || strings.Contains(got[o.home], "*") {
				t.Errorf("tenants %v", got)
			}
			if a.Header.Get("ETag") == version {
				t.Error("the version stayed")
			}
			wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
			if o.userCount(t, o.other) != other-1 || o.userCount(t, third) != count+1 {
				t.Error("the tenants count otherwise")
			}
			wantMembers(t, o.TryLogin(t, p.Email, password).Data(t)["currentTenant"].(m), m{"id": third, "isDefault": true})
		})
		t.Run("roles inside a binding change at once and sign nobody out", func(t *testing.T) {
			p, path := fresh(t)
			token := o.enter(t, p, o.other).Token
			version := get(t, path).Header.Get("ETag")
			o.Get(t, "/api/v1/users", token).Want(t, http.StatusOK)
			changed := put(t, o.Server, path, admin, m{"tenants": []m{at(in(o.home, o.member), "isDefault", true), in(o.other, o.member)}})
			wantMatrix(t, changed, map[string]string{o.home: o.member + " *", o.other: o.member})
			if changed.Header.Get("ETag") == version {
				t.Error("the version stayed")
			}
			o.Get(t, "/api/v1/users", token).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			put(t, o.Server, path, admin, m{"tenants": []m{in(o.home, o.member), in(o.other, there)}}).Want(t, http.StatusOK)
			o.Get(t, "/api/v1/users", token).Want(t, http.StatusOK)
			wantMatrix(t, put(t, o.Server, path, admin, m{"tenants": []m{in(o.home, o.member), at(in(o.other), "isDefault", true)}}), map[string]string{o.home: o.member, o.other: " *"})
			o.Get(t, "/api/v1/users", token).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			wantAlive(t, o.Server, token)
		})
		t.Run("the default moves, and goes where no tenant is marked", func(t *testing.T) {
			_, path := fresh(t)
			for _, c := range []struct {
				body []m
				want map[string]string
			}{
				{[]m{in(o.home, o.member), at(in(o.other, there), "isDefault", true)}, map[string]string{o.home: o.member, o.other: there + " *"}},
				{[]m{at(in(o.home, o.member), "isDefault", true), in(o.other, there)}, map[string]string{o.home: o.member + " *", o.other: there}},
				{[]m{in(o.home, o.member), at(in(third, o.member), "isDefault", true)}, map[string]string{o.home: o.member, third: o.member + " *"}},
				{[]m{in(o.home, o.member), at(in(third, o.member), "isDefault", false)}, map[string]string{o.home: o.member, third: o.member}},
			} {
				wantMatrix(t, put(t, o.Server, path, admin, m{"tenants": c.body}), c.want)
			}
		})
		t.Run("a closed binding stays closed and keeps its day", func(t *testing.T) {
			p, path := fresh(t)
			o.Post(t, "/api/v1/users/"+p.ID+"/deactivate", admin, nil).Want(t, http.StatusOK)
			var before, after []m
			decodeList(t, get(t, path+"/tenants"), &before)
			put(t, o.Server, path, admin, m{"tenants": []m{in(o.home, o.member, here), in(o.other, there)}}).Want(t, http.StatusOK)
			decodeList(t, get(t, path+"/tenants"), &after)
			wantMembers(t, after[0], m{"tenantId": o.home, "isActive": false, "joinedAt": before[0]["joinedAt"]})
		})
		t.Run("what cannot be is refused as a whole", func(t *testing.T) {
			p, path := fresh(t)
			token := o.enter(t, p, o.other).Token
			full := o.tenant(t, m{"maxUsers": 1})
			o.user(t, in(full))
			for name, c := range map[string]struct {
				tenants []m
				status  int
				code    string
			}{
				"an unknown tenant":        {[]m{in(uuid.NewString(), o.member)}, http.StatusNotFound, "TENANT_NOT_FOUND"},
				"an unknown role":          {[]m{in(o.home, uuid.NewString())}, http.StatusNotFound, "ROLE_NOT_FOUND"},
				"a role of another tenant": {[]m{in(o.home, there), in(o.other, there)}, http.StatusNotFound, "ROLE_NOT_FOUND"},
				"a full tenant":            {[]m{in(third, o.member), in(full, o.member)}, http.StatusBadRequest, "TENANT_CAPACITY_REACHED"},
			} {
				t.Run(name, func(t *testing.T) {
					put(t, o.Server, path, admin, m{"firstName": "x", "tenants": c.tenants}).WantProblem(t, c.status, c.code)
				})
			}
			wantMatrix(t, get(t, path), map[string]string{o.home: o.member + " *", o.other: there})
			wantMembers(t, get(t, path).JSON, m{"firstName": ""})
			wantAlive(t, o.Server, token)
			o.wantTrail(t, p.ID, "user.created")
		})
		t.Run("If-Match sees a binding that came meanwhile", func(t *testing.T) {
			p, path := fresh(t)
			seen := map[string]string{"If-Match": get(t, path).Header.Get("ETag")}
			o.Post(t, path+"/tenants", admin, in(third, o.member)).Want(t, http.StatusCreated)
			o.with(t, http.MethodPut, path, admin, m{"tenants": []m{}}, seen).WantProblem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
			seen["If-Match"] = get(t, path).Header.Get("ETag")
			o.Post(t, "/api/users/"+p.ID+"/roles", admin, m{"roleNames": []string{"Tenant Administrator"}}).Want(t, http.StatusOK)
			o.with(t, http.MethodDelete, path, admin, nil, seen).WantProblem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
		})
		t.Run("the trail shows both sides of what changed", func(t *testing.T) {
			p, path := fresh(t)
			put(t, o.Server, path, admin, m{"firstName": "Ada", "tenants": []m{at(in(o.home, o.member), "isDefault", true), in(third, o.member)}}).Want(t, http.StatusOK)
			got := all(t, o.Server, `SELECT action || ' ' || coalesce(before, '-') || ' ' || coalesce(after, '-') FROM audit_log WHERE target_id = '`+p.ID+`' AND action <> 'user.created' ORDER BY id`)
			want := `user.updated {"firstName":""} {"firstName":"Ada"}
user.tenants-changed {"` + o.other + `":{"isDefault":false,"roleIds":["` + there + `"]}} {"` + third + `":{"isDefault":false,"roleIds":["` + o.member + `"]}}`
			if got != want {
				t.Errorf("trail:\n%s\nwant:\n%s", got, want)
			}
		})
	})
}

func TestMatricesAtOnce(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		tenants := []string{o.home, o.other, o.tenant(t, m{}), o.tenant(t, m{})}
		halves := [][]m{{at(in(tenants[3], o.member), "isDefault", true), in(tenants[0], o.member)}, {at(in(tenants[0], o.member), "isDefault", true), in(tenants[1], o.member), in(tenants[2], o.member)}, {}}
		people := []person{o.user(t), o.user(t), o.user(t)}
		statuses := parallel(24, func(i int) int {
			p := people[i%3]
			if i%8 == 7 {
				return o.Post(t, "/api/v1/admin/users/"+p.ID+"/tenants", o.admin.Token, at(in(tenants[i%4], o.member), "isDefault", true)).Status
			}
			return put(t, o.Server, "/api/v1/admin/users/"+p.ID, o.admin.Token, m{"firstName": fmt.Sprint(i), "tenants": halves[i%len(halves)]}).Status
		})
		if n := count(statuses, http.StatusOK) + count(statuses, http.StatusCreated) + count(statuses, http.StatusConflict); n != 24 || count(statuses, http.StatusOK) != 21 {
			t.Errorf("statuses %v", statuses)
		}
		for _, tenant := range tenants {
			if bound := one[int](t, o.Server, `SELECT count(*) FROM bindings WHERE tenant_id = $1`, tenant); bound != o.userCount(t, tenant) {
				t.Errorf("%d bound, counted %d", bound, o.userCount(t, tenant))
			}
		}
		for _, p := range people {
			if n := one[int](t, o.Server, `SELECT count(*) FROM bindings WHERE user_id = $1 AND is_default`, p.ID); n > 1 {
				t.Errorf("%d defaults", n)
			}
		}
	})
}

func TestAnAccountIsDeletedWhileItIsBound(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		for range 10 {
			p := o.user(t, in(o.home, o.member))
			before := o.userCount(t, o.other)
			answers := parallel(3, func(i int) apptest.Answer {
				switch i {
				case 0:
					return remove(t, o.Server, "/api/v1/admin/users/"+p.ID, o.admin.Token)
				case 1:
					return o.Post(t, "/api/v1/admin/users/"+p.ID+"/tenants", o.admin.Token, in(o.other, o.member))
				default:
					return o.Post(t, "/api/users/"+p.ID+"/roles", o.admin.Token, m{"roleNames": []string{"Tenant Administrator"}})
				}
			})
			answers[0].Want(t, http.StatusOK)
			if answers[1].Status != http.StatusCreated {
				answers[1].WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			}
			if answers[2].Status != http.StatusOK {
				answers[2].WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
			}
			if left := one[int](t, o.Server, `SELECT count(*) FROM bindings b LEFT JOIN binding_roles br ON br.user_id = b.user_id WHERE b.user_id = $1 AND (b.is_active OR br.role_id IS NOT NULL)`, p.ID); left != 0 || o.userCount(t, o.other) != before {
				t.Fatalf("the deleted account keeps %d, and the tenant counts %d after %d", left, o.userCount(t, o.other), before)
			}
		}
	})
}

func TestARoleIsDeletedWhileItIsGiven(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		for i := range 12 {
			role, name := o.namedRole(t, o.home)
			p := o.user(t)
			if i%3 != 0 {
				p = o.user(t, in(o.home, o.member))
			}
			answers := parallel(2, func(call int) apptest.Answer {
				switch {
				case call == 0:
					return remove(t, o.Server, "/api/v1/roles/"+role, o.admin.Token)
				case i%3 == 0:
					return o.Post(t, "/api/v1/admin/users/"+p.ID+"/tenants", o.admin.Token, in(o.home, role, o.member))
				case i%3 == 1:
					return put(t, o.Server, "/api/v1/admin/users/"+p.ID, o.admin.Token, m{"tenants": []m{in(o.home, role)}})
				default:
					return o.Post(t, "/api/users/"+p.ID+"/roles", o.admin.Token, m{"roleNames": []string{name}})
				}
			})
			switch given := answers[1]; {
			case given.Status == http.StatusOK || given.Status == http.StatusCreated:
				answers[0].WantProblem(t, http.StatusConflict, "ROLE_IN_USE_CONFLICT")
			case i%3 == 2:
				answers[0].Want(t, http.StatusOK)
				if given.Status != http.StatusBadRequest && given.Status != http.StatusNotFound {
					t.Fatalf("unexpected answer: %s", given.Raw)
				}
			default:
				answers[0].Want(t, http.StatusOK)
				given.WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
			}
		}
	})
}

func TestUnlock(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		p := o.user(t, in(o.home, o.member))
		token := o.Login(t, p.Email, password).Token
		for range 5 {
			o.TryLogin(t, strings.ToUpper(p.Email), "guess").WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		}
		o.TryLogin(t, p.Email, password).WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_LOCKED")
		for _, path := range []string{"/api/v1/users/", "/api/v1/admin/users/"} {
			got := o.Get(t, path+p.ID, o.admin.Token).Want(t, http.StatusOK).JSON
			expires, err := time.Parse(time.RFC3339Nano, got["lockoutExpiresAt"].(string))
			if err != nil || got["isLockedOut"] != true || !expires.After(o.Clock.Now()) || expires.After(o.Clock.Now().Add(15*time.Minute)) {
				t.Errorf("unexpected lockout: %v", got)
			}
		}
		if a := o.Post(t, "/api/v1/admin/users/"+p.ID+"/unlock", o.admin.Token, nil).Want(t, http.StatusOK); len(a.Raw) != 0 {
			t.Errorf("a body: %s", a.Raw)
		}
		wantMembers(t, o.Get(t, "/api/v1/admin/users/"+p.ID, o.admin.Token).JSON, m{"isLockedOut": false, "lockoutExpiresAt": nil})
		wantAlive(t, o.Server, token)
		o.Login(t, p.Email, password)
		o.Post(t, "/api/v1/admin/users/"+p.ID+"/unlock", o.admin.Token, m{}).Want(t, http.StatusOK)
		o.Post(t, "/api/v1/admin/users/"+uuid.NewString()+"/unlock", o.admin.Token, nil).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
		o.Post(t, "/api/v1/admin/users/x/unlock", o.admin.Token, nil).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR")
	})
}

func TestAnAdministratorStartsAReset(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		p := o.user(t, in(o.home, o.member))
		token := o.Login(t, p.Email, password).Token
		for range 5 {
			o.TryLogin(t, p.Email, "guess")
		}
		path := "/api/v1/admin/users/" + p.ID + "/reset-password"
		key := map[string]string{"Idempotency-Key": "once"}
		for range 2 {
			if a := o.with(t, http.MethodPost, path, o.admin.Token, nil, key).Want(t, http.StatusOK); len(a.Raw) != 0 {
				t.Errorf("a body: %s", a.Raw)
			}
		}
		if n := o.mails(t, p.Email); n != 1 {
			t.Errorf("%d mails", n)
		}
		wantAlive(t, o.Server, token)
		link, secret := o.Link(t, p.Email)
		if link.Host != "steward.test" || link.Query().Get("email") != p.Email {
			t.Errorf("link %s", link)
		}
		o.Post(t, "/api/auth/reset-password", "", m{"email": p.Email, "token": secret, "newPassword": "my own words"}).Want(t, http.StatusOK)
		wantEnded(t, o.Server, token, "SESSION_INVALIDATED")
		o.Login(t, p.Email, "my own words")
		o.Post(t, "/api/v1/admin/users/"+uuid.NewString()+"/reset-password", o.admin.Token, nil).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
		if strings.Contains(all(t, o.Server, `SELECT coalesce(before, '') || coalesce(after, '') FROM audit_log`), secret) {
			t.Error("the audit log has the secret")
		}
	})
}
