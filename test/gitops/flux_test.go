package gitops_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/test/process"
)

// The example is what Flux's own types read, without a field they do not know, and what
// it names is there: paths, dependencies, and the object whose health it waits for.
func TestFlux_ExampleNamesWhatThereIs(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "kustomize", "gitops", "flux", "nova.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []kustomizev1.Kustomization
	var names []string
	for part := range strings.SplitSeq(string(raw), "\n---\n") {
		var k kustomizev1.Kustomization
		if err := yaml.UnmarshalStrict([]byte(part), &k); err != nil {
			t.Fatal(err)
		}
		if k.GroupVersionKind() != kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind) {
			t.Errorf("%s is a %s", k.Name, k.GroupVersionKind())
		}
		for _, d := range k.Spec.DependsOn {
			if !slices.Contains(names, d.Name) {
				t.Errorf("%s depends on %s, which does not come before it", k.Name, d.Name)
			}
		}
		all, names = append(all, k), append(names, k.Name)
	}
	if len(all) != 2 {
		t.Fatalf("%v", names)
	}
	for _, k := range all {
		objects, err := process.Kustomize(filepath.Join(root, k.Spec.Path))
		if err != nil {
			t.Fatal(err)
		}
		if !k.Spec.Wait && len(k.Spec.HealthChecks) == 0 {
			t.Errorf("%s waits for nothing", k.Name)
		}
		for _, check := range k.Spec.HealthChecks {
			found := false
			for _, o := range objects {
				found = found || o.GetAPIVersion() == check.APIVersion && o.GetKind() == check.Kind && o.GetName() == check.Name && o.GetNamespace() == check.Namespace
			}
			if !found {
				t.Errorf("%s has no %s %s %s/%s", k.Spec.Path, check.APIVersion, check.Kind, check.Namespace, check.Name)
			}
		}
	}
}

// What the page shows of the example is in it.
func TestFlux_PageShowsTheExample(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "kustomize", "gitops", "flux", "nova.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, block := range blocks(t, "yaml") {
		if strings.HasPrefix(block, "  healthChecks:") {
			shown++
			if !strings.Contains(string(raw), block) {
				t.Errorf("the example has no\n%s", block)
			}
		}
	}
	if shown != 1 {
		t.Errorf("the page shows %d parts", shown)
	}
}
