package gitops_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/test/process"
)

// blocks are the fenced blocks of docs/gitops.md in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		out = append(out, m[1])
	}
	return out
}

// document decodes the one YAML block of the page that has a key at its top.
func document[T any](t *testing.T, key string) T {
	t.Helper()
	var into T
	found := 0
	for _, block := range blocks(t, "yaml") {
		var keys map[string]any
		if yaml.Unmarshal([]byte(block), &keys) != nil || keys[key] == nil {
			continue
		}
		found++
		if err := yaml.Unmarshal([]byte(block), &into); err != nil {
			t.Fatal(err)
		}
	}
	if found != 1 {
		t.Fatalf("%d blocks have the key %s", found, key)
	}
	return into
}

// checkout is a repository of a team, cloned, on a branch with a change.
type checkout struct {
	dir string
	// calls are what the stubs of other commands were called with.
	calls string
	path  string
}

// newCheckout makes a remote whose main branch holds the overlays, and a clone of it on a
// branch with the change.
func newCheckout(t *testing.T, change func(dir string)) *checkout {
	t.Helper()
	top := t.TempDir()
	c := &checkout{dir: filepath.Join(top, "clone"), calls: filepath.Join(top, "calls")}
	remote := filepath.Join(top, "remote")
	write(t, filepath.Join(top, "seed"), map[string]string{"README.md": "a cloud\n"})
	if err := os.CopyFS(filepath.Join(top, "seed", "overlays"), os.DirFS(overlays)); err != nil {
		t.Fatal(err)
	}
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git(filepath.Join(top, "seed"), "init", "--quiet", "--initial-branch=main")
	git(filepath.Join(top, "seed"), "add", ".")
	git(filepath.Join(top, "seed"), "commit", "--quiet", "--message=before")
	git(top, "clone", "--quiet", "--bare", "seed", remote)
	git(top, "clone", "--quiet", remote, c.dir)
	git(c.dir, "checkout", "--quiet", "-b", "change")
	change(c.dir)
	git(c.dir, "commit", "--quiet", "--all", "--message=after")
	git(c.dir, "checkout", "--quiet", "--detach")

	binary, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	stubs := filepath.Join(top, "stubs")
	for _, name := range []string{"go", "gh", "curl"} {
		write(t, stubs, map[string]string{name: "#!/bin/sh\necho " + name + " \"$@\" >>\"$CALLS\"\n"})
		if err := os.Chmod(filepath.Join(stubs, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.path = stubs + ":" + filepath.Dir(binary) + ":" + os.Getenv("PATH")
	return c
}

// shell runs a script as a runner does, in bash, and returns its exit code.
func (c *checkout) shell(t *testing.T, script string, env ...string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), append(env, "PATH="+c.path, "CALLS="+c.calls)...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (c *checkout) read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// called are the calls of the stubs, one a line.
func (c *checkout) called(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(c.calls)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// promote moves production to the next release.
func promote(t *testing.T) func(string) {
	return func(dir string) {
		t.Helper()
		replace(t, filepath.Join(dir, "overlays/production/kustomization.yaml"), "../releases/2025.2", "../releases/2026.1")
	}
}

// misspell names an option that no release knows.
func misspell(t *testing.T) func(string) {
	return func(dir string) {
		t.Helper()
		replace(t, filepath.Join(dir, "overlays/production/patch.yaml"), "host_subset_size", "host_subset_sise")
	}
}

// preview holds that a comment shows both environments: nothing for staging, and for
// production the upgrade.
func preview(t *testing.T, text string, limit int) {
	t.Helper()
	staging, production, found := strings.Cut(text, "## production\n")
	if !found || !strings.HasPrefix(staging, "## staging\n") {
		t.Fatalf("the comment is %s", text)
	}
	if !strings.Contains(staging, "**1 Nova: 29 unchanged**") {
		t.Errorf("staging: %s", staging)
	}
	for _, want := range []string{"+ spec.openStackRelease: 2026.1", "upgrade phase Expanding", "Job/nova-db-contract runs"} {
		if !strings.Contains(production, want) {
			t.Errorf("production says nothing of %q", want)
		}
	}
	if len(text) > limit {
		t.Errorf("%d bytes are more than a comment holds", len(text))
	}
}

type step struct {
	Name string            `json:"name"`
	Uses string            `json:"uses"`
	Run  string            `json:"run"`
	With map[string]any    `json:"with"`
	Env  map[string]string `json:"env"`
}

type workflow struct {
	Jobs map[string]struct {
		Steps []step `json:"steps"`
	} `json:"jobs"`
}

// github runs the steps of the workflow until one fails, and says which.
func github(t *testing.T, c *checkout) (failed, output string) {
	t.Helper()
	job := document[workflow](t, "jobs").Jobs["preview"]
	expression := regexp.MustCompile(`\$\{\{.*?\}\}`)
	for _, s := range job.Steps {
		if s.Run == "" {
			if !strings.HasPrefix(s.Uses, "actions/") {
				t.Errorf("step %+v does nothing", s)
			}
			continue
		}
		if expression.MatchString(s.Run) {
			t.Errorf("step %s puts an expression into a script", s.Name)
		}
		env := []string{"GITHUB_BASE_REF=main"}
		for name, value := range s.Env {
			if !expression.MatchString(value) {
				t.Errorf("step %s: %s is %q", s.Name, name, value)
			}
			env = append(env, name+"=7")
		}
		code, out := c.shell(t, s.Run, env...)
		output += out
		if code != 0 {
			return fmt.Sprintf("%s: exit code %d", s.Name, code), output
		}
	}
	return "", output
}

func TestGitHub_CommentsOnAChange(t *testing.T) {
	c := newCheckout(t, promote(t))
	if failed, out := github(t, c); failed != "" || out != "" {
		t.Fatalf("%s %s", failed, out)
	}
	want := []string{"go install github.com/c5c3/nova-operator/cmd/nova-operator@main", "gh pr comment 7 --body-file preview.md --edit-last --create-if-none"}
	if diff := cmp.Diff(want, c.called(t)); diff != "" {
		t.Error(diff)
	}
	preview(t, c.read(t, "preview.md"), 65536)
}

func TestGitHub_StopsAtAFinding(t *testing.T) {
	c := newCheckout(t, misspell(t))
	failed, out := github(t, c)
	if failed != "Validate: exit code 2" || !strings.Contains(out, "::error file=overlays/production/patch.yaml,line=") || !strings.Contains(out, "host_subset_size") {
		t.Errorf("%s: %s", failed, out)
	}
}

type gitlabJob struct {
	Script    []string `json:"script"`
	Artifacts struct {
		Reports struct {
			Codequality []string `json:"codequality"`
		} `json:"reports"`
	} `json:"artifacts"`
}

// gitlab runs the script of the job, in one shell as a runner does.
func gitlab(t *testing.T, c *checkout) (job gitlabJob, code int, output string) {
	t.Helper()
	job = document[map[string]gitlabJob](t, "nova")["nova"]
	code, output = c.shell(t, "set -o pipefail\n"+strings.Join(job.Script, "\n"), "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main",
		"CI_API_V4_URL=https://gitlab.example.com/api/v4", "CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7", "NOTES_TOKEN=secret",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	return job, code, output
}

func TestGitLab_CommentsOnAChange(t *testing.T) {
	c := newCheckout(t, promote(t))
	job, code, out := gitlab(t, c)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	want := []string{
		"go install github.com/c5c3/nova-operator/cmd/nova-operator@main",
		"curl --fail --silent --show-error --header PRIVATE-TOKEN: secret --form body=<preview.md https://gitlab.example.com/api/v4/projects/3/merge_requests/7/notes",
	}
	if diff := cmp.Diff(want, c.called(t)); diff != "" {
		t.Error(diff)
	}
	preview(t, c.read(t, "preview.md"), 1000000)
	for _, name := range job.Artifacts.Reports.Codequality {
		if got := strings.TrimSpace(c.read(t, name)); got != "[]" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestGitLab_StopsAtAFinding(t *testing.T) {
	c := newCheckout(t, misspell(t))
	job, code, out := gitlab(t, c)
	if code != 2 || !slices.Contains(job.Artifacts.Reports.Codequality, "production.json") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	var report []struct {
		Location struct {
			Path string `json:"path"`
		} `json:"location"`
	}
	if err := json.Unmarshal([]byte(c.read(t, "production.json")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report) != 1 || report[0].Location.Path != "overlays/production/patch.yaml" {
		t.Errorf("%+v", report)
	}
}

// The commands of a reviewer, as the page has them.
func TestReviewer_ReadsAChange(t *testing.T) {
	c := newCheckout(t, promote(t))
	found := false
	for _, block := range blocks(t, "sh") {
		if !strings.HasPrefix(block, "nova-operator") {
			continue
		}
		found = true
		var codes []int
		for line := range strings.Lines(block) {
			code, out := c.shell(t, line)
			codes = append(codes, code)
			if out == "" {
				t.Errorf("%s says nothing", line)
			}
		}
		if diff := cmp.Diff([]int{0, 1}, codes); diff != "" {
			t.Error(diff)
		}
	}
	if !found {
		t.Error("the page shows no command")
	}
}

// The Application of the page delivers what there is, where it is meant to be.
func TestArgoCD_ApplicationNamesWhatThereIs(t *testing.T) {
	app := document[struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Spec       struct {
			Source      struct{ Path string }
			Destination struct{ Namespace string }
		}
	}](t, "apiVersion")
	if app.APIVersion != "argoproj.io/v1alpha1" || app.Kind != "Application" {
		t.Fatalf("%+v", app)
	}
	objects, err := process.Kustomize(filepath.Join(root, "fixtures", app.Spec.Source.Path))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		namespace := o.GetNamespace()
		if o.GetKind() == "Namespace" {
			namespace = o.GetName()
		}
		if namespace != app.Spec.Destination.Namespace {
			t.Errorf("%s %s is of namespace %s", o.GetKind(), o.GetName(), namespace)
		}
	}
}
