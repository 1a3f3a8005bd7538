package identity

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"steward/internal/fault"
)

// shownRows writes rows so that nil, empty and given can be told apart.
func shownRows(rows []PermissionRow) string {
	shown := func(text *string) string {
		if text == nil {
			return "-"
		}
		return fmt.Sprintf("%q", *text)
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%q %s %s %s", r.Code, shown(r.Description), shown(r.Category), r.Problem)))
	}
	return strings.Join(lines, "\n")
}

func TestReadPermissionFile(t *testing.T) {
	for _, c := range []struct {
		name    string
		mode    ImportMode
		content string
		want    string
	}{
		{"CSV", ImportPermissions, "code,description,category\nread:x,See x,X\n", `"read:x" "See x" "X"`},
		{"CSV in the other mode", ImportCatalog, "code,description,category\r\nread:x,,\r\n", `"read:x" "" ""`},
		{"CSV with a mark and no last line break", ImportPermissions, "\ufeffcode\nread:x", `"read:x" - -`},
		{"CSV with quotes around the header", ImportPermissions, "\"category\",\"code\"\nX,read:x\n", `"read:x" - "X"`},
		{"CSV with a quoted line break", ImportPermissions, "code,description\nread:x,\"a\r\nb\"\n", `"read:x" "a\nb" -`},
		{"CSV with blank lines", ImportPermissions, "code,description\n\n , \nread:x,\n", `"read:x" "" -`},
		{"CSV with rows of another width", ImportPermissions, "description,code\nx\ny,read:y,z\n",
			"\"\" - - the row has 1 fields, the header 2\n\"read:y\" - - the row has 3 fields, the header 2"},
		{"CSV with a header alone", ImportPermissions, "code,description,category\n", ""},
		{"JSON", ImportPermissions, `{"permissions":[{"code":"read:x","description":"","category":null},{}]}`, "\"read:x\" \"\" -\n\"\" - -"},
		{"JSON with a mark and blanks", ImportPermissions, "\ufeff \r\n\t{\"permissions\":[]}\n", ""},
		{"JSON by category", ImportCatalog, `{"categories":[{"category":"X","permissions":[{"code":"read:x"}]},{"category":"Y"},{"permissions":[{"code":"read:y","description":"y"}]}]}`,
			"\"read:x\" - \"X\"\n\"read:y\" \"y\" \"\""},
		{"JSON with names in another case", ImportPermissions, `{"permissions":[{"Code":"read:x","code":"read:y"}],"Permissions":7}`, `"read:y" - -`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := ReadPermissionFile([]byte(c.content), c.mode)
			if err != nil {
				t.Fatal(err)
			}
			if got := shownRows(rows); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReadPermissionFileSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"nothing", "", "must not be empty"},
		{"only a mark", "\ufeff\n", "must not be empty"},
		{"another encoding", "code\n\xff", "must be UTF-8"},
		{"no header", "read:x,x,x", "must be JSON, or CSV whose first line names the columns code,description,category"},
		{"a column twice", "code,description,Code\n", "names the column code twice"},
		{"an open quote", "code\n\"a\n\n", "is neither JSON nor valid CSV: see line 2"},
		{"broken JSON", `{"permissions":[}`, "is not valid JSON"},
		{"a key twice", `{"permissions":[{"code":"a","code":"b"}]}`, "names a key twice at /permissions/0/code"},
		{"a wrong type", `{"permissions":[{},{"code":{}}]}`, "has a value of the wrong type at /permissions/1/code"},
		{"no object", `[]`, "must be a JSON object"},
		{"no list", `{}`, "permissions is required in mode Permissions"},
		{"too many rows", "code\n" + strings.Repeat("a:b\n", MaxImportRows+1), "must hold at most 10000 permissions"},
		{"too many rows of JSON", `{"permissions":[{}` + strings.Repeat(",{}", MaxImportRows) + `]}`, "permissions must hold at most 10000 permissions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadPermissionFile([]byte(c.content), ImportPermissions)
			f, ok := fault.From(err)
			if !ok || f.Code != fault.Validation || len(f.Fields) != 1 || f.Fields[0].Name != "file" || f.Fields[0].Message != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestTemplatesAreReadAsTheyAre(t *testing.T) {
	const want = `"read:invoices" "See invoices" "Billing"
"create:invoices" "Issue invoices, also drafts" "Billing"
"read:stock" "See what is in stock" "Stock"`
	check := func(content []byte, err error, mode ImportMode) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := ReadPermissionFile(content, mode)
		if got := shownRows(rows); err != nil || got != want {
			t.Errorf("%s: %v, got %s", content, err, got)
		}
	}
	for _, mode := range []ImportMode{ImportPermissions, ImportCatalog} {
		content, err := PermissionTemplateCSV()
		check(content, err, mode)
		content, err = PermissionTemplateJSON(mode)
		check(content, err, mode)
	}
}

func TestImportModesAreReadInAnyCase(t *testing.T) {
	for text, want := range map[string]ImportMode{"Permissions": ImportPermissions, "CATALOG": ImportCatalog, "catalog": ImportCatalog, "": "", "both": ""} {
		var mode ImportMode
		if err := mode.UnmarshalText([]byte(text)); mode != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", text, mode, err)
		}
	}
}

func FuzzImport(f *testing.F) {
	for _, seed := range []string{
		"code,description,category\r\nread:x,\"a\r\nb\",X\r\n", "\ufeffcategory,code\nX,read:x\n", "code\n\"", "code,code\n", "a;b", "\xff\xfe",
		`{"permissions":[{"code":"read:x","description":null,"category":"X"}]}`, `{"categories":[{"category":"X","permissions":[{"code":"a:b"}]}]}`,
		`{"permissions":[{"code":"a\u0000:b"}]}`, `[[[[`, `{"permissions":`, "",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, content []byte, catalog bool) {
		mode := ImportPermissions
		if catalog {
			mode = ImportCatalog
		}
		rows, err := ReadPermissionFile(content, mode)
		if err != nil {
			if fault.Is(err, fault.Validation) && rows == nil {
				return
			}
			t.Fatalf("%d rows and %v", len(rows), err)
		}
		if rows == nil || len(rows) > MaxImportRows {
			t.Fatalf("%d rows", len(rows))
		}
		for _, row := range rows {
			checkFuzzedRow(t, row)
		}
		again, err := ReadPermissionFile(asCSV(rows), mode)
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if want := shownRows(kept(rows)); shownRows(again) != want {
			t.Fatalf("got  %s\nwant %s", shownRows(again), want)
		}
	})
}

// checkFuzzedRow holds a row that is called sound to what the databases need.
func checkFuzzedRow(t *testing.T, row PermissionRow) {
	t.Helper()
	if len(row.check()) > 0 {
		return
	}
	change := row.trimmed()
	for _, text := range []*string{new(row.code()), change.Description, change.Category} {
		if text != nil && (!utf8.ValidString(*text) || strings.Contains(*text, "\x00") || len(*text) > 4*maxPermissionDescription) {
			t.Fatalf("%q is called sound", *text)
		}
	}
	if !isCode(row.code()) {
		t.Fatalf("%q is called a code", row.Code)
	}
}

// kept is what a CSV file can say of rows: it has no null, no lone carriage returns before line breaks,
// and no row that could not be read or is blank.
func kept(rows []PermissionRow) []PermissionRow {
	all := []PermissionRow{}
	for _, r := range rows {
		if r.Problem == "" && !isBlank([]string{r.Code, text(r.Description), text(r.Category)}) {
			all = append(all, PermissionRow{Code: unix(r.Code), PermissionChange: PermissionChange{Description: new(unix(text(r.Description))), Category: new(unix(text(r.Category)))}})
		}
	}
	return all
}

func text(given *string) string {
	if given == nil {
		return ""
	}
	return *given
}

func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func asCSV(rows []PermissionRow) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write([]string{"code", "description", "category"})
	for _, r := range kept(rows) {
		_ = w.Write([]string{r.Code, *r.Description, *r.Category})
	}
	w.Flush()
	return out.Bytes()
}

// isCode is the form of a code, told in another way.
func isCode(code string) bool {
	if code == "*" {
		return true
	}
	halves := strings.Split(code, ":")
	for _, half := range halves {
		if len(half) < 1 || len(half) > 64 || strings.ContainsFunc(half, func(r rune) bool { return !strings.ContainsRune(codeLetters, r) }) {
			return false
		}
	}
	return len(halves) == 2
}

const codeLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

func FuzzPermissionCode(f *testing.F) {
	half := strings.Repeat("a", 64)
	for _, seed := range []string{"*", "**", "read:users", "READ.x_1:-", ":", "a:", ":b", "a:b:c", "a:b\n", "ä:b", half + ":" + half, half + "a:b", "a b:c", "\x00:a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		wrong := fields{}
		wrong.checkPermissionCode("code", code)
		if (len(wrong) == 0) != isCode(code) {
			t.Errorf("%q: %v", code, wrong)
		}
		if len(wrong) == 0 && codeKey(codeKey(code)) != codeKey(code) {
			t.Errorf("the key of %q is not its own key", code)
		}
	})
}
