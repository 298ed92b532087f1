package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/c5c3/nova-operator/preview"
)

// BenchmarkDiff_HundredNovas compares two states of a hundred Novas in twenty namespaces,
// each of which changes.
func BenchmarkDiff_HundredNovas(b *testing.B) {
	raw, err := os.ReadFile("../../fixtures/nova/minimal/nova.yaml")
	if err != nil {
		b.Fatal(err)
	}
	folder := b.TempDir()
	for _, side := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(folder, side), 0o700); err != nil {
			b.Fatal(err)
		}
		for i := range 100 {
			text := strings.NewReplacer("namespace: openstack", fmt.Sprintf("namespace: region-%d", i%20), "name: nova\n", fmt.Sprintf("name: nova-%d\n", i)).Replace(string(raw))
			if side == "b" {
				text += "  conductor: {workers: 5}\n"
			}
			if err := os.WriteFile(filepath.Join(folder, side, fmt.Sprintf("%03d.yaml", i)), []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	o := diffOptions{from: filepath.Join(folder, "a"), to: filepath.Join(folder, "b")}
	settings, err := o.settings.settings()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in, err := o.after(strings.NewReader(""), io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		d, err := o.offline(in, settings, strings.NewReader(""))
		if err != nil || d.Summary.Rollouts != 500 {
			b.Fatal(err, d.Summary)
		}
		if err := d.Text(io.Discard, preview.TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
