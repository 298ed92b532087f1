package v1alpha1

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/nova-operator/test/golden"
)

// TestReasonsPage_NamesATestForEach holds that every reason of a condition and every
// event of a Nova is named by a test that produces it, and lists which.
func TestReasonsPage_NamesATestForEach(t *testing.T) {
	const page = "../../docs/reasons.md"
	used := uses(t, "../../render/nova", "../../controllers/nova")
	var b strings.Builder
	b.WriteString("# Reasons and events of a Nova, and the tests that produce them\n\nMade by `make golden`. What to do about a reason stands in [conditions.md](conditions.md).\n\n| Reason or event | Produced by |\n| --- | --- |\n")
	for _, file := range []string{"conditions.go", "nova_conditions.go"} {
		declared := constants(t, file)
		for _, name := range slices.Sorted(maps.Keys(declared)) {
			if !strings.HasPrefix(name, "Reason") && !strings.HasPrefix(name, "Event") {
				continue
			}
			tests := slices.Sorted(maps.Keys(used[name]))
			if len(tests) == 0 {
				t.Errorf("no test names %s", name)
			}
			fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(tests, ", "))
		}
	}
	golden.Same(t, page, []byte(b.String()))
}

// uses maps each constant of this package to the tests, or tables of tests, of the
// given folders that name it.
func uses(t *testing.T, folders ...string) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests in %s: %v", folder, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range parsed.Decls {
				note(out, decl)
			}
		}
	}
	return out
}

// note records the constants one declaration names, under its own name.
func note(out map[string]map[string]bool, decl ast.Decl) {
	where := func(ast.Node) string { return "" }
	switch d := decl.(type) {
	case *ast.FuncDecl:
		where = func(ast.Node) string { return d.Name.Name }
	case *ast.GenDecl:
		where = func(n ast.Node) string {
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && s.Pos() <= n.Pos() && n.End() <= s.End() {
					return v.Names[0].Name
				}
			}
			return ""
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "v1alpha1" {
			if out[sel.Sel.Name] == nil {
				out[sel.Sel.Name] = map[string]bool{}
			}
			if name := where(n); name != "elsewhere" { // a list of exceptions produces nothing
				out[sel.Sel.Name][name] = true
			}
		}
		return true
	})
}
