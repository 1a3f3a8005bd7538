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
)

func TestReachOfTenants(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		make := func(name, kind string, parent any) string {
			return makeTenant(t, s, admin, m{"name": name, "type": kind, "parentTenantId": parent})["id"].(string)
		}
		top := make("Top", "Group", nil)
		mid := make("Mid", "Group", top)
		low := make("Low", "Standard", mid)
		side := make("Side", "Group", top)
		permissions := []string{"read:tenants", "create:tenants", "update:tenants", "delete:tenants"}
		token := tenantCaller(t, s, mid, permissions...)
		path := func(id string) string { return "/api/v1/tenants/" + id }
		cross := func(a apptest.Answer) { t.Helper(); a.WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN") }

		t.Run("lists, counts and pickers show the own tenant and those below", func(t *testing.T) {
			if names := fieldOf(t, s.Get(t, "/api/v1/tenants", token), "name"); names != "Low Mid" {
				t.Errorf("listed %s", names)
			}
			if names := fieldOf(t, s.Get(t, "/api/v1/tenants/lookup?ids="+strings.Join([]string{top, mid, low, side}, ","), token), "name"); names != "Low Mid" {
				t.Errorf("looked up %s", names)
			}
			if a := s.Get(t, "/api/v1/tenants/summary", token).Want(t, http.StatusOK); a.JSON["totalTenants"] != 2.0 || a.JSON["totalUsers"] != 1.0 {
				t.Errorf("counted %s", a.Raw)
			}
			for _, query := range []string{"parentTenantId=" + top, "hierarchyScope=Descendants&parentTenantId=" + top} {
				if names := fieldOf(t, s.Get(t, "/api/v1/tenants?"+query, token), "name"); strings.Contains(names, "Side") {
					t.Errorf("%s: listed %s", query, names)
				}
			}
			if a := s.Get(t, "/api/v1/tenants/summary?hierarchyScope=Children&parentTenantId="+side, token).Want(t, http.StatusOK); a.JSON["totalTenants"] != 0.0 {
				t.Errorf("counted %s", a.Raw)
			}
		})
		t.Run("by id it ends there", func(t *testing.T) {
			s.Get(t, path(mid), token).Want(t, http.StatusOK)
			s.Get(t, path(low), token).Want(t, http.StatusOK)
			for _, id := range []string{top, side, defaultTenant(t, s)} {
				cross(s.Get(t, path(id), token))
				cross(put(t, s, path(id), token, m{"name": "Mine"}))
				cross(remove(t, s, path(id), token))
			}
			s.Get(t, path(uuid.NewString()), token).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			put(t, s, path(low), token, m{"name": "Lower"}).Want(t, http.StatusOK)
			put(t, s, path(mid), token, m{"domain": "mid.example.com"}).Want(t, http.StatusOK)
		})
		t.Run("tenants are made below the own one", func(t *testing.T) {
			cross(s.Post(t, "/api/v1/tenants", token, m{"name": "Root"}))
			cross(s.Post(t, "/api/v1/tenants", token, m{"name": "x", "parentTenantId": top}))
			cross(s.Post(t, "/api/v1/tenants", token, m{"name": "x", "parentTenantId": side}))
			made := makeTenant(t, s, token, m{"name": "New", "parentTenantId": mid})["id"].(string)
			remove(t, s, path(made), token).Want(t, http.StatusOK)
		})
		t.Run("and moved below it", func(t *testing.T) {
			cross(put(t, s, path(low), token, m{"parentTenantId": ""}))
			cross(put(t, s, path(low), token, m{"parentTenantId": side}))
			cross(put(t, s, path(mid), token, m{"parentTenantId": ""}))
			cross(put(t, s, path(mid), token, m{"parentTenantId": side}))
		})
		t.Run("manage:all-tenants reaches all, and the own permissions still decide", func(t *testing.T) {
			wide := tenantCaller(t, s, mid, "read:tenants", "create:tenants", "manage:all-tenants")
			if names := fieldOf(t, s.Get(t, "/api/v1/tenants", wide), "name"); names != "Default Lower Mid Side Top" {
				t.Errorf("listed %s", names)
			}
			s.Get(t, path(top), wide).Want(t, http.StatusOK)
			s.Post(t, "/api/v1/tenants", wide, m{"name": "Root"}).Want(t, http.StatusCreated)
			put(t, s, path(top), wide, m{"name": "x"}).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			s.Get(t, "/api/tenants", wide).WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
			s.Get(t, "/api/v1/admin/tenants/summary", wide).Want(t, http.StatusOK)
		})
		t.Run("each route asks for its permission", func(t *testing.T) {
			nobody := tenantCaller(t, s, mid)
			for _, r := range []apptest.Request{
				{Method: http.MethodGet, Path: "/api/v1/tenants"},
				{Method: http.MethodGet, Path: "/api/v1/tenants/summary"},
				{Method: http.MethodGet, Path: "/api/v1/tenants/lookup"},
				{Method: http.MethodGet, Path: path(mid)},
				{Method: http.MethodPost, Path: "/api/v1/tenants", Body: m{"name": "x"}},
				{Method: http.MethodPut, Path: path(mid), Body: m{"name": "x"}},
				{Method: http.MethodDelete, Path: path(low)},
				{Method: http.MethodGet, Path: "/api/v1/admin/tenants/summary"},
				{Method: http.MethodGet, Path: "/api/v1/admin/tenants/lookup"},
			} {
				s.Do(t, r).WantProblem(t, http.StatusUnauthorized, "TOKEN_MISSING")
				r.Token = nobody
				s.Do(t, r).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
			}
		})
	})
}

func TestListsOfTenants(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		ids := map[string]string{"Default": defaultTenant(t, s)}
		for _, c := range []m{
			{"name": "Alpha", "type": "Group", "domain": "alpha.example.com", "maxUsers": 5},
			{"name": "beta", "parentTenantId": "Alpha", "identifier": "zebra", "isActive": false},
			{"name": "Gamma", "type": "Group", "parentTenantId": "Alpha", "maxUsers": 9},
			{"name": "Delta_1", "parentTenantId": "Gamma", "domain": "delta.example.com"},
		} {
			if parent, ok := c["parentTenantId"]; ok {
				c["parentTenantId"] = ids[parent.(string)]
			}
			ids[c["name"].(string)] = makeTenant(t, s, token, c)["id"].(string)
		}
		put(t, s, "/api/v1/tenants/"+ids["Default"], token, m{"type": "Group"}).Want(t, http.StatusOK)
		s.Register(t, email, password)

		for _, c := range []struct{ query, want string }{
			{"", "Alpha beta Default Delta_1 Gamma"},
			{"sortDirection=desc", "Gamma Delta_1 Default beta Alpha"},
			{"isActive=true", "Alpha Default Delta_1 Gamma"},
			{"isActive=false", "beta"},
			{"type=group", "Alpha Default Gamma"},
			{"type=Standard&isActive=true", "Delta_1"},
			{"hierarchyScope=All", "Alpha beta Default Delta_1 Gamma"},
			{"hierarchyScope=roots", "Alpha Default"},
			{"hierarchyScope=Children", ""},
			{"hierarchyScope=Descendants", ""},
			{"hierarchyScope=Children&parentTenantId=Alpha", "beta Gamma"},
			{"hierarchyScope=Descendants&parentTenantId=Alpha", "beta Delta_1 Gamma"},
			{"hierarchyScope=Descendants&parentTenantId=Alpha&type=Group", "Gamma"},
			{"hierarchyScope=Descendants&parentTenantId=" + uuid.NewString(), ""},
			{"hierarchyScope=Roots&parentTenantId=Alpha", ""},
			{"parentTenantId=Alpha", "beta Gamma"},
			{"search=ALPHA", "Alpha"},
			{"search=example.com", "Alpha Delta_1"},
			{"search=zeb", "beta"},
			{"search=_", "Delta_1"},
			{"search=%25", ""},
		} {
			t.Run("tenants?"+c.query, func(t *testing.T) {
				query := c.query
				for name, id := range ids {
					query = strings.Replace(query, "TenantId="+name, "TenantId="+id, 1)
				}
				a := s.Get(t, "/api/v1/tenants?"+query, token)
				if got := fieldOf(t, a, "name"); got != c.want || a.JSON["totalCount"] != float64(len(strings.Fields(c.want))) {
					t.Errorf("listed %q, want %q: %s", got, c.want, a.Raw)
				}
				summary := s.Get(t, "/api/v1/tenants/summary?"+strings.ReplaceAll(query, "sortDirection=desc", ""), token).Want(t, http.StatusOK)
				if summary.JSON["totalTenants"] != float64(len(strings.Fields(c.want))) {
					t.Errorf("counted %s, want %q", summary.Raw, c.want)
				}
				if strings.Contains(query, "isActive") || strings.Contains(query, "sortDirection") {
					return
				}
				if got := fieldOf(t, s.Get(t, "/api/v1/tenants/lookup?"+query, token), "name"); got != c.want {
					t.Errorf("looked up %q, want %q", got, c.want)
				}
			})
		}
		t.Run("sorted by every field, both ways, nulls and ties included", func(t *testing.T) {
			for field, want := range map[string]string{
				"id": "Default Alpha beta Gamma Delta_1", "name": "Alpha beta Default Delta_1 Gamma", "identifier": "Alpha Default Delta_1 Gamma beta",
				"domain": "", "type": "Default Alpha Gamma beta Delta_1", "parentTenantId": "Default Alpha beta Gamma Delta_1", "isActive": "",
				"maxUsers": "Default beta Delta_1 Alpha Gamma", "userCount": "Alpha beta Gamma Delta_1 Default",
				"createdAt": "Default Alpha beta Gamma Delta_1", "updatedAt": "", "deletedAt": "",
			} {
				up := strings.Fields(fieldOf(t, s.Get(t, "/api/v1/tenants?sortBy="+strings.ToUpper(field), token), "name"))
				down := strings.Fields(fieldOf(t, s.Get(t, "/api/v1/tenants?sortDirection=Descending&sortBy="+field, token), "name"))
				if want != "" && strings.Join(up, " ") != want {
					t.Errorf("by %s: %v, want %s", field, up, want)
				}
				slices.Reverse(down)
				if !slices.Equal(up, down) {
					t.Errorf("by %s: %v is not the reverse of %v", field, down, up)
				}
			}
		})
		t.Run("in pages", func(t *testing.T) {
			a := s.Get(t, "/api/v1/tenants?pageNumber=2&pageSize=2", token)
			if got := fieldOf(t, a, "name"); got != "Default Delta_1" {
				t.Errorf("page 2: %s", got)
			}
			delete(a.JSON, "items")
			if want := (m{"totalCount": 5.0, "pageNumber": 2.0, "pageSize": 2.0, "totalPages": 3.0, "hasNext": true, "hasPrevious": true}); fmt.Sprint(a.JSON) != fmt.Sprint(want) {
				t.Errorf("page 2: %s", a.Raw)
			}
			if got := fieldOf(t, s.Get(t, "/api/v1/tenants?page=9", token), "name"); got != "" {
				t.Errorf("page 9: %s", got)
			}
		})
		t.Run("bad parameters are refused by name", func(t *testing.T) {
			for query, field := range map[string]string{
				"tenants?page=0": "page", "tenants?pageSize=101": "pageSize", "tenants?sortBy=settings": "sortBy", "tenants?sortDirection=up": "sortDirection",
				"tenants?type=Huge": "type", "tenants?hierarchyScope=Some": "hierarchyScope", "tenants?parentTenantId=x": "parentTenantId",
				"tenants?isActive=maybe": "isActive", "tenants?search=" + strings.Repeat("x", 201): "search",
				"tenants/lookup?pageSize=51": "pageSize", "tenants/lookup?ids=x": "ids", "tenants/lookup?page=-1": "page",
				"tenants/lookup?ids=" + strings.Repeat(","+uuid.NewString(), 51)[1:]: "ids",
				"tenants/summary?type=Huge": "type", "admin/tenants/summary?isActive=x": "isActive", "admin/tenants/lookup?pageSize=51": "pageSize",
				"tenants?parentTenantId=" + uuid.Nil.String(): "parentTenantId",
			} {
				s.Get(t, "/api/v1/"+query, token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
			}
		})
		t.Run("counted", func(t *testing.T) {
			want := m{"totalTenants": 5.0, "activeTenants": 4.0, "inactiveTenants": 1.0, "standardTenants": 2.0, "groupTenants": 3.0, "totalUsers": 2.0}
			for _, path := range []string{"/api/v1/tenants/summary", "/api/v1/admin/tenants/summary"} {
				if a := s.Get(t, path, token).Want(t, http.StatusOK); fmt.Sprint(a.JSON) != fmt.Sprint(want) {
					t.Errorf("%s: %s", path, a.Raw)
				}
			}
		})
		t.Run("looked up by ids, repeated and by commas, whatever is unknown left out", func(t *testing.T) {
			query := url.Values{"ids": {ids["Gamma"] + "," + uuid.NewString(), ids["beta"], ids["beta"]}}.Encode()
			for _, path := range []string{"/api/v1/tenants/lookup?", "/api/v1/admin/tenants/lookup?"} {
				a := s.Get(t, path+query, token)
				if got := fieldOf(t, a, "name"); got != "beta Gamma" || a.JSON["totalCount"] != 2.0 || a.JSON["pageSize"] != 20.0 {
					t.Errorf("%s: %s", path, a.Raw)
				}
				item := a.JSON["items"].([]any)[0].(m)
				want := m{"id": ids["beta"], "name": "beta", "identifier": "zebra", "type": "Standard", "isActive": false}
				if fmt.Sprint(item) != fmt.Sprint(want) {
					t.Errorf("item %v", item)
				}
			}
		})
		t.Run("all ids named come in one call", func(t *testing.T) {
			named := []string{}
			for i := range 50 {
				named = append(named, newTenant(t, s, fmt.Sprintf("many%d", i)))
			}
			a := s.Get(t, "/api/v1/tenants/lookup?ids="+strings.Join(named, ","), token).Want(t, http.StatusOK)
			if n := len(a.JSON["items"].([]any)); n != 50 || a.JSON["pageSize"] != 50.0 {
				t.Errorf("%d items: %s", n, a.Raw)
			}
		})
	})
}
