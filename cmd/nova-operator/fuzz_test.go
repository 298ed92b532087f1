package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/cmd/internal/report"
)

// seeds are the inputs of the other tests.
func seeds(f *testing.F) {
	f.Helper()
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*/*.yaml", "../../fixtures/nova/*/nova.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
}

// FuzzValidate feeds any text: nothing panics, each finding stands on a line of the text,
// and each format holds each finding.
func FuzzValidate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		lines := 1
		for _, mark := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
			// YAML takes each of these for the end of a line.
			lines += bytes.Count(raw, []byte(mark))
		}
		in := assemble(manifest.Parse("f.yaml", bytes.Clone(raw), "default"))
		for _, found := range in.findings {
			if found.Line < 0 || found.Line > lines || found.Column < 0 {
				t.Errorf("%d:%d of %d lines: %+v", found.Line, found.Column, lines, found)
			}
			if found.Line == 0 {
				t.Errorf("no line: %+v", found)
			}
		}
		for _, format := range report.Formats {
			var out bytes.Buffer
			if err := report.Write(&out, format, report.Report{Findings: in.findings}, "/"); err != nil {
				t.Fatal(err)
			}
			switch format {
			case "text", "github":
				if got := strings.Count(out.String(), "\n"); got != len(in.findings) {
					t.Errorf("%s: %d lines of %d findings", format, got, len(in.findings))
				}
			default:
				if !json.Valid(out.Bytes()) {
					t.Errorf("%s is no JSON", format)
				}
			}
		}
	})
}

// FuzzFunction feeds any text to the KRM function: nothing panics, and what it writes it
// reads again.
func FuzzFunction(f *testing.F) {
	seeds(f)
	f.Add([]byte("kind: ResourceList\nitems: [1, a, [], {}, null]\nfunctionConfig: 7\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out, again bytes.Buffer
		if err := runFunction(bytes.NewReader(raw), &out); err != nil {
			return
		}
		if err := runFunction(bytes.NewReader(out.Bytes()), &again); err != nil {
			t.Errorf("the second run: %v", err)
		}
	})
}
