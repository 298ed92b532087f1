package operations_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// targetAccess is what a target cluster is given; its folder namespace is for each
	// namespace that receives Novas.
	targetAccess = root + "/kustomize/target-cluster-access"
	// account is the one the registration stands for, and the namespace it is in.
	account = "target-cluster-access"
)

// stays are the resources of the operator that have no counterpart on a target cluster:
// the Novas themselves, what is told about them, and what admission looks up.
var stays = map[string]bool{"novas": true, "novas/status": true, "novas/finalizers": true, "events": true, "leases": true, "priorityclasses": true}

// Where children lie elsewhere, the operator does there what it does at home.
func TestTargetAccess_AllowsWhatTheOperatorMayDoAtHome(t *testing.T) {
	want := map[access]bool{{"", "services/proxy", "get"}: true}
	for a := range (&installation{objects: build(t, root+"/kustomize/rbac")}).rules(t) {
		if !stays[a.resource] {
			want[a] = true
		}
	}
	cluster := (&installation{objects: build(t, targetAccess)}).rules(t)
	got := (&installation{objects: build(t, targetAccess+"/namespace")}).rules(t)
	for a := range cluster {
		if a.resource != "clustersecretstores" {
			t.Errorf("%s in every namespace", a)
		}
		got[a] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A person names the namespace in a kustomization; the account stays where it is.
func TestTargetAccess_BindsTheAccountOfItsOwnNamespace(t *testing.T) {
	base, err := filepath.Abs(targetAccess)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(folder, text string) {
		path := filepath.Join(dir, folder)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		from, err := filepath.Rel(path, base)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "kustomization.yaml"), []byte("kind: Kustomization\n"+strings.ReplaceAll(text, "ACCESS", from)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "namespace: cloud-a\nresources: [ACCESS/namespace]\n")
	write("all", "resources: [ACCESS, ACCESS/namespace, ../a]\n")
	write("moved", "namespace: cloud-b\nresources: [ACCESS, ACCESS/namespace]\n")
	const here = account + " of " + account
	cases := map[string]struct {
		folder string
		want   []string
	}{
		"as it is":                             {targetAccess + "/namespace", []string{"openstack: " + here}},
		"in a namespace of its own":            {filepath.Join(dir, "a"), []string{"cloud-a: " + here}},
		"beside the account":                   {filepath.Join(dir, "all"), []string{"cloud-a: " + here, "openstack: " + here, ": " + here}},
		"moved together with the account":      {filepath.Join(dir, "moved"), []string{"cloud-b: " + account + " of cloud-b", ": " + account + " of cloud-b"}},
		"the account and what is cluster-wide": {targetAccess, []string{": " + here}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, o := range build(t, tc.folder) {
				if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
					continue
				}
				subjects, _, err := unstructured.NestedSlice(o.Object, "subjects")
				if err != nil || len(subjects) != 1 {
					t.Fatalf("%d subjects, %v", len(subjects), err)
				}
				subject := subjects[0].(map[string]any)
				got = append(got, fmt.Sprintf("%s: %s of %s", o.GetNamespace(), subject["name"], subject["namespace"]))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
