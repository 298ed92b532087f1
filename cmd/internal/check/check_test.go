package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// An API server without our webhooks takes every fixture: `kubectl apply -f` works.
func TestFixtures_PassTheBareSchema(t *testing.T) {
	files, err := filepath.Glob("../../../fixtures/nova/*/nova.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(raw), "\n---\n")
		u := object(t, first)
		definition, err := definitionOf(u.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		unknown := definition.prune(u.Object)
		errs, complete := definition.validate(u)
		if len(unknown) > 0 || len(errs) > 0 || !complete {
			t.Errorf("%s: unknown %v, errors %v", file, unknown, errs)
		}
	}
}

const pool = `
apiVersion: nova.openstack.c5c3.io/v1alpha1
kind: NovaCompute
metadata: {name: pool, namespace: openstack}
spec:
  novaRef: {name: nova}
  nodeSelector: {role: compute}
`

func TestResource_Findings(t *testing.T) {
	for name, tc := range map[string]struct {
		text, release string
		want          []string
	}{
		"a good pool": {pool, "2026.1", nil},
		"an option of the Nova's release": {
			pool + "  extraConfig: {libvirt: {cpu_modle: none}}\n", "2026.1",
			[]string{`spec.extraConfig[libvirt][cpu_modle]: Invalid value: "cpu_modle": no such option in the nova 2026.1 option catalog; did you mean "cpu_mode" or "cpu_models"?`},
		},
		"an option of a Nova that is not in the input is left to the webhook": {
			pool + "  extraConfig: {libvirt: {cpu_modle: none}}\n", "", nil,
		},
		"fields nobody knows, each with its path": {
			pool + "  nodeSelektor: {}\n  libvirt: {virtTyp: kvm}\nextra: 1\n", "",
			[]string{"extra: unknown field", "spec.libvirt.virtTyp: unknown field", "spec.nodeSelektor: unknown field"},
		},
		"metadata the API server would not decode": {
			strings.Replace(pool, "namespace: openstack", "namespace: openstack, labels: {a: 1}", 1), "",
			[]string{"metadata.labels: must be of type string, not number"},
		},
		"another version of our group": {
			strings.Replace(pool, "v1alpha1", "v1", 1), "",
			[]string{"nova.openstack.c5c3.io/v1 NovaCompute is not served; this build knows Nova and NovaCompute of nova.openstack.c5c3.io/v1alpha1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := object(t, tc.text)
			before := u.DeepCopy()
			var got []string
			for _, f := range Resource(u, tc.release).Findings {
				if !f.Warning {
					got = append(got, f.Message)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, u); diff != "" {
				t.Errorf("the manifest is changed:\n%s", diff)
			}
		})
	}
}
