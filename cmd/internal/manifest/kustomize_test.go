package manifest

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder writes files into a new folder and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestKustomization_ErrorsQuoteNoSecret breaks kustomizations where kustomize quotes what
// it read.
func TestKustomization_ErrorsQuoteNoSecret(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: bus}\nstringData: {password: hunter2}\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a patch that does not parse": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\npatches:\n- target: {kind: Secret}\n  patch: '[{op: add, path: /data/x, value: hunter2}]'\n",
			"secret.yaml":        secret,
		}, "unable to parse SM or JSON patch"},
		"a patch of several lines": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    stringData:\n       x: hunter2\n      y: very-hunter2\n",
			"secret.yaml":        secret,
		}, "unable to parse SM or JSON patch"},
		"a patch file that does not parse": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\npatches:\n- target: {kind: Secret}\n  path: patch.yaml\n",
			"secret.yaml":        secret, "patch.yaml": "stringData:\n   x: hunter2\n  y: hunter2\n",
		}, "unable to parse SM or JSON patch"},
		"a patch without a target": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\npatches:\n- path: patch.yaml\n",
			"secret.yaml":        secret, "patch.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: other}\nstringData: {password: hunter2}\n",
		}, "no matches for Id"},
		"a literal without a value": {map[string]string{
			"kustomization.yaml": "secretGenerator:\n- name: bus\n  literals: [hunter2]\n",
		}, "literal"},
		"an environment that does not parse": {map[string]string{
			"kustomization.yaml": "secretGenerator:\n- name: bus\n  envs: [.env]\n",
			".env":               "\xff=hunter2\n",
		}, "a line is not UTF-8"},
		"a resource that does not parse": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\n",
			"secret.yaml":        "apiVersion: v1\nkind: Secret\nstringData: {a: *hunter2}\n",
		}, "secret.yaml"},
		"a resource without a kind": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\n",
			"secret.yaml":        "stringData: {a: hunter2}\n",
		}, "secret.yaml"},
		"a resource of text": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\n",
			"secret.yaml":        "hunter2 hunter2\n",
		}, "secret.yaml"},
		"a JSON patch of nothing": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    - op: test\n      path: /stringData/password\n      value: not-hunter2\n",
			"secret.yaml":        secret,
		}, "testing value"},
		"a transformer that does not configure": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: p}\n  patch: '{stringData: {a: hunter2'\n",
			"secret.yaml":        secret,
		}, "transformer"},
		"a replacement of nothing": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\nreplacements:\n- source: {kind: Secret, name: bus, fieldPath: stringData.password, options: {delimiter: h, index: 0}}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.other.x]}]\n",
			"secret.yaml":        secret,
		}, "unable to find field"},
		"an unknown field": {map[string]string{
			"kustomization.yaml": "resources: [secret.yaml]\nsecretGenerators: [hunter2]\n",
			"secret.yaml":        secret,
		}, "invalid Kustomization"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(folder(t, tc.files), "", nil)
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("quoted: %v", err)
			}
		})
	}
}

// noNetwork fails every request.
type noNetwork struct{ t *testing.T }

func (n noNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	n.t.Errorf("a request to %s", request.URL.Host)
	return nil, errors.New("no network")
}

// TestKustomization_FetchesNothing names something remote wherever a kustomization can.
// It also has no git to run.
func TestKustomization_FetchesNothing(t *testing.T) {
	before := http.DefaultTransport
	http.DefaultTransport = noNetwork{t}
	t.Cleanup(func() { http.DefaultTransport = before })
	t.Setenv("PATH", "")
	const url = "https://example.com/x"
	for name, kustomization := range map[string]string{
		"a resource":                  "resources: [" + url + "]",
		"a repository":                "resources: ['https://example.com/org/repo//base?ref=main']",
		"a repository over ssh":       "resources: ['git@example.com:org/repo.git']",
		"a repository without scheme": "resources: [github.com/org/repo]",
		"a repository with git::":     "resources: ['git::https://example.com/org/repo.git']",
		"a repository of the disk":    "resources: ['file:///srv/repo.git']",
		"a base":                      "bases: ['ssh://git@example.com/org/repo']",
		"a component":                 "components: [" + url + "]",
		"a definition":                "crds: [" + url + "]",
		"a configuration":             "configurations: [" + url + "]",
		"a schema":                    "openapi: {path: '" + url + "'}",
		"a patch":                     "patches: [{path: '" + url + "'}]",
		"a strategic merge patch":     "patchesStrategicMerge: [" + url + "]",
		"a JSON patch":                "patchesJson6902: [{path: '" + url + "', target: {version: v1, kind: A, name: a}}]",
		"a replacement":               "replacements: [{path: '" + url + "'}]",
		"a file":                      "configMapGenerator: [{name: a, files: ['" + url + "']}]",
		"a file of a key":             "secretGenerator: [{name: a, files: ['k=" + url + "']}]",
		"an environment":              "configMapGenerator: [{name: a, envs: ['" + url + "']}]",
		"an old environment":          "configMapGenerator: [{name: a, env: '" + url + "'}]",
		"a generator":                 "generators: [" + url + "]",
		"a transformer":               "transformers: [" + url + "]",
		"a validator":                 "validators: [" + url + "]",
		"an inline transformer":       "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: p}\n  path: " + url + "\n",
		"a transformer in a file":     "transformers: [transformer.yaml]",
		"a base with something":       "resources: [base]",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(folder(t, map[string]string{
				"kustomization.yaml":      kustomization,
				"transformer.yaml":        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: " + url + "\n",
				"base/kustomization.yaml": "resources: [" + url + "]",
			}), "", nil)
			if err == nil || !strings.Contains(err.Error(), "and nothing is fetched here: vendor it, or pipe the output of kustomize build into -f -") {
				t.Error(err)
			}
		})
	}
}

// TestKustomization_BuildsWhatIsHere has texts that look remote, and are not read.
func TestKustomization_BuildsWhatIsHere(t *testing.T) {
	documents, err := Open(folder(t, map[string]string{
		"kustomization.yaml": `
resources: [a.yaml, github.com]
commonAnnotations: {path: "https://example.com/x"}
configMapGenerator:
- {name: m, literals: ["url=https://example.com/x"], files: ["logo@2x.png"]}
patches:
- patch: |-
    - {op: add, path: /spec, value: {url: "https://example.com/x"}}
  target: {kind: A}
`,
		"a.yaml":                        "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\n",
		"logo@2x.png":                   "x",
		"github.com/kustomization.yaml": "buildMetadata: [originAnnotations]\nnamePrefix: b-\n",
	}), "", nil)
	if err != nil || len(documents) != 2 {
		t.Fatal(err, documents)
	}
	for _, d := range documents {
		if d.Object.GetAnnotations()["config.kubernetes.io/origin"] != "" {
			t.Errorf("%s says where it came from, and nobody asked", d)
		}
	}
}

func TestKustomization_KeepsTheOriginsItAsksFor(t *testing.T) {
	documents, err := Open(folder(t, map[string]string{
		"kustomization.yaml": "resources: [a.yaml]\nbuildMetadata: [originAnnotations]\n",
		"a.yaml":             "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\n",
	}), "", nil)
	if err != nil || len(documents) != 1 {
		t.Fatal(err, documents)
	}
	if got := documents[0].Object.GetAnnotations()["config.kubernetes.io/origin"]; got != "path: a.yaml\n" {
		t.Errorf("the annotation is %q", got)
	}
}

// TestFind_InWhatAKustomizationBuilds marks the one place, of all files, that a field of
// the built resource must lead to; without a mark it is the kustomization's file.
func TestFind_InWhatAKustomizationBuilds(t *testing.T) {
	const base = "# comment\napiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec:\n  one: 1\n  list: [x, y]\n"
	const over = "resources: [../base]\nnamePrefix: p-\n"
	for name, tc := range map[string]struct {
		path  string
		files map[string]string
	}{
		"a field of the base":                {"spec.one", map[string]string{"base/a.yaml": strings.Replace(base, "one", "▸one", 1)}},
		"an absent field of the base":        {"spec.two", map[string]string{"base/a.yaml": strings.Replace(base, "spec", "▸spec", 1)}},
		"an item of the base":                {"spec.list[1]", map[string]string{"base/a.yaml": strings.Replace(base, "y]", "▸y]", 1)}},
		"a name that a transformer made":     {"metadata.name", nil},
		"a strategic merge patch":            {"spec.two", map[string]string{"over/kustomization.yaml": over + "patches: [{path: p.yaml}]\n", "over/p.yaml": "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec:\n  ▸two: 2\n"}},
		"a patch over a value of the base":   {"spec.one", map[string]string{"over/kustomization.yaml": over + "patches: [{path: p.yaml}]\n", "over/p.yaml": "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec: {▸one: 7}\n"}},
		"an inline patch":                    {"spec.two", map[string]string{"over/kustomization.yaml": over + "patches:\n- patch: |-\n    apiVersion: example.com/v1\n    kind: A\n    metadata: {name: a}\n    spec:\n      ▸two: 2\n"}},
		"an inline patch of an old form":     {"spec.two", map[string]string{"over/kustomization.yaml": over + "patchesStrategicMerge:\n- |-\n  apiVersion: example.com/v1\n  kind: A\n  metadata: {name: a}\n  spec: {▸two: 2}\n"}},
		"a JSON patch":                       {"spec.two", map[string]string{"over/kustomization.yaml": over + "patches: [{target: {kind: A}, path: p.yaml}]\n", "over/p.yaml": "- op: add\n  path: /spec/three\n  value: 3\n- op: add\n  path: ▸/spec/two\n  value: 2\n"}},
		"an inline JSON patch":               {"spec.two", map[string]string{"over/kustomization.yaml": over + "patches:\n- target: {kind: A}\n  patch: |-\n    - {op: add, path: /spec/three, value: 3}\n    - {op: add, path: ▸/spec/two, value: 2}\n"}},
		"inside of the value of a patch":     {"spec.two[a.b/c][d]", map[string]string{"over/kustomization.yaml": over + "patches:\n- target: {kind: A}\n  patch: |-\n    - op: add\n      path: /spec/two\n      value:\n        a.b/c:\n          ▸d: 2\n"}},
		"an escaped key":                     {"spec.two[a.b/c]", map[string]string{"over/kustomization.yaml": over + "patches:\n- target: {kind: A}\n  patch: |-\n    - {op: add, path: /spec/two, value: {}}\n    - {op: add, path: ▸/spec/two/a.b~1c, value: 2}\n"}},
		"an item that a patch replaces":      {"spec.list[1]", map[string]string{"over/kustomization.yaml": over + "patches:\n- target: {kind: A}\n  patch: |-\n    - {op: replace, path: ▸/spec/list/1, value: z}\n"}},
		"two patches of one value":           {"spec.two", map[string]string{"over/kustomization.yaml": over + "patches:\n- target: {kind: A}\n  patch: |-\n    - {op: add, path: /spec/two, value: 2}\n    - {op: add, path: /spec/two, value: 2}\n"}},
		"two patches of which one is undone": {"spec.two", map[string]string{"over/kustomization.yaml": over + "patches:\n- target: {kind: A}\n  patch: |-\n    - {op: add, path: /spec/two, value: 1}\n    - {op: add, path: ▸/spec/two, value: 2}\n"}},
		"a patch that removes":               {"spec.list", map[string]string{"over/kustomization.yaml": over + "patches:\n- target: {kind: A}\n  patch: |-\n    - {op: remove, path: /spec/list}\n"}},
		"a component":                        {"spec.two", map[string]string{"over/kustomization.yaml": over + "components: [../c]\n", "c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: p.yaml}]\n", "c/p.yaml": "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec: {▸two: 2}\n"}},
		"the one of two of a kind":           {"spec.one", map[string]string{"base/a.yaml": "apiVersion: example.com/v1\nkind: A\nmetadata: {name: other}\nspec: {one: 1}\n---\n" + strings.Replace(base, "one", "▸one", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": base, "over/kustomization.yaml": over}
			want := Position{File: "over/kustomization.yaml"}
			for file, content := range tc.files {
				if before, _, found := strings.Cut(content, "▸"); found {
					last := before[strings.LastIndex(before, "\n")+1:]
					want = Position{file, strings.Count(before, "\n") + 1, len([]rune(last)) + 1}
				}
				files[file] = strings.ReplaceAll(content, "▸", "")
			}
			t.Chdir(folder(t, files))
			documents, err := Open("over", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, documents[len(documents)-1].Find(tc.path)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
