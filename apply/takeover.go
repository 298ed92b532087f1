package apply

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// legacyManagers wrote our fields with Update before this operator applied them:
// client-side kubectl, the API server's stand-in for objects without managed
// fields, and controller-runtime's default names of earlier versions. Their fields
// become ours once, or they would stay for ever after we stop rendering them.
var legacyManagers = sets.New("kubectl-client-side-apply", "before-first-apply", "manager", "nova-operator", render.FieldOwner)

// needsTakeover says whether a live object we may write has not been applied by us yet
// and carries traces of a predecessor.
func needsTakeover(live *unstructured.Unstructured) bool {
	fields, _ := diff.OwnedFields(live)
	return fields == nil && hasTraces(live)
}

// hasTraces says whether a predecessor left its manager entry or kubectl's
// last-applied annotation, which can carry a whole Secret.
func hasTraces(live *unstructured.Unstructured) bool {
	if _, found := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; found {
		return true
	}
	return slices.ContainsFunc(diff.Managers(live), legacy)
}

// legacy tells the entry of a predecessor.
func legacy(m diff.Manager) bool {
	return m.Operation == "Update" && m.Subresource == "" && legacyManagers.Has(m.Name)
}

// takeoverPatch is a JSON patch that turns the entries of legacy managers into ours
// and strips the last-applied annotation and an owner reference that must not be. It
// carries the resourceVersion it was made from. nil means nothing to do.
func takeoverPatch(owner Owner, policy render.Policy, live *unstructured.Unstructured) ([]byte, error) {
	raw, err := csaupgrade.UpgradeManagedFieldsPatch(live, legacyManagers, render.FieldOwner)
	if err != nil {
		return nil, fmt.Errorf("migrate field managers: %w", err)
	}
	var ops []map[string]any
	if raw != nil {
		if err := json.Unmarshal(raw, &ops); err != nil {
			return nil, fmt.Errorf("migrate field managers: %w", err)
		}
		for _, op := range ops {
			if op["path"] == "/metadata/managedFields" {
				entries, _ := op["value"].([]any)
				op["value"] = append(entries, offers(live)...)
			}
		}
	}
	if _, found := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; found {
		ops = append(ops, map[string]any{
			"op": "remove", "path": "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
		})
	}
	if owner.wronglyRefers(live, policy) {
		ops = append(ops, map[string]any{"op": "replace", "path": "/metadata/ownerReferences", "value": owner.otherReferences(live)})
	}
	if len(ops) == 0 {
		return nil, nil
	}
	if raw == nil {
		ops = append(ops, map[string]any{
			"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion(),
		})
	}
	return json.Marshal(ops)
}

// offers are the entries of legacy managers that stay: the next apply removes what is ours
// alone, and the annotation that lets an object be adopted is a person's.
func offers(live *unstructured.Unstructured) []any {
	entries, _, _ := unstructured.NestedSlice(live.Object, "metadata", "managedFields")
	var kept []any
	for i, m := range diff.Managers(live) {
		_, found, _ := unstructured.NestedFieldNoCopy(m.Fields, "f:metadata", "f:annotations", "f:"+AnnotationAdopt)
		if !found || !legacy(m) {
			continue
		}
		entry, _ := entries[i].(map[string]any)
		entry["fieldsV1"] = map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{"f:" + AnnotationAdopt: map[string]any{}}}}
		kept = append(kept, entry)
	}
	return kept
}
