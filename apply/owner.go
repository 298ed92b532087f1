package apply

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/c5c3/nova-operator/apply/diff"
)

// Labels that mark a child that cannot refer to its owner.
const (
	LabelOwnerKind      = diff.OwnerLabels + "kind"
	LabelOwnerName      = diff.OwnerLabels + "name"
	LabelOwnerNamespace = diff.OwnerLabels + "namespace"
)

// Mark is how a child is marked.
type Mark int

const (
	// OwnerReference marks children on the owner's own cluster; the garbage
	// collector removes them with it.
	OwnerReference Mark = iota
	// Labels marks children on a target cluster, where the owner does not exist, and
	// in other namespaces than the owner's.
	Labels
)

// Adoption is which objects without this owner's mark become its children.
type Adoption int

const (
	// AdoptNone refuses them all.
	AdoptNone Adoption = iota
	// AdoptUnowned takes an object of a child's name that nobody controls and, where
	// labels are the mark, that carries no owner's.
	AdoptUnowned
)

// Owner is the resource on whose behalf a set is applied.
type Owner struct {
	schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	// Mark and Adoption are for the owner's own namespace.
	Mark     Mark
	Adoption Adoption
	// Namespaces are the others in which it may have children. Labels mark those, because
	// the garbage collector removes what refers across namespaces. Nothing is adopted
	// there.
	Namespaces []string
}

// String is "Kind namespace/name".
func (o Owner) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// labels returns the mark of a child that cannot refer to its owner.
func (o Owner) labels() map[string]string {
	return map[string]string{
		LabelOwnerKind: o.Kind, LabelOwnerName: o.Name, LabelOwnerNamespace: o.Namespace,
	}
}

// markIn says how children in a namespace are marked; ok is false where this owner has
// none.
func (o Owner) markIn(namespace string) (mark Mark, ok bool) {
	if namespace == o.Namespace {
		return o.Mark, true
	}
	return Labels, slices.Contains(o.Namespaces, namespace)
}

// namespaces lists where this owner may have children, its own namespace first.
func (o Owner) namespaces() []string {
	out := []string{o.Namespace}
	for _, namespace := range o.Namespaces {
		if !slices.Contains(out, namespace) {
			out = append(out, namespace)
		}
	}
	return out
}

// markable says why this owner cannot mark a child so, or nil.
func (o Owner) markable(mark Mark) error {
	if mark == Labels && len(o.Name) > validation.LabelValueMaxLength {
		where := "on a target cluster"
		if o.Mark != Labels {
			where = "in another namespace"
		}
		return fmt.Errorf("%s: the name has %d characters; %s it must fit a label value of %d",
			o, len(o.Name), where, validation.LabelValueMaxLength)
	}
	if mark == OwnerReference && o.UID == "" {
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
	if mark, _ := o.markIn(u.GetNamespace()); mark == Labels {
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
	// unowned is nobody's and may be adopted.
	unowned
	// leftover is controlled by an earlier incarnation of this owner (same kind and
	// name, other UID): the garbage collector is about to remove it.
	leftover
	// foreign is not this owner's and stays as it is.
	foreign
)

// relationTo classifies a live object. Where labels are the mark, a controller reference
// to this very owner, left by an older operator, counts as a mark as well.
func (o Owner) relationTo(live metav1.Object) relation {
	mark, ok := o.markIn(live.GetNamespace())
	ref := metav1.GetControllerOfNoCopy(live)
	switch {
	case !ok:
		return foreign
	case ref != nil && ref.UID == o.UID && o.UID != "", mark == Labels && o.labelled(live):
		return mine
	case ref == nil && o.adopts(live):
		return unowned
	case ref != nil && mark == OwnerReference && o.named(ref):
		return leftover
	}
	return foreign
}

// labelled says whether a live object carries the labels of this owner.
func (o Owner) labelled(live metav1.Object) bool {
	have := live.GetLabels()
	for k, v := range o.labels() {
		if have[k] != v {
			return false
		}
	}
	return true
}

// adopts says whether a live object that nobody controls may become a child.
func (o Owner) adopts(live metav1.Object) bool {
	return o.Adoption == AdoptUnowned && live.GetNamespace() == o.Namespace &&
		(o.Mark == OwnerReference || live.GetLabels()[LabelOwnerName] == "")
}

// named says whether a reference is to the kind and name of this owner.
func (o Owner) named(ref *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == o.Group && ref.Kind == o.Kind && ref.Name == o.Name
}

// Owns reports whether a live object carries this owner's mark.
func (o Owner) Owns(live metav1.Object) bool { return o.relationTo(live) == mine }

// foreignReason says who holds an object that is not this owner's.
func (o Owner) foreignReason(live *unstructured.Unstructured) string {
	mark, ok := o.markIn(live.GetNamespace())
	if !ok {
		return "it is outside the namespaces of " + o.String()
	}
	if ref := metav1.GetControllerOfNoCopy(live); ref != nil {
		return fmt.Sprintf("it is controlled by %s %s", ref.Kind, ref.Name)
	}
	if mark == Labels {
		if l := live.GetLabels(); l[LabelOwnerName] != "" {
			return fmt.Sprintf("it belongs to %s %s/%s", l[LabelOwnerKind], l[LabelOwnerNamespace], l[LabelOwnerName])
		}
		return "refusing to adopt pre-existing object without the ownership labels of " + o.String()
	}
	return "it is not controlled by " + o.String()
}
