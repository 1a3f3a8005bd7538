package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
	"steward/internal/config"
	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/resource/resourcetest"
)

const keysPath = "/api/v1/api-keys"

var manageKeys = []string{"read:api-keys", "create:api-keys", "update:api-keys", "delete:api-keys"}

// madeKey is a key as its maker sees it once.
type madeKey struct{ ID, Key string }

func (k madeKey) path() string { return keysPath + "/" + k.ID }

// newKey makes a key as the caller of the token.
func newKey(t *testing.T, s *apptest.Server, token string, permissions ...string) madeKey {
	t.Helper()
	made := s.Post(t, keysPath, token, m{"name": "key " + newMark(), "permissions": permissions}).Want(t, http.StatusCreated).JSON
	return madeKey{made["id"].(string), made["key"].(string)}
}

func TestAPIKeysFollowTheGenericContract(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		here, there := defaultTenant(t, s), newTenant(t, s, "Elsewhere")
		all := append([]string{"read:users", "read:roles"}, manageKeys...)
		full := newHolder(t, s, here, all...)
		resourcetest.Run(t, resourcetest.Case{
			Handler: s.App.Handler(), Path: keysPath, Full: full.Token, Reader: newHolder(t, s, here, "read:api-keys").Token,
			Nobody: newHolder(t, s, here, "read:users").Token, Elsewhere: newHolder(t, s, there, all...).Token,
			Create: func(n int) resourcetest.Body {
				b := resourcetest.Body{"name": fmt.Sprintf("Key%d", n), "permissions": []string{"read:users"}, "isActive": n%2 == 0}
				if n%3 == 0 {
					b["expiresAt"] = "2099-12-31T23:00:00+01:00"
				}
				return b
			},
			Update: resourcetest.Body{"permissions": []string{"read:roles", "read:users"}, "expiresAt": "2098-01-01T00:00:00Z", "isActive": false},
			InvalidCreates: []resourcetest.Invalid{
				{Name: "no name", Change: resourcetest.Body{"name": resourcetest.Absent()}, Field: "name"},
				{Name: "a name of spaces", Change: resourcetest.Body{"name": "  "}, Field: "name"},
				{Name: "a long name", Change: resourcetest.Body{"name": strings.Repeat("é", 101)}, Field: "name"},
				{Name: "a long description", Change: resourcetest.Body{"description": strings.Repeat("a", 1001)}, Field: "description"},
				{Name: "left out permissions", Change: resourcetest.Body{"permissions": resourcetest.Absent()}, Field: "permissions"},
				{Name: "no permissions", Change: resourcetest.Body{"permissions": []string{}}, Field: "permissions"},
				{Name: "too many permissions", Change: resourcetest.Body{"permissions": make([]string, 201)}, Field: "permissions"},
				{Name: "an unknown permission", Change: resourcetest.Body{"permissions": []string{"read:users", "read:nothing"}}, Field: "permissions"},
				{Name: "a time that is none", Change: resourcetest.Body{"expiresAt": "soon"}, Field: "expiresAt"},
				{Name: "an expiry in the past", Change: resourcetest.Body{"expiresAt": "2020-01-01T00:00:00Z"}, Field: "expiresAt"},
			},
			InvalidUpdates: []resourcetest.Invalid{
				{Name: "an empty name", Change: resourcetest.Body{"name": ""}, Field: "name"},
				{Name: "no permissions", Change: resourcetest.Body{"permissions": []string{}}, Field: "permissions"},
				{Name: "an unknown permission", Change: resourcetest.Body{"permissions": []string{"read:nothing"}}, Field: "permissions"},
				{Name: "an expiry in the past", Change: resourcetest.Body{"expiresAt": "2020-01-01T00:00:00Z"}, Field: "expiresAt"},
			},
			Text: "description", OptionalText: "description", Unique: "name", OnceShown: []string{"key"},
			Filters: []resourcetest.Filter{
				{Query: "isActive=true", Keeps: func(k resourcetest.Body) bool { return k["isActive"] == true }},
				{Wrong: "isActive=perhaps", Field: "isActive"},
				{Wrong: "createdBy=me", Field: "createdBy"},
			},
			NotFound: "API_KEY_NOT_FOUND", AlreadyExists: "API_KEY_ALREADY_EXISTS", SoftDelete: true,
		})
		for user, want := range map[string]bool{full.ID: true, newHolder(t, s, here).ID: false} {
			if total := s.Get(t, keysPath+"?createdBy="+user, full.Token).Want(t, http.StatusOK).JSON["totalCount"].(float64); (total > 0) != want {
				t.Errorf("%v keys were made by %s", total, user)
			}
		}
	})
}

func TestAPIKeys(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		tenant := defaultTenant(t, s)
		maker := newHolder(t, s, tenant, append([]string{"read:users", "create:users", "delete:users", "read:roles"}, manageKeys...)...)

		t.Run("it is shown once and kept as a hash", func(t *testing.T) { testKeySecret(t, s, maker) })
		t.Run("it is taken wherever a token of the tenant is", func(t *testing.T) { testKeyCalls(t, s, tenant) })
		t.Run("what is no key", func(t *testing.T) { testNoKey(t, s, maker) })
		t.Run("it has an end", func(t *testing.T) { testKeyEnds(t, s, maker) })
		t.Run("it may do what its maker may", func(t *testing.T) { testKeyFollowsMaker(t, s, tenant) })
		t.Run("it ends with its maker", func(t *testing.T) { testKeyEndsWithMaker(t, s) })
		t.Run("nobody hands out what they lack", func(t *testing.T) { testKeyEscalation(t, s, maker, tenant) })
		t.Run("it is no person", func(t *testing.T) { testKeyIsNoPerson(t, s, maker) })
		t.Run("its last use", func(t *testing.T) { testKeyUse(t, s, maker) })
		t.Run("the trail tells of it", func(t *testing.T) { testKeyTrail(t, s, maker) })
		t.Run("races", func(t *testing.T) { testKeyRaces(t, s, maker) })
	})
}

func testKeySecret(t *testing.T, s *apptest.Server, maker holder) {
	body := m{"name": "Import", "description": "Nightly", "permissions": []string{"read:users", "CREATE:users", "read:users"}}
	first := s.Do(t, apptest.Request{Method: http.MethodPost, Path: keysPath, Token: maker.Token, Body: body, Header: map[string]string{"Idempotency-Key": "k1"}}).Want(t, http.StatusCreated)
	key := first.JSON["key"].(string)
	if !regexp.MustCompile(`^stw_[a-z0-9]{8}_[0-9A-Za-z]{43}$`).MatchString(key) || first.JSON["prefix"] != key[:12] {
		t.Errorf("unexpected key: %s", first.Raw)
	}
	if !slices.Equal(texts(first.JSON["permissions"]), []string{"create:users", "read:users"}) || first.JSON["createdBy"] != maker.ID || first.JSON["lastUsedAt"] != nil ||
		first.JSON["expiresAt"] != nil || first.JSON["isActive"] != true || len(first.JSON) != 16 {
		t.Errorf("unexpected key: %s", first.Raw)
	}
	again := s.Do(t, apptest.Request{Method: http.MethodPost, Path: keysPath, Token: maker.Token, Body: body, Header: map[string]string{"Idempotency-Key": "k1"}}).Want(t, http.StatusCreated)
	for what, a := range map[string]apptest.Answer{
		"a replay": again, "a read": s.Get(t, first.Header.Get("Location"), maker.Token), "a list": s.Get(t, keysPath, maker.Token),
		"an update": put(t, s, first.Header.Get("Location"), maker.Token, m{"description": "Each night"}),
	} {
		if strings.Contains(string(a.Raw), key[12:]) || strings.Contains(string(a.Raw), `"key"`) || a.Status >= 300 {
			t.Errorf("%s answers %s", what, a.Raw)
		}
	}
	kept := all(t, s, `SELECT COALESCE(before, '') || COALESCE(after, '') FROM audit_log`) + all(t, s, `SELECT body FROM idempotency_keys`) +
		all(t, s, `SELECT prefix || name || description || permissions || hash FROM api_keys`)
	if strings.Contains(kept, key[13:]) {
		t.Error("the key is in the store")
	}
	if got := trail(t, s, first.JSON["id"]); !strings.Contains(got, `api-key.created - {`) || strings.Contains(got, "hash") ||
		!strings.Contains(got, `api-key.updated {"description":"Nightly"} {"description":"Each night"}`) {
		t.Errorf("trail: %s", got)
	}
}

func testKeyCalls(t *testing.T, s *apptest.Server, tenant string) {
	maker := newHolder(t, s, tenant, append([]string{"read:users", "read:roles"}, manageKeys...)...)
	key := newKey(t, s, maker.Token, "read:users").Key
	s.Get(t, "/api/v1/users", key).Want(t, http.StatusOK)
	s.Get(t, "/api/v1/users/"+maker.ID, key).Want(t, http.StatusOK)
	s.Get(t, "/api/users", key).Want(t, http.StatusOK)
	if a := s.Get(t, "/api/tenants/current", key).Want(t, http.StatusOK); a.Data(t)["id"] != tenant {
		t.Errorf("unexpected tenant: %s", a.Raw)
	}
	s.Get(t, "/api/v1/roles", key).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION") // though the maker may
	s.Get(t, "/api/roles", key).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
	s.Get(t, "/api/v1/admin/users", key).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
	s.Post(t, "/api/auth/logout", maker.Token, nil).Want(t, http.StatusOK)
	s.Get(t, "/api/v1/users", key).Want(t, http.StatusOK) // a key is no session
}

func testNoKey(t *testing.T, s *apptest.Server, maker holder) {
	key := newKey(t, s, maker.Token, "read:users").Key
	last := "0"
	if strings.HasSuffix(key, last) {
		last = "1"
	}
	for _, wrong := range []string{"stw_", key + "0", key[:len(key)-1], key[:len(key)-1] + last, "stw_aaaaaaaa_" + strings.Repeat("0", 43), "STW" + key[3:]} {
		s.Get(t, "/api/v1/users", wrong).WantProblem(t, http.StatusUnauthorized, "TOKEN_INVALID")
		s.Get(t, "/api/users", wrong).WantEnvelope(t, http.StatusUnauthorized, "TOKEN_INVALID")
	}
	s.Get(t, "/api/v1/users", key).Want(t, http.StatusOK)
}

func testKeyEnds(t *testing.T, s *apptest.Server, maker holder) {
	refused := func(k madeKey, code string) {
		t.Helper()
		s.Get(t, "/api/v1/users", k.Key).WantProblem(t, http.StatusUnauthorized, code)
	}
	t.Run("switched off and on", func(t *testing.T) {
		k := newKey(t, s, maker.Token, "read:users")
		s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
		put(t, s, k.path(), maker.Token, m{"isActive": false}).Want(t, http.StatusOK)
		refused(k, "TOKEN_REVOKED")
		put(t, s, k.path(), maker.Token, m{"isActive": true}).Want(t, http.StatusOK)
		s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
	})
	t.Run("deleted, alone and with others", func(t *testing.T) {
		a, b := newKey(t, s, maker.Token, "read:users"), newKey(t, s, maker.Token, "read:users")
		s.Get(t, "/api/v1/users", a.Key).Want(t, http.StatusOK)
		s.Get(t, "/api/v1/users", b.Key).Want(t, http.StatusOK)
		remove(t, s, a.path(), maker.Token).Want(t, http.StatusNoContent)
		s.Post(t, keysPath+"/bulk-delete", maker.Token, m{"ids": []string{b.ID}}).Want(t, http.StatusOK)
		refused(a, "TOKEN_REVOKED")
		refused(b, "TOKEN_REVOKED")
	})
	t.Run("expired", func(t *testing.T) {
		made := s.Post(t, keysPath, maker.Token, m{"name": "short", "permissions": []string{"read:users"}, "expiresAt": s.Clock.Now().Add(20 * time.Minute)}).Want(t, http.StatusCreated).JSON
		k := madeKey{made["id"].(string), made["key"].(string)}
		s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
		s.Clock.Advance(21 * time.Minute)
		refused(k, "TOKEN_EXPIRED")
		put(t, s, k.path(), maker.Token, m{"name": "short, and over"}).Want(t, http.StatusOK) // what is past may stay past
		put(t, s, k.path(), maker.Token, m{"expiresAt": s.Clock.Now().Add(time.Hour)}).Want(t, http.StatusOK)
		s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
	})
	t.Run("fewer permissions", func(t *testing.T) {
		k := newKey(t, s, maker.Token, "read:users", "read:roles")
		s.Get(t, "/api/v1/roles", k.Key).Want(t, http.StatusOK)
		put(t, s, k.path(), maker.Token, m{"permissions": []string{"read:users"}}).Want(t, http.StatusOK)
		s.Get(t, "/api/v1/roles", k.Key).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
		s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
	})
}

func testKeyFollowsMaker(t *testing.T, s *apptest.Server, tenant string) {
	admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
	maker := newHolder(t, s, tenant, manageKeys...)
	role := newRole(t, s, admin, m{"name": "Reader " + newMark(), "permissionIds": permissionIDs(t, s, "read:users", "read:roles")})["id"].(string)
	roles := func(ids ...string) {
		t.Helper()
		put(t, s, "/api/v1/admin/users/"+maker.ID, admin, m{"tenants": []m{{"tenantId": tenant, "roleIds": append(ids, one[string](t, s, `SELECT id FROM roles WHERE name = 'holder-' || (SELECT substr(email, 1, 36) FROM users WHERE id = $1)`, maker.ID))}}}).Want(t, http.StatusOK)
	}
	roles(role)
	key := newKey(t, s, maker.Token, "read:users", "read:roles").Key
	want := func(what string, users, roles int) {
		t.Helper()
		if u, r := s.Get(t, "/api/v1/users", key).Status, s.Get(t, "/api/v1/roles", key).Status; u != users || r != roles {
			t.Errorf("%s: users %d and roles %d, want %d and %d", what, u, r, users, roles)
		}
	}
	want("at first", 200, 200)
	put(t, s, "/api/v1/roles/"+role, admin, m{"permissionIds": permissionIDs(t, s, "read:users")}).Want(t, http.StatusOK)
	want("a permission left the role", 200, 403)
	roles()
	want("the role was taken away", 403, 403)
	roles(role)
	want("and given back", 200, 403)
	roles(systemRole(t, s, "Super Administrator"))
	want("the maker may do everything", 200, 200)
	s.Get(t, "/api/v1/tenants", key).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")

	all := newKey(t, s, maker.Token, "*").Key
	s.Get(t, "/api/v1/tenants", all).Want(t, http.StatusOK)
	roles(role)
	s.Get(t, "/api/v1/tenants", all).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
	s.Get(t, "/api/v1/users", all).Want(t, http.StatusOK) // everything is no more than the maker may
}

func testKeyEndsWithMaker(t *testing.T, s *apptest.Server) {
	admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
	for _, c := range []struct {
		name   string
		end    func(tenant, user string) apptest.Answer
		status int
		code   string
		again  func(tenant, user string) apptest.Answer
	}{
		{"the account is deactivated", func(_, user string) apptest.Answer {
			return put(t, s, "/api/v1/admin/users/"+user, admin, m{"isActive": false})
		}, 401, "SESSION_INVALIDATED", func(_, user string) apptest.Answer {
			return put(t, s, "/api/v1/admin/users/"+user, admin, m{"isActive": true})
		}},
		{"the account is deleted", func(_, user string) apptest.Answer { return remove(t, s, "/api/v1/admin/users/"+user, admin) }, 401, "SESSION_INVALIDATED", nil},
		{"the maker leaves the tenant", func(tenant, user string) apptest.Answer {
			return remove(t, s, "/api/v1/tenants/"+tenant+"/users/"+user, admin)
		}, 401, "SESSION_INVALIDATED", nil},
		{"the tenant is deactivated", func(tenant, _ string) apptest.Answer {
			return put(t, s, "/api/v1/tenants/"+tenant, admin, m{"isActive": false})
		}, 403, "TENANT_FORBIDDEN", func(tenant, _ string) apptest.Answer {
			return put(t, s, "/api/v1/tenants/"+tenant, admin, m{"isActive": true})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tenant := newTenant(t, s, "T"+newMark())
			maker := newHolder(t, s, tenant, append([]string{"read:users"}, manageKeys...)...)
			s.Write(t, `UPDATE tenants SET user_count = 1 WHERE id = $1`, tenant)
			key := newKey(t, s, maker.Token, "read:users").Key
			s.Get(t, "/api/v1/users", key).Want(t, http.StatusOK)
			c.end(tenant, maker.ID).Want(t, http.StatusOK)
			s.Get(t, "/api/v1/users", key).WantProblem(t, c.status, c.code)
			if c.again != nil {
				c.again(tenant, maker.ID).Want(t, http.StatusOK)
				s.Get(t, "/api/v1/users", key).Want(t, http.StatusOK)
			}
		})
	}
	t.Run("the binding is deactivated", func(t *testing.T) {
		tenant, other := defaultTenant(t, s), newTenant(t, s, "T"+newMark())
		maker := newHolder(t, s, tenant, append([]string{"read:users"}, manageKeys...)...)
		bind(t, s, maker.ID, other, false)
		key := newKey(t, s, maker.Token, "read:users").Key
		s.Get(t, "/api/v1/users", key).Want(t, http.StatusOK)
		s.Post(t, "/api/v1/users/"+maker.ID+"/deactivate", admin, nil).Want(t, http.StatusOK)
		s.Get(t, "/api/v1/users", key).WantProblem(t, http.StatusForbidden, "TENANT_FORBIDDEN")
		s.Post(t, "/api/v1/users/"+maker.ID+"/activate", admin, nil).Want(t, http.StatusOK)
		s.Get(t, "/api/v1/users", key).Want(t, http.StatusOK)
	})
}

func testKeyEscalation(t *testing.T, s *apptest.Server, maker holder, tenant string) {
	blocked := func(a apptest.Answer) {
		t.Helper()
		a.WantProblem(t, http.StatusForbidden, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED")
	}
	system := newHolder(t, s, tenant, append([]string{"admin:system"}, manageKeys...)...)
	for token, permissions := range map[string][]string{
		maker.Token: {"read:users", "read:jobs"}, newHolder(t, s, tenant, "create:api-keys").Token: {"*"}, system.Token: {"read:users"},
	} {
		blocked(s.Post(t, keysPath, token, m{"name": "more", "permissions": permissions}))
	}
	k := newKey(t, s, maker.Token, "read:users", "delete:users")
	blocked(put(t, s, k.path(), maker.Token, m{"permissions": []string{"read:users", "read:jobs"}}))
	lesser := newHolder(t, s, tenant, append([]string{"read:users", "read:jobs"}, manageKeys...)...)
	blocked(put(t, s, k.path(), lesser.Token, m{"name": "mine"}))
	blocked(put(t, s, k.path(), lesser.Token, m{"permissions": []string{"read:users", "read:jobs"}})) // the maker lacks it
	blocked(put(t, s, k.path(), system.Token, m{"permissions": []string{"read:users", "read:jobs"}}))
	put(t, s, k.path(), system.Token, m{"description": "seen"}).Want(t, http.StatusOK)
	put(t, s, k.path(), lesser.Token, m{"isActive": false}).Want(t, http.StatusOK)
	blocked(put(t, s, k.path(), lesser.Token, m{"isActive": true}))
	put(t, s, k.path(), lesser.Token, m{"isActive": true, "permissions": []string{"read:users"}}).Want(t, http.StatusOK)
	remove(t, s, k.path(), lesser.Token).Want(t, http.StatusNoContent)

	// A permission that left the catalogue stays in the key, has no effect, and is in nobody's way.
	stale := newKey(t, s, maker.Token, "read:users", "read:roles")
	s.Write(t, `UPDATE api_keys SET permissions = '["read:gone","read:users"]' WHERE id = $1`, stale.ID)
	put(t, s, stale.path(), system.Token, m{"name": "stale " + newMark()}).Want(t, http.StatusOK)
	a := put(t, s, stale.path(), system.Token, m{"isActive": false, "permissions": []string{"READ:users", "read:gone", "read:users"}}).Want(t, http.StatusOK)
	if !slices.Equal(texts(a.JSON["permissions"]), []string{"read:gone", "read:users"}) {
		t.Errorf("unexpected permissions: %s", a.Raw)
	}
}

func testKeyIsNoPerson(t *testing.T, s *apptest.Server, maker holder) {
	key := newKey(t, s, maker.Token, append([]string{"read:users", "create:users", "delete:users"}, manageKeys...)...).Key
	for _, r := range []apptest.Request{
		{Method: "POST", Path: "/api/auth/logout"},
		{Method: "POST", Path: "/api/auth/switch-tenant", Body: m{"tenantId": defaultTenant(t, s)}},
		{Method: "GET", Path: "/api/auth/me"},
		{Method: "GET", Path: "/api/auth/me?include=profile"},
		{Method: "GET", Path: "/api/auth/me/complete"},
		{Method: "POST", Path: "/api/auth/change-password", Body: m{"currentPassword": password, "newPassword": "another horse"}},
		{Method: "GET", Path: "/api/auth/sessions"},
		{Method: "DELETE", Path: "/api/auth/sessions/" + newMark()},
	} {
		r.Token = key
		s.Do(t, r).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
	}
	other := newKey(t, s, maker.Token, "read:users")
	s.Post(t, keysPath, key, m{"name": "child", "permissions": []string{"read:users"}}).WantProblem(t, http.StatusForbidden, "FORBIDDEN")
	put(t, s, other.path(), key, m{"name": "renamed"}).WantProblem(t, http.StatusForbidden, "FORBIDDEN")
	s.Get(t, other.path(), key).Want(t, http.StatusOK)
	remove(t, s, other.path(), key).Want(t, http.StatusNoContent)
	s.Get(t, "/api/v1/users", other.Key).WantProblem(t, http.StatusUnauthorized, "TOKEN_REVOKED")
	remove(t, s, "/api/v1/users/"+maker.ID, key).WantProblem(t, http.StatusConflict, "SELF_CONFLICT")
	// The maker may do more than the key, which therefore may not touch the account.
	less := newKey(t, s, newHolder(t, s, defaultTenant(t, s), append([]string{"update:users", "read:roles"}, manageKeys...)...).Token, "update:users")
	who := one[string](t, s, `SELECT created_by FROM api_keys WHERE id = $1`, less.ID)
	put(t, s, "/api/v1/users/"+who, less.Key, m{"firstName": "Mallory"}).WantProblem(t, http.StatusForbidden, "FORBIDDEN")
}

func testKeyUse(t *testing.T, s *apptest.Server, maker holder) {
	k := newKey(t, s, maker.Token, "read:users")
	read := func() (string, string) {
		a := s.Get(t, k.path(), maker.Token).Want(t, http.StatusOK)
		at, _ := a.JSON["lastUsedAt"].(string)
		return at, a.Header.Get("ETag")
	}
	// used calls with the key until its last use is another one.
	used := func(before string) string {
		t.Helper()
		s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
		for begun := time.Now(); time.Since(begun) < 10*time.Second; {
			if at, _ := read(); at != before {
				return at
			}
		}
		t.Fatal("the use of the key was not written down")
		return ""
	}
	_, version := read()
	first := used("")
	for range 20 {
		s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
	}
	put(t, s, k.path(), maker.Token, m{"description": "x"}).Want(t, http.StatusOK) // every node forgets the key
	s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
	s.Clock.Advance(59 * time.Second)
	s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
	if at, now := read(); at != first || now == version {
		t.Errorf("used at %s, then at %s within a minute (version %s, then %s)", first, at, version, now)
	}
	_, version = read()
	s.Clock.Advance(2 * time.Second)
	if second := used(first); second <= first {
		t.Errorf("used at %s, a minute later at %s", first, second)
	}
	if _, now := read(); now != version {
		t.Error("the use of the key changed its version")
	}
}

func testKeyTrail(t *testing.T, s *apptest.Server, maker holder) {
	k := newKey(t, s, maker.Token, "create:users")
	a := s.Post(t, "/api/v1/users", k.Key, m{"email": newMark() + "@example.com"}).Want(t, http.StatusCreated)
	who := one[string](t, s, `SELECT actor_id || ' ' || api_key_id FROM audit_log WHERE action = 'user.created' AND target_id = $1`, a.JSON["id"])
	if who != maker.ID+" "+k.ID {
		t.Errorf("made by %s", who)
	}
	if n := one[int](t, s, `SELECT count(*) FROM audit_log WHERE target_id = $1 AND api_key_id IS NULL`, k.ID); n != 1 {
		t.Errorf("%d entries of the person about the key", n)
	}
}

func testKeyRaces(t *testing.T, s *apptest.Server, maker holder) {
	t.Run("of two revocations one succeeds", func(t *testing.T) {
		k := newKey(t, s, maker.Token, "read:users")
		statuses := parallel(4, func(int) int { return remove(t, s, k.path(), maker.Token).Status })
		if count(statuses, http.StatusNoContent) != 1 || count(statuses, http.StatusNotFound) != 3 {
			t.Errorf("answers %v", statuses)
		}
	})
	t.Run("nothing passes once it is revoked", func(t *testing.T) {
		k := newKey(t, s, maker.Token, "read:users")
		revoked := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for over := false; !over; {
					select {
					case <-revoked:
						over = true
					default:
					}
					if a := s.Get(t, "/api/v1/users?pageSize=1", k.Key); over && a.Status != http.StatusUnauthorized {
						t.Errorf("a call after the revocation answers %d", a.Status)
					} else if a.Status == http.StatusUnauthorized && a.JSON["code"] != "TOKEN_REVOKED" {
						t.Errorf("refused with %s", a.Raw)
					}
				}
			})
		}
		remove(t, s, k.path(), maker.Token).Want(t, http.StatusNoContent)
		close(revoked)
		wg.Wait()
	})
}

func TestARevokedAPIKeyIsRefusedOnEveryNode(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		near := apptest.Start(t, store, nil)
		far := apptest.Start(t, store, nil)
		admin := near.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		k := newKey(t, near, admin, "read:users")
		for _, s := range []*apptest.Server{near, far} {
			s.Get(t, "/api/v1/users", k.Key).Want(t, http.StatusOK)
		}
		remove(t, near, k.path(), admin).Want(t, http.StatusNoContent)
		told := time.Now()
		near.Get(t, "/api/v1/users", k.Key).WantProblem(t, http.StatusUnauthorized, "TOKEN_REVOKED")
		for far.Get(t, "/api/v1/users", k.Key).Status != http.StatusUnauthorized {
			if time.Since(told) > time.Second {
				t.Fatal("the other node still takes the key after a second")
			}
		}
	})
}

func TestAnAPIKeyHasLimitsOfItsOwn(t *testing.T) {
	limited := func(c *config.Config) {
		c.RateLimits, c.LimitIdentity = "on", config.Rate{N: 3, Window: time.Minute}
	}
	apptest.Each(t, limited, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		first, second := newKey(t, s, admin, "read:users").Key, newKey(t, s, admin, "read:users").Key
		for _, token := range []string{first, second, admin} {
			for range 3 {
				s.Get(t, "/api/v1/users", token).Want(t, http.StatusOK)
			}
			s.Get(t, "/api/v1/users", token).WantProblem(t, http.StatusTooManyRequests, "RATE_LIMITED")
		}
	})
}

// newMark is a text that occurs nowhere yet.
func newMark() string { return uuid.Must(uuid.NewV7()).String() }
