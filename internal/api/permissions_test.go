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
	"steward/internal/db"
)

const permissionsPath = "/api/v1/permissions"

func newPermission(t *testing.T, s *apptest.Server, token string, body m) m {
	t.Helper()
	return s.Post(t, permissionsPath, token, body).Want(t, http.StatusCreated).JSON
}

// hold puts a permission into a role behind the API.
func hold(t *testing.T, s *apptest.Server, role, permission string) {
	t.Helper()
	s.Write(t, `INSERT INTO role_permissions (role_id, permission_id) VALUES ($1, $2)`, role, permission)
}

// roleIn makes a role of the tenant behind the API.
func roleIn(t *testing.T, s *apptest.Server, tenant string) string {
	t.Helper()
	id := uuid.Must(uuid.NewV7()).String()
	s.Write(t, `INSERT INTO roles (id, tenant_id, name, name_key, created_at, updated_at) VALUES ($1, $2, $3, $3, $4, $4)`, id, tenant, id, db.At(s.Clock.Now()))
	return id
}

// codesOf lists the codes, or names, of the items of an answer.
func codesOf(t *testing.T, a apptest.Answer) []string {
	t.Helper()
	codes := []string{}
	for _, item := range a.Want(t, http.StatusOK).JSON["items"].([]any) {
		codes = append(codes, item.(m)["code"].(string))
	}
	return codes
}

// trail lists the audit entries about one target, oldest first.
func trail(t *testing.T, s *apptest.Server, target any) string {
	t.Helper()
	return all(t, s, `SELECT action || ' ' || COALESCE(before, '-') || ' ' || COALESCE(after, '-') FROM audit_log WHERE target_id = '`+target.(string)+`' ORDER BY id`)
}

func TestPermissions(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		t.Run("list", func(t *testing.T) { testListPermissions(t, s, admin) })
		t.Run("number of roles", func(t *testing.T) { testRoleCount(t, s, admin) })
		t.Run("get", func(t *testing.T) { testGetPermission(t, s, admin) })
		t.Run("create", func(t *testing.T) { testCreatePermission(t, s, admin) })
		t.Run("update", func(t *testing.T) { testUpdatePermission(t, s, admin) })
		t.Run("delete", func(t *testing.T) { testDeletePermission(t, s, admin) })
		t.Run("who may", func(t *testing.T) { testWhoMayUsePermissions(t, s) })
		t.Run("unversioned", func(t *testing.T) { testUnversionedPermissions(t, s, admin) })
		t.Run("shipped later", func(t *testing.T) { testPermissionShippedLater(t, s, admin) })
	})
}

func testListPermissions(t *testing.T, s *apptest.Server, admin string) {
	newPermission(t, s, admin, m{"code": "pick:apples", "description": "Äpfel pflücken", "category": "Obst & Gemüse"})
	newPermission(t, s, admin, m{"code": "Zap:apples", "description": "100%_sure", "category": "obst & gemüse"})
	get := func(query string) apptest.Answer { return s.Get(t, permissionsPath+"?"+query, admin) }
	t.Run("the whole catalogue by code", func(t *testing.T) {
		a := get("pageSize=100").Want(t, http.StatusOK)
		total := one[int](t, s, `SELECT count(*) FROM permissions`)
		codes := codesOf(t, a)
		if a.JSON["totalCount"] != float64(total) || len(codes) != total || codes[0] != "*" || codes[total-1] != "Zap:apples" {
			t.Errorf("unexpected list: %s", a.Raw)
		}
		first := a.JSON["items"].([]any)[0].(m)
		if len(first) != 8 || first["isSystem"] != true || first["category"] != "System" || first["description"] != "Everything" || first["roleCount"] != 1.0 || first["id"] == nil || first["createdAt"] != first["updatedAt"] {
			t.Errorf("unexpected item: %v", first)
		}
	})
	t.Run("pages", func(t *testing.T) {
		whole := codesOf(t, get("pageSize=100"))
		second := get("page=2&pageSize=10").Want(t, http.StatusOK)
		if !slices.Equal(codesOf(t, second), whole[10:20]) || second.JSON["pageNumber"] != 2.0 || second.JSON["pageSize"] != 10.0 || second.JSON["hasNext"] != true || second.JSON["hasPrevious"] != true {
			t.Errorf("unexpected page: %s", second.Raw)
		}
		if n := len(codesOf(t, get("pageNumber=99"))); n != 0 {
			t.Errorf("%d items behind the last page", n)
		}
		if n := len(codesOf(t, get(""))); n != 20 {
			t.Errorf("%d items by default", n)
		}
	})
	for _, c := range []struct{ name, query, want string }{
		{"search in the code", "search=PICK:", "pick:apples"},
		{"search in the description, beyond ASCII", "search=" + url.QueryEscape("äPFEL PFLÜ"), "pick:apples"},
		{"search in the category", "search=" + url.QueryEscape("GEMÜSE"), "pick:apples Zap:apples"},
		{"search for what is a wildcard in SQL", "search=" + url.QueryEscape("%_s"), "Zap:apples"},
		{"search for nothing that is there", "search=nowhere", ""},
		{"category in any case", "category=" + url.QueryEscape("OBST & GEMÜSE"), "pick:apples Zap:apples"},
		{"category is not a part", "category=obst", ""},
		{"what was added", "isSystem=false", "pick:apples Zap:apples"},
		{"filters together", "isSystem=false&search=zap&category=" + url.QueryEscape("obst & gemüse"), "Zap:apples"},
		{"what was shipped", "isSystem=true&category=apps&sortDirection=desc", "update:apps read:apps delete:apps create:apps"},
		{"deleted ones do not exist", "isSystem=false&includeDeleted=true", "pick:apples Zap:apples"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := get(c.query)
			if codes := codesOf(t, a); strings.Join(codes, " ") != c.want || a.JSON["totalCount"] != float64(len(codes)) {
				t.Errorf("got %v of %v, want %s", codes, a.JSON["totalCount"], c.want)
			}
		})
	}
	t.Run("sorted by every field", func(t *testing.T) {
		for _, field := range []string{"id", "CODE", "description", "category", "isSystem", "roleCount", "createdAt", "updatedAt"} {
			up, down := codesOf(t, get("pageSize=100&sortBy="+field)), codesOf(t, get("pageSize=100&sortDirection=DESCENDING&sortBy="+field))
			slices.Reverse(down)
			if !slices.Equal(up, down) {
				t.Errorf("by %s the directions are not the reverse of each other", field)
			}
		}
		if codes := codesOf(t, get("pageSize=1&sortBy=roleCount&sortDirection=desc&search=read:reports")); codes[0] != "read:reports" {
			t.Errorf("got %v", codes)
		}
	})
	for query, field := range map[string]string{
		"page=0": "page", "pageSize=101": "pageSize", "sortBy=password": "sortBy", "sortDirection=up": "sortDirection", "isSystem=perhaps": "isSystem",
		"search=" + strings.Repeat("x", 201): "search", "category=" + strings.Repeat("x", 101): "category",
	} {
		t.Run("refuses "+query[:min(len(query), 20)], func(t *testing.T) {
			get(query).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
		})
	}
}

func testRoleCount(t *testing.T, s *apptest.Server, admin string) {
	mine, theirs := newTenant(t, s, "Mine"), newTenant(t, s, "Theirs")
	p := newPermission(t, s, admin, m{"code": "count:roles"})
	id := p["id"].(string)
	for _, tenant := range []string{mine, theirs, theirs} {
		hold(t, s, roleIn(t, s, tenant), id)
	}
	hold(t, s, one[string](t, s, `SELECT id FROM roles WHERE name = 'Member'`), id)
	for _, c := range []struct {
		name   string
		tenant string
		more   []string
		want   float64
	}{
		{"the tenant's own and the system roles", mine, nil, 2},
		{"those of the other tenant", theirs, nil, 3},
		{"all for whoever reaches all tenants", mine, []string{"manage:all-tenants"}, 4},
		{"all for the system's administrators", mine, []string{"admin:system"}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller := newHolder(t, s, c.tenant, append(c.more, "read:permissions")...).Token
			listed := s.Get(t, permissionsPath+"?search=count:roles", caller).Want(t, http.StatusOK).JSON["items"].([]any)[0].(m)
			read := s.Get(t, permissionsPath+"/"+id, caller).Want(t, http.StatusOK).JSON
			coded := s.Get(t, permissionsPath+"/by-code/count:roles", caller).Want(t, http.StatusOK).JSON
			group := s.Get(t, permissionsPath+"/catalog?search=count:roles", caller).Want(t, http.StatusOK).JSON["items"].([]any)[0].(m)["permissions"].([]any)[0].(m)
			for _, shown := range []m{listed, read, coded, group} {
				if shown["roleCount"] != c.want {
					t.Errorf("%v roles, want %v", shown["roleCount"], c.want)
				}
			}
		})
	}
}

func testGetPermission(t *testing.T, s *apptest.Server, admin string) {
	p := newPermission(t, s, admin, m{"code": "Read.All_2:Pick-Lists", "description": "x", "category": "Stock"})
	path := permissionsPath + "/" + p["id"].(string)
	read := s.Get(t, path, admin).Want(t, http.StatusOK)
	if read.JSON["code"] != "Read.All_2:Pick-Lists" || read.JSON["category"] != "Stock" || read.JSON["isSystem"] != false || read.JSON["roleCount"] != 0.0 || len(read.JSON) != 8 {
		t.Errorf("unexpected permission: %s", read.Raw)
	}
	etag := read.Header.Get("ETag")
	s.Do(t, apptest.Request{Method: "GET", Path: path, Token: admin, Header: map[string]string{"If-None-Match": etag}}).Want(t, http.StatusNotModified)
	for _, code := range []string{"Read.All_2:Pick-Lists", "READ.ALL_2:PICK-LISTS", "read.all_2%3apick-lists", "read.all_2%3Apick%2Dlists"} {
		a := s.Get(t, permissionsPath+"/by-code/"+code, admin).Want(t, http.StatusOK)
		if a.JSON["id"] != p["id"] || a.Header.Get("ETag") != etag {
			t.Errorf("%s is %s", code, a.Raw)
		}
	}
	for _, code := range []string{"*", "%2A"} {
		if a := s.Get(t, permissionsPath+"/by-code/"+code, admin).Want(t, http.StatusOK); a.JSON["code"] != "*" {
			t.Errorf("%s is %s", code, a.Raw)
		}
	}
	for _, path := range []string{"/by-code/read:nothing", "/by-code/users", "/by-code/%20", "/by-code/a%2Fb:c", "/by-code/%C3%A4:b", "/by-code/" + strings.Repeat("x", 500), "/" + uuid.NewString(), "/" + uuid.Nil.String()} {
		if path == "/by-code/%20" { // nothing but space is no text at all
			s.Get(t, permissionsPath+path, admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "code")
			continue
		}
		s.Get(t, permissionsPath+path, admin).WantProblem(t, http.StatusNotFound, "PERMISSION_NOT_FOUND")
	}
	s.Get(t, permissionsPath+"/nonsense", admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
}

func testCreatePermission(t *testing.T, s *apptest.Server, admin string) {
	t.Run("answers where it can be read", func(t *testing.T) {
		a := s.Post(t, permissionsPath, admin, m{"code": "approve:Invoices", "description": "  Approve\ninvoices ", "category": " Billing "}).Want(t, http.StatusCreated)
		if a.Header.Get("Location") != permissionsPath+"/"+a.JSON["id"].(string) || a.JSON["description"] != "Approve\ninvoices" || a.JSON["category"] != "Billing" {
			t.Errorf("unexpected answer: %s", a.Raw)
		}
		again := s.Get(t, a.Header.Get("Location"), admin).Want(t, http.StatusOK)
		if string(again.Raw) != string(a.Raw) || again.Header.Get("ETag") != a.Header.Get("ETag") || a.Header.Get("ETag") == "" {
			t.Errorf("created %s, read %s", a.Raw, again.Raw)
		}
		if got := trail(t, s, a.JSON["id"]); got != `permission.created - {"category":"Billing","code":"approve:Invoices","description":"Approve\ninvoices","isSystem":false}` {
			t.Errorf("the trail says %s", got)
		}
	})
	t.Run("only the code is needed", func(t *testing.T) {
		p := newPermission(t, s, admin, m{"code": "pay:invoices", "description": nil, "category": nil, "isSystem": true, "id": "x"})
		if p["description"] != "" || p["category"] != "" || p["isSystem"] != false {
			t.Errorf("unexpected permission: %v", p)
		}
	})
	t.Run("a code is taken in any case", func(t *testing.T) {
		for _, code := range []string{"approve:Invoices", "APPROVE:INVOICES", "read:users", "Read:Users", "*"} {
			s.Post(t, permissionsPath, admin, m{"code": code}).WantProblem(t, http.StatusConflict, "PERMISSION_ALREADY_EXISTS")
		}
	})
	half := strings.Repeat("a", 64)
	for _, c := range []struct {
		name  string
		body  any
		field string
	}{
		{"no code", m{"description": "x"}, "code"},
		{"a null code", m{"code": nil}, "code"},
		{"an empty code", m{"code": ""}, "code"},
		{"one half", m{"code": "users"}, "code"},
		{"no action", m{"code": ":users"}, "code"},
		{"no resource", m{"code": "read:"}, "code"},
		{"three halves", m{"code": "read:users:all"}, "code"},
		{"a wildcard inside", m{"code": "read:*"}, "code"},
		{"two wildcards", m{"code": "**"}, "code"},
		{"spaces around", m{"code": " read:x "}, "code"},
		{"a line break", m{"code": "read:x\n"}, "code"},
		{"letters beyond ASCII", m{"code": "läs:x"}, "code"},
		{"a long half", m{"code": half + "a:x"}, "code"},
		{"a long description", m{"code": "a:b", "description": strings.Repeat("ä", 1001)}, "description"},
		{"a control character in the description", m{"code": "a:b", "description": "a\x07b"}, "description"},
		{"a long category", m{"code": "a:b", "category": strings.Repeat("ä", 101)}, "category"},
		{"a line break in the category", m{"code": "a:b", "category": "a\nb"}, "category"},
		{"no object", `["a:b"]`, "body"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			s.Post(t, permissionsPath, admin, c.body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
		})
	}
	t.Run("takes everything at its bounds", func(t *testing.T) {
		newPermission(t, s, admin, m{"code": half + ":" + half, "description": strings.Repeat("ä", 1000), "category": strings.Repeat("ä", 100)})
	})
	t.Run("is idempotent with a key", func(t *testing.T) {
		call := apptest.Request{Method: "POST", Path: permissionsPath, Token: admin, Body: m{"code": "once:only"}, Header: map[string]string{"Idempotency-Key": "p1"}}
		first, second := s.Do(t, call).Want(t, http.StatusCreated), s.Do(t, call).Want(t, http.StatusCreated)
		if string(first.Raw) != string(second.Raw) || second.Header.Get("Location") == "" {
			t.Errorf("%s, then %s", first.Raw, second.Raw)
		}
	})
	t.Run("of parallel calls one succeeds", func(t *testing.T) {
		statuses := parallel(8, func(i int) int {
			return s.Post(t, permissionsPath, admin, m{"code": []string{"race:me", "RACE:ME"}[i%2]}).Status
		})
		if count(statuses, http.StatusCreated) != 1 || count(statuses, http.StatusConflict) != 7 {
			t.Errorf("got %v", statuses)
		}
	})
}

func testUpdatePermission(t *testing.T, s *apptest.Server, admin string) {
	p := newPermission(t, s, admin, m{"code": "update:me", "description": "Old", "category": "Stock"})
	path := permissionsPath + "/" + p["id"].(string)
	t.Run("what is left out or null stays", func(t *testing.T) {
		a := put(t, s, path, admin, m{"description": " New ", "category": nil, "code": "other:code", "isSystem": true}).Want(t, http.StatusOK)
		if a.JSON["description"] != "New" || a.JSON["category"] != "Stock" || a.JSON["code"] != "update:me" || a.JSON["isSystem"] != false || a.JSON["createdAt"] != p["createdAt"] || a.JSON["updatedAt"] == p["updatedAt"] {
			t.Errorf("unexpected answer: %s", a.Raw)
		}
		if s.Get(t, permissionsPath+"?search=new&category=stock", admin).JSON["totalCount"] != 1.0 {
			t.Error("the new text is not found")
		}
	})
	t.Run("an empty text clears", func(t *testing.T) {
		a := put(t, s, path, admin, m{"description": "", "category": ""}).Want(t, http.StatusOK)
		if a.JSON["description"] != "" || a.JSON["category"] != "" {
			t.Errorf("unexpected answer: %s", a.Raw)
		}
	})
	t.Run("no change writes nothing", func(t *testing.T) {
		before := s.Get(t, path, admin)
		for _, body := range []m{{}, {"description": " "}} {
			if a := put(t, s, path, admin, body).Want(t, http.StatusOK); string(a.Raw) != string(before.Raw) {
				t.Errorf("%s became %s", before.Raw, a.Raw)
			}
		}
		want := `permission.created - {"category":"Stock","code":"update:me","description":"Old","isSystem":false}
permission.updated {"description":"Old"} {"description":"New"}
permission.updated {"category":"Stock","description":"New"} {"category":"","description":""}`
		if got := trail(t, s, p["id"]); got != want {
			t.Errorf("the trail says %s", got)
		}
	})
	t.Run("only over the version seen", func(t *testing.T) {
		seen := s.Get(t, path, admin).Header.Get("ETag")
		change := func(description, match string) apptest.Answer {
			return s.Do(t, apptest.Request{Method: "PUT", Path: path, Token: admin, Body: m{"description": description}, Header: map[string]string{"If-Match": match}})
		}
		fresh := change("first", seen).Want(t, http.StatusOK).Header.Get("ETag")
		change("second", seen).WantProblem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
		if s.Get(t, path, admin).JSON["description"] != "first" {
			t.Error("it was written over")
		}
		change("third", `"x", `+fresh).Want(t, http.StatusOK)
	})
	t.Run("of parallel calls on one version one succeeds", func(t *testing.T) {
		seen := s.Get(t, path, admin).Header.Get("ETag")
		statuses := parallel(6, func(i int) int {
			return s.Do(t, apptest.Request{Method: "PUT", Path: path, Token: admin, Body: m{"description": fmt.Sprint("racer ", i)}, Header: map[string]string{"If-Match": seen}}).Status
		})
		if count(statuses, http.StatusOK) != 1 || count(statuses, http.StatusPreconditionFailed) != 5 {
			t.Errorf("got %v", statuses)
		}
	})
	t.Run("of a system permission only the description", func(t *testing.T) {
		system := permissionsPath + "/" + one[string](t, s, `SELECT id FROM permissions WHERE code = 'read:apps'`)
		put(t, s, system, admin, m{"category": "Other"}).WantProblem(t, http.StatusForbidden, "PERMISSION_SYSTEM_FORBIDDEN")
		put(t, s, system, admin, m{"description": "x", "category": ""}).WantProblem(t, http.StatusForbidden, "PERMISSION_SYSTEM_FORBIDDEN")
		a := put(t, s, system, admin, m{"description": "Look at apps", "category": "apps"}).Want(t, http.StatusOK)
		if a.JSON["description"] != "Look at apps" || a.JSON["category"] != "Apps" {
			t.Errorf("unexpected answer: %s", a.Raw)
		}
		if err := s.App.Bootstrap(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Get(t, system, admin).JSON["description"] != "Look at apps" {
			t.Error("a start undid the change")
		}
	})
	t.Run("refuses", func(t *testing.T) {
		put(t, s, permissionsPath+"/"+uuid.NewString(), admin, m{}).WantProblem(t, http.StatusNotFound, "PERMISSION_NOT_FOUND")
		put(t, s, permissionsPath+"/x", admin, m{}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
		put(t, s, path, admin, m{"description": strings.Repeat("x", 1001), "category": 7}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "description").WantField(t, "category")
		put(t, s, path, admin, m{"category": "a\tb"}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "category")
	})
}

func testDeletePermission(t *testing.T, s *apptest.Server, admin string) {
	newOne := func(code string) string { return newPermission(t, s, admin, m{"code": code})["id"].(string) }
	t.Run("is for good", func(t *testing.T) {
		id := newOne("delete:me")
		if a := remove(t, s, permissionsPath+"/"+id, admin).Want(t, http.StatusOK); len(a.Raw) != 0 {
			t.Errorf("the body is %s", a.Raw)
		}
		remove(t, s, permissionsPath+"/"+id, admin).WantProblem(t, http.StatusNotFound, "PERMISSION_NOT_FOUND")
		s.Get(t, permissionsPath+"/"+id, admin).WantProblem(t, http.StatusNotFound, "PERMISSION_NOT_FOUND")
		if got := trail(t, s, id); !strings.HasSuffix(got, `permission.deleted {"category":"","code":"delete:me","description":"","isSystem":false} -`) {
			t.Errorf("the trail says %s", got)
		}
		newOne("Delete:Me")
	})
	t.Run("not a system permission", func(t *testing.T) {
		for _, code := range []string{"*", "work:jobs"} { // held by a role, and by none
			id := one[string](t, s, `SELECT id FROM permissions WHERE code = $1`, code)
			remove(t, s, permissionsPath+"/"+id, admin).WantProblem(t, http.StatusForbidden, "PERMISSION_SYSTEM_FORBIDDEN")
		}
	})
	t.Run("not while a role of any tenant holds it", func(t *testing.T) {
		id, role := newOne("hold:me"), roleIn(t, s, newTenant(t, s, "Holding"))
		hold(t, s, role, id)
		caller := newHolder(t, s, defaultTenant(t, s), "delete:permissions").Token
		remove(t, s, permissionsPath+"/"+id, caller).WantProblem(t, http.StatusConflict, "PERMISSION_IN_USE_CONFLICT")
		s.Get(t, permissionsPath+"/"+id, admin).Want(t, http.StatusOK)
		s.Write(t, `DELETE FROM role_permissions WHERE permission_id = $1`, id)
		remove(t, s, permissionsPath+"/"+id, caller).Want(t, http.StatusOK)
	})
	t.Run("only the version seen", func(t *testing.T) {
		id := newOne("match:me")
		with := func(match string) apptest.Answer {
			return s.Do(t, apptest.Request{Method: "DELETE", Path: permissionsPath + "/" + id, Token: admin, Header: map[string]string{"If-Match": match}})
		}
		with(`"other"`).WantProblem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
		with(s.Get(t, permissionsPath+"/"+id, admin).Header.Get("ETag")).Want(t, http.StatusOK)
	})
	t.Run("against a role that takes it at the same time", func(t *testing.T) {
		role := roleIn(t, s, defaultTenant(t, s))
		for i := range 10 {
			id := newOne(fmt.Sprintf("race:%d", i))
			statuses := parallel(2, func(i int) int {
				if i == 0 {
					return remove(t, s, permissionsPath+"/"+id, admin).Status
				}
				err := s.App.Store().Write(t.Context(), func(tx db.Tx) error {
					_, err := tx.Exec(t.Context(), `INSERT INTO role_permissions (role_id, permission_id) VALUES ($1, $2)`, role, id)
					return err
				})
				if err == nil {
					return http.StatusOK
				}
				return http.StatusConflict
			})
			if count(statuses, http.StatusOK) != 1 {
				t.Fatalf("deleting and granting answered %v", statuses)
			}
		}
	})
}

func testWhoMayUsePermissions(t *testing.T, s *apptest.Server) {
	tenant, id := defaultTenant(t, s), uuid.NewString()
	routes := []struct{ method, path, permission string }{
		{"GET", permissionsPath, "read:permissions"},
		{"GET", permissionsPath + "/catalog", "read:permissions"},
		{"GET", permissionsPath + "/catalog/categories", "read:permissions"},
		{"GET", permissionsPath + "/" + id, "read:permissions"},
		{"GET", permissionsPath + "/by-code/a:b", "read:permissions"},
		{"POST", permissionsPath, "create:permissions"},
		{"GET", permissionsPath + "/import/template", "create:permissions"},
		{"POST", permissionsPath + "/import", "create:permissions"},
		{"POST", permissionsPath + "/import/file", "create:permissions"},
		{"PUT", permissionsPath + "/" + id, "update:permissions"},
		{"DELETE", permissionsPath + "/" + id, "delete:permissions"},
	}
	all := []string{"read:permissions", "create:permissions", "update:permissions", "delete:permissions"}
	for _, r := range routes {
		t.Run(r.method+" "+strings.Replace(r.path, id, "{id}", 1), func(t *testing.T) {
			others := slices.DeleteFunc(slices.Clone(all), func(code string) bool { return code == r.permission })
			with, without := newHolder(t, s, tenant, r.permission).Token, newHolder(t, s, tenant, others...).Token
			s.Do(t, apptest.Request{Method: r.method, Path: r.path}).WantProblem(t, http.StatusUnauthorized, "TOKEN_MISSING")
			s.Do(t, apptest.Request{Method: r.method, Path: r.path, Token: without}).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			if a := s.Do(t, apptest.Request{Method: r.method, Path: r.path, Token: with}); a.Status == 401 || a.Status == 403 || a.Status >= 500 {
				t.Errorf("with the permission: %d %s", a.Status, a.Raw)
			}
		})
	}
	t.Run("a new permission changes nobody's rights", func(t *testing.T) {
		caller := newHolder(t, s, tenant, "create:permissions", "read:permissions").Token
		before := s.Get(t, "/api/auth/me/complete", caller).Data(t)["permissions"]
		newPermission(t, s, caller, m{"code": "grant:nothing"})
		if after := s.Get(t, "/api/auth/me/complete", caller).Data(t)["permissions"]; fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%v became %v", before, after)
		}
	})
}

func testUnversionedPermissions(t *testing.T, s *apptest.Server, admin string) {
	t.Run("create", func(t *testing.T) {
		a := s.Post(t, "/api/permissions", admin, m{"name": "old:route", "description": "By the old route", "category": "Old"}).Want(t, http.StatusCreated)
		data := a.Data(t)
		if a.JSON["isSuccess"] != true || len(data) != 4 || data["name"] != "old:route" || data["description"] != "By the old route" || data["category"] != "Old" {
			t.Errorf("unexpected answer: %s", a.Raw)
		}
		if s.Get(t, a.Header.Get("Location"), admin).Want(t, http.StatusOK).JSON["code"] != "old:route" {
			t.Error("it is not where the answer says")
		}
		s.Post(t, "/api/permissions", admin, m{"name": "OLD:route"}).WantEnvelope(t, http.StatusConflict, "CONFLICT")
		s.Post(t, "/api/permissions", admin, m{"name": "old route", "category": strings.Repeat("x", 101)}).
			WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "name").WantField(t, "category")
		s.Post(t, "/api/permissions", admin, m{"code": "old:name"}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "name")
	})
	t.Run("list", func(t *testing.T) {
		a := s.Get(t, "/api/permissions", admin).Want(t, http.StatusOK)
		items, total := a.Data(t)["items"].([]any), one[int](t, s, `SELECT count(*) FROM permissions`)
		if len(items) != total || a.JSON["totalCount"] != float64(total) || len(a.JSON["items"].([]any)) != total || a.JSON["page"] != 1.0 || a.JSON["totalPages"] != 1.0 {
			t.Errorf("unexpected list: %s", a.Raw)
		}
		if first := items[0].(m); len(first) != 4 || first["name"] != "*" || first["category"] != "System" || first["description"] != "Everything" {
			t.Errorf("unexpected item: %v", first)
		}
	})
	t.Run("who may", func(t *testing.T) {
		reader := newHolder(t, s, defaultTenant(t, s), "read:permissions").Token
		s.Get(t, "/api/permissions", reader).Want(t, http.StatusOK)
		s.Post(t, "/api/permissions", reader, m{"name": "a:b"}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
		writer := newHolder(t, s, defaultTenant(t, s), "create:permissions").Token
		s.Get(t, "/api/permissions", writer).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
		s.Get(t, "/api/permissions", "").WantEnvelope(t, http.StatusUnauthorized, "UNAUTHORIZED")
	})
}

// A release may ship a code that somebody has made for themselves before.
func testPermissionShippedLater(t *testing.T, s *apptest.Server, admin string) {
	s.Write(t, `UPDATE permissions SET is_system = FALSE, code = 'Work:Jobs', description = 'Ours' WHERE code = 'work:jobs'`)
	if err := s.App.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := s.Get(t, permissionsPath+"/by-code/work:jobs", admin).Want(t, http.StatusOK)
	if a.JSON["isSystem"] != true || a.JSON["code"] != "work:jobs" || a.JSON["description"] != "Ours" {
		t.Errorf("unexpected permission: %s", a.Raw)
	}
}

func TestPermissionCatalog(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		for code, category := range map[string]string{"b:one": "Billing", "a:two": "billing", "c:three": "BILLING", "d:four": "", "e:five": "Ärger", "f:six": "Zebra"} {
			newPermission(t, s, admin, m{"code": code, "category": category, "description": "Number " + code})
		}
		get := func(query string) apptest.Answer { return s.Get(t, permissionsPath+"/catalog?"+query, admin) }
		groups := func(a apptest.Answer) (shown []string) {
			for _, item := range a.Want(t, http.StatusOK).JSON["items"].([]any) {
				g := item.(m)
				codes := []string{}
				for _, p := range g["permissions"].([]any) {
					codes = append(codes, p.(m)["code"].(string))
				}
				if g["permissionCount"] != float64(len(codes)) || len(g) != 3 {
					t.Errorf("unexpected group: %v", g)
				}
				shown = append(shown, g["category"].(string)+"="+strings.Join(codes, ","))
			}
			return shown
		}
		t.Run("one group for each category, by name", func(t *testing.T) {
			a := get("pageSize=100")
			shown := groups(a)
			total := one[int](t, s, `SELECT count(DISTINCT category_key) FROM permissions`)
			if len(shown) != total || a.JSON["totalCount"] != float64(total) || shown[0] != "=d:four" || !slices.Contains(shown, "BILLING=a:two,b:one,c:three") {
				t.Errorf("unexpected groups: %v", shown)
			}
			item := a.JSON["items"].([]any)[0].(m)["permissions"].([]any)[0].(m)
			if len(item) != 8 {
				t.Errorf("unexpected permission: %v", item)
			}
		})
		for _, c := range []struct{ name, query, want string }{
			{"one category in any case", "category=bIlLiNg", "BILLING=a:two,b:one,c:three"},
			{"a search keeps what matches", "search=NUMBER%20a", "billing=a:two"},
			{"a search in categories keeps all of one", "search=billi", "BILLING=a:two,b:one,c:three"},
			{"a search beyond ASCII", "search=" + url.QueryEscape("äRG"), "Ärger=e:five"},
			{"both", "search=b:&category=billing", "Billing=b:one"},
			{"by size", "search=number&sortBy=permissionCount&sortDirection=desc&pageSize=1", "BILLING=a:two,b:one,c:three"},
			{"backwards", "search=number&sortDirection=Descending&pageSize=1&page=4", "=d:four"},
			{"behind the last page", "search=number&page=9", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				if shown := groups(get(c.query)); strings.Join(shown, " ") != c.want {
					t.Errorf("got %v, want %s", shown, c.want)
				}
			})
		}
		get("sortBy=code").WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "sortBy")
		get("pageSize=101").WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "pageSize")
		t.Run("suggested categories", func(t *testing.T) { testSuggestedCategories(t, s, admin) })
	})
}

func testSuggestedCategories(t *testing.T, s *apptest.Server, admin string) {
	get := func(query string) apptest.Answer {
		return s.Get(t, permissionsPath+"/catalog/categories?"+query, admin)
	}
	for _, c := range []struct{ name, query, want string }{
		{"those in which the text occurs", "search=ILL", "BILLING 3"},
		{"beyond ASCII", "search=" + url.QueryEscape("ÄR"), "Ärger 1"},
		{"by name, up to the limit", "search=s&limit=3", "API keys 4, Apps 4, Jobs 3"},
		{"none", "search=nowhere", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := get(c.query).Want(t, http.StatusOK)
			var shown []string
			for _, item := range a.JSON["items"].([]any) {
				shown = append(shown, fmt.Sprintf("%v %v", item.(m)["category"], item.(m)["permissionCount"]))
			}
			if strings.Join(shown, ", ") != c.want || len(a.JSON) != 1 {
				t.Errorf("got %s, want %s", a.Raw, c.want)
			}
		})
	}
	everything := get("limit=50").Want(t, http.StatusOK).JSON["items"].([]any)
	if len(everything) != one[int](t, s, `SELECT count(DISTINCT category_key) FROM permissions WHERE category <> ''`) {
		t.Errorf("got %v", everything)
	}
	for i := range 25 {
		newPermission(t, s, admin, m{"code": fmt.Sprintf("suggest:%d", i), "category": fmt.Sprintf("Suggestion %02d", i)})
	}
	if n := len(get("search=suggestion").JSON["items"].([]any)); n != 20 {
		t.Errorf("%d suggestions by default", n)
	}
	for _, query := range []string{"limit=0", "limit=51", "limit=x"} {
		get(query).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "limit")
	}
}
