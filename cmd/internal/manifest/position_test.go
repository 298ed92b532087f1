package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestFind_Position marks where a path must lead with ▸ in front of it, which is taken
// out of the text.
func TestFind_Position(t *testing.T) {
	const head = "apiVersion: v1\nkind: A\n"
	for name, tc := range map[string]struct{ text, path string }{
		"a field":                      {head + "spec:\n  a: 1\n  ▸b: 2\n", "spec.b"},
		"an absent field":              {head + "▸spec:\n  a: 1\n", "spec.image.tag"},
		"an absent field deeper down":  {head + "spec:\n  ▸image: {a: 1}\n", "spec.image.tag"},
		"nothing of the path":          {"▸" + head, "spec.image"},
		"the document":                 {"# comment\n\n▸" + head, ""},
		"a flow":                       {head + "spec: {a: 1, ▸b: {c: 2}}\n", "spec.b"},
		"inside of a flow":             {head + "spec: {a: 1, b: {▸c: 2}}\n", "spec.b.c"},
		"an item":                      {head + "spec:\n  l:\n  - a\n  - ▸b\n", "spec.l[1]"},
		"a field of an item":           {head + "spec:\n  l:\n  - a: 1\n    ▸b: 2\n", "spec.l[0].b"},
		"an item that is not there":    {head + "spec:\n  ▸l: [a]\n", "spec.l[7]"},
		"an option":                    {head + "spec:\n  extraConfig:\n    DEFAULT:\n      ▸debug: 1\n", "spec.extraConfig[DEFAULT][debug]"},
		"a section with a dot":         {head + "spec:\n  extraConfig:\n    a.b:\n      ▸c.d: 1\n", "spec.extraConfig[a.b][c.d]"},
		"a key with a bracket":         {head + "spec:\n  m:\n    ▸'a]b': 1\n", "spec.m[a]b]"},
		"a label without brackets":     {head + "spec:\n  m:\n    example.com/a: 1\n    ▸example.com/a.b: 1\n", "spec.m.example.com/a.b"},
		"an empty key":                 {head + "spec:\n  m:\n    a: 1\n    ▸'': 1\n", "spec.m[]"},
		"an alias":                     {head + "x: &x {▸a: 1}\nspec: *x\n", "spec.a"},
		"a merge":                      {head + "x: &x {▸a: 1}\nspec:\n  <<: *x\n", "spec.a"},
		"a list of merges":             {head + "x: &x {a: 1}\ny: &y {▸b: 1}\nspec:\n  <<: [*x, *y]\n", "spec.b"},
		"a field beside a merge":       {head + "x: &x {a: 1}\nspec:\n  <<: *x\n  ▸b: 1\n", "spec.b"},
		"a multi-byte character":       {head + "spec: {ä: ö, ▸b: 1}\n", "spec.b"},
		"a block scalar":               {head + "spec:\n  s: |\n    ---\n    a: 1\n  ▸b: 1\n", "spec.b"},
		"the second document":          {head + "---\n" + head + "▸spec: 1\n", "spec"},
		"a comment on the separator":   {head + "--- # two\n" + head + "▸spec: 1\n", "spec"},
		"an object on the separator":   {head + "--- {apiVersion: v1, kind: A, ▸spec: 1}\n", "spec"},
		"after an end marker":          {head + "...\n" + head + "▸spec: 1\n", "spec"},
		"after directives":             {"%YAML 1.1\n---\n" + head + "▸spec: 1\n", "spec"},
		"lines that end in CR LF":      {strings.ReplaceAll(head+"---\n"+head+"spec:\n  ▸b: 1\n", "\n", "\r\n"), "spec.b"},
		"a document without an end":    {head + "---\n" + head + "▸spec: 1", "spec"},
		"JSON":                         {"{\n\t\"apiVersion\": \"v1\", \"kind\": \"A\",\n\t\"spec\": {▸\"b\": 1}\n}\n", "spec.b"},
		"JSON after JSON":              {`{"apiVersion": "v1", "kind": "A"} {"apiVersion": "v1", "kind": "A", ▸"spec": 1}`, "spec"},
		"JSON after JSON of two lines": {"{\"apiVersion\": \"v1\",\n \"kind\": \"A\"} {\"apiVersion\": \"v1\", \"kind\": \"A\",\n ▸\"spec\": 1}", "spec"},
		"an item of a List":            {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n- apiVersion: v1\n  kind: A\n  ▸spec: 1\n", "spec"},
		"an item of a List as a whole": {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n- ▸apiVersion: v1\n  kind: A\n", "spec"},
		"a List in a List":             {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: [{apiVersion: v1, kind: A, ▸spec: 1}]\n", "spec"},
	} {
		t.Run(name, func(t *testing.T) {
			before, _, found := strings.Cut(tc.text, "▸")
			if !found {
				t.Fatal("no mark")
			}
			last := before[strings.LastIndex(before, "\n")+1:]
			want := Position{File: "f", Line: strings.Count(before, "\n") + 1, Column: len([]rune(last)) + 1}
			var c collection
			c.parse("f", []byte(strings.ReplaceAll(tc.text, "▸", "")))
			for _, d := range c.documents {
				if d.Err != nil {
					t.Fatalf("%s: %v", d, d.Err)
				}
			}
			if diff := cmp.Diff(want, c.documents[len(c.documents)-1].Find(tc.path)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFind_ProblemOfSyntax marks the line where a document stops being YAML.
func TestFind_ProblemOfSyntax(t *testing.T) {
	const head = "# comment\napiVersion: v1\nkind: A\n---\n# comment\n"
	for name, text := range map[string]string{
		"a map in a value":        "a: b\n▸  c: hunter2\n",
		"a map in a list":         "a:\n- b\n▸ c: hunter2\n",
		"a list in a map":         "a:\n  b: 1\n▸- hunter2\n",
		"a tab":                   "a:\n▸\tb: hunter2\n",
		"a key twice":             "a:\n  b: 1\n▸  b: hunter2\n",
		"a character":             "a: 1\n▸b: @hunter2\n",
		"an alias of nothing":     "▸a: 1\nb: *hunter2\n",
		"a flow without an end":   "a: 1\n▸b: [hunter2,\n\n",
		"a string without an end": "a: 1\n▸b: 'hunter2\n\n",
		"not an object":           "▸hunter2\n",
		"nothing of Kubernetes":   "▸a: hunter2\n",
		"an object of one line":   "a: 1\n▸b: {c: d: e}\n",
		"text behind a string":    "a: 1\n▸b: \"c\" hunter2\n",
		"braces in a template":    "a: 1\n▸b: {{ .Values.hunter2 }}\n",
		"JSON with a comma less":  "{\"a\": 1,\n▸\"b\": 2 \"hunter2\": 3}\n",
	} {
		t.Run(name, func(t *testing.T) {
			before, _, _ := strings.Cut(head+text, "▸")
			var c collection
			c.parse("f", []byte(head+strings.ReplaceAll(text, "▸", "")))
			broken := c.documents[len(c.documents)-1]
			if broken.Err == nil {
				t.Fatal("it parses")
			}
			if strings.Contains(broken.Err.Error(), "hunter2") {
				t.Errorf("the text is quoted: %v", broken.Err)
			}
			if want, got := strings.Count(before, "\n")+1, broken.Find("").Line; got != want {
				t.Errorf("line %d, want %d (%v)", got, want, broken.Err)
			}
		})
	}
}

// TestFind_EveryField asks for every field of every fixture: each is found, and the text
// there starts with its name or is its item.
func TestFind_EveryField(t *testing.T) {
	files, err := filepath.Glob("../../../fixtures/nova/*/nova.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	asked := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(raw), "\n")
		documents, err := Open(file, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			var fields map[string]any
			if err := yaml.Unmarshal(d.source.text.raw, &fields); err != nil {
				t.Fatal(err)
			}
			for _, path := range paths("", fields) {
				asked++
				spot, _ := d.source.spot(path)
				at := d.Find(path)
				if spot.rest != "" || at.Line == 0 {
					t.Errorf("%s %s: %q is not found", file, path, spot.rest)
					continue
				}
				there := strings.TrimLeft(lines[at.Line-1][at.Column-1:], `"'`)
				name := strings.TrimRight(path[strings.LastIndexAny(path, ".[")+1:], "]")
				if !strings.HasSuffix(path, "]") && !strings.HasPrefix(there, name) {
					t.Errorf("%s %s: line %d, column %d holds %q", file, path, at.Line, at.Column, there)
				}
			}
		}
	}
	if asked < 500 {
		t.Errorf("only %d fields", asked)
	}
}

// paths lists every field below one, as findings name them.
func paths(prefix string, value any) []string {
	var out []string
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if strings.ContainsAny(key, "./") {
				continue
			}
			path := strings.TrimPrefix(prefix+"."+key, ".")
			out = append(append(out, path), paths(path, inner)...)
		}
	case []any:
		for i, inner := range value {
			path := fmt.Sprintf("%s[%d]", prefix, i)
			out = append(append(out, path), paths(path, inner)...)
		}
	}
	slices.Sort(out)
	return out
}
