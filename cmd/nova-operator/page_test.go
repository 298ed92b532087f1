package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/cmd/internal/check"
	"github.com/c5c3/nova-operator/cmd/internal/report"
)

// TestPage_ValidateCommands runs the commands of docs/validate.md in a repository with
// the overlays of the fixtures. What stands before a pipe is another tool's: the command
// gets a file of its output.
func TestPage_ValidateCommands(t *testing.T) {
	page, err := os.ReadFile("../../docs/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "overlays"), os.DirFS("../../fixtures/overlays")); err != nil {
		t.Fatal(err)
	}
	nova, err := os.ReadFile("testdata/nova.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "nova.yaml"), nova, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init -q -b main", "add .", "-c user.name=a -c user.email=a@example.com commit -q -m x", "update-ref refs/remotes/origin/main HEAD"} {
		git := exec.Command("git", strings.Fields(args)...)
		git.Dir = root
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	t.Chdir(root)
	tried := 0
	for _, m := range regexp.MustCompile(`(?m)(?:^|\| |run: |entry: )nova-operator (validate [^#>\n]*)`).FindAllSubmatch(page, -1) {
		tried++
		code, _, stderr := command(t, string(nova), strings.Fields(string(m[1]))...)
		if code != exitOK {
			t.Errorf("%s: exit code %d: %s", m[1], code, stderr)
		}
	}
	if tried != 6 {
		t.Errorf("%d commands", tried)
	}
}

// TestPage_ValidateTables compares the tables of the page with the code.
func TestPage_ValidateTables(t *testing.T) {
	page, err := os.ReadFile("../../docs/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	section := func(from, to string) string {
		_, rest, found := strings.Cut(string(page), "\n## "+from+"\n")
		rest, _, _ = strings.Cut(rest, "\n## "+to+"\n")
		if !found {
			t.Fatalf("no section %s", from)
		}
		return rest
	}
	first := func(text string) []string {
		var out []string
		for _, m := range regexp.MustCompile("(?m)^\\| `([a-z][a-z-]*)` \\|").FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	var rules []string
	for _, rule := range check.Rules {
		rules = append(rules, rule.ID)
	}
	if diff := cmp.Diff(rules, first(section("What is checked", "Findings in what a kustomization builds"))); diff != "" {
		t.Errorf("rules:\n%s", diff)
	}
	if diff := cmp.Diff(report.Formats, first(section("For machines", "JSON"))); diff != "" {
		t.Errorf("formats:\n%s", diff)
	}

	t.Chdir(project(t))
	var out map[string]any
	_, stdout, _ := command(t, "", "validate", "-o", "json", "-f", "few.yaml", "-f", "kustomize/broken")
	decoder := json.NewDecoder(bytes.NewReader([]byte(stdout)))
	if err := decoder.Decode(&out); err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(section("JSON", ""), -1) {
		for part := range strings.SplitSeq(m[1], ".") {
			known = append(known, strings.TrimSuffix(part, "[]"))
		}
	}
	for _, field := range fields(out) {
		if !slices.Contains(known, field) {
			t.Errorf("the page does not tell of the field %s", field)
		}
	}
}

// fields are the names of all fields of a value.
func fields(value any) []string {
	var out []string
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			out = append(append(out, name), fields(inner)...)
		}
	case []any:
		for _, inner := range value {
			out = append(out, fields(inner)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
