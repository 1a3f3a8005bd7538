package app_test

import (
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// floors is the plan of the house, from the roof to the ground. A room may import rooms of the floors
// below its own, and nothing beside or above it.
var floors = [][]string{
	{"app"},
	{"api"},
	{"web"},
	{"identity"},
	{"notify"},
	{"resource"},
	{"audit"},
	{"fault", "scope", "config", "db"},
}

func floorOf(room string) int {
	for i, floor := range floors {
		for _, name := range floor {
			if name == room {
				return i
			}
		}
	}
	return -1
}

func TestImportsGoDownwards(t *testing.T) {
	for _, pkg := range packages(t) {
		room := strings.Split(pkg.name, "/")[0]
		if floorOf(room) < 0 {
			t.Errorf("room %s is not in the plan", room)
		}
		for _, path := range pkg.imports {
			other, ours := strings.CutPrefix(path, "steward/internal/")
			other = strings.Split(other, "/")[0]
			if ours && other != room && floorOf(other) <= floorOf(room) {
				t.Errorf("%s imports %s, which is not below it", pkg.name, other)
			}
		}
	}
}

func TestOnlyWebSpeaksHTTPLibraries(t *testing.T) {
	for _, pkg := range packages(t) {
		for _, path := range pkg.imports {
			if (strings.Contains(path, "danielgtaylor/huma") || strings.Contains(path, "go-chi/chi")) && !strings.HasPrefix(pkg.name, "web") {
				t.Errorf("%s imports %s: only web may", pkg.name, path)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, pkg := range packages(t) {
		if !pkg.documented {
			t.Errorf("package %s has no package comment", pkg.name)
		}
	}
}

type sourcePackage struct {
	name       string
	imports    []string
	documented bool
}

// packages reads the imports of every package below internal, tests and helpers of tests left out.
func packages(t *testing.T) []sourcePackage {
	t.Helper()
	var found []sourcePackage
	err := filepath.WalkDir("..", func(dir string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || strings.HasSuffix(dir, "test") {
			return err
		}
		pkg, err := build.ImportDir(dir, 0)
		if err != nil {
			return nil // no Go here
		}
		name, err := filepath.Rel("..", dir)
		if err != nil {
			return err
		}
		found = append(found, sourcePackage{name: filepath.ToSlash(name), imports: pkg.Imports, documented: isDocumented(t, dir, pkg.GoFiles)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 8 {
		t.Fatalf("only %d packages were found: the walk is broken", len(found))
	}
	return found
}

func isDocumented(t *testing.T, dir string, files []string) bool {
	t.Helper()
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Doc != nil {
			return true
		}
	}
	return false
}
