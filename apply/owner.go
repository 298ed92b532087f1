package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// Labels that mark a child, beside an owner reference or in its place.
const (
	LabelOwnerKind      = diff.OwnerLabels + "kind"
	LabelOwnerName      = diff.OwnerLabels + "name"
	LabelOwnerNamespace = diff.OwnerLabels + "namespace"
)

// AnnotationAdopt on an object that nobody controls, with the value <Kind>/<name>, lets
// that owner adopt it. A person sets it. It stays, and the object is never replaced.
const AnnotationAdopt = "nova.openstack.c5c3.io/adopt"

// Owner is the resource on whose behalf a set is applied.
type Owner struct {
	schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	// Remote says that its children are on a target cluster, where it does not exist.
	Remote bool
	// Namespaces are the others in which it may have children.
	Namespaces []string
}

// String is "Kind namespace/name".
func (o Owner) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// labels returns the ownership labels of its children.
func (o Owner) labels() map[string]string {
	return map[string]string{
		LabelOwnerKind: o.Kind, LabelOwnerName: o.Name, LabelOwnerNamespace: o.Namespace,
	}
}

// mark is how a child is marked.
type mark struct{ labels, reference bool }

// markOf says how a child in a namespace is marked: with labels, if they can hold the
// owner's name, and with a reference where the garbage collector finds the owner. On
// another cluster or in another namespace it would remove what refers to it.
func (o Owner) markOf(namespace string, policy render.Policy) mark {
	fits := len(o.Name) <= validation.LabelValueMaxLength
	outlives := fits && policy.Unreferenced
	return mark{labels: fits, reference: o.near(namespace) && !outlives}
}

// near says whether children in a namespace can refer to the owner.
func (o Owner) near(namespace string) bool { return !o.Remote && namespace == o.Namespace }

// reaches says whether the owner may have children in a namespace.
func (o Owner) reaches(namespace string) bool {
	return namespace == o.Namespace || slices.Contains(o.Namespaces, namespace)
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

// markable says why this owner cannot mark a child, or nil.
func (o Owner) markable(namespace string, policy render.Policy) error {
	m := o.markOf(namespace, policy)
	switch {
	case m.reference && o.UID == "":
		return fmt.Errorf("%s: an owner reference needs its UID", o)
	case m.reference || m.labels:
		return nil
	}
	where := "in another namespace"
	if o.Remote {
		where = "on a target cluster"
	}
	return fmt.Errorf("%s: the name has %d characters; %s it must fit a label value of %d",
		o, len(o.Name), where, validation.LabelValueMaxLength)
}

// stamp returns a shallow copy of a payload with the owner's mark. Only the maps on
// the way to the mark are copied: a payload is never written to.
func (o Owner) stamp(u *unstructured.Unstructured, policy render.Policy) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	meta, _ := u.Object["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	out.Object["metadata"] = meta
	m := o.markOf(u.GetNamespace(), policy)
	if m.labels {
		old, _ := meta["labels"].(map[string]any)
		labels := make(map[string]any, len(old)+3)
		maps.Copy(labels, old)
		for k, v := range o.labels() {
			labels[k] = v
		}
		meta["labels"] = labels
	}
	if m.reference {
		old, _ := meta["ownerReferences"].([]any)
		meta["ownerReferences"] = append(old[:len(old):len(old)], map[string]any{
			"apiVersion":         o.GroupVersion().String(),
			"kind":               o.Kind,
			"name":               o.Name,
			"uid":                string(o.UID),
			"controller":         true,
			"blockOwnerDeletion": true,
		})
	}
	return out
}

// relation is what a live object is to an owner.
type relation int

const (
	// mine carries this owner's mark.
	mine relation = iota
	// offered is nobody's, and a person lets this owner adopt it.
	offered
	// leftover is controlled by an earlier incarnation of this owner (same kind and
	// name, other UID): the garbage collector is about to remove it.
	leftover
	// foreign is not this owner's and stays as it is.
	foreign
)

// relationTo classifies a live object, by its controller first. Who manages its fields
// does not count: anybody may take any name for that.
func (o Owner) relationTo(live metav1.Object) relation {
	ref := metav1.GetControllerOfNoCopy(live)
	switch {
	case !o.reaches(live.GetNamespace()):
		return foreign
	case ref != nil && o.UID != "" && ref.UID == o.UID, ref == nil && o.labelled(live):
		return mine
	case ref != nil && o.near(live.GetNamespace()) && o.named(ref):
		return leftover
	case ref == nil && !o.claimed(live) && live.GetAnnotations()[AnnotationAdopt] == o.Kind+"/"+o.Name:
		return offered
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

// marked says whether a child carries its whole mark, and no other.
func (o Owner) marked(live metav1.Object, policy render.Policy) bool {
	m := o.markOf(live.GetNamespace(), policy)
	ref := metav1.GetControllerOfNoCopy(live)
	return (!m.labels || o.labelled(live)) && (!m.reference || ref != nil && ref.UID == o.UID) && !o.wronglyRefers(live, policy)
}

// wronglyRefers says whether a child refers to this owner and must not: an older operator
// or another policy left that.
func (o Owner) wronglyRefers(live metav1.Object, policy render.Policy) bool {
	return !o.markOf(live.GetNamespace(), policy).reference && len(o.otherReferences(live)) < len(live.GetOwnerReferences())
}

// otherReferences are those of a live object that are not to this owner.
func (o Owner) otherReferences(live metav1.Object) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(live.GetOwnerReferences()), func(ref metav1.OwnerReference) bool {
		return o.UID != "" && ref.UID == o.UID
	})
}

// claimed says whether a live object carries a label of another owner.
func (o Owner) claimed(live metav1.Object) bool {
	have := live.GetLabels()
	for k, v := range o.labels() {
		if have[k] != "" && have[k] != v {
			return true
		}
	}
	return false
}

// named says whether a reference is to the kind and name of this owner.
func (o Owner) named(ref *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == o.Group && ref.Kind == o.Kind && ref.Name == o.Name
}

// Owns reports whether a live object carries this owner's mark.
func (o Owner) Owns(live metav1.Object) bool { return o.relationTo(live) == mine }

// refusal says why an object is not this owner's, and what a person can do about it.
func (o Owner) refusal(live *unstructured.Unstructured) (reason, remedy string) {
	remedy = "rename this resource or delete the object"
	if !o.reaches(live.GetNamespace()) {
		return "it is outside the namespaces of " + o.String(), remedy
	}
	if ref := metav1.GetControllerOfNoCopy(live); ref != nil {
		return fmt.Sprintf("it is controlled by %s %s", ref.Kind, ref.Name), remedy
	}
	if o.claimed(live) {
		l := live.GetLabels()
		return fmt.Sprintf("it belongs to %s %s/%s", l[LabelOwnerKind], l[LabelOwnerNamespace], l[LabelOwnerName]), remedy
	}
	where := ""
	if o.Remote {
		where = " on the target cluster"
	}
	gvk := live.GroupVersionKind()
	resource := strings.TrimSuffix(strings.ToLower(gvk.Kind)+"."+gvk.Group, ".")
	return "it is not ours: nobody controls it, and it lacks the ownership labels of " + o.String(),
		fmt.Sprintf("rename this resource, delete the object, or have it adopted%s: kubectl annotate --overwrite -n %s %s/%s %s=%s/%s",
			where, live.GetNamespace(), resource, live.GetName(), AnnotationAdopt, o.Kind, o.Name)
}
