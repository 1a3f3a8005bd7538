package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"steward/internal/app/apptest"
)

const importPath = permissionsPath + "/import"

// upload sends the content as a file of a name that tells nothing.
func upload(t *testing.T, s *apptest.Server, query, token, content string, headers ...string) apptest.Answer {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "list.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte(content))
	_ = w.Close()
	call := apptest.Request{Method: "POST", Path: importPath + "/file" + query, Token: token, Body: form.Bytes(), Header: map[string]string{"Content-Type": w.FormDataContentType()}}
	for i := 0; i+1 < len(headers); i += 2 {
		call.Header[headers[i]] = headers[i+1]
	}
	return s.Do(t, call)
}

// outcome writes the result of an import in one line: what was written, the counts, and each row.
func outcome(t *testing.T, a apptest.Answer) string {
	t.Helper()
	r := a.Want(t, http.StatusOK).JSON
	if len(r) != 11 {
		t.Errorf("the result has %d members: %s", len(r), a.Raw)
	}
	text := fmt.Sprintf("%v applied=%v total=%v %v/%v/%v/%v/%v", r["mode"], r["applied"], r["total"], r["created"], r["updated"], r["unchanged"], r["skipped"], r["failed"])
	for i, item := range r["rows"].([]any) {
		row := item.(m)
		errors := row["errors"].([]any)
		if len(row) != 4 || row["row"] != float64(i+1) || (row["outcome"] == "Failed") != (len(errors) > 0) {
			t.Errorf("unexpected row: %v", row)
		}
		text += fmt.Sprintf(" %v=%v", row["code"], row["outcome"])
	}
	return text
}

func wantOutcome(t *testing.T, a apptest.Answer, want string) {
	t.Helper()
	if got := outcome(t, a); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestImportPermissions(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
		t.Run("by body", func(t *testing.T) { testImportByBody(t, s, admin) })
		t.Run("rows that fail", func(t *testing.T) { testImportFails(t, s, admin) })
		t.Run("by file", func(t *testing.T) { testImportByFile(t, s, admin) })
		t.Run("templates", func(t *testing.T) { testImportTemplates(t, s, admin) })
		t.Run("bounds", func(t *testing.T) { testImportBounds(t, s, admin) })
		t.Run("at the same time", func(t *testing.T) { testImportRaces(t, s, admin) })
	})
}

// catalogue is everything that an import could change.
func catalogue(t *testing.T, s *apptest.Server) string {
	t.Helper()
	return all(t, s, `SELECT code || '|' || description || '|' || category FROM permissions ORDER BY code_key`) +
		all(t, s, `SELECT action || target_id FROM audit_log WHERE target_type = 'permission' ORDER BY id`)
}

func testImportByBody(t *testing.T, s *apptest.Server, admin string) {
	list := m{"permissions": []m{
		{"code": "ship:orders", "description": "Ship orders", "category": "Orders"},
		{"code": " Track:Orders ", "description": " Track\norders ", "category": " Orders "},
		{"code": "read:users", "description": "Not this one", "category": "Users"},
	}}
	t.Run("a dry run tells and writes nothing", func(t *testing.T) {
		before := catalogue(t, s)
		wantOutcome(t, s.Post(t, importPath+"?dryRun=true", admin, list), "Permissions applied=false total=3 2/0/0/1/0 ship:orders=Created  Track:Orders =Created read:users=Skipped")
		if catalogue(t, s) != before {
			t.Error("something was written")
		}
	})
	t.Run("new ones are created and others skipped", func(t *testing.T) {
		a := s.Post(t, importPath, admin, list)
		wantOutcome(t, a, "Permissions applied=true total=3 2/0/0/1/0 ship:orders=Created  Track:Orders =Created read:users=Skipped")
		if a.JSON["dryRun"] != false || a.JSON["upsert"] != false {
			t.Errorf("unexpected result: %s", a.Raw)
		}
		p := s.Get(t, permissionsPath+"/by-code/track:orders", admin).Want(t, http.StatusOK).JSON
		if p["code"] != "Track:Orders" || p["description"] != "Track\norders" || p["category"] != "Orders" || p["isSystem"] != false {
			t.Errorf("unexpected permission: %v", p)
		}
		if got := trail(t, s, p["id"]); got != `permission.created - {"category":"Orders","code":"Track:Orders","description":"Track\norders","isSystem":false}` {
			t.Errorf("the trail says %s", got)
		}
		wantOutcome(t, s.Post(t, importPath, admin, list), "Permissions applied=true total=3 0/0/0/3/0 ship:orders=Skipped  Track:Orders =Skipped read:users=Skipped")
	})
	t.Run("upsert changes what differs and keeps what is left out", func(t *testing.T) {
		body := m{"permissions": []m{
			{"code": "SHIP:orders", "description": "Ship them", "category": nil},
			{"code": "track:orders", "category": "Orders"},
			{"code": "read:users", "description": "See everybody"},
			{"code": "read:roles", "description": "See roles", "category": "roles"},
			{"code": "pack:orders"},
		}}
		want := "Permissions applied=%v total=5 1/2/2/0/0 SHIP:orders=Updated track:orders=Unchanged read:users=Updated read:roles=Unchanged pack:orders=Created"
		before := catalogue(t, s)
		wantOutcome(t, s.Post(t, importPath+"?upsert=true&dryRun=true&mode=permissions", admin, body), fmt.Sprintf(want, false))
		if catalogue(t, s) != before {
			t.Error("a dry run wrote something")
		}
		a := s.Post(t, importPath+"?upsert=TRUE&mode=PERMISSIONS", admin, body)
		wantOutcome(t, a, fmt.Sprintf(want, true))
		if a.JSON["upsert"] != true {
			t.Errorf("unexpected result: %s", a.Raw)
		}
		p := s.Get(t, permissionsPath+"/by-code/ship:orders", admin).Want(t, http.StatusOK).JSON
		if p["code"] != "ship:orders" || p["description"] != "Ship them" || p["category"] != "Orders" {
			t.Errorf("unexpected permission: %v", p)
		}
		if got := trail(t, s, p["id"]); !strings.HasSuffix(got, `permission.updated {"description":"Ship orders"} {"description":"Ship them"}`) {
			t.Errorf("the trail says %s", got)
		}
		if s.Get(t, permissionsPath+"?search=ship%20them", admin).JSON["totalCount"] != 1.0 {
			t.Error("the new text is not found")
		}
		if got := s.Get(t, permissionsPath+"/by-code/read:roles", admin).JSON["category"]; got != "Roles" {
			t.Errorf("the shipped category became %v", got)
		}
	})
	t.Run("categories in mode Catalog", func(t *testing.T) {
		body := m{"permissions": nil, "categories": []m{
			{"category": "Orders", "permissions": []m{{"code": "ship:orders", "description": "Ship again"}, {"code": "cancel:orders", "description": "Cancel", "category": "ignored"}}},
			{"category": "Returns", "permissions": []m{{"code": "accept:returns"}}},
			{"category": "Nothing", "permissions": nil},
			{"permissions": []m{{"code": "loose:end"}}},
		}}
		wantOutcome(t, s.Post(t, importPath+"?mode=catalog&upsert=true", admin, body),
			"Catalog applied=true total=4 3/1/0/0/0 ship:orders=Updated cancel:orders=Created accept:returns=Created loose:end=Created")
		for code, category := range map[string]string{"cancel:orders": "Orders", "accept:returns": "Returns", "loose:end": ""} {
			if got := s.Get(t, permissionsPath+"/by-code/"+code, admin).Want(t, http.StatusOK).JSON["category"]; got != category {
				t.Errorf("%s is in %v", code, got)
			}
		}
	})
	t.Run("nothing to import is fine", func(t *testing.T) {
		wantOutcome(t, s.Post(t, importPath, admin, m{"permissions": []m{}}), "Permissions applied=true total=0 0/0/0/0/0")
		wantOutcome(t, s.Post(t, importPath+"?mode=Catalog", admin, m{"categories": []m{}}), "Catalog applied=true total=0 0/0/0/0/0")
	})
	t.Run("is idempotent with a key", func(t *testing.T) {
		call := apptest.Request{Method: "POST", Path: importPath, Token: admin, Body: m{"permissions": []m{{"code": "key:once"}}}, Header: map[string]string{"Idempotency-Key": "i1"}}
		for range 2 {
			wantOutcome(t, s.Do(t, call), "Permissions applied=true total=1 1/0/0/0/0 key:once=Created")
		}
	})
	for _, c := range []struct {
		name, query string
		body        any
		field       string
	}{
		{"no list", "", m{}, "permissions"},
		{"the list of the other mode", "", m{"categories": []m{}}, "permissions"},
		{"no categories", "?mode=Catalog", m{"permissions": []m{}}, "categories"},
		{"an unknown mode", "?mode=Everything", m{"permissions": []m{}}, "mode"},
		{"no flag", "?upsert=perhaps", m{"permissions": []m{}}, "upsert"},
		{"no flag either", "?dryRun=2", m{"permissions": []m{}}, "dryRun"},
		{"a code that is no text", "", m{"permissions": []m{{"code": 7}}}, "permissions[0].code"},
		{"a row that is none", "", m{"permissions": []any{"a:b"}}, "permissions[0]"},
		{"no object", "", `[]`, "body"},
		{"no body", "", nil, "body"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			s.Post(t, importPath+c.query, admin, c.body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, c.field)
		})
	}
}

func testImportFails(t *testing.T, s *apptest.Server, admin string) {
	before := catalogue(t, s)
	a := s.Post(t, importPath+"?upsert=true", admin, m{"permissions": []m{
		{"code": "fine:one", "category": "Fine"},
		{"code": "no code"},
		{"description": "forgotten"},
		{"code": "fine:two", "description": strings.Repeat("x", 1001), "category": "a\x00b"},
		{"code": "FINE:one"},
		{"code": "read:users", "category": "Elsewhere"},
		{"code": "*", "description": "Everything at all"},
		{"code": "fine:*"},
		{"code": nil},
	}})
	// A character that no database keeps is refused before anything else, as in every body.
	a.WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "permissions[3].category")
	a = s.Post(t, importPath+"?upsert=true", admin, m{"permissions": []m{
		{"code": "fine:one", "category": "Fine"},
		{"code": "no code"},
		{"description": "forgotten"},
		{"code": "fine:two", "description": strings.Repeat("x", 1001), "category": "a\x07b"},
		{"code": "FINE:one"},
		{"code": "read:users", "category": "Elsewhere"},
		{"code": "*", "description": "Everything at all"},
		{"code": "fine:*"},
		{"code": nil},
	}})
	wantOutcome(t, a, "Permissions applied=false total=9 1/1/0/0/7 fine:one=Created no code=Failed =Failed fine:two=Failed FINE:one=Failed read:users=Failed *=Updated fine:*=Failed =Failed")
	rows := a.JSON["rows"].([]any)
	for row, want := range map[int]string{
		2: "[code must be <action>:<resource>, each of 1 to 64 letters, digits, dots, underscores and hyphens]",
		3: "[code is required]",
		4: "[description must have at most 1000 characters category must not contain control characters]",
		5: "[code is the same as in row 1]",
		6: "[The category of a system permission cannot be changed, only its description.]",
	} {
		if got := fmt.Sprint(rows[row-1].(m)["errors"]); got != want {
			t.Errorf("row %d: %s, want %s", row, got, want)
		}
	}
	if catalogue(t, s) != before {
		t.Error("something was written")
	}
}

func testImportByFile(t *testing.T, s *apptest.Server, admin string) {
	const bom = "\ufeff"
	t.Run("CSV", func(t *testing.T) {
		text := bom + "code,description,category\r\nbuy:stock,\"Buy, \"\"carefully\"\"\r\nand slowly\",Trade\r\n\r\nsell:stock,,Trade\r\n,,\r\n"
		wantOutcome(t, upload(t, s, "", admin, text), "Permissions applied=true total=2 2/0/0/0/0 buy:stock=Created sell:stock=Created")
		if got := s.Get(t, permissionsPath+"/by-code/buy:stock", admin).JSON["description"]; got != "Buy, \"carefully\"\nand slowly" {
			t.Errorf("got %q", got)
		}
		wantOutcome(t, upload(t, s, "?upsert=true&mode=catalog", admin, text), "Catalog applied=true total=2 0/0/2/0/0 buy:stock=Unchanged sell:stock=Unchanged")
	})
	t.Run("columns in any order and case, with others between", func(t *testing.T) {
		text := "id, Category ,CODE\n7,Trade,hold:stock\n8,Other,sell:stock\n"
		wantOutcome(t, upload(t, s, "?upsert=true", admin, text), "Permissions applied=true total=2 1/1/0/0/0 hold:stock=Created sell:stock=Updated")
	})
	t.Run("an empty cell clears, a missing column does not", func(t *testing.T) {
		upload(t, s, "?upsert=true", admin, "code,description\nbuy:stock,\n").Want(t, http.StatusOK)
		if p := s.Get(t, permissionsPath+"/by-code/buy:stock", admin).JSON; p["description"] != "" || p["category"] != "Trade" {
			t.Errorf("unexpected permission: %v", p)
		}
	})
	t.Run("rows of another width fail", func(t *testing.T) {
		a := upload(t, s, "", admin, "code,description,category\nlend:stock,x\nlend:more,x,y,z\nlend:last,x,y\n")
		wantOutcome(t, a, "Permissions applied=false total=3 1/0/0/0/2 lend:stock=Failed lend:more=Failed lend:last=Created")
		s.Get(t, permissionsPath+"/by-code/lend:last", admin).WantProblem(t, http.StatusNotFound, "PERMISSION_NOT_FOUND")
	})
	t.Run("JSON in both modes", func(t *testing.T) {
		wantOutcome(t, upload(t, s, "", admin, bom+` {"permissions":[{"code":"json:one","category":"J"}],"other":1}`), "Permissions applied=true total=1 1/0/0/0/0 json:one=Created")
		wantOutcome(t, upload(t, s, "?mode=Catalog&dryRun=true", admin, `{"categories":[{"category":"J","permissions":[{"code":"json:two"},{"code":"json:one"}]}]}`),
			"Catalog applied=false total=2 1/0/0/1/0 json:two=Created json:one=Skipped")
	})
	t.Run("what no database keeps fails in its row", func(t *testing.T) {
		a := upload(t, s, "?upsert=true", admin, `{"permissions":[{"code":"a\u0000:b"},{"code":"nul:one","description":"a\u0000b"},{"code":"nul:two","category":"\u0000"}]}`)
		wantOutcome(t, a, "Permissions applied=false total=3 0/0/0/0/3 a\x00:b=Failed nul:one=Failed nul:two=Failed")
		wantOutcome(t, upload(t, s, "", admin, "code\na\x00:b\n"), "Permissions applied=false total=1 0/0/0/0/1 a\x00:b=Failed")
	})
	t.Run("is idempotent by its content", func(t *testing.T) {
		for range 2 {
			wantOutcome(t, upload(t, s, "", admin, "code\nfile:once\n", "Idempotency-Key", "f1"), "Permissions applied=true total=1 1/0/0/0/0 file:once=Created")
		}
		upload(t, s, "", admin, "code\nfile:twice\n", "Idempotency-Key", "f1").WantProblem(t, http.StatusUnprocessableEntity, "IDEMPOTENCY_KEY_UNPROCESSABLE")
	})
	for _, c := range []struct{ name, query, content string }{
		{"an empty file", "", ""},
		{"blanks", "", bom + " \r\n"},
		{"no header", "", "read:x,See x,X\n"},
		{"semicolons", "", "code;description;category\nread:x;x;x\n"},
		{"a column twice", "", "code,Code\nread:x,read:x\n"},
		{"an open quote", "", "code,description\nread:x,\"oops\n"},
		{"a quote in the middle", "", "code,description\nread:x,oo\"ps\n"},
		{"another encoding", "", "code,description\nread:x,\xe4\n"},
		{"UTF-16", "", "\xff\xfec\x00o\x00d\x00e\x00"},
		{"half of JSON", "", `{"permissions":[{"code":`},
		{"something after JSON", "", `{"permissions":[]} x`},
		{"a key twice", "", `{"permissions":[],"permissions":[]}`},
		{"a list alone", "", `[{"code":"read:x"}]`},
		{"a wrong type", "", `{"permissions":[{"code":7}]}`},
		{"the list of the other mode", "?mode=Catalog", `{"permissions":[]}`},
		{"a picture", "", "\x89PNG\r\n\x1a\n"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			upload(t, s, c.query, admin, c.content).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "file")
		})
	}
	t.Run("refuses what is no form", func(t *testing.T) {
		s.Post(t, importPath+"/file", admin, m{"permissions": []m{}}).WantProblem(t, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		s.Do(t, apptest.Request{Method: "POST", Path: importPath + "/file", Token: admin}).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "file")
	})
}

func testImportTemplates(t *testing.T, s *apptest.Server, admin string) {
	get := func(query string) apptest.Answer { return s.Get(t, importPath+"/template"+query, admin) }
	plain := get("").Want(t, http.StatusOK)
	if want := "code,description,category\r\n"; !strings.HasPrefix(string(plain.Raw), want) {
		t.Errorf("the default template is %s", plain.Raw)
	}
	for _, mode := range []string{"Permissions", "Catalog"} {
		for format, contentType := range map[string]string{"Csv": "text/csv", "Json": "application/json"} {
			t.Run(format+" "+mode, func(t *testing.T) {
				a := get("?format="+strings.ToUpper(format)+"&mode="+strings.ToLower(mode)).Want(t, http.StatusOK)
				disposition := a.Header.Get("Content-Disposition")
				if a.Header.Get("Content-Type") != contentType || !strings.HasPrefix(disposition, "attachment; filename=permission") || !strings.HasSuffix(disposition, "."+strings.ToLower(format)) {
					t.Errorf("sent as %s, %s", a.Header.Get("Content-Type"), disposition)
				}
				s.Write(t, `DELETE FROM permissions WHERE category IN ('Billing', 'Stock')`)
				want := mode + " applied=true total=3 3/0/0/0/0 read:invoices=Created create:invoices=Created read:stock=Created"
				wantOutcome(t, upload(t, s, "?mode="+mode, admin, string(a.Raw)), want)
				if format == "Json" {
					s.Write(t, `DELETE FROM permissions WHERE category IN ('Billing', 'Stock')`)
					wantOutcome(t, s.Post(t, importPath+"?mode="+mode, admin, a.Raw), want)
				}
				if p := s.Get(t, permissionsPath+"/by-code/create:invoices", admin).JSON; p["description"] != "Issue invoices, also drafts" || p["category"] != "Billing" {
					t.Errorf("unexpected permission: %v", p)
				}
			})
		}
	}
	get("?format=xml").WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "format")
	get("?mode=xml").WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "mode")
}

func testImportBounds(t *testing.T, s *apptest.Server, admin string) {
	list := func(n int) string {
		var text strings.Builder
		text.WriteString("code,description,category\n")
		for i := range n {
			fmt.Fprintf(&text, "bulk:%05d,Number %d,Bulk\n", i, i)
		}
		return text.String()
	}
	t.Run("ten thousand at once", func(t *testing.T) {
		a := upload(t, s, "", admin, list(10_000)).Want(t, http.StatusOK)
		if a.JSON["created"] != 10_000.0 || len(a.JSON["rows"].([]any)) != 10_000 {
			t.Errorf("created %v", a.JSON["created"])
		}
		if n := one[int](t, s, `SELECT count(*) FROM audit_log a JOIN permissions p ON a.target_id = CAST(p.id AS TEXT) WHERE p.category = 'Bulk'`); n != 10_000 {
			t.Errorf("%d audit entries", n)
		}
		again := upload(t, s, "?upsert=true", admin, strings.ReplaceAll(list(1_000), "Number", "No.")).Want(t, http.StatusOK)
		if again.JSON["updated"] != 1_000.0 {
			t.Errorf("updated %v", again.JSON["updated"])
		}
		s.Write(t, `DELETE FROM permissions WHERE category = 'Bulk'`)
	})
	t.Run("and no more", func(t *testing.T) {
		upload(t, s, "", admin, list(10_001)).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "file")
		rows, _ := json.Marshal(make([]m, 10_001))
		s.Post(t, importPath, admin, `{"permissions":`+strings.ReplaceAll(string(rows), "null", "{}")+`}`).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "permissions")
		s.Post(t, importPath+"?mode=Catalog", admin, `{"categories":[{"permissions":`+strings.ReplaceAll(string(rows), "null", "{}")+`}]}`).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "categories")
	})
	t.Run("1 MiB of body and 10 MiB of file", func(t *testing.T) {
		s.Post(t, importPath, admin, `{"permissions":[],"x":"`+strings.Repeat("x", 1<<20)+`"}`).WantProblem(t, http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
		wantOutcome(t, upload(t, s, "", admin, `{"permissions":[],"x":"`+strings.Repeat("x", 9<<20)+`"}`), "Permissions applied=true total=0 0/0/0/0/0")
		upload(t, s, "", admin, strings.Repeat("x", 10<<20)).WantProblem(t, http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
	})
}

func testImportRaces(t *testing.T, s *apptest.Server, admin string) {
	const rows = 50
	bodies := make([]m, 6)
	for i := range bodies {
		var list []m
		for j := range rows { // each begins elsewhere, and every other one runs backwards
			n := (j + i*7) % rows
			if i%2 == 1 {
				n = rows - 1 - n
			}
			list = append(list, m{"code": fmt.Sprintf("meet:%d", n), "description": fmt.Sprint("by ", i), "category": "Meeting"})
		}
		bodies[i] = m{"permissions": list}
	}
	t.Run("each code is created once", func(t *testing.T) {
		answers := parallel(len(bodies), func(i int) apptest.Answer { return s.Post(t, importPath, admin, bodies[i]) })
		created, skipped := 0.0, 0.0
		for _, a := range answers {
			if a.Status != http.StatusOK || a.JSON["applied"] != true {
				t.Fatalf("%d %s", a.Status, a.Raw)
			}
			created, skipped = created+a.JSON["created"].(float64), skipped+a.JSON["skipped"].(float64)
		}
		if created != rows || skipped != rows*float64(len(bodies)-1) {
			t.Errorf("created %v, skipped %v", created, skipped)
		}
	})
	t.Run("updates come one after the other", func(t *testing.T) {
		for _, a := range parallel(len(bodies), func(i int) apptest.Answer { return s.Post(t, importPath+"?upsert=true", admin, bodies[i]) }) {
			if a.Status != http.StatusOK || a.JSON["applied"] != true || a.JSON["created"] != 0.0 {
				t.Fatalf("%d %s", a.Status, a.Raw)
			}
		}
		if got := all(t, s, `SELECT DISTINCT description FROM permissions WHERE category = 'Meeting'`); strings.Contains(got, "\n") {
			t.Errorf("the imports were mixed: %s", got)
		}
	})
}
