package nova

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// Teardown decides about a Nova that is being deleted: its MariaDB objects are marked
// for deletion first, in one pass, and the finalizer goes in the next. It does not
// wait for them to vanish: DROP DATABASE waits for the pods' connections, the garbage
// collection of the pods for the finalizer. Everything else follows the owner
// reference, or is swept from a target cluster.
func Teardown(in Input) pipeline.Teardown {
	seen := in.Observed
	var f pipeline.Teardown
	live := false
	for i := range index.Children {
		c := &index.Children[i]
		if !c.Data {
			continue
		}
		name := c.Name(in.Nova)
		var object facts.Readiness
		var exists bool
		switch c.Kind {
		case render.KindDatabase:
			object, exists = seen.Databases[name]
		case render.KindUser:
			object, exists = seen.Users[name]
		case render.KindGrant:
			object, exists = seen.Grants[name]
		}
		if !exists || object.Deleting {
			continue
		}
		live = true
		f.Set.Absent = append(f.Set.Absent, render.Absent{
			Key: c.Key(in.Nova), Reason: "the Nova is being deleted",
		})
	}
	if live {
		f.Requeue = pollDatabase
		f.Events = []render.Event{{
			Type: corev1.EventTypeNormal, Reason: v1alpha1.EventFinalizingDatabase,
			Message: "Cleaning up the MariaDB Databases, Users, and Grants of both schemas before removing Nova",
		}}
		return f
	}
	f.Release = true
	f.Events = []render.Event{{
		Type: corev1.EventTypeNormal, Reason: v1alpha1.EventDatabaseFinalized,
		Message: "MariaDB Databases, Users, and Grants marked for deletion; releasing finalizer",
	}}
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
