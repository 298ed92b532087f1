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
		errs, broken, complete := definition.validate(u)
		if len(unknown) > 0 || len(errs)+len(broken) > 0 || !complete {
			t.Errorf("%s: unknown %v, errors %v %v", file, unknown, errs, broken)
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
		want          []Finding
	}{
		"a good pool": {pool, "2026.1", nil},
		"an option of the Nova's release": {
			pool + "  extraConfig: {libvirt: {cpu_modle: none}}\n", "2026.1",
			[]Finding{{
				Rule: RuleCatalog, Path: "spec.extraConfig[libvirt][cpu_modle]",
				Message:    `Invalid value: "cpu_modle": no such option in the nova 2026.1 option catalog`,
				Suggestion: `did you mean "cpu_mode" or "cpu_models"?`,
			}},
		},
		"an option that stands in another section": {
			pool + "  extraConfig: {DEFAULT: {cpu_models: none}}\n", "2026.1",
			[]Finding{{
				Rule: RuleCatalog, Path: "spec.extraConfig[DEFAULT][cpu_models]",
				Message:    `Invalid value: "cpu_models": no such option in the nova 2026.1 option catalog`,
				Suggestion: `option exists in section [libvirt]`,
			}},
		},
		"an option of a Nova that is not in the input is left to the webhook": {
			pool + "  extraConfig: {libvirt: {cpu_modle: none}}\n", "",
			[]Finding{{
				Rule: RuleCatalog, Warning: true, Path: "spec.extraConfig",
				Message: "extraConfig catalog check skipped: Nova openstack/nova not found", Suggestion: "add the Nova to the input",
			}},
		},
		"a deprecated option": {
			pool + "  extraConfig: {DEFAULT: {rpc_response_timeout: 60, config_drive_format: iso9660}}\n", "2026.1",
			[]Finding{{
				Rule: RuleCatalog, Warning: true, Path: "spec.extraConfig[DEFAULT][config_drive_format]",
				Message: "deprecated option in nova 2026.1, with no replacement",
			}},
		},
		"fields nobody knows, each with its path": {
			pool + "  nodeSelektor: {}\n  libvirt: {virtTyp: kvm}\n  tolerations: [{keys: a, key: b}]\nextra: 1\n", "",
			[]Finding{
				{Rule: RuleUnknownField, Path: "extra", Message: "unknown field"},
				{Rule: RuleUnknownField, Path: "spec.libvirt.virtTyp", Message: "unknown field", Suggestion: `did you mean "virtType"?`},
				{Rule: RuleUnknownField, Path: "spec.nodeSelektor", Message: "unknown field", Suggestion: `did you mean "nodeSelector"?`},
				{Rule: RuleUnknownField, Path: "spec.tolerations[0].keys", Message: "unknown field", Suggestion: `did you mean "key"?`},
			},
		},
		"metadata the API server would not decode": {
			strings.Replace(pool, "namespace: openstack", "namespace: openstack, labels: {a: 1}", 1), "",
			[]Finding{{Rule: RuleSchema, Path: "metadata.labels", Message: "must be of type string, not number"}},
		},
		"another version of our group": {
			strings.Replace(pool, "v1alpha1", "v1", 1), "",
			[]Finding{{
				Rule: RuleKind, Path: "kind",
				Message: "nova.openstack.c5c3.io/v1 NovaCompute is not served; this build knows Nova and NovaCompute of nova.openstack.c5c3.io/v1alpha1",
			}},
		},
		"a rule of the definition that the webhook has, too, in other words": {
			pool + "  libvirt: {cpuMode: custom}\n", "",
			[]Finding{
				{Rule: RuleCEL, Path: "spec.libvirt", Message: "Invalid value: cpuModels is required when cpuMode is custom and must be empty otherwise"},
				{Rule: RuleWebhook, Path: "spec.libvirt.cpuModels", Message: "Invalid value: null: cpuModels is required when cpuMode is custom and must be empty otherwise"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := object(t, tc.text)
			before := u.DeepCopy()
			if diff := cmp.Diff(tc.want, Resource(u, tc.release).Findings); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, u); diff != "" {
				t.Errorf("the manifest is changed:\n%s", diff)
			}
		})
	}
}
