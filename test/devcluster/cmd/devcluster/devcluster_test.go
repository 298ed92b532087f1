package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCRDSets_ResolvesNames(t *testing.T) {
	all := []string{"gateway", "mariadb", "vpa", "external-secrets", "hypervisor", "rabbitmq"}
	tests := map[string]struct {
		value string
		want  []string
		err   string
	}{
		"all":              {value: "all", want: all},
		"none":             {value: "none"},
		"a subset":         {value: "vpa,gateway", want: []string{"vpa", "gateway"}},
		"all and a folder": {value: "all,./crd", want: append(slices.Clone(all), "./crd")},
		"an unknown name":  {value: "gatway", err: `"gatway"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := crdSets(tc.value)
			if !slices.Equal(tc.want, got) {
				t.Errorf("want %v, got %v", tc.want, got)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q in it", err, tc.err)
			}
		})
	}
}

func TestCRDDocuments_HoldDefinitionsOnly(t *testing.T) {
	sets, err := crdSets("all")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := crdDocuments(t.Context(), sets)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if strings.Count(doc, "\nkind: ") != 1 || !strings.Contains(doc, "\nkind: CustomResourceDefinition\n") {
			t.Errorf("not one definition: %.200s", doc)
		}
	}
}

func TestNewDir_SweepsOnlyWhatNobodyHolds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	held, remove, err := newDir()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	left := filepath.Join(os.TempDir(), "nova-devcluster-left")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	second, removeSecond, err := newDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(held); err != nil {
		t.Errorf("the folder of a running cluster went: %v", err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder nobody holds stayed: %v", err)
	}
	removeSecond()
	if _, err := os.Stat(second); !os.IsNotExist(err) {
		t.Errorf("a removed folder stayed: %v", err)
	}
}

func TestWriteKubeconfig_KeepsAnothersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte("apiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &cluster{kubeconfig: path}
	if err := c.writeKubeconfig(); err == nil {
		t.Error("overwrote a file that isn't from devcluster")
	}
	c.stop()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("removed it: %v", err)
	}
}

func TestProcess_KilledAfterGrace(t *testing.T) {
	sleep, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	log := filepath.Join(t.TempDir(), "log")
	p := &process{name: "deaf", path: sleep, log: log, args: []string{"-c", "trap '' TERM; echo up; while :; do sleep 1; done"},
		died: func(err error) { t.Errorf("reported as died: %v", err) }}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	err = poll(t.Context(), "it is up", func() (bool, error) {
		data, err := os.ReadFile(log)
		return len(data) > 0, err
	})
	if err != nil {
		t.Fatal(err)
	}
	p.stop(50 * time.Millisecond)
	if p.running() {
		t.Error("still runs")
	}
}
