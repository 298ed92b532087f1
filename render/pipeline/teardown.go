package pipeline

import (
	"fmt"
	"time"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Teardown is what the deletion of a resource asks for.
type Teardown struct {
	Set    render.Set
	Events []render.Event
	// Release is true when the finalizer of the kind may go.
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
