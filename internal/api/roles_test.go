package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
	"steward/internal/db"
	"steward/internal/db/dbtest"
)

// holder is a person who may do exactly what a role says that was made for them behind the API.
type holder struct{ ID, Token string }

func newHolder(t *testing.T, s *apptest.Server, tenant string, permissions ...string) holder {
	t.Helper()
	mark := uuid.Must(uuid.NewV7()).String()
	user := s.Register(t, mark+"@example.com", password)
	s.Write(t, `DELETE FROM bindings WHERE user_id = $1`, user)
	s.Write(t, `INSERT INTO bindings (user_id, tenant_id, created_at) VALUES ($1, $2, $3)`, user, tenant, db.At(s.Clock.Now()))
	s.Write(t, `INSERT INTO roles (id, tenant_id, name, name_key, created_at, updated_at) VALUES ($1, $2, $3, $3, $4, $4)`,
		mark, tenant, "holder-"+mark, db.At(s.Clock.Now()))
	for _, code := range permissions {
		s.Write(t, `INSERT INTO role_permissions (role_id, permission_id) SELECT $1, id FROM permissions WHERE code = $2`, mark, code)
	}
	give(t, s, user, tenant, mark)
	return holder{user, s.Login(t, mark+"@example.com", password).Token}
}

// give assigns a role behind the API, to somebody who is bound to the tenant.
func give(t *testing.T, s *apptest.Server, user, tenant, role string) {
	t.Helper()
	if err := assign(s, user, tenant, role); err != nil {
		t.Fatal(err)
	}
}

// newMember makes an account that is bound to the tenant and holds the roles.
func newMember(t *testing.T, s *apptest.Server, tenant string, roles ...string) string {
	t.Helper()
	user := newHolder(t, s, tenant).ID
	s.Write(t, `DELETE FROM binding_roles WHERE user_id = $1`, user)
	for _, role := range roles {
		give(t, s, user, tenant, role)
	}
	return user
}

func permissionIDs(t *testing.T, s *apptest.Server, codes ...string) []string {
	t.Helper()
	ids := make([]string, len(codes))
	for i, code := range codes {
		ids[i] = one[string](t, s, `SELECT id FROM permissions WHERE code = $1`, code)
	}
	return ids
}

func systemRole(t *testing.T, s *apptest.Server, name string) string {
	t.Helper()
	return one[string](t, s, `SELECT id FROM roles WHERE tenant_id IS NULL AND name = $1`, name)
}

func newRole(t *testing.T, s *apptest.Server, token string, body m) m {
	t.Helper()
	return s.Post(t, "/api/v1/roles", token, body).Want(t, http.StatusCreated).JSON
}

// texts makes strings of a list in an answer.
func texts(list any) []string {
	var all []string
	for _, item := range list.([]any) {
		all = append(all, item.(string))
	}
	return all
}

// decodeList reads an answer that is a list.
func decodeList(t *testing.T, a apptest.Answer, into any) {
	t.Helper()
	if err := json.Unmarshal(a.Raw, into); err != nil {
		t.Fatalf("%v: %s", err, a.Raw)
	}
}

// column reads one field of every item in a list.
func column(items any, field string) []any {
	var values []any
	for _, item := range items.([]any) {
		values = append(values, item.(m)[field])
	}
	return values
}

func TestRoles(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		tenant, other := defaultTenant(t, s), newTenant(t, s, "Other")
		ids := permissionIDs(t, s, "read:users", "read:roles", "read:jobs")

		t.Run("a role is created, read, changed and deleted", func(t *testing.T) {
			a := s.Post(t, "/api/v1/roles", admin, m{"name": " Auditor ", "description": "Reads", "permissionIds": []string{ids[0], ids[1], ids[0]}}).Want(t, http.StatusCreated)
			made := a.JSON
			path := "/api/v1/roles/" + made["id"].(string)
			if made["name"] != "Auditor" || made["description"] != "Reads" || made["tenantId"] != tenant || made["isSystemRole"] != false ||
				!slices.Equal(texts(made["permissions"]), []string{"read:roles", "read:users"}) || !slices.Equal(texts(made["permissionIds"]), []string{ids[1], ids[0]}) ||
				made["createdAt"] != made["updatedAt"] || len(made) != 9 || a.Header.Get("Location") != path {
				t.Errorf("unexpected role: %s at %s", a.Raw, a.Header.Get("Location"))
			}
			got := s.Get(t, path, admin).Want(t, http.StatusOK)
			if got.Header.Get("ETag") == "" || got.Header.Get("ETag") != a.Header.Get("ETag") || got.JSON["userCount"] != 0.0 || len(got.JSON) != 10 {
				t.Errorf("unexpected role: %s", got.Raw)
			}
			changed := put(t, s, path, admin, m{"name": "Reviewer", "description": "", "permissionIds": nil}).Want(t, http.StatusOK)
			if changed.JSON["name"] != "Reviewer" || changed.JSON["description"] != "" || len(texts(changed.JSON["permissions"])) != 2 || len(changed.JSON) != 9 ||
				changed.JSON["createdAt"] != made["createdAt"] || changed.JSON["updatedAt"] == made["updatedAt"] || changed.Header.Get("ETag") == a.Header.Get("ETag") {
				t.Errorf("unexpected role: %s", changed.Raw)
			}
			if gone := remove(t, s, path, admin).Want(t, http.StatusOK); len(gone.Raw) != 0 {
				t.Errorf("a body: %s", gone.Raw)
			}
			s.Get(t, path, admin).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
			put(t, s, path, admin, m{}).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
			remove(t, s, path, admin).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
		})

		t.Run("a name alone makes a role without permissions", func(t *testing.T) {
			for i, body := range []m{{}, {"description": nil, "permissionIds": nil, "tenantId": nil, "unknown": 1}, {"permissionIds": []string{}}} {
				body["name"] = fmt.Sprint("Bare ", i)
				if made := newRole(t, s, admin, body); len(made["permissions"].([]any)) != 0 || len(made["permissionIds"].([]any)) != 0 || made["description"] != "" {
					t.Errorf("unexpected role: %v", made)
				}
			}
		})

		t.Run("permissionIds has three states", func(t *testing.T) {
			path := "/api/v1/roles/" + newRole(t, s, admin, m{"name": "Three states", "permissionIds": ids[:2]})["id"].(string)
			for _, c := range []struct {
				name string
				body m
				want []string
			}{
				{"left out leaves them", m{"description": "x"}, []string{"read:roles", "read:users"}},
				{"null leaves them", m{"permissionIds": nil}, []string{"read:roles", "read:users"}},
				{"a list replaces them", m{"permissionIds": []string{ids[2], ids[1], ids[2]}}, []string{"read:jobs", "read:roles"}},
				{"an empty list takes them", m{"permissionIds": []string{}}, nil},
				{"and a list gives them again", m{"permissionIds": ids}, []string{"read:jobs", "read:roles", "read:users"}},
			} {
				t.Run(c.name, func(t *testing.T) {
					put(t, s, path, admin, c.body).Want(t, http.StatusOK)
					if got := texts(s.Get(t, path, admin).JSON["permissions"]); !slices.Equal(got, c.want) {
						t.Errorf("permissions %v, want %v", got, c.want)
					}
				})
			}
		})

		t.Run("what is wrong is refused by name", func(t *testing.T) {
			role := newRole(t, s, admin, m{"name": "Untouched", "description": "Stays", "permissionIds": ids[:1]})
			path := "/api/v1/roles/" + role["id"].(string)
			many := make([]string, 1001)
			for i := range many {
				many[i] = uuid.NewString()
			}
			for _, c := range []struct {
				name  string
				body  m
				field string
			}{
				{"an empty name", m{"name": ""}, "name"},
				{"a name of spaces", m{"name": "  "}, "name"},
				{"a long name", m{"name": strings.Repeat("ä", 101)}, "name"},
				{"a name on two lines", m{"name": "a\nb"}, "name"},
				{"a name that is no text", m{"name": 7}, "name"},
				{"a long description", m{"name": "New", "description": strings.Repeat("ä", 501)}, "description"},
				{"a description with a bell", m{"name": "New", "description": "\a"}, "description"},
				{"an id that is none", m{"name": "New", "permissionIds": []string{ids[0], "x"}}, "permissionIds[1]"},
				{"an empty id", m{"name": "New", "permissionIds": []string{uuid.Nil.String()}}, "permissionIds[0]"},
				{"null among the ids", m{"name": "New", "permissionIds": []any{nil}}, "permissionIds[0]"},
				{"no list", m{"name": "New", "permissionIds": ids[0]}, "permissionIds"},
				{"too many ids", m{"name": "New", "permissionIds": many}, "permissionIds"},
			} {
				t.Run(c.name, func(t *testing.T) {
					s.Post(t, "/api/v1/roles", admin, c.body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
					put(t, s, path, admin, c.body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
				})
			}
			s.Post(t, "/api/v1/roles", admin, m{}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "name")
			s.Post(t, "/api/v1/roles", admin, m{"name": "New", "tenantId": uuid.Nil.String()}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "tenantId")
			unknown := []string{uuid.NewString(), uuid.NewString()}
			for _, a := range []apptest.Answer{
				s.Post(t, "/api/v1/roles", admin, m{"name": "New", "permissionIds": append(unknown, ids[0])}),
				put(t, s, path, admin, m{"name": "New", "permissionIds": append(unknown, ids[0])}),
			} {
				detail := a.WantProblem(t, http.StatusNotFound, "PERMISSION_NOT_FOUND").JSON["detail"].(string)
				if !strings.Contains(detail, unknown[0]) || !strings.Contains(detail, unknown[1]) || strings.Contains(detail, ids[0]) {
					t.Errorf("detail: %s", detail)
				}
			}
			for _, path := range []string{"/api/v1/roles/x", "/api/v1/admin/tenants/x/roles", "/api/v1/users/x/roles", "/api/v1/roles?isSystemRole=perhaps", "/api/v1/roles/lookup?ids=x"} {
				s.Get(t, path, admin).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR")
			}
			s.Get(t, "/api/v1/roles/"+uuid.Nil.String(), admin).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
			if got := s.Get(t, path, admin); got.JSON["name"] != "Untouched" || got.JSON["description"] != "Stays" || got.JSON["updatedAt"] != role["updatedAt"] {
				t.Errorf("it was changed: %s", got.Raw)
			}
			if n := one[int](t, s, `SELECT count(*) FROM roles WHERE name = 'New'`); n != 0 {
				t.Errorf("%d roles were made", n)
			}
		})

		t.Run("a name is unique in a tenant, in any case", func(t *testing.T) {
			newRole(t, s, admin, m{"name": "Straße Ärger"})
			path := "/api/v1/roles/" + newRole(t, s, admin, m{"name": "Second"})["id"].(string)
			for _, name := range []string{"straße ÄRGER", "member", "Super Administrator"} {
				s.Post(t, "/api/v1/roles", admin, m{"name": name}).WantProblem(t, http.StatusConflict, "ROLE_ALREADY_EXISTS")
				put(t, s, path, admin, m{"name": name}).WantProblem(t, http.StatusConflict, "ROLE_ALREADY_EXISTS")
			}
			put(t, s, path, admin, m{"name": "SECOND"}).Want(t, http.StatusOK)
			newRole(t, s, admin, m{"name": "Second", "tenantId": other})
		})

		t.Run("many callers race for one name", func(t *testing.T) {
			statuses := parallel(8, func(int) int {
				return s.Post(t, "/api/v1/roles", admin, m{"name": "Wanted", "permissionIds": ids}).Status
			})
			if count(statuses, http.StatusCreated) != 1 || count(statuses, http.StatusConflict) != 7 {
				t.Errorf("want one role: %v", statuses)
			}
		})

		t.Run("an idempotency key makes one role", func(t *testing.T) {
			for _, path := range []string{"/api/v1/roles", "/api/roles"} {
				call := apptest.Request{Method: http.MethodPost, Path: path, Token: admin, Body: m{"name": "Once " + path}, Header: map[string]string{"Idempotency-Key": "once"}}
				first, second := s.Do(t, call).Want(t, http.StatusCreated), s.Do(t, call).Want(t, http.StatusCreated)
				if string(first.Raw) != string(second.Raw) {
					t.Errorf("%s, then %s", first.Raw, second.Raw)
				}
			}
		})

		t.Run("If-Match keeps others' changes", func(t *testing.T) {
			a := s.Post(t, "/api/v1/roles", admin, m{"name": "Versioned"}).Want(t, http.StatusCreated)
			seen := map[string]string{"If-Match": a.Header.Get("ETag")}
			for _, base := range []string{"/api/v1/roles/", "/api/roles/"} {
				path := base + a.JSON["id"].(string)
				change := func(description string) apptest.Answer {
					return s.Do(t, apptest.Request{Method: http.MethodPut, Path: path, Token: admin, Body: m{"description": description}, Header: seen})
				}
				next := change("first "+base).Want(t, http.StatusOK).Header.Get("ETag")
				change("second").Want(t, http.StatusPreconditionFailed)
				s.Do(t, apptest.Request{Method: http.MethodDelete, Path: path, Token: admin, Header: seen}).Want(t, http.StatusPreconditionFailed)
				seen["If-Match"] = next
				if same := change("first "+base).Want(t, http.StatusOK).Header.Get("ETag"); same != next {
					t.Error("a change of nothing made a new version")
				}
			}
			s.Do(t, apptest.Request{Method: http.MethodDelete, Path: "/api/v1/roles/" + a.JSON["id"].(string), Token: admin, Header: seen}).Want(t, http.StatusOK)
		})

		t.Run("system roles are read and never changed", func(t *testing.T) {
			for _, name := range []string{"Super Administrator", "Tenant Administrator", "Member"} {
				id := systemRole(t, s, name)
				if got := s.Get(t, "/api/v1/roles/"+id, admin).Want(t, http.StatusOK); got.JSON["isSystemRole"] != true || got.JSON["tenantId"] != nil || len(got.JSON["permissions"].([]any)) == 0 {
					t.Errorf("unexpected role: %s", got.Raw)
				}
				put(t, s, "/api/v1/roles/"+id, admin, m{"description": "x"}).WantProblem(t, http.StatusForbidden, "ROLE_SYSTEM_FORBIDDEN")
				remove(t, s, "/api/v1/roles/"+id, admin).WantProblem(t, http.StatusForbidden, "ROLE_SYSTEM_FORBIDDEN")
				put(t, s, "/api/roles/"+id, admin, m{}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
				remove(t, s, "/api/roles/"+id, admin).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			}
		})

		t.Run("a role of another tenant does not exist", func(t *testing.T) {
			foreign := newRole(t, s, admin, m{"name": "Foreign", "tenantId": other, "permissionIds": ids[:1]})
			if foreign["tenantId"] != other {
				t.Errorf("tenant %v", foreign["tenantId"])
			}
			id := foreign["id"].(string)
			s.Get(t, "/api/v1/roles/"+id, admin).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
			put(t, s, "/api/v1/roles/"+id, admin, m{"name": "Mine"}).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
			remove(t, s, "/api/v1/roles/"+id, admin).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
			put(t, s, "/api/roles/"+id, admin, m{"name": "Mine"}).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
			remove(t, s, "/api/roles/"+id, admin).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
			for _, path := range []string{"/api/v1/roles?search=foreign", "/api/v1/roles/lookup?ids=" + id} {
				if a := s.Get(t, path, admin).Want(t, http.StatusOK); a.JSON["totalCount"] != 0.0 {
					t.Errorf("%s: %s", path, a.Raw)
				}
			}
			if a := s.Get(t, "/api/roles", admin); strings.Contains(string(a.Raw), id) {
				t.Error("the unversioned list shows it")
			}
			s.Post(t, "/api/v1/roles", admin, m{"name": "Nowhere", "tenantId": uuid.NewString()}).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			clerk := newHolder(t, s, tenant, "create:roles", "manage:all-tenants").Token
			s.Post(t, "/api/v1/roles", clerk, m{"name": "Intruder", "tenantId": other}).WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
			s.Post(t, "/api/v1/roles", clerk, m{"name": "Own", "tenantId": tenant}).Want(t, http.StatusCreated)
		})

		t.Run("a role that somebody holds is not deleted", func(t *testing.T) {
			id := newRole(t, s, admin, m{"name": "Held"})["id"].(string)
			user := newMember(t, s, tenant, id)
			if n := s.Get(t, "/api/v1/roles/"+id, admin).JSON["userCount"]; n != 1.0 {
				t.Errorf("%v holders", n)
			}
			remove(t, s, "/api/v1/roles/"+id, admin).WantProblem(t, http.StatusConflict, "ROLE_IN_USE_CONFLICT")
			remove(t, s, "/api/roles/"+id, admin).WantEnvelope(t, http.StatusConflict, "CONFLICT")
			remove(t, s, "/api/v1/users/"+user, admin).Want(t, http.StatusOK)
			if n := s.Get(t, "/api/v1/roles/"+id, admin).JSON["userCount"]; n != 0.0 {
				t.Errorf("a deleted account counts: %v holders", n)
			}
			remove(t, s, "/api/v1/roles/"+id, admin).Want(t, http.StatusOK)
		})

		t.Run("changes leave a trail", func(t *testing.T) {
			id := newRole(t, s, admin, m{"name": "Traced", "tenantId": other, "permissionIds": ids[:1]})["id"].(string)
			local := newHolder(t, s, other, "update:roles", "delete:roles", "read:jobs").Token
			put(t, s, "/api/v1/roles/"+id, local, m{"permissionIds": ids[2:]}).Want(t, http.StatusOK)
			put(t, s, "/api/v1/roles/"+id, local, m{"permissionIds": ids[2:]}).Want(t, http.StatusOK)
			remove(t, s, "/api/v1/roles/"+id, local).Want(t, http.StatusOK)
			trail := all(t, s, `SELECT action || ' ' || coalesce(before, '-') || ' ' || coalesce(after, '-') FROM audit_log WHERE target_type = 'role' AND target_id = '`+id+`' AND tenant_id = '`+other+`' ORDER BY id`)
			want := `role.created - {"description":"","name":"Traced","permissions":["read:users"]}
role.updated {"permissions":["read:users"]} {"permissions":["read:jobs"]}
role.deleted {"description":"","name":"Traced","permissions":["read:jobs"]} -`
			if trail != want {
				t.Errorf("trail:\n%s", trail)
			}
		})
	})
}

func TestNobodyPutsMoreIntoARoleThanTheyHold(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		tenant := defaultTenant(t, s)
		clerk := newHolder(t, s, tenant, "create:roles", "update:roles", "delete:roles", "read:roles", "read:jobs").Token
		operator := newHolder(t, s, tenant, "create:roles", "update:roles", "admin:system").Token
		held, lacked := permissionIDs(t, s, "read:jobs", "read:roles"), permissionIDs(t, s, "read:users", "*", "admin:system")

		t.Run("in a new role", func(t *testing.T) {
			s.Post(t, "/api/v1/roles", clerk, m{"name": "Fine", "permissionIds": held}).Want(t, http.StatusCreated)
			s.Post(t, "/api/roles", clerk, m{"name": "Fine too", "permissions": []string{"READ:jobs"}}).Want(t, http.StatusCreated)
			for i, id := range lacked {
				s.Post(t, "/api/v1/roles", clerk, m{"name": "Rise", "permissionIds": append(slices.Clone(held), id)}).WantProblem(t, http.StatusForbidden, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED")
				code := []string{"read:users", "*", "admin:system"}[i]
				s.Post(t, "/api/roles", clerk, m{"name": "Rise", "permissions": []string{code}}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			}
			if n := one[int](t, s, `SELECT count(*) FROM roles WHERE name = 'Rise'`); n != 0 {
				t.Error("the role was made all the same")
			}
		})
		t.Run("in a role that holds more already, only what comes new counts", func(t *testing.T) {
			path := "/api/v1/roles/" + newRole(t, s, admin, m{"name": "Above", "permissionIds": append(slices.Clone(lacked), held[0])})["id"].(string)
			put(t, s, path, clerk, m{"description": "x"}).Want(t, http.StatusOK)
			put(t, s, path, clerk, m{"permissionIds": append(slices.Clone(lacked), held...)}).Want(t, http.StatusOK)
			put(t, s, path, clerk, m{"permissionIds": held}).Want(t, http.StatusOK)
			for _, id := range lacked {
				put(t, s, path, clerk, m{"permissionIds": append(slices.Clone(held), id)}).WantProblem(t, http.StatusForbidden, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED")
			}
			put(t, s, "/api/roles/"+path[len("/api/v1/roles/"):], clerk, m{"permissions": []string{"*"}}).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			if got := texts(s.Get(t, path, clerk).JSON["permissions"]); !slices.Equal(got, []string{"read:jobs", "read:roles"}) {
				t.Errorf("permissions %v", got)
			}
		})
		t.Run("admin:system lifts the rule", func(t *testing.T) {
			id := newRole(t, s, operator, m{"name": "By the operator", "permissionIds": lacked})["id"].(string)
			put(t, s, "/api/v1/roles/"+id, operator, m{"permissionIds": append(slices.Clone(lacked), held...)}).Want(t, http.StatusOK)
		})
	})
}

func TestListsOfRoles(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		tenant := newTenant(t, s, "Listed")
		reader := newHolder(t, s, tenant, "read:roles", "read:users")
		s.Write(t, `UPDATE roles SET name = 'Reader', name_key = 'reader', search_key = 'reader' WHERE tenant_id = $1`, tenant)
		ids := permissionIDs(t, s, "read:jobs", "read:users")
		made := map[string]string{}
		for _, r := range []m{
			{"name": "beta", "description": "Zweite Prüfung 100%", "permissionIds": ids},
			{"name": "Alpha", "description": "zuerst"},
			{"name": "Ωmega_1", "description": "", "permissionIds": ids[:1]},
		} {
			r["tenantId"] = tenant
			s.Clock.Advance(time.Second)
			made[r["name"].(string)] = newRole(t, s, admin, r)["id"].(string)
		}
		member := systemRole(t, s, "Member")
		user := newMember(t, s, tenant, made["beta"], made["Alpha"], member)
		newMember(t, s, tenant, made["beta"])
		s.Write(t, `DELETE FROM roles WHERE name LIKE 'holder-%'`)
		bind(t, s, newMember(t, s, newTenant(t, s, "Elsewhere")), defaultTenant(t, s), false) // a Member who must not count
		// beta 2; Alpha, Member and Reader 1; the others 0.

		get := func(t *testing.T, path string) apptest.Answer {
			t.Helper()
			return s.Get(t, path, reader.Token).Want(t, http.StatusOK)
		}
		t.Run("the tenant's own and the system roles, by name", func(t *testing.T) {
			a := get(t, "/api/v1/roles")
			names := column(a.JSON["items"], "name")
			if fmt.Sprint(names[:6]) != "[Alpha beta Member Reader Super Administrator Tenant Administrator]" || names[6] != "Ωmega_1" || a.JSON["totalCount"] != 7.0 ||
				a.JSON["pageNumber"] != 1.0 || a.JSON["pageSize"] != 20.0 || a.JSON["totalPages"] != 1.0 || a.JSON["hasNext"] != false || a.JSON["hasPrevious"] != false {
				t.Errorf("unexpected list: %s", a.Raw)
			}
			if counts := fmt.Sprint(column(a.JSON["items"], "userCount")); counts != "[1 2 1 1 0 0 0]" {
				t.Errorf("userCount %s", counts)
			}
			beta := a.JSON["items"].([]any)[1].(m)
			if !slices.Equal(texts(beta["permissions"]), []string{"read:jobs", "read:users"}) || !slices.Equal(texts(beta["permissionIds"]), ids) || beta["tenantId"] != tenant || len(beta) != 10 {
				t.Errorf("unexpected item: %v", beta)
			}
		})
		t.Run("sorted by every field, both ways, with ties broken by id", func(t *testing.T) {
			for _, field := range []string{"id", "tenantId", "name", "description", "isSystemRole", "userCount", "createdAt", "UPDATEDAT"} {
				up := column(get(t, "/api/v1/roles?sortBy="+field).JSON["items"], "id")
				down := column(get(t, "/api/v1/roles?sortDirection=desc&sortBy="+field).JSON["items"], "id")
				slices.Reverse(down)
				if len(up) != 7 || !slices.Equal(up, down) {
					t.Errorf("%s: %v, and reversed %v", field, up, down)
				}
			}
			for query, want := range map[string]string{
				"sortBy=userCount&sortDirection=Descending": "[2 1 1 1 0 0 0]",
				"sortBy=userCount":                          "[0 0 0 1 1 1 2]",
			} {
				if got := fmt.Sprint(column(get(t, "/api/v1/roles?"+query).JSON["items"], "userCount")); got != want {
					t.Errorf("%s: %s", query, got)
				}
			}
			s.Get(t, "/api/v1/roles?sortBy=permissions", reader.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "sortBy")
		})
		t.Run("filters and search narrow the total too", func(t *testing.T) {
			for query, want := range map[string]string{
				"isSystemRole=true":                       "[Member Super Administrator Tenant Administrator]",
				"isSystemRole=false":                      "[Alpha beta Reader Ωmega_1]",
				"search=ZWEITE%20PR%C3%9CF":               "[beta]",
				"search=%CF%89MEGA_":                      "[Ωmega_1]",
				"search=100%25":                           "[beta]",
				"search=%25%25":                           "[]",
				"search=_":                                "[Ωmega_1]",
				"search=administrator&isSystemRole=true":  "[Super Administrator Tenant Administrator]",
				"search=administrator&isSystemRole=false": "[]",
				"search=inside%20the%20tenant":            "[Tenant Administrator]",
				"search=alpha&includeDeleted=true":        "[Alpha]",
			} {
				a := get(t, "/api/v1/roles?"+query)
				names := column(a.JSON["items"], "name")
				if fmt.Sprint(names) != want || a.JSON["totalCount"] != float64(len(names)) {
					t.Errorf("%s: %s, want %s", query, a.Raw, want)
				}
			}
		})
		t.Run("pages", func(t *testing.T) {
			a := get(t, "/api/v1/roles?pageSize=3&page=2")
			if got := fmt.Sprint(column(a.JSON["items"], "name")); got != "[Reader Super Administrator Tenant Administrator]" || a.JSON["totalPages"] != 3.0 || a.JSON["hasNext"] != true || a.JSON["hasPrevious"] != true {
				t.Errorf("unexpected page: %s", a.Raw)
			}
			if a := get(t, "/api/v1/roles?pageSize=3&pageNumber=9"); a.JSON["totalCount"] != 7.0 || len(a.JSON["items"].([]any)) != 0 {
				t.Errorf("unexpected page: %s", a.Raw)
			}
			for _, query := range []string{"pageSize=101", "page=0", "page=x", "sortDirection=up"} {
				s.Get(t, "/api/v1/roles?"+query, reader.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR")
			}
		})
		t.Run("the lookup names roles", func(t *testing.T) {
			a := get(t, "/api/v1/roles/lookup")
			first := a.JSON["items"].([]any)[0].(m)
			if a.JSON["totalCount"] != 7.0 || first["name"] != "Alpha" || first["description"] != "zuerst" || first["id"] != made["Alpha"] || len(first) != 3 {
				t.Errorf("unexpected lookup: %s", a.Raw)
			}
			for query, want := range map[string]string{
				"includeSystemRoles=false":              "[Alpha beta Reader Ωmega_1]",
				"search=ADMIN":                          "[Super Administrator Tenant Administrator]",
				"search=admin&includeSystemRoles=false": "[]",
				"pageSize=2&page=2":                     "[Member Reader]",
				"ids=" + made["beta"] + "," + member + "&ids=" + made["Alpha"]:              "[Alpha beta Member]",
				"ids=" + made["beta"] + "&ids=" + made["beta"] + "&ids=" + uuid.NewString(): "[beta]",
				"ids=" + made["beta"] + "," + member + "&includeSystemRoles=false":          "[beta]",
				"ids=" + made["beta"] + "," + made["Alpha"] + "&search=alp":                 "[Alpha]",
				"ids=" + made["beta"] + "," + made["Alpha"] + "&pageSize=1&page=2":          "[beta]",
				"ids=" + strings.TrimSuffix(strings.Repeat(made["Alpha"]+",", 50), ","):     "[Alpha]",
			} {
				if got := fmt.Sprint(column(get(t, "/api/v1/roles/lookup?"+query).JSON["items"], "name")); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
			for _, query := range []string{"pageSize=51", "page=0", "ids=" + strings.Repeat(made["Alpha"]+",", 51)} {
				s.Get(t, "/api/v1/roles/lookup?"+query, reader.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR")
			}
		})
		t.Run("the summary counts", func(t *testing.T) {
			for query, want := range map[string]m{
				"":                      {"totalRoles": 7.0, "systemRoles": 3.0, "customRoles": 4.0, "rolesWithoutUsers": 3.0, "totalAssignments": 5.0},
				"?search=administrator": {"totalRoles": 2.0, "systemRoles": 2.0, "customRoles": 0.0, "rolesWithoutUsers": 2.0, "totalAssignments": 0.0},
				"?search=none":          {"totalRoles": 0.0, "systemRoles": 0.0, "customRoles": 0.0, "rolesWithoutUsers": 0.0, "totalAssignments": 0.0},
			} {
				if got := get(t, "/api/v1/roles/summary"+query); fmt.Sprint(got.JSON) != fmt.Sprint(want) {
					t.Errorf("%s: %s", query, got.Raw)
				}
			}
		})
		t.Run("administrators list the roles of any tenant", func(t *testing.T) {
			path := "/api/v1/admin/tenants/" + tenant + "/roles"
			if a := s.Get(t, path+"?isSystemRole=false&sortBy=userCount&sortDirection=desc", admin).Want(t, http.StatusOK); a.JSON["totalCount"] != 4.0 ||
				fmt.Sprint(column(a.JSON["items"], "userCount")) != "[2 1 1 0]" || len(a.JSON["items"].([]any)[0].(m)) != 10 {
				t.Errorf("unexpected list: %s", a.Raw)
			}
			if a := s.Get(t, path+"/lookup?ids="+made["beta"], admin).Want(t, http.StatusOK); a.JSON["totalCount"] != 1.0 || len(a.JSON["items"].([]any)[0].(m)) != 3 {
				t.Errorf("unexpected lookup: %s", a.Raw)
			}
			for _, unknown := range []string{uuid.NewString(), uuid.Nil.String()} {
				s.Get(t, "/api/v1/admin/tenants/"+unknown+"/roles", admin).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
				s.Get(t, "/api/v1/admin/tenants/"+unknown+"/roles/lookup", admin).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			}
			s.Get(t, path, reader.Token).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			s.Get(t, path+"/lookup", reader.Token).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			reaching := newHolder(t, s, defaultTenant(t, s), "manage:all-tenants").Token
			s.Get(t, path, reaching).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			s.Get(t, path+"/lookup?search=beta", reaching).Want(t, http.StatusOK)
		})
		t.Run("the roles of a user are those held here", func(t *testing.T) {
			var roles []m
			decodeList(t, get(t, "/api/v1/users/"+user+"/roles"), &roles)
			if len(roles) != 3 || roles[0]["name"] != "Alpha" || roles[1]["name"] != "beta" || roles[2]["name"] != "Member" || len(roles[0]) != 9 ||
				!slices.Equal(texts(roles[1]["permissionIds"]), ids) || roles[2]["isSystemRole"] != true {
				t.Errorf("unexpected roles: %v", roles)
			}
			if a := get(t, "/api/v1/users/"+newMember(t, s, tenant)+"/roles"); strings.TrimSpace(string(a.Raw)) != "[]" {
				t.Errorf("somebody with no roles: %s", a.Raw)
			}
			stranger := newMember(t, s, defaultTenant(t, s), member)
			for _, id := range []string{stranger, uuid.NewString()} {
				s.Get(t, "/api/v1/users/"+id+"/roles", reader.Token).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
			}
		})
	})
}

func TestUnversionedRoles(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		a := s.Post(t, "/api/roles", admin, m{"name": "Auditor", "description": "Reads", "permissions": []string{"read:users", "Read:Jobs", "read:users"}}).Want(t, http.StatusCreated)
		made := a.Data(t)
		path := "/api/roles/" + made["id"].(string)
		if a.JSON["isSuccess"] != true || made["name"] != "Auditor" || made["description"] != "Reads" || len(made) != 4 || !slices.Equal(texts(made["permissions"]), []string{"read:jobs", "read:users"}) {
			t.Errorf("unexpected role: %s", a.Raw)
		}
		t.Run("the list stands in data and at the top", func(t *testing.T) {
			a := s.Get(t, "/api/roles", admin).Want(t, http.StatusOK)
			if fmt.Sprint(column(a.JSON["items"], "name")) != "[Auditor Member Super Administrator Tenant Administrator]" || fmt.Sprint(column(a.Data(t)["items"], "userCount")) != "[0 0 1 0]" ||
				a.JSON["totalCount"] != 4.0 || a.JSON["page"] != 1.0 || a.JSON["pageSize"] != 4.0 || a.JSON["totalPages"] != 1.0 || len(a.JSON["items"].([]any)[0].(m)) != 5 {
				t.Errorf("unexpected list: %s", a.Raw)
			}
		})
		t.Run("an update changes what it names", func(t *testing.T) {
			for _, c := range []struct {
				body m
				want string
			}{
				{m{}, "Auditor Reads [read:jobs read:users]"},
				{m{"name": nil, "description": nil, "permissions": nil}, "Auditor Reads [read:jobs read:users]"},
				{m{"name": "Reviewer"}, "Reviewer Reads [read:jobs read:users]"},
				{m{"permissions": []string{"read:roles"}}, "Reviewer Reads [read:roles]"},
				{m{"description": "", "permissions": []string{}}, "Reviewer  []"},
			} {
				data := put(t, s, path, admin, c.body).Want(t, http.StatusOK).Data(t)
				if got := fmt.Sprint(data["name"], " ", data["description"], " ", data["permissions"]); got != c.want || len(data) != 4 {
					t.Errorf("%v: %s, want %s", c.body, got, c.want)
				}
			}
		})
		t.Run("what is wrong is refused by name", func(t *testing.T) {
			many := make([]string, 1001)
			for i := range many {
				many[i] = fmt.Sprint("a:", i)
			}
			for field, body := range map[string]m{"name": {"name": " "}, "description": {"name": "x", "description": strings.Repeat("a", 501)}} {
				s.Post(t, "/api/roles", admin, body).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
				put(t, s, path, admin, body).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
			}
			for _, codes := range [][]string{{"read:users", "no:such"}, {""}, many} {
				s.Post(t, "/api/roles", admin, m{"name": "x", "permissions": codes}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "permissions")
				put(t, s, path, admin, m{"permissions": codes}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "permissions")
			}
			s.Post(t, "/api/roles", admin, m{"name": "REVIEWER"}).WantEnvelope(t, http.StatusConflict, "CONFLICT")
			s.Post(t, "/api/roles", admin, m{"name": "member"}).WantEnvelope(t, http.StatusConflict, "CONFLICT")
			put(t, s, "/api/roles/x", admin, m{}).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR")
			put(t, s, "/api/roles/"+uuid.NewString(), admin, m{}).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
		})
		t.Run("a delete says so", func(t *testing.T) {
			if a := remove(t, s, path, admin).Want(t, http.StatusOK); a.JSON["isSuccess"] != true || a.JSON["message"] == "" || a.JSON["data"] != nil {
				t.Errorf("unexpected answer: %s", a.Raw)
			}
			remove(t, s, path, admin).WantEnvelope(t, http.StatusNotFound, "NOT_FOUND")
		})
	})
}

func TestAChangedRoleCountsWithTheNextCall(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		near := apptest.Start(t, store, nil)
		far := apptest.Start(t, store, nil)
		admin := near.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		ids := permissionIDs(t, near, "read:roles", "read:users")
		role := newRole(t, near, admin, m{"name": "Live"})["id"].(string)
		worker := newHolder(t, near, defaultTenant(t, near), "read:jobs")
		give(t, near, worker.ID, defaultTenant(t, near), role) // nobody asked with the token yet
		reads := func(s *apptest.Server) int { return s.Get(t, "/api/v1/roles", worker.Token).Status }
		for _, c := range []struct {
			name        string
			permissions []string
			status      int
		}{
			{"not yet", ids[1:], http.StatusForbidden},
			{"gained", ids, http.StatusOK},
			{"lost", ids[1:], http.StatusForbidden},
			{"gained again", ids[:1], http.StatusOK},
			{"lost with all", []string{}, http.StatusForbidden},
		} {
			t.Run(c.name, func(t *testing.T) {
				put(t, near, "/api/v1/roles/"+role, admin, m{"permissionIds": c.permissions}).Want(t, http.StatusOK)
				told := time.Now()
				if status := reads(near); status != c.status {
					t.Errorf("the node that wrote answers %d, want %d", status, c.status)
				}
				for reads(far) != c.status {
					if time.Since(told) > time.Second {
						t.Fatalf("the other node still does not answer %d after a second", c.status)
					}
				}
				wantAlive(t, near, worker.Token)
				wantAlive(t, far, worker.Token)
			})
		}
	})
}

func TestRacesAboutRoles(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		tenant := defaultTenant(t, s)
		user := newMember(t, s, tenant)
		ids := permissionIDs(t, s, "read:users", "read:roles", "read:jobs", "read:reports")

		// both runs two calls at once and returns when both are over.
		both := func(first, second func()) {
			parallel(2, func(i int) bool {
				[]func(){first, second}[i]()
				return true
			})
		}
		t.Run("a role is either deleted or assigned", func(t *testing.T) {
			for i := range 20 {
				role := newRole(t, s, admin, m{"name": fmt.Sprint("Fleeting ", i), "permissionIds": ids})["id"].(string)
				matrix := m{"tenants": []m{{"tenantId": tenant, "roleIds": []string{role}}}}
				var deleted, assigned apptest.Answer
				both(
					func() { deleted = remove(t, s, "/api/v1/roles/"+role, admin) },
					func() { assigned = put(t, s, "/api/v1/admin/users/"+user, admin, matrix) },
				)
				if assigned.Status == http.StatusOK {
					deleted.WantProblem(t, http.StatusConflict, "ROLE_IN_USE_CONFLICT")
				} else {
					assigned.WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
					deleted.Want(t, http.StatusOK)
				}
			}
		})
		t.Run("a permission is either deleted or put into the role", func(t *testing.T) {
			path := "/api/v1/roles/" + newRole(t, s, admin, m{"name": "Keeper"})["id"].(string)
			for i := range 20 {
				id := s.Post(t, "/api/v1/permissions", admin, m{"code": fmt.Sprint("fleeting:", i)}).Want(t, http.StatusCreated).JSON["id"].(string)
				var deleted, given apptest.Answer
				both(
					func() { deleted = remove(t, s, "/api/v1/permissions/"+id, admin) },
					func() { given = put(t, s, path, admin, m{"permissionIds": []string{id}}) },
				)
				if given.Status == http.StatusOK {
					deleted.WantProblem(t, http.StatusConflict, "PERMISSION_IN_USE_CONFLICT")
				} else {
					given.WantProblem(t, http.StatusNotFound, "PERMISSION_NOT_FOUND")
					deleted.Want(t, http.StatusOK)
				}
			}
		})
		t.Run("updates of one role do not mix", func(t *testing.T) {
			path := "/api/v1/roles/" + newRole(t, s, admin, m{"name": "Contested"})["id"].(string)
			halves := [][]string{ids[:2], ids[2:]}
			statuses := parallel(12, func(i int) int { return put(t, s, path, admin, m{"permissionIds": halves[i%2]}).Status })
			if count(statuses, http.StatusOK) != 12 {
				t.Errorf("statuses %v", statuses)
			}
			if got := fmt.Sprint(s.Get(t, path, admin).JSON["permissions"]); got != "[read:roles read:users]" && got != "[read:jobs read:reports]" {
				t.Errorf("permissions %s", got)
			}
		})
	})
}

// assign gives a role as every route does that assigns one: by a row that refers to it.
func assign(s *apptest.Server, user, tenant, role string) error {
	ctx := context.Background()
	return s.App.Store().Write(ctx, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO binding_roles (user_id, tenant_id, role_id) VALUES ($1, $2, $3)`, user, tenant, role)
		return err
	})
}
