package nova

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Finalization is what the deletion of a Nova asks for.
type Finalization struct {
	Set    render.Set
	Events []render.Event
	// Release is true when the finalizer may go.
	Release bool
	Requeue time.Duration
}

// Finalize decides about a Nova that is being deleted: its MariaDB objects are marked
// for deletion first, in one pass, and the finalizer goes in the next. It does not
// wait for them to vanish: DROP DATABASE waits for the pods' connections, the garbage
// collection of the pods for the finalizer. Everything else follows the owner
// reference.
func Finalize(in Input) Finalization {
	seen := in.Observed
	var f Finalization
	live := false
	for _, c := range children {
		if !c.data {
			continue
		}
		name := c.name(in.Nova)
		var object Readiness
		var exists bool
		switch c.kind {
		case KindDatabase:
			object, exists = seen.Databases[name]
		case KindUser:
			object, exists = seen.Users[name]
		case KindGrant:
			object, exists = seen.Grants[name]
		}
		if !exists || object.Deleting {
			continue
		}
		live = true
		f.Set.Absent = append(f.Set.Absent, render.Absent{
			Key:    render.Key{GroupVersionKind: c.kind, Namespace: in.Nova.Namespace, Name: name},
			Reason: "the Nova is being deleted",
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
