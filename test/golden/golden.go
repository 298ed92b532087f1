// Package golden compares what a test made with a file that was read and committed.
package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files the tests compare with")

// Same fails the test when the file at path does not say what the test made, byte by
// byte. With -update it rewrites the file first, and keeps its mode.
func Same(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; `make golden` rewrites it:\n%s", path, diff)
	}
}
