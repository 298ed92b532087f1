package pipeline

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/openstack"
)

// Decision is what one pass over a resource decides.
type Decision struct {
	Set render.Set
	// Conditions carry no transition time: the recorder stamps it on a change. Ready and
	// Stalled are among them.
	Conditions []metav1.Condition
	Events     []render.Event
	// Records are facts about Jobs to record once each.
	Records []Record
	// Questions are what the decision wants to know of OpenStack, and Calls what it wants
	// done there once the set is applied; both in order.
	Questions []openstack.Question
	Calls     []openstack.Call
	// Requeue is when to look again without an event; 0 means only on events.
	Requeue time.Duration
	// After is the resource with the status of this decision, but for the conditions, which
	// are above. It shares metadata and spec with the resource: read only.
	After v1alpha1.Resource
	// Turn is the phase that this pass turned; nil for none.
	Turn *Turn
	// Reached lists the steps that ran, by label.
	Reached []string
	// Err is what the decision could not do; the set is complete for everything else.
	Err error
}

// Turn is the change of a release phase into another. An empty phase is none.
type Turn struct {
	From, To string
	// Aborted: the phases end without the release they were for.
	Aborted bool
}

// Record is a fact about a Job, to record once: the annotation for Subject is set to UID
// first, and only then the metric counts and the events go out.
type Record struct {
	// Subject is a JobSubject constant.
	Subject string
	UID     string
	// Counted tells whether a metric counts it, with Result and Duration.
	Counted  bool
	Result   string
	Duration time.Duration
	Events   []render.Event
	// Deferred is the event reason when the annotation can't be written.
	Deferred string
}

// Subject is a resource with what was observed of its world: all a decision is taken from.
type Subject interface {
	// Resource is the resource with the status of the last pass. Read only.
	Resource() v1alpha1.Resource
	// Decide takes the decision. Equal subjects give equal decisions.
	Decide() Decision
}
