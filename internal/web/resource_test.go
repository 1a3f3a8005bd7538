package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/fault"
	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/resource/resourcetest"
	"steward/internal/scope"
	"steward/internal/web"
)

// tokenHolders knows some tokens and who is behind them.
type tokenHolders map[string]*scope.Actor

func (c tokenHolders) Authenticate(_ context.Context, bearer string) (*scope.Actor, error) {
	if actor, ok := c[bearer]; ok {
		return actor, nil
	}
	return nil, fault.New(fault.TokenInvalid, "The token is not known.")
}

// newTokenHolders makes the four callers that the conformance test of a resource needs.
func newTokenHolders(name string) tokenHolders {
	here, there := uuid.New(), uuid.New()
	in := func(tenant uuid.UUID, permissions ...string) *scope.Actor {
		return &scope.Actor{UserID: uuid.New(), TenantID: tenant, InTenant: true, Permissions: permissions}
	}
	all := []string{"read:" + name, "create:" + name, "update:" + name, "delete:" + name}
	return tokenHolders{"full": in(here, all...), "reader": in(here, all[0]), "nobody": in(here, "read:other"), "elsewhere": in(there, all...)}
}

func newResourceServer(d *db.DB, c tokenHolders) *web.Server {
	return web.New(web.Options{DB: d, Auth: c, LimitsOff: true})
}

var resourceGroup = web.Group{Convention: web.Problem, Tag: "Resources"}

func TestAppsFollowTheGenericContract(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newResourceServer(d, newTokenHolders("apps"))
		web.Mount(s, resourceGroup, "/api/v1/apps", resource.New(d, time.Now, identity.Apps))
		resourcetest.Run(t, resourcetest.Case{
			Handler: s.Handler(), Path: "/api/v1/apps", Full: "full", Reader: "reader", Nobody: "nobody",
			Create: func(n int) resourcetest.Body {
				return resourcetest.Body{"appId": fmt.Sprintf("App%d", n), "name": "An app", "isActive": n%2 == 0}
			},
			Update: resourcetest.Body{"name": "Another name", "description": "Said later", "isActive": false},
			InvalidCreates: []resourcetest.Invalid{
				{Name: "no app id", Change: resourcetest.Body{"appId": resourcetest.Absent()}, Field: "appId"},
				{Name: "null for an app id", Change: resourcetest.Body{"appId": nil}, Field: "appId"},
				{Name: "an empty app id", Change: resourcetest.Body{"appId": ""}, Field: "appId"},
				{Name: "spaces in an app id", Change: resourcetest.Body{"appId": "a b"}, Field: "appId"},
				{Name: "a long app id", Change: resourcetest.Body{"appId": strings.Repeat("a", 101)}, Field: "appId"},
				{Name: "no name", Change: resourcetest.Body{"name": resourcetest.Absent()}, Field: "name"},
				{Name: "a name of spaces", Change: resourcetest.Body{"name": "  "}, Field: "name"},
				{Name: "a long name", Change: resourcetest.Body{"name": strings.Repeat("é", 201)}, Field: "name"},
				{Name: "a name with NUL", Change: resourcetest.Body{"name": "a\x00"}, Field: "name"},
				{Name: "a long description", Change: resourcetest.Body{"description": strings.Repeat("a", 1001)}, Field: "description"},
				{Name: "a number for a name", Change: resourcetest.Body{"name": 5}, Field: "name"},
				{Name: "a text for a flag", Change: resourcetest.Body{"isActive": "yes"}, Field: "isActive"},
			},
			InvalidUpdates: []resourcetest.Invalid{
				{Name: "an empty name", Change: resourcetest.Body{"name": ""}, Field: "name"},
				{Name: "an empty app id", Change: resourcetest.Body{"appId": ""}, Field: "appId"},
				{Name: "a list for a flag", Change: resourcetest.Body{"isActive": []int{1}}, Field: "isActive"},
			},
			Text: "name", OptionalText: "description", Unique: "appId",
			Filters: []resourcetest.Filter{
				{Query: "isActive=true", Keeps: func(app resourcetest.Body) bool { return app["isActive"] == true }},
				{Query: "isActive=FALSE", Keeps: func(app resourcetest.Body) bool { return app["isActive"] == false }},
				{Wrong: "isActive=perhaps", Field: "isActive"},
			},
			NotFound: "APP_NOT_FOUND", AlreadyExists: "APP_ALREADY_EXISTS", SoftDelete: true,
		})
	})
}

func TestAResourceOfTenantsFollowsTheGenericContract(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		resourcetest.CreateSampleTables(t, d)
		s := newResourceServer(d, newTokenHolders("gadgets"))
		web.Mount(s, resourceGroup, "/api/v1/gadgets", resource.New(d, time.Now, resourcetest.Gadgets))
		maker := uuid.NewString()
		resourcetest.Run(t, resourcetest.Case{
			Handler: s.Handler(), Path: "/api/v1/gadgets", Full: "full", Reader: "reader", Nobody: "nobody", Elsewhere: "elsewhere",
			Create: func(n int) resourcetest.Body {
				b := resourcetest.Body{"code": fmt.Sprintf("Code%d", n), "kind": []string{"Small", "Large"}[n%2], "size": n % 4, "tags": []string{"x"}}
				if n%2 == 0 {
					b["makerId"], b["dueAt"], b["weight"], b["isReady"] = maker, "2026-01-31T10:00:00+01:00", float64(n)/2, true
				}
				return b
			},
			Update: resourcetest.Body{"label": "New", "size": 77},
			InvalidCreates: []resourcetest.Invalid{
				{Name: "an unknown word", Change: resourcetest.Body{"kind": "Medium"}, Field: "kind"},
				{Name: "a maker that is no id", Change: resourcetest.Body{"makerId": "me"}, Field: "makerId"},
				{Name: "a time that is none", Change: resourcetest.Body{"dueAt": "soon"}, Field: "dueAt"},
				{Name: "a time before the calendar", Change: resourcetest.Body{"dueAt": "0000-01-01T00:00:00Z"}, Field: "dueAt"},
				{Name: "a time after the calendar", Change: resourcetest.Body{"dueAt": "9999-12-31T23:59:59-01:00"}, Field: "dueAt"},
				{Name: "below the least size", Change: resourcetest.Body{"size": -1}, Field: "size"},
			},
			InvalidUpdates: []resourcetest.Invalid{{Name: "no whole number", Change: resourcetest.Body{"size": 1.5}, Field: "size"}},
			Text:           "label", OptionalText: "label", Unique: "code",
			Filters: []resourcetest.Filter{
				{Query: "kind=large", Keeps: func(g resourcetest.Body) bool { return g["kind"] == "Large" }},
				{Query: "minSize=2", Keeps: func(g resourcetest.Body) bool { return g["size"].(float64) >= 2 }},
				{Query: "maxSize=0", Keeps: func(g resourcetest.Body) bool { return g["size"].(float64) <= 0 }},
				{Query: "makerId=" + maker, Keeps: func(g resourcetest.Body) bool { return g["makerId"] == maker }},
				{Query: "dueTo=2026-01-31", Keeps: func(g resourcetest.Body) bool { return g["dueAt"] != nil }},
				{Query: "dueFrom=2026-01-31T09:00:00Z", Keeps: func(g resourcetest.Body) bool { return g["dueAt"] != nil }},
				{Wrong: "kind=medium", Field: "kind"},
				{Wrong: "makerId=me", Field: "makerId"},
				{Wrong: "minSize=few", Field: "minSize"},
				{Wrong: "dueTo=soon", Field: "dueTo"},
				{Wrong: "isReady=maybe", Field: "isReady"},
			},
			NotFound: "NOT_FOUND", AlreadyExists: "CONFLICT", SoftDelete: true,
		})
	})
}

func TestAResourceWithHardDeletionFollowsTheGenericContract(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		resourcetest.CreateSampleTables(t, d)
		s := newResourceServer(d, newTokenHolders("parts"))
		web.Mount(s, resourceGroup, "/api/v1/parts", resource.New(d, time.Now, resourcetest.Parts))
		resourcetest.Run(t, resourcetest.Case{
			Handler: s.Handler(), Path: "/api/v1/parts", Full: "full", Reader: "reader", Nobody: "nobody",
			Create: func(n int) resourcetest.Body {
				return resourcetest.Body{"name": fmt.Sprintf("Part%d", n), "note": fmt.Sprintf("Note%d", n)}
			},
			Update: resourcetest.Body{"note": "Changed"},
			Text:   "note", OptionalText: "note", Unique: "name",
			NotFound: "NOT_FOUND", AlreadyExists: "CONFLICT", DeleteStatus: http.StatusOK,
		})
	})
}

func TestTheDocumentTellsWhatAResourceTakes(t *testing.T) {
	s := newResourceServer(nil, newTokenHolders("apps"))
	web.Mount(s, resourceGroup, "/api/v1/apps", resource.New(nil, time.Now, identity.Apps))
	text, err := s.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name string }
			Permissions []string `json:"x-permissions"`
			Responses   map[string]any
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	list := doc.Paths["/api/v1/apps"]["get"]
	var params []string
	for _, p := range list.Parameters {
		params = append(params, p.Name)
	}
	want := []string{"page", "pageNumber", "pageSize", "sortBy", "sortDirection", "search", "includeDeleted", "isActive"}
	if diff := cmp.Diff(want, params); diff != "" {
		t.Error(diff)
	}
	for path, methods := range map[string]map[string][2]string{
		"/api/v1/apps":             {"get": {"read:apps", "200"}, "post": {"create:apps", "201"}},
		"/api/v1/apps/{id}":        {"get": {"read:apps", "200"}, "put": {"update:apps", "200"}, "delete": {"delete:apps", "204"}},
		"/api/v1/apps/bulk-delete": {"post": {"delete:apps", "200"}},
	} {
		for method, want := range methods {
			op := doc.Paths[path][method]
			if !slices.Equal(op.Permissions, []string{want[0]}) || op.Responses[want[1]] == nil {
				t.Errorf("%s %s asks for %v and answers %v", method, path, op.Permissions, op.Responses)
			}
		}
	}
	for _, name := range []string{"App", "CreateApp", "UpdateApp", "PagedResultApp", "BulkRequest", "BulkOperationResponse", "BulkItemFailure", "OperationResponse", "QueryMeta"} {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("the document has no schema %s", name)
		}
	}
}
