package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReleaseOf_ReadsTheVersion(t *testing.T) {
	cases := map[string]struct{ version, want string }{
		"the first we know":     {"31.0.0", "2025.1"},
		"the second of a year":  {"32.0.0", "2025.2"},
		"a patch":               {"33.0.2", "2026.1"},
		"a release of tomorrow": {"37.1.0.dev5", "2028.1"},
		"too old":               {"26.2.2", ""},
		"no version":            {"unknown", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := releaseOf(tc.version)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestChoose_AddsWhatACheckNeeds(t *testing.T) {
	cases := map[string]struct {
		list string
		want []string
	}{
		"one in the middle":  {"compute", []string{"ready", "api", "compute"}},
		"the order is ours":  {"config,cells", []string{"ready", "cells", "config"}},
		"none is the start":  {"none", []string{"ready"}},
		"one that is no one": {"everything", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(tc.list)
			var got []string
			for _, c := range chosen {
				got = append(got, c.name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.want != nil) {
				t.Error(diff, err)
			}
		})
	}
}

func TestChecks_NeedOnlyEarlierOnes(t *testing.T) {
	var seen []string
	for _, c := range checks {
		for _, need := range c.needs {
			if !slices.Contains(seen, need) {
				t.Errorf("%s needs %s, which doesn't come before it", c.name, need)
			}
		}
		seen = append(seen, c.name)
	}
}

// The credentials of the fixture are only worth their trouble while they are awkward.
func TestFixture_HasAwkwardCredentials(t *testing.T) {
	f, err := readFixture(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.credentials()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"API database": c.APIDatabase.Password, "cell database": c.Database.Password, "bus": c.Bus.Password,
		"service user": c.ServiceUser.Password, "metadata": c.MetadataSecret,
	} {
		for _, class := range []string{"$", `\`, `"`, "'", "%", "@", ":", ",", ";", "#", "?", "&", "=", "+", "{", "[", "~", "|", "`", "<"} {
			if !strings.Contains(value, class) {
				t.Errorf("%s lacks %s", name, class)
			}
		}
		if strings.HasSuffix(value, "\n") {
			t.Errorf("%s ends in a line break", name)
		}
	}
	if !strings.Contains(c.APIDatabase.Username+c.Database.Username, "/") || c.BusVHost != "nova" {
		t.Errorf("users %q and %q, virtual host %q", c.APIDatabase.Username, c.Database.Username, c.BusVHost)
	}
}

func TestArchive_IsOneEmptyLayer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := writeArchive(path, image{name: "example.com/a:1", command: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blobs, index int
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(h.Name, "blobs/sha256/") {
			blobs++
		}
		if h.Name == "index.json" {
			index++
		}
	}
	if blobs != 3 || index != 1 {
		t.Errorf("%d blobs, %d indexes", blobs, index)
	}
}

func TestQuote_KeepsEveryCharacter(t *testing.T) {
	if got, want := quote(`a'b\c"d`), `'a\'b\\c"d'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCause_LeavesOutWhatDiffers(t *testing.T) {
	err := errors.New(`Get "http://10.96.0.1:8774/": dial tcp 10.96.0.1:8774: connect: connection refused`)
	if got := cause(err); got != "connection refused" {
		t.Errorf("got %q", got)
	}
}
