package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write fills a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// copyOverlays copies the overlays, to change them.
func copyOverlays(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(overlays)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// replace changes a file where exactly one place has the text.
func replace(t *testing.T, file, before, after string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), before); n != 1 {
		t.Fatalf("%s has %q %d times", file, before, n)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(raw), before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
