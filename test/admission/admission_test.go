// SPDX-License-Identifier: Apache-2.0

// Package admission_test tries what a real API server makes of both kinds. The tests of
// the schema run without a webhook: every CEL rule with its message, bounds, patterns and
// enums, and what the server stores by itself. The hooked ones run with the generated
// registration, served as in an installation: defaults, refusals, warnings, deletion.
package admission_test

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
)

func TestMain(m *testing.M) {
	cluster.Main(m, cluster.Options{Nodes: -1, CRDs: []string{"../../kustomize/crd"}})
}

// kind is one of the two resources with the file of its smallest object.
type kind struct{ resource, file string }

var (
	nova    = kind{"novas", "testdata/nova.yaml"}
	compute = kind{"novacomputes", "testdata/novacompute.yaml"}
	// smallest is a Nova that needs the mutating webhook.
	smallest = kind{"novas", "testdata/smallest.yaml"}
)

// rule is one input and what the API server makes of it.
type rule struct {
	// old is a merge patch on the smallest object that is created first; empty with
	// update unset means that the object is only tried for creation.
	old string
	// update tries the change on an existing object.
	update bool
	// change is a merge patch on the smallest object.
	change string
	// want are the complaints as "field: message"; none admits the object.
	want []string
}

// client is the resource of a kind in a namespace of the test's own.
func (k kind) client(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	c := cluster.Shared(t)
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "nova.openstack.c5c3.io", Version: "v1alpha1", Resource: k.resource}).
		Namespace(c.Namespace(t))
}

// object is the smallest object with a merge patch laid over it.
func (k kind) object(t *testing.T, change string) *unstructured.Unstructured {
	t.Helper()
	base, err := os.ReadFile(k.file)
	if err != nil {
		t.Fatal(err)
	}
	document, err := yaml.YAMLToJSON(base)
	if err != nil {
		t.Fatal(err)
	}
	if change != "" {
		patch, err := yaml.YAMLToJSON([]byte(change))
		if err != nil {
			t.Fatal(err)
		}
		if document, err = jsonpatch.MergePatch(document, patch); err != nil {
			t.Fatal(err)
		}
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(document); err != nil {
		t.Fatal(err)
	}
	return object
}

// schemaOnly is the one CEL rule without a twin in Go: those on traits stay with the
// schema.
const schemaOnly = "traits must not be empty unless mode is Replace"

// messages are the messages of the CEL rules in the definition of a kind.
func (k kind) messages(t *testing.T) []string {
	t.Helper()
	definition, err := os.ReadFile("../../kustomize/crd/nova.openstack.c5c3.io_" + k.resource + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal(definition, &document); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			rules, _ := value["x-kubernetes-validations"].([]any)
			for _, rule := range rules {
				found[rule.(map[string]any)["message"].(string)] = true
			}
			for _, inner := range value {
				walk(inner)
			}
		case []any:
			for _, inner := range value {
				walk(inner)
			}
		}
	}
	walk(document)
	if len(found) == 0 {
		t.Fatal("no CEL rule found")
	}
	return slices.Sorted(maps.Keys(found))
}

// refusedOffline gives the same input to the Go validation. What the smallest Nova lacks
// before Default runs does not count; Default itself would hide one of the rules.
func (k kind) refusedOffline(t *testing.T, tc rule) bool {
	t.Helper()
	var errs field.ErrorList
	switch k {
	case nova:
		changed, old := &v1alpha1.Nova{}, &v1alpha1.Nova{}
		convert(t, k.object(t, tc.change), changed)
		convert(t, k.object(t, tc.old), old)
		if !tc.update {
			old = nil
		}
		errs, _ = v1alpha1.ValidateNova(changed, old)
		smallest := &v1alpha1.Nova{}
		convert(t, k.object(t, ""), smallest)
		known, _ := v1alpha1.ValidateNova(smallest, nil)
		return len(errs) > len(known)
	case compute:
		changed, old := &v1alpha1.NovaCompute{}, &v1alpha1.NovaCompute{}
		convert(t, k.object(t, tc.change), changed)
		convert(t, k.object(t, tc.old), old)
		if !tc.update {
			old = nil
		}
		errs, _ = v1alpha1.ValidateNovaCompute(changed, old, "2026.1")
	}
	return len(errs) > 0
}

func convert(t *testing.T, object *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		t.Fatal(err)
	}
}

// run tries every rule in a dry run. The rules must try every CEL message of the kind,
// and what CEL refuses the offline validation has to refuse as well.
func (k kind) run(t *testing.T, rules map[string]rule) {
	client := k.client(t)
	messages := k.messages(t)
	tried := map[string]bool{}
	for name, tc := range rules {
		for _, complaint := range tc.want {
			for _, message := range messages {
				if strings.HasSuffix(complaint, ": "+message) {
					tried[message] = true
					if message != schemaOnly && !k.refusedOffline(t, tc) {
						t.Errorf("%s: admitted offline", name)
					}
				}
			}
		}
	}
	for _, message := range messages {
		if !tried[message] {
			t.Errorf("no rule tries %q", message)
		}
	}
	for name, tc := range rules {
		t.Run(name, func(t *testing.T) {
			object := k.object(t, tc.change)
			create := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
			if !tc.update {
				_, err := client.Create(t.Context(), object, create)
				compare(t, tc.want, err)
				return
			}
			live, err := client.Create(t.Context(), k.object(t, tc.old), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := client.Delete(t.Context(), live.GetName(), metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}()
			object.SetResourceVersion(live.GetResourceVersion())
			_, err = client.Update(t.Context(), object, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			compare(t, tc.want, err)
		})
	}
}

func compare(t *testing.T, want []string, err error) {
	t.Helper()
	var got []string
	var status *apierrors.StatusError
	switch {
	case err == nil:
	case !errors.As(err, &status) || status.ErrStatus.Details == nil:
		got = []string{err.Error()}
	default:
		for _, cause := range status.ErrStatus.Details.Causes {
			// Says that CEL rules were not evaluated, because of the other complaints.
			if cause.Field == "<nil>" {
				continue
			}
			got = append(got, cause.Field+": "+strings.TrimPrefix(cause.Message, "Invalid value: "))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
