package apply

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/c5c3/nova-operator/apply/diff"
)

// Labels that mark a child on a target cluster.
const (
	LabelOwnerKind      = diff.OwnerLabels + "kind"
	LabelOwnerName      = diff.OwnerLabels + "name"
	LabelOwnerNamespace = diff.OwnerLabels + "namespace"
)

// Mark is how an owner marks its children.
type Mark int

const (
	// OwnerReference marks children on the owner's own cluster; the garbage
	// collector removes them with it.
	OwnerReference Mark = iota
	// Labels marks children on a target cluster, where the owner does not exist.
	Labels
)

// Owner is the resource on whose behalf a set is applied.
type Owner struct {
	schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	Mark            Mark
}

// String is "Kind namespace/name".
func (o Owner) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// labels returns the mark of a child on a target cluster.
func (o Owner) labels() map[string]string {
	return map[string]string{
		LabelOwnerKind: o.Kind, LabelOwnerName: o.Name, LabelOwnerNamespace: o.Namespace,
	}
}

// markable says why this owner cannot mark any child, or nil.
func (o Owner) markable() error {
	if o.Mark == Labels && len(o.Name) > validation.LabelValueMaxLength {
		return fmt.Errorf("%s: the name has %d characters; on a target cluster it must fit a label value of %d",
			o, len(o.Name), validation.LabelValueMaxLength)
	}
	if o.Mark == OwnerReference && o.UID == "" {
		return fmt.Errorf("%s: an owner reference needs its UID", o)
	}
	return nil
}

// stamp returns a shallow copy of a payload with the owner's mark. Only the maps on
// the way to the mark are copied: a payload is never written to.
func (o Owner) stamp(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	meta, _ := u.Object["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	out.Object["metadata"] = meta
	if o.Mark == Labels {
		old, _ := meta["labels"].(map[string]any)
		labels := make(map[string]any, len(old)+3)
		maps.Copy(labels, old)
		for k, v := range o.labels() {
			labels[k] = v
		}
		meta["labels"] = labels
		return out
	}
	old, _ := meta["ownerReferences"].([]any)
	meta["ownerReferences"] = append(old[:len(old):len(old)], map[string]any{
		"apiVersion":         o.GroupVersion().String(),
		"kind":               o.Kind,
		"name":               o.Name,
		"uid":                string(o.UID),
		"controller":         true,
		"blockOwnerDeletion": true,
	})
	return out
}

// relation is what a live object is to an owner.
type relation int

const (
	// mine carries this owner's mark.
	mine relation = iota
	// unowned carries nobody's controller reference, and not this owner's labels.
	unowned
	// leftover is controlled by an earlier incarnation of this owner (same kind and
	// name, other UID): the garbage collector is about to remove it.
	leftover
	// foreign is controlled by somebody else.
	foreign
)

// relationTo classifies a live object. On a target cluster a controller reference
// to this very owner, left by an older operator, counts as a mark as well.
func (o Owner) relationTo(live metav1.Object) relation {
	ref := metav1.GetControllerOfNoCopy(live)
	if ref != nil && ref.UID == o.UID && o.UID != "" {
		return mine
	}
	if o.Mark == Labels {
		have := live.GetLabels()
		for k, v := range o.labels() {
			if have[k] != v {
				return foreign
			}
		}
		return mine
	}
	if ref == nil {
		return unowned
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err == nil && gv.Group == o.Group && ref.Kind == o.Kind && ref.Name == o.Name {
		return leftover
	}
	return foreign
}

// Owns reports whether a live object carries this owner's mark.
func (o Owner) Owns(live metav1.Object) bool { return o.relationTo(live) == mine }

// foreignReason says who holds an object that is not this owner's.
func (o Owner) foreignReason(live *unstructured.Unstructured) string {
	if ref := metav1.GetControllerOfNoCopy(live); ref != nil {
		return fmt.Sprintf("it is controlled by %s %s", ref.Kind, ref.Name)
	}
	if o.Mark == Labels {
		if l := live.GetLabels(); l[LabelOwnerName] != "" {
			return fmt.Sprintf("it belongs to %s %s/%s", l[LabelOwnerKind], l[LabelOwnerNamespace], l[LabelOwnerName])
		}
		return "refusing to adopt pre-existing object without the ownership labels of " + o.String()
	}
	return "it is not controlled by " + o.String()
}
