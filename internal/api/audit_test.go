package api_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/app/apptest"
	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/scope"
)

const auditPath = "/api/v1/audit-log"

// tell writes an entry of the actor behind the API.
func tell(t *testing.T, s *apptest.Server, actor scope.Actor, e audit.Entry) {
	t.Helper()
	ctx := scope.WithOrigin(scope.WithActor(context.Background(), &actor), &scope.Origin{Address: "192.0.2.7", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736"})
	if err := s.App.Store().Write(ctx, func(tx db.Tx) error { return audit.Write(ctx, tx, e) }); err != nil {
		t.Fatal(err)
	}
}

func TestAuditLog(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		tenant, other := newTenant(t, s, "Trail"), newTenant(t, s, "Beyond")
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		reader := newHolder(t, s, tenant, "read:audit-log").Token
		ada, bob := uuid.MustParse(s.Register(t, "Ada@example.com", password)), uuid.MustParse(s.Register(t, "bob@example.com", password))
		s.Write(t, `DELETE FROM audit_log`)
		here, there := uuid.MustParse(tenant), uuid.MustParse(other)
		key := uuid.Must(uuid.NewV7())
		at := func(text string) time.Time {
			parsed, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				t.Fatal(err)
			}
			return parsed
		}
		as := func(user uuid.UUID, email string, tenant uuid.UUID) scope.Actor {
			return scope.Actor{UserID: user, Email: email, TenantID: tenant}
		}
		tell(t, s, as(ada, "Ada@example.com", here), audit.Entry{Action: "user.created", TargetType: "user", TargetID: "u1", After: m{"email": "Änne@example.com"}, At: at("2026-01-30T23:59:59.999999Z")})
		tell(t, s, as(ada, "Ada@example.com", here), audit.Entry{Action: "user.updated", TargetType: "user", TargetID: "u1", Before: m{"a": 1}, After: m{"a": m{"b": []int{2}}}, At: at("2026-01-31T00:00:00Z")})
		tell(t, s, as(bob, "bob@example.com", here), audit.Entry{Action: "role.created", TargetType: "role", TargetID: "r1", After: m{"name": "100%_sure"}, At: at("2026-01-31T12:00:00Z")})
		tell(t, s, scope.Actor{UserID: bob, Email: "bob@example.com", TenantID: here, APIKeyID: key}, audit.Entry{Action: "user.deleted", TargetType: "user", TargetID: "u2", At: at("2026-01-31T23:59:59.999999Z")})
		tell(t, s, as(ada, "Ada@example.com", there), audit.Entry{Action: "role.deleted", TargetType: "role", TargetID: "r2", At: at("2026-02-01T00:00:00Z")})
		tell(t, s, scope.Actor{}, audit.Entry{Action: "key.rotated", TargetType: "key", TargetID: "k1", At: at("2026-02-02T00:00:00Z")})

		list := func(token, query string) apptest.Answer { return s.Get(t, auditPath+"?"+query, token) }
		t.Run("an entry", func(t *testing.T) {
			a := list(reader, "").Want(t, http.StatusOK)
			if a.JSON["totalCount"] != 4.0 || a.JSON["pageNumber"] != 1.0 || a.JSON["pageSize"] != 20.0 {
				t.Errorf("unexpected page: %s", a.Raw)
			}
			items := a.JSON["items"].([]any)
			want := m{
				"id": items[2].(m)["id"], "tenantId": tenant, "actorId": ada.String(), "actorEmail": "Ada@example.com", "apiKeyId": nil, "action": "user.updated",
				"targetType": "user", "targetId": "u1", "before": m{"a": 1.0}, "after": m{"a": m{"b": []any{2.0}}}, "address": "192.0.2.7",
				"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "createdAt": "2026-01-31T00:00:00Z",
			}
			if fmt.Sprint(items[2]) != fmt.Sprint(want) {
				t.Errorf("got  %v\nwant %v", items[2], want)
			}
			if newest := items[0].(m); newest["apiKeyId"] != key.String() || newest["before"] != nil || newest["after"] != nil {
				t.Errorf("unexpected entry: %v", newest)
			}
		})
		for _, c := range []struct{ name, token, query, want string }{
			{"newest first", reader, "", "user.deleted role.created user.updated user.created"},
			{"the other way round", reader, "sortDirection=asc", "user.created user.updated role.created user.deleted"},
			{"by another field", reader, "sortBy=action", "role.created user.created user.deleted user.updated"},
			{"pages", reader, "pageSize=3&page=2", "user.created"},
			{"behind the last page", reader, "pageNumber=9", ""},
			{"every tenant and none", admin, "pageSize=100&to=2026-12-31", "key.rotated role.deleted user.deleted role.created user.updated user.created"},
			{"one tenant", admin, "tenantId=" + other, "role.deleted"},
			{"the own tenant by its id", reader, "tenantId=" + tenant + "&pageSize=1", "user.deleted"},
			{"actor by id", reader, "actor=" + ada.String(), "user.updated user.created"},
			{"actor by e-mail", reader, "actor=ADA@example.com", "user.updated user.created"},
			{"actor in every tenant", admin, "actor=ada@example.com", "role.deleted user.updated user.created"},
			{"an e-mail that nobody has", reader, "actor=nobody@example.com", ""},
			{"an id that nobody has", reader, "actor=" + newMark(), ""},
			{"action", reader, "action=USER.Created", "user.created"},
			{"action in every tenant", admin, "action=role.deleted", "role.deleted"},
			{"target type", reader, "targetType=Role", "role.created"},
			{"target type in every tenant", admin, "targetType=role", "role.deleted role.created"},
			{"target", reader, "targetId=u1", "user.updated user.created"},
			{"target by its other name", reader, "target=u1&targetType=user", "user.updated user.created"},
			{"target of another type", reader, "target=u1&targetType=role", ""},
			{"both names alike", reader, "target=u2&targetId=u2", "user.deleted"},
			{"from a date", reader, "from=2026-01-31", "user.deleted role.created user.updated"},
			{"to a date, all of it", reader, "to=2026-01-31", "user.deleted role.created user.updated user.created"},
			{"to the day before", reader, "toDate=2026-01-30", "user.created"},
			{"one day", reader, "fromDate=2026-01-31&toDate=2026-01-31", "user.deleted role.created user.updated"},
			{"from an instant", reader, "from=2026-01-31T12:00:00Z", "user.deleted role.created"},
			{"to an instant", reader, "to=2026-01-31T12:00:00Z", "role.created user.updated user.created"},
			{"in another zone", reader, "to=" + url.QueryEscape("2026-01-31T12:59:59+01:00"), "user.updated user.created"},
			{"to before from", reader, "from=2026-02-01&to=2026-01-01", ""},
			{"search in the actor", reader, "search=BOB@", "user.deleted role.created"},
			{"search in the action", reader, "search=.created", "role.created user.created"},
			{"search in what changed, beyond ASCII", reader, "search=" + url.QueryEscape("äNNE@"), "user.created"},
			{"search for what is a wildcard in SQL", reader, "search=" + url.QueryEscape("%_s"), "role.created"},
			{"search does not leave the tenant", reader, "search=role.deleted", ""},
			{"all of it together", reader, "actor=bob@example.com&action=role.created&targetType=role&target=r1&from=2026-01-31&to=2026-01-31&search=sure&sortBy=createdAt", "role.created"},
		} {
			t.Run(c.name, func(t *testing.T) {
				a := list(c.token, c.query)
				if got := fieldOf(t, a, "action"); got != c.want && !(c.token == admin && strings.HasSuffix(got, c.want)) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
		t.Run("totalCount respects the filters", func(t *testing.T) {
			if a := list(reader, "targetType=user&pageSize=1").Want(t, http.StatusOK); a.JSON["totalCount"] != 3.0 || a.JSON["totalPages"] != 3.0 || a.JSON["hasNext"] != true {
				t.Errorf("unexpected page: %s", a.Raw)
			}
		})
		t.Run("every scalar field sorts", func(t *testing.T) {
			for field := range list(reader, "").JSON["items"].([]any)[0].(m) {
				if field == "before" || field == "after" {
					list(reader, "sortBy="+field).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "sortBy")
					continue
				}
				up, down := texts(column(list(reader, "sortBy="+field).JSON["items"], "id")), texts(column(list(reader, "sortDirection=desc&sortBy="+field).JSON["items"], "id"))
				if slices.Reverse(down); !slices.Equal(up, down) || len(up) != 4 {
					t.Errorf("by %s: %v, and backwards %v", field, up, down)
				}
			}
		})
		t.Run("an actor whose account is deleted is found by the e-mail", func(t *testing.T) {
			s.Write(t, `UPDATE users SET deleted_at = created_at WHERE id = $1`, bob)
			again := uuid.MustParse(s.Register(t, "bob@example.com", password))
			tell(t, s, as(again, "bob@example.com", here), audit.Entry{Action: "app.created", TargetType: "app", TargetID: "a1", At: at("2026-03-01T00:00:00Z")})
			if got := fieldOf(t, list(reader, "actor=BOB@example.com"), "action"); got != "app.created user.deleted role.created" {
				t.Errorf("got %q", got)
			}
		})
		t.Run("what is refused", func(t *testing.T) {
			for _, path := range []string{auditPath, auditPath + "/export"} {
				for query, field := range map[string]string{
					"from=soon": "from", "to=2026-13-01": "to", "fromDate=1": "fromDate", "toDate=x": "toDate", "from=2026-01-01&fromDate=2026-01-02": "fromDate",
					"to=2026-01-01&toDate=2026-01-01T00:00:00Z": "toDate", "target=a&targetId=b": "target", "tenantId=here": "tenantId", "search=%00": "search",
					"tenantId=00000000-0000-0000-0000-000000000000": "tenantId", "actor=" + strings.Repeat("a", 255): "actor", "search=" + strings.Repeat("a", 201): "search",
				} {
					s.Get(t, path+"?"+query, reader).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
				}
				s.Get(t, path+"?tenantId="+other, reader).WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
				s.Get(t, path+"?tenantId="+newMark(), reader).WantProblem(t, http.StatusForbidden, "CROSS_TENANT_FORBIDDEN")
				s.Get(t, path, newHolder(t, s, tenant, "read:users").Token).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
				s.Get(t, path, "").WantProblem(t, http.StatusUnauthorized, "TOKEN_MISSING")
			}
			for query, field := range map[string]string{"page=0": "page", "pageSize=101": "pageSize", "sortBy=searchKey": "sortBy", "sortDirection=up": "sortDirection"} {
				list(reader, query).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
			}
		})
		t.Run("export", func(t *testing.T) { testExportAudit(t, s, reader, tenant) })
	})
}

func testExportAudit(t *testing.T, s *apptest.Server, reader, tenant string) {
	export := func(query string) [][]string {
		t.Helper()
		a := s.Get(t, auditPath+"/export?"+query, reader).Want(t, http.StatusOK)
		if got := a.Header.Get("Content-Type"); got != "text/csv; charset=utf-8" || a.Header.Get("Content-Disposition") != "attachment; filename=audit-log.csv" {
			t.Errorf("headers %v", a.Header)
		}
		if strings.Count(string(a.Raw), "\n") != strings.Count(string(a.Raw), "\r\n") {
			t.Error("lines do not end with CRLF")
		}
		rows, err := csv.NewReader(bytes.NewReader(a.Raw)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	actions := func(rows [][]string) string {
		var all []string
		for _, row := range rows[1:] {
			all = append(all, row[5])
		}
		return strings.Join(all, " ")
	}
	rows := export("to=2026-06-01")
	if want := "createdAt,tenantId,actorId,actorEmail,apiKeyId,action,targetType,targetId,before,after,address,traceId,id"; strings.Join(rows[0], ",") != want {
		t.Errorf("columns %v", rows[0])
	}
	if got := actions(rows); got != "app.created user.deleted role.created user.updated user.created" {
		t.Errorf("exported %s", got)
	}
	updated := rows[4]
	if updated[0] != "2026-01-31T00:00:00Z" || updated[1] != tenant || updated[3] != "Ada@example.com" || updated[4] != "" || updated[8] != `{"a":1}` || updated[9] != `{"a":{"b":[2]}}` {
		t.Errorf("unexpected line: %v", updated)
	}
	for query, want := range map[string]string{
		"action=user.created": "user.created", "actor=ada@example.com&to=2026-01-30": "user.created", "search=SURE": "role.created", "target=u2": "user.deleted", "from=2027-01-01": "",
	} {
		if got := actions(export(query)); got != want {
			t.Errorf("%s exports %q, want %q", query, got, want)
		}
	}
	own := uuid.MustParse(tenant)
	t.Run("formulas are neutralised", func(t *testing.T) {
		for i, text := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "a=1"} {
			tell(t, s, scope.Actor{TenantID: own, Email: text}, audit.Entry{Action: "formula.typed", TargetType: "formula", TargetID: fmt.Sprint(i), At: s.Clock.Now()})
		}
		for _, row := range export("action=formula.typed")[1:] {
			if cell := row[3]; strings.ContainsAny(cell[:1], "=+-@\t\r") || !strings.HasPrefix(cell, "'") && cell != "a=1" {
				t.Errorf("a cell begins as %q", cell)
			}
		}
	})
	t.Run("more than a batch comes whole and in order", func(t *testing.T) {
		now := s.Clock.Now()
		many := make([]audit.Entry, 2503)
		for i := range many {
			many[i] = audit.Entry{Action: "many.written", TargetID: fmt.Sprintf("%04d", i), TenantID: &own, At: now.Add(time.Duration(i/3) * time.Millisecond)}
		}
		err := s.App.Store().Write(context.Background(), func(tx db.Tx) error { return audit.Write(context.Background(), tx, many...) })
		if err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(time.Minute)
		rows := export("action=many.written")
		if len(rows) != len(many)+1 {
			t.Fatalf("%d lines", len(rows))
		}
		for i, row := range rows[1:] {
			if want := fmt.Sprintf("%04d", len(many)-1-i); row[7] != want {
				t.Fatalf("line %d is %s, want %s", i, row[7], want)
			}
		}
	})
}
