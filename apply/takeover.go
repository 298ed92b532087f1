package apply

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// needsTakeover says whether a live object we may write has not been applied by us
// yet and carries traces of a predecessor, or, where labels are the mark, a controller
// reference to this owner that an older operator left.
func needsTakeover(owner Owner, live *unstructured.Unstructured) bool {
	if staleReference(owner, live) {
		return true
	}
	if fields, _ := diff.OwnedFields(live); fields != nil {
		return false
	}
	return hasTraces(live)
}

// hasTraces says whether a predecessor left its manager entry or kubectl's
// last-applied annotation, which can carry a whole Secret.
func hasTraces(live *unstructured.Unstructured) bool {
	if _, found := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; found {
		return true
	}
	for _, m := range diff.Managers(live) {
		if m.Operation == "Update" && m.Subresource == "" && legacyManagers.Has(m.Name) {
			return true
		}
	}
	return false
}

// staleReference says whether a live object that labels mark is controlled by this owner.
func staleReference(owner Owner, live *unstructured.Unstructured) bool {
	mark, ok := owner.markIn(live.GetNamespace())
	ref := metav1.GetControllerOfNoCopy(live)
	return ok && mark == Labels && ref != nil && owner.UID != "" && ref.UID == owner.UID
}

// takeoverPatch is a JSON patch that turns the entries of legacy managers into ours
// and strips the last-applied annotation and a stale controller reference. It
// carries the resourceVersion it was made from. nil means nothing to do.
func takeoverPatch(owner Owner, live *unstructured.Unstructured) ([]byte, error) {
	raw, err := csaupgrade.UpgradeManagedFieldsPatch(live, legacyManagers, render.FieldOwner)
	if err != nil {
		return nil, fmt.Errorf("migrate field managers: %w", err)
	}
	var ops []map[string]any
	if raw != nil {
		if err := json.Unmarshal(raw, &ops); err != nil {
			return nil, fmt.Errorf("migrate field managers: %w", err)
		}
	}
	if _, found := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; found {
		ops = append(ops, map[string]any{
			"op": "remove", "path": "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
		})
	}
	if staleReference(owner, live) {
		kept := []metav1.OwnerReference{}
		for _, ref := range live.GetOwnerReferences() {
			if ref.UID != owner.UID {
				kept = append(kept, ref)
			}
		}
		ops = append(ops, map[string]any{"op": "replace", "path": "/metadata/ownerReferences", "value": kept})
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
