package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/golden"
)

// mark is in every credential of the inputs.
const mark = "hunter2"

// TestCommands_Output runs command lines in testdata and compares the exit code and
// everything printed with testdata/want/<case>.txt. Of a YAML stream the comments and
// one line for each object are kept.
func TestCommands_Output(t *testing.T) {
	cases := map[string]struct {
		args  string
		stdin string
		code  int
	}{
		"validate accepts both kinds":                      {args: "validate -f nova.yaml -f pool.yaml"},
		"validate reads a directory and skips other kinds": {args: "validate -f dir"},
		"validate reads standard input":                    {args: "validate -f -", stdin: "nova.yaml"},
		"validate warns without failing":                   {args: "validate -f warnings.yaml"},
		"validate names every finding":                     {args: "validate -f broken.yaml", code: 2},
		"validate finds a resource twice":                  {args: "validate -f nova.yaml,dir/10-nova.yaml", code: 2},
		"validate finds two Novas on one schema":           {args: "validate -f nova.yaml,second.yaml", code: 2},
		"validate builds a kustomization":                  {args: "validate -k kustomize/prod"},
		"validate needs a source":                          {args: "validate", code: 1},
		"validate takes one kind of source":                {args: "validate -f nova.yaml -k kustomize/prod", code: 1},
		"validate names every unreadable file":             {args: "validate -f missing.yaml -f gone.yaml", code: 1},
		"validate refuses an input without our kinds":      {args: "validate -f secrets.yaml", code: 1},
		"validate finds files in a kustomization":          {args: "validate -f kustomize/broken", code: 2},
		"validate wants a kustomization of -k":             {args: "validate -k dir", code: 1},
		"validate takes warnings for errors":               {args: "validate -f warnings.yaml --strict", code: 2},
		"validate knows five formats":                      {args: "validate -f nova.yaml -o xml", code: 1},
		"validate prints JSON":                             {args: "validate -f few.yaml -f warnings.yaml -f kustomize/broken -o json", code: 2},
		"validate prints SARIF":                            {args: "validate -f few.yaml -f warnings.yaml -f kustomize/broken -o sarif", code: 2},
		"validate prints SARIF without findings":           {args: "validate -f nova.yaml -o sarif"},
		"validate prints workflow commands":                {args: "validate -f few.yaml -f warnings.yaml -f kustomize/broken -o github", code: 2},
		"validate prints workflow commands of a stream":    {args: "validate -f - -o github", stdin: "few.yaml", code: 2},
		"validate prints a code quality report":            {args: "validate -f few.yaml -f warnings.yaml -f kustomize/broken -o gitlab", code: 2},

		"render puts placeholders where nothing is known": {args: "render -f nova.yaml"},
		"render takes credentials from the input":         {args: "render -f nova.yaml -f secrets.yaml -f pool.yaml"},
		"render builds a kustomization":                   {args: "render -k kustomize/prod"},
		"render prints nothing for a broken input":        {args: "render -f broken.yaml", code: 2},
		"render finds what keeps a Nova from being ready": {args: "render -f nova.yaml -f bus.yaml", code: 2},
		"render refuses a Secret it would write over":     {args: "render -f clash.yaml", code: 2},
		"render shows what a gate holds":                  {args: "render -f nova.yaml --observed observed.yaml"},
		"render names unknown fields of an observation":   {args: "render -f nova.yaml --observed observed-broken.yaml", code: 1},
		"render names a credential that is a number":      {args: "render -f nova.yaml --observed observed-number.yaml", code: 1},
		"render takes an observation for one Nova only":   {args: "render -f dir -k x --observed observed.yaml", code: 1},
		"render refuses an observation without a Nova":    {args: "render -f pool.yaml --observed observed.yaml", code: 1},
		"render refuses to reveal what is not there":      {args: "render -f nova.yaml --secrets nova-db-connection,nova-db", code: 1},
		"render knows two formats":                        {args: "render -f nova.yaml -o xml", code: 1},
		"render knows three pull policies":                {args: "render -f nova.yaml --default-image-pull-policy Sometimes", code: 1},
		"an unknown command is an error":                  {args: "rendr", code: 1},
		"an unknown flag is an error":                     {args: "render --fast", code: 1},
	}
	want, err := filepath.Abs("testdata/want")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(project(t))
	files := map[string]bool{}
	for name, tc := range cases {
		file := filepath.Join(want, strings.ReplaceAll(name, " ", "-")+".txt")
		files[file] = true
		t.Run(name, func(t *testing.T) {
			var stdin []byte
			if tc.stdin != "" {
				if stdin, err = os.ReadFile(tc.stdin); err != nil {
					t.Fatal(err)
				}
			}
			code, stdout, stderr := command(t, string(stdin), strings.Fields(tc.args)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if strings.Contains(stdout+stderr, mark) {
				t.Errorf("a credential is printed:\n%s%s", stdout, stderr)
			}
			golden.Same(t, file, []byte(outline(t, stdout)+"\nstandard error:\n"+stderr))
		})
	}
	read, err := filepath.Glob(filepath.Join(want, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range read {
		if !files[file] {
			t.Errorf("%s belongs to no case", file)
		}
	}
}

// project is a copy of testdata in the folder deploy of a repository.
func project(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "deploy"), os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "deploy")
}

func command(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// outline shortens each object of a YAML stream to its kind and name.
func outline(t *testing.T, stdout string) string {
	t.Helper()
	var b strings.Builder
	for i, part := range strings.Split(stdout, "---\n") {
		u := parse(t, part)
		for line := range strings.Lines(part) {
			if strings.HasPrefix(line, "#") || i == 0 {
				b.WriteString(line)
			}
		}
		if u.GetKind() != "" {
			b.WriteString(render.KeyOf(u).String() + "\n")
		}
	}
	return b.String()
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		return &unstructured.Unstructured{Object: map[string]any{}}
	}
	return &unstructured.Unstructured{Object: fields}
}

func TestRender_RevealsNamedSecretsOnly(t *testing.T) {
	t.Chdir("testdata")
	code, stdout, _ := command(t, "", "render", "-f", "nova.yaml", "-f", "secrets.yaml", "--secrets", "nova-db-connection,nova-service-user-env")
	if code != 0 {
		t.Fatal(code)
	}
	got := map[string]string{}
	for _, part := range strings.Split(stdout, "---\n") {
		u := parse(t, part)
		if u.GetKind() != "Secret" {
			if strings.Contains(part, mark) {
				t.Errorf("a credential outside a Secret:\n%s", part)
			}
			continue
		}
		for _, field := range []string{"data", "stringData"} {
			values, _, _ := unstructured.NestedStringMap(u.Object, field)
			for key, value := range values {
				got[u.GetName()+"/"+field+"/"+key] = value
			}
		}
	}
	want := map[string]string{
		"nova-db-connection/stringData/connection":    "mysql+pymysql://nova:hunter2-%24p@mariadb.openstack.svc:3306/nova?charset=utf8",
		"nova-service-user-env/stringData/password":   `hunter2-\$s`,
		"nova-api-db-connection/data/connection":      render.Placeholder,
		"nova-metadata-secret-env/data/shared_secret": render.Placeholder,
		"nova-transport-url/data/transport_url":       render.Placeholder,
	}
	for _, key := range []string{"cell_name", "metadata_proxy_shared_secret", "nova-compute.conf", "password", "password_env", "transport_url"} {
		want["nova-compute-config/data/"+key] = render.Placeholder
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRender_JSONHasTheDocumentedShape(t *testing.T) {
	t.Chdir("testdata")
	code, stdout, _ := command(t, "", "render", "-f", "nova.yaml", "-f", "secrets.yaml", "-o", "json")
	if code != 0 || strings.Contains(stdout, mark) {
		t.Fatalf("exit code %d, or a credential is printed", code)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"kind", "namespace", "name", "placeholders", "desired", "conditions", "events", "absent", "held", "prunable", "requeue"} {
		if len(got[field]) == 0 || string(got[field]) == "null" {
			t.Errorf("%s is missing", field)
		}
	}
	var desired []struct {
		Wave   string
		Policy render.Policy
		Object map[string]any
	}
	if err := json.Unmarshal(got["desired"], &desired); err != nil {
		t.Fatal(err)
	}
	if len(desired) == 0 || desired[0].Wave != "config" || !desired[0].Policy.ExactData || desired[0].Object["kind"] != "Secret" {
		t.Errorf("the first object is %+v", desired[0])
	}
}

func TestRender_TwiceIsByteEqual(t *testing.T) {
	t.Chdir("testdata")
	_, first, _ := command(t, "", "render", "-f", "dir")
	_, second, _ := command(t, "", "render", "-f", "dir")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

func TestVersion_NamesCommitAndReleases(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
	}}
	want := "nova-operator v1.2.3\ncommit abc (modified)\ngo1.26.0\noption catalogs 2025.1, 2025.2, 2026.1, 2026.2\n"
	if diff := cmp.Diff(want, versionText(info)); diff != "" {
		t.Error(diff)
	}
	code, stdout, _ := command(t, "", "version")
	if code != 0 || !regexp.MustCompile(`^nova-operator .*\ncommit .*\ngo1\..*\noption catalogs 20`).MatchString(stdout) {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}
