package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/test/golden"
)

// hidden is a digest, which has another key in every run.
var hidden = regexp.MustCompile(`hidden:[0-9a-f]{8}`)

// TestDiff_Output compares everything printed with testdata/diff/want/<case>.txt.
func TestDiff_Output(t *testing.T) {
	cases := map[string]struct {
		args string
		code int
	}{
		"nothing changes":                       {"--from old.yaml --to old.yaml", 0},
		"an upgrade with more workers":          {"--from old.yaml --to new.yaml", 1},
		"an upgrade as a patch":                 {"--from old.yaml --to new.yaml -o unified", 1},
		"an upgrade as a comment":               {"--from old.yaml --to new.yaml -o markdown", 1},
		"a comment that is cut":                 {"--from old.yaml --to new.yaml -o markdown --limit 5000", 1},
		"an upgrade as JSON":                    {"--from old.yaml --to new.yaml -o json", 1},
		"differences that are no failure":       {"--from old.yaml --to rotated.yaml --exit-zero", 0},
		"a new password":                        {"--from old.yaml --to rotated.yaml", 1},
		"a new password as a patch":             {"--from old.yaml --to rotated.yaml -o unified", 1},
		"a downgrade":                           {"--from new.yaml --to old.yaml", 2},
		"a new Nova":                            {"--from nowhere --to old.yaml", 1},
		"no Nova any more":                      {"--from old.yaml --to empty.yaml", 1},
		"colours":                               {"--from old.yaml --to rotated.yaml --color always", 1},
		"a broken manifest":                     {"--from old.yaml --to broken.yaml", 2},
		"a manifest that was broken before":     {"--from broken.yaml --to old.yaml", 0},
		"a downgrade as annotations":            {"--from new.yaml --to old.yaml -o github", 2},
		"a broken manifest as annotations":      {"--from old.yaml --to broken.yaml -o github", 2},
		"a downgrade as SARIF":                  {"--from new.yaml --to old.yaml -o sarif", 2},
		"one side only":                         {"--from old.yaml", 3},
		"a cluster and two sides":               {"--from old.yaml --to new.yaml -f new.yaml", 3},
		"nothing to compare":                    {"", 3},
		"an unknown format":                     {"--from old.yaml --to new.yaml -o html", 3},
		"an unknown revision":                   {"--from git:nosuchrevision:old.yaml --to new.yaml", 3},
		"a kubeconfig that is not there":        {"-f old.yaml --kubeconfig nowhere", 3},
		"an operator whose flags are not valid": {"--from old.yaml --to new.yaml --default-image-pull-policy Sometimes", 3},
	}
	want, err := filepath.Abs("testdata/diff/want")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata/diff")
	files := map[string]bool{}
	for name, tc := range cases {
		file := filepath.Join(want, strings.ReplaceAll(name, " ", "-")+".txt")
		files[file] = true
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, "", append([]string{"diff"}, strings.Fields(tc.args)...)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if strings.Contains(stdout+stderr, mark) {
				t.Errorf("a credential is printed:\n%s%s", stdout, stderr)
			}
			golden.Same(t, file, []byte(hidden.ReplaceAllString(stdout, "hidden:........")+"\nstandard error:\n"+stderr))
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

// A change of a password shows in every format, and in none of them the password, its
// base64 or a digest from which it could be guessed.
func TestDiff_HidesEveryCredential(t *testing.T) {
	raw, err := os.ReadFile("../../fixtures/nova/everything/nova.yaml")
	if err != nil {
		t.Fatal(err)
	}
	marked := func(generation string) string {
		text := string(raw)
		for _, value := range []string{"password: api-db", "password: cell-db", `"service$user"`, `"meta$data"`, "password: bus", ":bus@", `"the broker's trust anchor\n"`} {
			if !strings.Contains(text, value) {
				t.Fatalf("the fixture has no %s", value)
			}
			text = strings.Replace(text, value, markedValue(value, generation), 1)
		}
		return text
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"a.yaml": marked("one"), "b.yaml": marked("two")} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	places := 0
	for _, sides := range []string{"--from a.yaml --to b.yaml", "--from nowhere --to b.yaml", "--from a.yaml --to nowhere"} {
		for _, format := range []string{"text", "unified", "json", "markdown"} {
			code, stdout, stderr := command(t, "", append([]string{"diff", "-o", format}, strings.Fields(sides)...)...)
			if code != 1 {
				t.Errorf("%s -o %s: exit code %d: %s", sides, format, code, stderr)
			}
			places += strings.Count(stdout, "hidden:")
			for _, secret := range spellings(mark) {
				if strings.Contains(stdout+stderr, secret) {
					t.Errorf("%s -o %s prints a credential as %q", sides, format, secret)
				}
			}
			for _, line := range strings.Split(stdout, "\n") {
				if strings.Contains(line, "nova.c5c3.io/") && strings.Contains(line, "-hash") && regexp.MustCompile(`[0-9a-f]{64}`).MatchString(line) {
					t.Errorf("%s -o %s prints the bare digest of a credential: %s", sides, format, line)
				}
			}
		}
	}
	if places < 100 {
		t.Errorf("only %d values are hidden", places)
	}
	t.Logf("7 marked values on either side, 12 outputs, %d hidden values", places)
}

func markedValue(value, generation string) string {
	switch value {
	case "password: api-db", "password: cell-db", "password: bus":
		return "password: " + mark + "-" + generation
	case ":bus@":
		return ":" + mark + "-" + generation + "@"
	default:
		return `"` + mark + "-" + generation + `"`
	}
}

// spellings are a text, and the middle of its base64 at every alignment.
func spellings(text string) []string {
	out := []string{text}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		out = append(out, encoded[4:len(encoded)-4])
	}
	return out
}

// Both sides of a comparison can be revisions, and nothing in the checkout changes.
func TestDiff_ComparesRevisions(t *testing.T) {
	folder := t.TempDir()
	repository, err := git.PlainInit(folder, false)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repository.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"old.yaml", "new.yaml"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "diff", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "nova.yaml"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Add("nova.yaml"); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Commit(from, &git.CommitOptions{Author: &object.Signature{Name: "a", Email: "a@example.com"}}); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	code, stdout, stderr := command(t, "", "diff", "--from", "git:HEAD~1:nova.yaml", "--to", "git:HEAD:.", "-o", "json")
	if code != 1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var document preview.Document
	if err := json.Unmarshal([]byte(stdout), &document); err != nil {
		t.Fatal(err)
	}
	if document.Summary.Rollouts != 7 || document.Summary.Jobs != 4 {
		t.Errorf("%+v", document.Summary)
	}
	status, err := tree.Status()
	if err != nil || !status.IsClean() {
		t.Errorf("the checkout changed: %v %v", status, err)
	}
}
