package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFixtures_RenderPrintsThem runs every fixture through the command: what a user
// sees for it is what its want.yaml holds, and the schema accepts it.
func TestFixtures_RenderPrintsThem(t *testing.T) {
	folders, err := filepath.Glob("../../fixtures/nova/*")
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(folder, "want.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"render", "--operator-namespace", "nova-operator", "-f", filepath.Join(folder, "nova.yaml"), "--secrets", secretNames(t, string(want))}
			if _, err := os.Stat(filepath.Join(folder, "observed.yaml")); err == nil {
				args = append(args, "--observed", filepath.Join(folder, "observed.yaml"))
			}
			code, stdout, stderr := command(t, "", args...)
			if filepath.Base(folder) == "last-good" {
				// A webhook would refuse it; it shows what the operator does without one.
				if code != exitFindings || !strings.Contains(stderr, "spec.region") {
					t.Errorf("exit code %d: %s", code, stderr)
				}
				return
			}
			if code != exitOK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			objects, _, _ := strings.Cut(string(want), "---\n# decision\n")
			_, printed, _ := strings.Cut(stdout, "---\n")
			if printed != "" {
				printed = "---\n" + printed
			}
			if diff := cmp.Diff(objects, printed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// secretNames lists the Secrets of a want.yaml, in the form of --secrets.
func secretNames(t *testing.T, want string) string {
	t.Helper()
	var names []string
	for _, part := range strings.Split(want, "---\n") {
		if u := parse(t, part); u.GetKind() == "Secret" {
			names = append(names, u.GetName())
		}
	}
	return strings.Join(names, ",")
}
