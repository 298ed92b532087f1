package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/cmd/internal/report"
)

// markedSecret holds the mark in every value.
const markedSecret = `apiVersion: v1
kind: Secret
metadata:
  name: nova-bus
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"a":"hunter2"}}'
type: hunter2
data:
  username: aHVudGVyMg==
  password: hunter2
stringData:
  transport_url: rabbit://hunter2:hunter2@rabbit.example.com:5672/
  block: |
    hunter2
    hunter2: hunter2
`

// markedNova holds it where a person may put a credential that belongs in a Secret.
const markedNova = `---
apiVersion: nova.openstack.c5c3.io/v1alpha1
kind: Nova
metadata: {name: nova}
spec:
  keystoneEndpoint: ftp://hunter2:hunter2@keystone:port/
  keystonePublicEndpoint: "http://hunter2:hunter2@keystone :5000/"
  extraConfig:
    DEFAULT: {transport_url: "rabbit://hunter2@x/", my_password: hunter2}
    database: {connection: [hunter2]}
    keystone_authtoken: {password: hunter2, username: {a: hunter2}}
`

// TestValidate_LeaksNothing breaks the Secret in many ways: at each byte it is cut off or
// something is put in, and each field gets an odd value. No format prints the mark.
func TestValidate_LeaksNothing(t *testing.T) {
	inputs := map[string]bool{markedSecret + markedNova: true}
	for i := range len(markedSecret) {
		before, after := markedSecret[:i], markedSecret[i:]
		inputs[before] = true
		for _, insert := range []string{":", "'", "\t", "*", "@", "\n  - ", "{", "{{", "\n---\n", "\x00"} {
			inputs[before+insert+after] = true
		}
	}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(markedSecret), &fields); err != nil {
		t.Fatal(err)
	}
	for variant := range variants(fields) {
		raw, err := yaml.Marshal(variant)
		if err != nil {
			t.Fatal(err)
		}
		inputs[string(raw)] = true
	}
	for input := range inputs {
		in := assemble(manifest.Parse("f.yaml", []byte(input), "default"))
		for _, format := range report.Formats {
			var out bytes.Buffer
			if err := report.Write(&out, format, report.Report{Findings: in.findings}, "/"); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), mark) {
				t.Fatalf("%s prints a credential:\n%s\nof\n%s", format, out.String(), input)
			}
		}
	}
	if len(inputs) < 3500 {
		t.Errorf("%d inputs", len(inputs))
	}
}

// TestRender_ReadsARevision renders the same from a commit as from the files.
func TestRender_ReadsARevision(t *testing.T) {
	t.Chdir(project(t))
	if err := os.Remove("../.git"); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init -q -b main ..", "add .", "-c user.name=a -c user.email=a@example.com commit -q -m x"} {
		if out, err := exec.Command("git", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	for name, place := range map[string]string{"a file": "nova.yaml", "a directory": "dir", "a kustomization": "kustomize/prod"} {
		t.Run(name, func(t *testing.T) {
			code, want, _ := command(t, "", "render", "-f", place)
			if code != exitOK {
				t.Fatal(code)
			}
			for _, revision := range []string{"git:HEAD:deploy/" + place, "git:main:./" + place} {
				code, got, stderr := command(t, "", "render", "-f", revision)
				if code != exitOK {
					t.Fatal(code, stderr)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
