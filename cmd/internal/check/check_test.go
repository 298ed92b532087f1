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

// spec is a Nova without a release.
const spec = `
  image: {repository: registry.example.com/nova, tag: "2026.1"}
  apiDatabase: {clusterRef: {name: mariadb}, database: nova_api, secretRef: {name: nova-api-db}}
  database: {clusterRef: {name: mariadb}, database: nova, secretRef: {name: nova-db}}
  cache: {clusterRef: {name: memcached}}
  messaging: {secretRef: {name: nova-bus}}
  keystoneEndpoint: http://keystone.openstack.svc:5000/v3
  serviceUser: {secretRef: {name: nova-service-user}}
  metadata: {sharedSecretRef: {name: nova-metadata}}
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
		"a number that is too large": {
			pool + "  tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 1e300}]\n", "2026.1",
			[]Finding{
				{Rule: RuleSchema, Path: "", Message: "some validation rules were not checked because the object was invalid", Suggestion: "correct the existing errors to complete validation"},
				{Rule: RuleSchema, Path: "spec.tolerations[0].tolerationSeconds", Message: `Invalid value: "float64": must be of type int64: "float64"`},
			},
		},
		"a number that its type does not hold": {
			"apiVersion: nova.openstack.c5c3.io/v1alpha1\nkind: Nova\nmetadata: {name: nova, namespace: openstack}\n" +
				"spec:\n" + spec + "  openStackRelease: \"2026.1\"\n  scheduler: {workers: 3000000000}\n", "",
			[]Finding{
				{Rule: RuleSchema, Path: "", Message: "some validation rules were not checked because the object was invalid", Suggestion: "correct the existing errors to complete validation"},
				{Rule: RuleSchema, Path: "spec.scheduler.workers", Message: "Invalid value: Checked value must be of type integer with format int32"},
			},
		},
		"a type that is none of two": {
			pool + "  updateStrategy: {maxUnavailable: []}\n", "2026.1",
			[]Finding{
				{Rule: RuleSchema, Path: "", Message: "some validation rules were not checked because the object was invalid", Suggestion: "correct the existing errors to complete validation"},
				{Rule: RuleSchema, Path: "spec.updateStrategy.maxUnavailable", Message: `Invalid value: "array": must be of type integer,string: "array"`},
			},
		},
		"a text that should be in quotes, and nothing else": {
			"apiVersion: nova.openstack.c5c3.io/v1alpha1\nkind: Nova\nmetadata: {name: nova, namespace: openstack}\n" +
				"spec:\n" + spec + "  openStackRelease: 2026.1\n", "",
			[]Finding{
				{Rule: RuleSchema, Path: "", Message: "some validation rules were not checked because the object was invalid", Suggestion: "correct the existing errors to complete validation"},
				{Rule: RuleSchema, Path: "spec.openStackRelease", Message: `Invalid value: "number": must be of type string: "number"`, Suggestion: "put the value in quotes"},
			},
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
