package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
)

func TestTheTreeOfTenants(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		make := func(name, kind string, parent any) string {
			return makeTenant(t, s, token, m{"name": name, "type": kind, "parentTenantId": parent})["id"].(string)
		}
		group := make("Group", "Group", nil)
		inner := make("Inner", "group", group)
		leaf := make("Leaf", "Standard", inner)
		move := func(id string, parent any) apptest.Answer {
			return put(t, s, "/api/v1/tenants/"+id, token, m{"parentTenantId": parent})
		}

		t.Run("a parent must exist", func(t *testing.T) {
			s.Post(t, "/api/v1/tenants", token, m{"name": "x", "parentTenantId": uuid.New()}).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
			move(leaf, uuid.New()).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
		})
		t.Run("and not be deleted", func(t *testing.T) {
			gone := make("Gone", "Group", nil)
			remove(t, s, "/api/v1/tenants/"+gone, token).Want(t, http.StatusOK)
			move(leaf, gone).WantProblem(t, http.StatusNotFound, "TENANT_NOT_FOUND")
		})
		for name, parent := range map[string]string{
			"a parent must be a group":      leaf,
			"a tenant is not its own":       group,
			"nor below one that it is over": inner,
		} {
			t.Run(name, func(t *testing.T) {
				move(group, parent).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "parentTenantId")
			})
		}
		t.Run("a group above others stays one and is not deleted", func(t *testing.T) {
			put(t, s, "/api/v1/tenants/"+inner, token, m{"type": "Standard"}).WantProblem(t, http.StatusConflict, "TENANT_IN_USE_CONFLICT")
			remove(t, s, "/api/v1/tenants/"+inner, token).WantProblem(t, http.StatusConflict, "TENANT_IN_USE_CONFLICT")
		})
		t.Run("an empty parent takes it to the top", func(t *testing.T) {
			if a := move(leaf, "").Want(t, http.StatusOK); a.JSON["parentTenantId"] != nil {
				t.Errorf("moved: %s", a.Raw)
			}
			put(t, s, "/api/v1/tenants/"+inner, token, m{"type": "Standard"}).Want(t, http.StatusOK)
			move(leaf, inner).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR")
			put(t, s, "/api/v1/tenants/"+inner, token, m{"type": "Group"}).Want(t, http.StatusOK)
			move(leaf, strings.ToUpper(inner)).Want(t, http.StatusOK)
		})
		t.Run("a branch moves with all below it", func(t *testing.T) {
			other := make("Other", "Group", nil)
			move(inner, other).Want(t, http.StatusOK)
			if names := fieldOf(t, s.Get(t, "/api/v1/tenants?hierarchyScope=Descendants&parentTenantId="+other, token), "name"); names != "Inner Leaf" {
				t.Errorf("below it: %s", names)
			}
			move(inner, group).Want(t, http.StatusOK)
		})
		t.Run("the tree is at most 64 levels deep", func(t *testing.T) {
			chain := deepen(t, s, 64)
			s.Post(t, "/api/v1/tenants", token, m{"name": "65th", "parentTenantId": chain[63]}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "parentTenantId")
			s.Post(t, "/api/v1/tenants", token, m{"name": "64th", "parentTenantId": chain[62]}).Want(t, http.StatusCreated)
			move(inner, chain[61]).Want(t, http.StatusOK) // with Leaf below it
			move(group, chain[62]).Want(t, http.StatusOK)
			move(inner, group).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "parentTenantId")
			move(inner, chain[62]).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "parentTenantId")
			move(chain[0], inner).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "parentTenantId")
		})
	})
}

// deepen makes a chain of groups behind the API, the top first.
func deepen(t *testing.T, s *apptest.Server, levels int) []string {
	t.Helper()
	chain := make([]string, levels)
	for i := range chain {
		chain[i] = newTenant(t, s, fmt.Sprintf("level-%d", i+1))
		if i > 0 {
			s.Write(t, `UPDATE tenants SET parent_id = $1 WHERE id = $2`, chain[i-1], chain[i])
		}
	}
	s.Write(t, `UPDATE tenants SET type = 'Group' WHERE identifier LIKE 'level-%'`)
	return chain
}

func TestMovesAtOnceMakeNoCircle(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		const ring = 4
		for range 6 {
			ids := make([]string, ring)
			for i := range ids {
				ids[i] = makeTenant(t, s, token, m{"name": "Ring", "type": "Group"})["id"].(string)
			}
			// Each is to go below the next; all of them together would be a circle.
			statuses := parallel(ring, func(i int) int {
				return put(t, s, "/api/v1/tenants/"+ids[i], token, m{"parentTenantId": ids[(i+1)%ring]}).Status
			})
			if count(statuses, http.StatusOK) != ring-1 || count(statuses, http.StatusBadRequest) != 1 {
				t.Fatalf("want one refused: %v", statuses)
			}
		}
	})
}

func TestAParentDoesNotGoWhileAChildComes(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		token := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		for i := range 10 {
			parent := makeTenant(t, s, token, m{"name": "Parent", "type": "Group"})["id"].(string)
			path := "/api/v1/tenants/" + parent
			answers := parallel(2, func(who int) apptest.Answer {
				switch {
				case who == 0:
					return s.Post(t, "/api/v1/tenants", token, m{"name": "Child", "parentTenantId": parent})
				case i%2 == 0:
					return remove(t, s, path, token)
				default:
					return put(t, s, path, token, m{"type": "Standard"})
				}
			})
			born, gone := answers[0].Status == http.StatusCreated, answers[1].Status == http.StatusOK
			if born == gone {
				t.Fatalf("child %s, parent %s", answers[0].Raw, answers[1].Raw)
			}
		}
	})
}
