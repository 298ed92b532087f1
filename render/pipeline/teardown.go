package pipeline

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Teardown is what the deletion of a resource asks for.
type Teardown struct {
	Set render.Set
	// Err is what the decision could not do: nothing of it is carried out.
	Err    error
	Events []render.Event
	// Conditions to say while the resource stays.
	Conditions []metav1.Condition
	// Release is true when the finalizer of the kind may go. Without it the resource is
	// looked at again after Requeue, or on an event where that is 0.
	Release bool
	Requeue time.Duration
}

// AbandonAfter is how long a resource that is being deleted waits at least for its target
// cluster to resolve.
const AbandonAfter = 5 * time.Minute

// WaitingForTarget words the wait of a resource that is being deleted.
func WaitingForTarget(r v1alpha1.Resource) string {
	return fmt.Sprintf("target cluster %s does not resolve; waiting at least %s before abandoning its children",
		r.TargetCluster(), AbandonAfter)
}
