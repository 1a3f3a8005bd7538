package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

// fileOf writes a file for a command to read.
func fileOf(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "permissions")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestImportPermissions(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		if printed, code := run(t, store, "migrate"); code != 0 {
			t.Fatal(printed)
		}
		list := fileOf(t, "code,description,category\nship:orders,Ship orders,Orders\nread:users,Not this one,Users\n")
		catalog := fileOf(t, `{"categories":[{"category":"Orders","permissions":[{"code":"ship:orders","description":"Ship them"}]}]}`)
		broken := fileOf(t, "code\npack:orders\nno code\nPACK:orders\n")
		for _, c := range []struct {
			name      string
			arguments []string
			code      int
			want      []string
		}{
			{"a dry run on a store that nobody has started yet", []string{list, "--dry-run"}, 0, []string{"nothing is written", "2 permissions: 1 created, 0 updated, 0 unchanged, 1 skipped, 0 failed."}},
			{"an import", []string{list}, 0, []string{"2 permissions: 1 created, 0 updated, 0 unchanged, 1 skipped, 0 failed."}},
			{"again", []string{list}, 0, []string{"0 created, 0 updated, 0 unchanged, 2 skipped"}},
			{"a catalogue", []string{catalog, "--mode", "catalog", "--upsert"}, 0, []string{"0 created, 1 updated"}},
			{"the same catalogue", []string{catalog, "--mode", "CATALOG", "--upsert"}, 0, []string{"1 unchanged"}},
			{"rows that fail", []string{broken}, 1, []string{
				"3 permissions: 1 created, 0 updated, 0 unchanged, 0 skipped, 2 failed.", "ROW", `2    "no code"`, `3    "PACK:orders"  code is the same as in row 1`,
				"steward: 2 of 3 rows failed; nothing was written"}},
			{"nor in a dry run", []string{broken, "--dry-run"}, 1, []string{"2 of 3 rows failed"}},
			{"the wrong mode", []string{catalog}, 1, []string{"steward: " + catalog + " permissions is required in mode Permissions"}},
			{"no such file", []string{"nowhere.csv"}, 1, []string{"steward: open nowhere.csv"}},
			{"no such mode", []string{list, "--mode", "both"}, 2, []string{"must be Permissions or Catalog"}},
		} {
			printed, code := run(t, store, append([]string{"import-permissions"}, c.arguments...)...)
			if code != c.code {
				t.Errorf("%s: code %d: %s", c.name, code, printed)
			}
			for _, want := range c.want {
				if !strings.Contains(printed, want) {
					t.Errorf("%s: no %q in %s", c.name, want, printed)
				}
			}
		}
		piped := command(t, store, "import-permissions", "-", "--upsert")
		piped.Stdin = strings.NewReader(`{"permissions":[{"code":"ship:orders","description":"By pipe"}]}`)
		if printed, err := piped.CombinedOutput(); err != nil || !strings.Contains(string(printed), "1 updated") {
			t.Errorf("by pipe: %v %s", err, printed)
		}
	})
}
