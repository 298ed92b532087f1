package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Every reason that turns a condition False is decided about, and no other: a new one
// must not pass for a wait because nobody thought of it.
func TestNeedsPerson_DecidesAboutEveryFalseReason(t *testing.T) {
	// The outcome of the other conditions, not one of its own.
	aggregates := map[string]bool{"NotAllReady": true, "NotStalled": true, "OwnedKeysOverridden": true}
	decided := 0
	for _, file := range []string{"conditions.go", "nova_conditions.go", "novacompute_conditions.go"} {
		good := goodReasons(t, file)
		for name, value := range constants(t, file) {
			if !strings.HasPrefix(name, "Reason") {
				continue
			}
			_, listed := needsPerson[value]
			switch {
			case listed && (good[name] || aggregates[value]):
				t.Errorf("%s stands for no condition that is False by itself, and the table lists it", name)
			case !listed && !good[name] && !aggregates[value]:
				t.Errorf("the table does not say whether %s needs a person", name)
			case listed:
				decided++
			}
		}
	}
	if decided != len(needsPerson) {
		t.Errorf("%d of the %d rows are about reasons that exist", decided, len(needsPerson))
	}
}

// goodReasons are the constants whose comment says that their condition is True.
func goodReasons(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Doc.Text(), spec.Names[0].Name+" is True") {
			out[spec.Names[0].Name] = true
		}
		return true
	})
	return out
}
