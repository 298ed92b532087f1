package main

import (
	"bytes"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/cmd/internal/manifest"
)

// odd are values that fit almost nowhere.
var odd = []any{nil, "", "\x00 odd\x1b[1m\n", int64(-1), 1e300, true, []any{}, []any{nil}, map[string]any{}, map[string]any{"": map[string]any{"a.b[0]": nil}}}

// variants yields a document once for each field and each odd value in its place.
func variants(document map[string]any) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		var visit func(at any) bool
		visit = func(at any) bool {
			put := func(get func() any, set func(any)) bool {
				before := get()
				for _, value := range odd {
					set(value)
					if !yield(runtime.DeepCopyJSON(document)) {
						return false
					}
				}
				set(before)
				return visit(before)
			}
			switch at := at.(type) {
			case map[string]any:
				for _, key := range slices.Sorted(maps.Keys(at)) {
					if !put(func() any { return at[key] }, func(v any) { at[key] = v }) {
						return false
					}
				}
			case []any:
				for i := range at {
					if !put(func() any { return at[i] }, func(v any) { at[i] = v }) {
						return false
					}
				}
			}
			return true
		}
		visit(document)
	}
}

func load(t *testing.T, file string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := yaml.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestValidate_AnyValueAnywhere replaces every field of a Nova by odd values: nothing
// panics, and every finding has a line.
func TestValidate_AnyValueAnywhere(t *testing.T) {
	count, findings := 0, 0
	for variant := range variants(load(t, "testdata/nova.yaml")) {
		raw, err := yaml.Marshal(variant)
		if err != nil {
			t.Fatal(err)
		}
		count++
		for _, found := range assemble(manifest.Parse("f.yaml", raw, "default")).findings {
			findings++
			if found.Line < 1 || found.Line > bytes.Count(raw, []byte("\n")) {
				t.Errorf("line %d: %+v in\n%s", found.Line, found, raw)
			}
		}
	}
	if count < 200 || findings < count {
		t.Errorf("%d variants, %d findings", count, findings)
	}
}

// TestFunction_AnyValueAnywhere does the same with a whole ResourceList. What the
// function returns is a list again, or an error that quotes no Secret.
func TestFunction_AnyValueAnywhere(t *testing.T) {
	count := 0
	for variant := range variants(load(t, "testdata/function/list.yaml")) {
		raw, err := yaml.Marshal(variant)
		if err != nil {
			t.Fatal(err)
		}
		// Every third takes a second, and each odd value comes up in a third of the fields.
		if count++; count%3 != 0 {
			continue
		}
		var out bytes.Buffer
		err = runFunction(bytes.NewReader(raw), &out)
		if err != nil && strings.Contains(err.Error(), mark+":"+mark) {
			t.Errorf("a credential is printed: %v", err)
		}
		if out.Len() == 0 && err == nil {
			t.Errorf("nothing comes of\n%s", raw)
		}
	}
	if count < 300 {
		t.Errorf("%d variants", count)
	}
}
