package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
	"steward/internal/config"
	"steward/internal/db"
	"steward/internal/db/dbtest"
)

// makeTenant makes a tenant as the caller of the token and returns it.
func makeTenant(t *testing.T, s *apptest.Server, token string, body m) m {
	t.Helper()
	return s.Post(t, "/api/v1/tenants", token, body).Want(t, http.StatusCreated).JSON
}

func put(t *testing.T, s *apptest.Server, path, token string, body any) apptest.Answer {
	t.Helper()
	return s.Do(t, apptest.Request{Method: http.MethodPut, Path: path, Token: token, Body: body})
}

func remove(t *testing.T, s *apptest.Server, path, token string) apptest.Answer {
	t.Helper()
	return s.Do(t, apptest.Request{Method: http.MethodDelete, Path: path, Token: token})
}

// tenantCaller signs somebody in to the tenant who holds exactly the permissions there.
func tenantCaller(t *testing.T, s *apptest.Server, tenant string, permissions ...string) string {
	t.Helper()
	role, now := uuid.NewString(), db.At(s.Clock.Now())
	who := "caller-" + role + "@example.com"
	user := s.Register(t, who, password)
	s.Write(t, `DELETE FROM binding_roles WHERE user_id = $1`, user)
	if tenant != defaultTenant(t, s) {
		s.Write(t, `DELETE FROM bindings WHERE user_id = $1`, user)
		s.Write(t, `INSERT INTO bindings (user_id, tenant_id, created_at) VALUES ($1, $2, $3)`, user, tenant, now)
		s.Write(t, `UPDATE tenants SET user_count = (SELECT count(*) FROM bindings b WHERE b.tenant_id = tenants.id)`)
	}
	s.Write(t, `INSERT INTO roles (id, tenant_id, name, name_key, created_at, updated_at) VALUES ($1, $2, $3, $3, $4, $4)`, role, tenant, who, now)
	for _, code := range permissions {
		s.Write(t, `INSERT INTO role_permissions (role_id, permission_id) SELECT $1, id FROM permissions WHERE code = $2`, role, code)
	}
	s.Write(t, `INSERT INTO binding_roles (user_id, tenant_id, role_id) VALUES ($1, $2, $3)`, user, tenant, role)
	return s.Login(t, who, password).Token
}

// fieldOf joins a field of the items of a list.
func fieldOf(t *testing.T, a apptest.Answer, field string) string {
	t.Helper()
	values := []string{}
	for _, item := range a.Want(t, http.StatusOK).JSON["items"].([]any) {
		values = append(values, fmt.Sprint(item.(m)[field]))
	}
	return strings.Join(values, " ")
}

func TestATenantIsMadeReadChangedAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		made := s.Post(t, "/api/v1/tenants", token, m{
			"name": " Acme Ltd ", "identifier": "Acme", "domain": "Acme.Example.com", "type": "standard", "isActive": true, "maxUsers": 250,
			"settings": m{"timezone": "Europe/London", "language": "en-GB"}, "userCount": 7, "unknown": true,
		}).Want(t, http.StatusCreated)
		id := made.JSON["id"].(string)
		path := "/api/v1/tenants/" + id
		if made.Header.Get("Location") != path || made.Header.Get("ETag") == "" {
			t.Errorf("headers %v", made.Header)
		}
		want := m{
			"id": id, "name": "Acme Ltd", "identifier": "Acme", "domain": "acme.example.com", "type": "Standard", "parentTenantId": nil, "isActive": true,
			"maxUsers": 250.0, "userCount": 0.0, "settings": m{"timezone": "Europe/London", "language": "en-GB"},
			"createdAt": made.JSON["createdAt"], "updatedAt": made.JSON["createdAt"],
		}
		if got := fmt.Sprint(made.JSON); got != fmt.Sprint(want) {
			t.Errorf("made %v\nwant %v", got, want)
		}
		read := s.Get(t, path, token).Want(t, http.StatusOK)
		if string(read.Raw) != string(made.Raw) || read.Header.Get("ETag") != made.Header.Get("ETag") {
			t.Errorf("read %s, made %s", read.Raw, made.Raw)
		}

		t.Run("what is left out or null stays", func(t *testing.T) {
			a := put(t, s, path, token, m{
				"name": nil, "identifier": nil, "domain": nil, "type": nil, "parentTenantId": nil, "isActive": nil, "maxUsers": nil,
				"settings": m{"timezone": nil, "language": nil},
			})
			if string(a.Want(t, http.StatusOK).Raw) != string(made.Raw) {
				t.Errorf("changed: %s", a.Raw)
			}
			put(t, s, path, token, m{"settings": nil}).Want(t, http.StatusOK)
			put(t, s, path, token, m{}).Want(t, http.StatusOK)
			if n := one[int](t, s, `SELECT count(*) FROM audit_log WHERE target_id = $1`, id); n != 1 {
				t.Errorf("%d audit entries, want the creation alone", n)
			}
		})
		t.Run("what is given changes, and nothing else", func(t *testing.T) {
			a := put(t, s, path, token, m{"name": "Acme", "settings": m{"language": "fr"}}).Want(t, http.StatusOK)
			if a.JSON["name"] != "Acme" || a.JSON["identifier"] != "Acme" || a.JSON["maxUsers"] != 250.0 ||
				fmt.Sprint(a.JSON["settings"]) != fmt.Sprint(m{"timezone": "Europe/London", "language": "fr"}) {
				t.Errorf("changed: %s", a.Raw)
			}
			if a.Header.Get("ETag") == made.Header.Get("ETag") || a.JSON["updatedAt"] == made.JSON["updatedAt"] {
				t.Error("the version is the old one")
			}
			after := one[string](t, s, `SELECT after FROM audit_log WHERE target_id = $1 AND action = 'tenant.updated'`, id)
			if !strings.Contains(after, `"name":"Acme"`) || strings.Contains(after, "maxUsers") {
				t.Errorf("audited %s", after)
			}
		})
		t.Run("empty texts and a limit of zero clear", func(t *testing.T) {
			a := put(t, s, path, token, m{"domain": "", "maxUsers": 0, "settings": m{"timezone": "", "language": ""}}).Want(t, http.StatusOK)
			if a.JSON["domain"] != "" || a.JSON["maxUsers"] != nil || fmt.Sprint(a.JSON["settings"]) != fmt.Sprint(m{"timezone": "UTC", "language": "en"}) {
				t.Errorf("changed: %s", a.Raw)
			}
		})
		t.Run("an old version is refused", func(t *testing.T) {
			old := map[string]string{"If-Match": made.Header.Get("ETag")}
			for _, r := range []apptest.Request{
				{Method: http.MethodPut, Path: path, Token: token, Body: m{"name": "Late"}, Header: old},
				{Method: http.MethodDelete, Path: path, Token: token, Header: old},
			} {
				s.Do(t, r).WantProblem(t, http.StatusPreconditionFailed, "PRECONDITION_FAILED")
			}
			present := map[string]string{"If-Match": s.Get(t, path, token).Header.Get("ETag")}
			s.Do(t, apptest.Request{Method: http.MethodPut, Path: path, Token: token, Body: m{"name": "In time"}, Header: present}).Want(t, http.StatusOK)
		})
		t.Run("deleted it is gone, and shown to those who may delete", func(t *testing.T) {
			if a := remove(t, s, path, token).Want(t, http.StatusOK); len(a.Raw) != 0 {
				t.Errorf("body %s", a.Raw)
			}
			s.Get(t, path, token).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			put(t, s, path, token, m{"name": "x"}).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			remove(t, s, path, token).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			if names := fieldOf(t, s.Get(t, "/api/v1/tenants", token), "identifier"); names != "default" {
				t.Errorf("listed %s", names)
			}
			if a := s.Get(t, path+"?includeDeleted=true", token).Want(t, http.StatusOK); a.JSON["deletedAt"] == nil {
				t.Errorf("read %s", a.Raw)
			}
			if names := fieldOf(t, s.Get(t, "/api/v1/tenants?includeDeleted=true", token), "identifier"); names != "default Acme" {
				t.Errorf("listed %s", names)
			}
			makeTenant(t, s, token, m{"name": "Another", "identifier": "acme"})
			reader := tenantCaller(t, s, defaultTenant(t, s), "read:tenants")
			s.Get(t, "/api/v1/tenants?includeDeleted=true", reader).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			s.Get(t, path+"?includeDeleted=true", reader).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
		})
		t.Run("everything is in the audit log", func(t *testing.T) {
			if actions := all(t, s, `SELECT action FROM audit_log WHERE target_id = '`+id+`' ORDER BY id`); actions != "tenant.created\ntenant.updated\ntenant.updated\ntenant.updated\ntenant.deleted" {
				t.Errorf("audited %s", actions)
			}
		})
		t.Run("a repeated creation with a key is done once", func(t *testing.T) {
			r := apptest.Request{Method: http.MethodPost, Path: "/api/v1/tenants", Token: token, Body: m{"name": "Once"}, Header: map[string]string{"Idempotency-Key": "k1"}}
			first, second := s.Do(t, r).Want(t, http.StatusCreated), s.Do(t, r).Want(t, http.StatusCreated)
			if first.JSON["id"] != second.JSON["id"] || second.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("first %s, second %s", first.Raw, second.Raw)
			}
		})
	})
}

func TestTenantBodiesAreChecked(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		path := "/api/v1/tenants/" + makeTenant(t, s, token, m{"name": "Acme"})["id"].(string)
		for _, c := range []struct {
			name  string
			body  m
			field string
		}{
			{"an empty name", m{"name": ""}, "name"},
			{"a name of spaces", m{"name": "  "}, "name"},
			{"a long name", m{"name": strings.Repeat("ä", 201)}, "name"},
			{"a name with a line break", m{"name": "a\nb"}, "name"},
			{"an identifier with a space", m{"identifier": "a b"}, "identifier"},
			{"an identifier with a dot", m{"identifier": "a.b"}, "identifier"},
			{"a long identifier", m{"identifier": strings.Repeat("a", 101)}, "identifier"},
			{"a domain with a path", m{"domain": "acme.com/x"}, "domain"},
			{"a domain with an empty label", m{"domain": "acme..com"}, "domain"},
			{"a domain that begins with a hyphen", m{"domain": "-acme.com"}, "domain"},
			{"an unknown type", m{"type": "Huge"}, "type"},
			{"a parent that is no id", m{"parentTenantId": "acme"}, "parentTenantId"},
			{"the nil id as parent", m{"parentTenantId": uuid.Nil}, "parentTenantId"},
			{"a negative limit", m{"maxUsers": -1}, "maxUsers"},
			{"a limit that is no whole number", m{"maxUsers": 1.5}, "maxUsers"},
			{"a limit beyond counting", m{"maxUsers": 3000000000}, "maxUsers"},
			{"an unknown zone", m{"settings": m{"timezone": "Europe/Atlantis"}}, "settings.timezone"},
			{"the zone of the machine", m{"settings": m{"timezone": "Local"}}, "settings.timezone"},
			{"a zone that is a path", m{"settings": m{"timezone": "../../etc/passwd"}}, "settings.timezone"},
			{"a language that is none", m{"settings": m{"language": "British English"}}, "settings.language"},
			{"settings that are a text", m{"settings": "UTC"}, "settings"},
		} {
			t.Run(c.name, func(t *testing.T) {
				put(t, s, path, token, c.body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
				if _, named := c.body["name"]; !named {
					c.body["name"] = "New"
				}
				s.Post(t, "/api/v1/tenants", token, c.body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
				s.Post(t, "/api/tenants", token, c.body).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
			})
		}
		t.Run("a new tenant needs a name", func(t *testing.T) {
			s.Post(t, "/api/v1/tenants", token, m{"identifier": "x"}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "name")
		})
		t.Run("an identifier cannot be cleared", func(t *testing.T) {
			put(t, s, path, token, m{"identifier": ""}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "identifier")
		})
		t.Run("several wrong fields are told at once", func(t *testing.T) {
			put(t, s, path, token, m{"domain": "a b", "settings": m{"timezone": "x", "language": "?"}}).
				WantField(t, "domain").WantField(t, "settings.timezone").WantField(t, "settings.language")
		})
		t.Run("an id that is none is refused by name", func(t *testing.T) {
			s.Get(t, "/api/v1/tenants/acme", token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
		})
		t.Run("and nothing was written", func(t *testing.T) {
			if n := one[int](t, s, `SELECT count(*) FROM tenants`); n != 2 {
				t.Errorf("%d tenants, want 2", n)
			}
		})
		t.Run("domains in any script and zones of any name are fine", func(t *testing.T) {
			a := put(t, s, path, token, m{"domain": "Bücher.example", "settings": m{"timezone": "America/Argentina/Buenos_Aires", "language": "zh-Hant-TW"}}).Want(t, http.StatusOK)
			if a.JSON["domain"] != "bücher.example" {
				t.Errorf("changed: %s", a.Raw)
			}
		})
	})
}

func TestIdentifiersOfTenants(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		for _, c := range []struct{ name, identifier, want string }{
			{"Acme Ltd.", "", "acme-ltd"},
			{"Acme, Ltd", "", "acme-ltd-2"},
			{"ACME LTD", "", "acme-ltd-3"},
			{"  Größe & Łódź – 2026!", "", "grosse-lodz-2026"},
			{"株式会社", "", "tenant"},
			{"Default", "", "default-2"},
			{strings.Repeat("Long ", 30), "", strings.Repeat("long-", 11) + "long"},
			{"Acme", "Acme_1", "Acme_1"},
		} {
			t.Run(c.name, func(t *testing.T) {
				made := makeTenant(t, s, token, m{"name": c.name, "identifier": c.identifier})
				if got := made["identifier"].(string); got != c.want {
					t.Errorf("identifier %q, want %q", got, c.want)
				}
			})
		}
		t.Run("a taken one is refused in any case", func(t *testing.T) {
			s.Post(t, "/api/v1/tenants", token, m{"name": "x", "identifier": "ACME_1"}).WantProblem(t, http.StatusConflict, "TENANT_ALREADY_EXISTS")
			s.Post(t, "/api/tenants", token, m{"name": "x", "identifier": "ACME_1"}).WantEnvelope(t, http.StatusConflict, "CONFLICT")
			other := makeTenant(t, s, token, m{"name": "Other"})
			put(t, s, "/api/v1/tenants/"+other["id"].(string), token, m{"identifier": "acme_1"}).WantProblem(t, http.StatusConflict, "TENANT_ALREADY_EXISTS")
		})
		t.Run("its own in another case is fine", func(t *testing.T) {
			made := makeTenant(t, s, token, m{"name": "Case", "identifier": "case"})
			put(t, s, "/api/v1/tenants/"+made["id"].(string), token, m{"identifier": "CASE"}).Want(t, http.StatusOK)
		})
		t.Run("the default tenant keeps its own", func(t *testing.T) {
			path := "/api/v1/tenants/" + defaultTenant(t, s)
			put(t, s, path, token, m{"identifier": "main"}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "identifier")
			put(t, s, path, token, m{"name": "Main"}).Want(t, http.StatusOK)
		})
		t.Run("one of many who want it at once gets it", func(t *testing.T) {
			statuses := parallel(8, func(int) int {
				return s.Post(t, "/api/v1/tenants", token, m{"name": "Race", "identifier": "wanted"}).Status
			})
			if count(statuses, http.StatusCreated) != 1 || count(statuses, http.StatusConflict) != 7 {
				t.Errorf("want one: %v", statuses)
			}
		})
		t.Run("many of one name get one each", func(t *testing.T) {
			made := parallel(14, func(int) string {
				identifier, _ := s.Post(t, "/api/v1/tenants", token, m{"name": "Twin"}).JSON["identifier"].(string)
				return identifier
			})
			slices.Sort(made)
			if made = slices.Compact(made); len(made) != 14 || made[0] != "twin" {
				t.Errorf("identifiers %v", made)
			}
		})
	})
}

func TestUnversionedTenantRoutes(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		made := s.Post(t, "/api/tenants", token, m{"name": "Acme", "identifier": "acme", "domain": "acme.example.com", "settings": m{"timezone": "Europe/Paris", "language": "fr"}}).Want(t, http.StatusCreated)
		data := made.Data(t)
		if made.JSON["isSuccess"] != true || data["identifier"] != "acme" || data["domain"] != "acme.example.com" || fmt.Sprint(data["settings"]) != fmt.Sprint(m{"timezone": "Europe/Paris", "language": "fr"}) {
			t.Errorf("made %s", made.Raw)
		}
		list := s.Get(t, "/api/tenants", token).Want(t, http.StatusOK)
		inner, outer := list.Data(t), list.JSON
		for _, shape := range []m{inner, outer} {
			if shape["totalCount"] != 2.0 || shape["page"] != 1.0 || shape["pageSize"] != 2.0 || shape["totalPages"] != 1.0 || fmt.Sprint(shape["items"]) != fmt.Sprint(inner["items"]) {
				t.Errorf("listed %s", list.Raw)
			}
		}
		if names := fieldOf(t, list, "name"); names != "Acme Default" {
			t.Errorf("listed %s", names)
		}
		t.Run("both ask for admin:system beside their permission", func(t *testing.T) {
			for _, permissions := range [][]string{{}, {"read:tenants", "create:tenants"}, {"admin:system"}} {
				caller := tenantCaller(t, s, defaultTenant(t, s), permissions...)
				s.Get(t, "/api/tenants", caller).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
				s.Post(t, "/api/tenants", caller, m{"name": "x"}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			}
			caller := tenantCaller(t, s, defaultTenant(t, s), "admin:system", "read:tenants", "create:tenants")
			s.Get(t, "/api/tenants", caller).Want(t, http.StatusOK)
			s.Post(t, "/api/tenants", caller, m{"name": "x"}).Want(t, http.StatusCreated)
			s.Get(t, "/api/tenants", "").WantEnvelope(t, http.StatusUnauthorized, "UNAUTHORIZED")
		})
		t.Run("the current tenant asks for none", func(t *testing.T) {
			caller := tenantCaller(t, s, data["id"].(string))
			if current := s.Get(t, "/api/tenants/current", caller).Want(t, http.StatusOK).Data(t); current["id"] != data["id"] || current["userCount"] != 1.0 {
				t.Errorf("current %v", current)
			}
			s.Get(t, "/api/tenants/current", "").WantEnvelope(t, http.StatusUnauthorized, "UNAUTHORIZED")
			id := s.Register(t, email, password)
			bind(t, s, id, data["id"].(string), false)
			global := s.TryLogin(t, email, password).Want(t, http.StatusOK).Pair(t).Token
			s.Get(t, "/api/tenants/current", global).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
		})
	})
}

func TestATenantThatIsSwitchedOff(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		s := apptest.Start(t, store, nil)
		other := apptest.Start(t, store, func(*config.Config) {})
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		acme := makeTenant(t, s, admin, m{"name": "Acme"})["id"].(string)
		path := "/api/v1/tenants/" + acme
		token := tenantCaller(t, s, acme, "read:tenants")
		s.Get(t, path, token).Want(t, http.StatusOK)
		other.Get(t, path, token).Want(t, http.StatusOK)
		tenants := func() int {
			return len(s.Get(t, "/api/auth/me/complete", token).Want(t, http.StatusOK).Data(t)["tenants"].([]any))
		}
		if n := tenants(); n != 1 {
			t.Errorf("%d tenants in the profile", n)
		}

		put(t, s, path, admin, m{"isActive": false}).Want(t, http.StatusOK)
		s.Get(t, path, token).WantProblem(t, http.StatusForbidden, "TENANT_FORBIDDEN")
		s.Get(t, "/api/tenants/current", token).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
		told := time.Now()
		for other.Get(t, path, token).Status != http.StatusForbidden {
			if time.Since(told) > time.Second {
				t.Fatal("the other node still lets the token in after a second")
			}
		}
		if n := tenants(); n != 0 {
			t.Errorf("%d tenants in the profile", n)
		}

		put(t, s, path, admin, m{"isActive": true, "name": "Acme again"}).Want(t, http.StatusOK)
		s.Get(t, path, token).Want(t, http.StatusOK)
		if n := tenants(); n != 1 {
			t.Errorf("%d tenants in the profile", n)
		}
		if before := one[string](t, s, `SELECT before FROM audit_log WHERE action = 'tenant.updated' AND tenant_id = $1 AND before LIKE '%name%'`, acme); before != `{"isActive":false,"name":"Acme"}` {
			t.Errorf("audited %s", before)
		}
	})
}

func TestTheLastAdministratorsTenantStaysOpen(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		first := "/api/v1/tenants/" + defaultTenant(t, s)
		put(t, s, first, admin, m{"isActive": false}).WantProblem(t, http.StatusConflict, "LAST_ADMINISTRATOR_CONFLICT")
		if a := s.Get(t, first, admin).Want(t, http.StatusOK); a.JSON["isActive"] != true {
			t.Errorf("it was written all the same: %s", a.Raw)
		}

		acme := makeTenant(t, s, admin, m{"name": "Acme"})["id"].(string)
		second := s.Register(t, email, password)
		bind(t, s, second, acme, true)
		s.Write(t, `INSERT INTO binding_roles (user_id, tenant_id, role_id) SELECT $1, $2, id FROM roles WHERE name = 'Super Administrator'`, second, acme)
		token := s.Login(t, email, password).Token
		statuses := parallel(2, func(i int) int {
			if i == 0 {
				return put(t, s, first, admin, m{"isActive": false}).Status
			}
			return put(t, s, "/api/v1/tenants/"+acme, token, m{"isActive": false}).Status
		})
		if count(statuses, http.StatusOK) != 1 {
			t.Errorf("want one of the two tenants open: %v", statuses)
		}
		if n := one[int](t, s, `SELECT count(*) FROM tenants WHERE is_active`); n != 1 {
			t.Errorf("%d tenants are open, want 1", n)
		}
	})
}

func TestTenantsWithUsersAreNotDeleted(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		remove(t, s, "/api/v1/tenants/"+defaultTenant(t, s), admin).WantProblem(t, http.StatusConflict, "TENANT_IN_USE_CONFLICT")
		acme := makeTenant(t, s, admin, m{"name": "Acme"})["id"].(string)
		token := tenantCaller(t, s, acme, "delete:tenants")
		for _, who := range []string{admin, token} {
			remove(t, s, "/api/v1/tenants/"+acme, who).WantProblem(t, http.StatusConflict, "TENANT_IN_USE_CONFLICT")
		}
		empty := makeTenant(t, s, admin, m{"name": "Default too", "type": "Group"})["id"].(string)
		child := makeTenant(t, s, admin, m{"name": "Child", "parentTenantId": empty})["id"].(string)
		remove(t, s, "/api/v1/tenants/"+empty, admin).WantProblem(t, http.StatusConflict, "TENANT_IN_USE_CONFLICT")
		remove(t, s, "/api/v1/tenants/"+child, admin).Want(t, http.StatusOK)
		remove(t, s, "/api/v1/tenants/"+empty, admin).Want(t, http.StatusOK)
	})
}

func TestUsersAreCountedAndLimited(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		path := "/api/v1/tenants/" + defaultTenant(t, s)
		tag := s.Get(t, path, admin).Header.Get("ETag")
		s.Register(t, "first@example.com", password)
		s.Register(t, "second@example.com", password)
		a := s.Get(t, path, admin).Want(t, http.StatusOK)
		if a.JSON["userCount"] != 3.0 || a.Header.Get("ETag") != tag {
			t.Errorf("counted %s", a.Raw)
		}
		// A limit below the present count sends nobody away and lets nobody in.
		put(t, s, path, admin, m{"maxUsers": 1}).Want(t, http.StatusOK)
		refused := s.Post(t, "/api/auth/register", "", m{"email": email, "password": password, "fullName": "Ada"}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR")
		if !strings.Contains(string(refused.Raw), "Default") {
			t.Errorf("refused: %s", refused.Raw)
		}
		s.Login(t, "first@example.com", password)
		put(t, s, path, admin, m{"maxUsers": 4}).Want(t, http.StatusOK)
		statuses := parallel(6, func(i int) int {
			return s.Post(t, "/api/auth/register", "", m{"email": fmt.Sprintf("u%d@example.com", i), "password": password, "fullName": "Ada"}).Status
		})
		if count(statuses, http.StatusCreated) != 1 {
			t.Errorf("want one place: %v", statuses)
		}
		if raw, _ := json.Marshal(s.Get(t, path, admin).JSON["userCount"]); string(raw) != "4" {
			t.Errorf("counted %s", raw)
		}
	})
}
