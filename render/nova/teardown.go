package nova

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// deletion is what a reader must know before a Nova is deleted.
func deletion(n *v1alpha1.Nova) string {
	if retained(n) {
		return "the Databases of the Nova stay, and their schemas with them (spec.databaseDeletionPolicy is Retain); its logins go"
	}
	return "the databases of the Nova are dropped with it (spec.databaseDeletionPolicy is Delete)"
}

// Teardown decides about a Nova that is being deleted. A protected one stays. Else its
// MariaDB objects are marked for deletion first, in one pass, and the finalizer goes in
// the next. It does not wait for them to vanish: DROP DATABASE waits for the pods'
// connections, the garbage collection of the pods for the finalizer. Databases that
// outlive the Nova get their last state, without a reference to it. Everything else
// follows the owner reference, or is swept from a target cluster.
func Teardown(in Input) pipeline.Teardown {
	p := newPass(&in)
	if p.nova.Spec.DeletionProtection {
		return p.protected()
	}
	var f pipeline.Teardown
	for i := range index.Children {
		c := &index.Children[i]
		if !c.Data || !in.Observed.lives(c.Kind, c.Name(p.nova)) {
			continue
		}
		if c.Kind == render.KindDatabase && (retained(p.nova) || in.Observed.Databases[c.Name(p.nova)].Skip) {
			object, ok, err := c.Object(p.Pass, p.nova, p)
			if f.Err = err; err != nil {
				return f
			}
			if ok {
				f.Set.Desired = append(f.Set.Desired, object)
			}
			if !retained(p.nova) { // dropped in the next pass, once nothing skips that
				f.Requeue = nextPass
			}
			continue
		}
		f.Set.Absent = append(f.Set.Absent, render.Absent{Key: c.Key(p.nova), Reason: "the Nova is being deleted"})
	}
	objects, stay := "MariaDB Databases, Users, and Grants", ""
	if retained(p.nova) {
		objects, stay = "MariaDB Users and Grants", "; the Databases stay"
	}
	switch {
	case f.Requeue > 0:
	case len(f.Set.Absent) > 0:
		f.Requeue = pollDatabase
		f.Events = []render.Event{{
			Type: corev1.EventTypeNormal, Reason: v1alpha1.EventFinalizingDatabase,
			Message: fmt.Sprintf("Cleaning up the %s of both schemas before removing Nova%s", objects, stay),
		}}
	default:
		f.Release = true
		f.Events = []render.Event{{
			Type: corev1.EventTypeNormal, Reason: v1alpha1.EventDatabaseFinalized,
			Message: fmt.Sprintf("%s marked for deletion%s; releasing finalizer", objects, stay),
		}}
	}
	return f
}

// protected leaves a Nova that was deleted all the same. Lifting the protection, which an
// update of the resource can do while it terminates, lets it go.
func (p *pass) protected() pipeline.Teardown {
	message := fmt.Sprintf("deleted, but spec.deletionProtection keeps it and its pods; to let it go: "+
		`kubectl -n %s patch nova %s --type=merge -p '{"spec":{"deletionProtection":false}}'`, p.nova.Namespace, p.nova.Name)
	f := pipeline.Teardown{Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDeletionProtected,
		Message: message, ObservedGeneration: p.nova.Generation,
	}}}
	if last := meta.FindStatusCondition(p.nova.Status.Conditions, v1alpha1.ConditionStalled); last == nil || last.Reason != v1alpha1.ReasonDeletionProtected {
		f.Events = []render.Event{{Type: corev1.EventTypeWarning, Reason: v1alpha1.EventDeletionProtected, Message: message}}
	}
	return f
}

// Abandoned are the events of a Nova whose finalizers go although its children stay:
// one for each of them.
func Abandoned(n *v1alpha1.Nova) (events []render.Event) {
	for _, left := range []struct{ finalizer, behind string }{
		{v1alpha1.FinalizerNova, "finalizer without deleting the MariaDB Databases, Users, and Grants on it"},
		{v1alpha1.FinalizerRemoteChildren, "remote-children finalizer without deleting the objects on it labelled as owned by this Nova"},
	} {
		if slices.Contains(n.Finalizers, left.finalizer) {
			events = append(events, render.Event{
				Type: corev1.EventTypeWarning, Reason: v1alpha1.EventRemoteChildrenAbandoned,
				Message: "Target cluster is no longer registered; releasing the " + left.behind,
			})
		}
	}
	return events
}
