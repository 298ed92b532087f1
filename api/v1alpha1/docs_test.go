package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The page tells what to do for each condition and reason of a Nova, so it must name
// every one that exists.
func TestConditionsPage_NamesEveryReason(t *testing.T) {
	raw, err := os.ReadFile("../../docs/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	page := map[string]bool{}
	for _, word := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(string(raw), -1) {
		page[word] = true
	}
	for _, file := range []string{"conditions.go", "nova_conditions.go"} {
		for name, value := range constants(t, file) {
			if (strings.HasPrefix(name, "Reason") || strings.HasPrefix(name, "Condition")) && !page[value] && name != "ReasonAllReady" && name != "ReasonNotAllReady" {
				t.Errorf("docs/conditions.md does not name %s", value)
			}
		}
	}
}

// constants returns the string constants of a file of this package.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			out[spec.Names[0].Name] = value
		}
		return true
	})
	return out
}

// The page lists what stalls a Nova, so its list must be the table's.
func TestConditionsPage_ListsWhatStalls(t *testing.T) {
	raw, err := os.ReadFile("../../docs/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "| Condition | Reasons that stall |")
	list, _, _ = strings.Cut(list, "\n\n")
	listed := map[string]bool{}
	for row := range strings.Lines(list) {
		if cells := strings.Split(row, "|"); len(cells) > 2 {
			for _, word := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(cells[2], -1) {
				listed[word] = true
			}
		}
	}
	for _, file := range []string{"conditions.go", "nova_conditions.go"} {
		for name, value := range constants(t, file) {
			// VPAError stalls by the error behind it, not by itself.
			if strings.HasPrefix(name, "Reason") && value != ReasonVPAError && listed[value] != NeedsPerson(value) {
				t.Errorf("the page lists %s as stalling: %t, the table: %t", value, listed[value], NeedsPerson(value))
			}
		}
	}
}
