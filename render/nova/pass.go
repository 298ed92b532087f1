package nova

import (
	"time"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// Intervals after which a wait looks again, whatever events bring.
const (
	pollCredentials = 15 * time.Second
	pollDatabase    = 30 * time.Second
	pollDeployment  = 10 * time.Second
	pollHealth      = 10 * time.Second
	// nextPass follows what is expected to be done in a moment.
	nextPass = time.Second
)

// pass is one decision in the making: what the steps resolved so far and what they
// said about it.
type pass struct {
	*pipeline.Pass

	in *Input
	// nova is a copy of the resource with every stored default filled in, so that a
	// resource that bypassed admission is decided like one that did not.
	nova *v1alpha1.Nova
	seen *Observed
	// status is that of the decision, without conditions.
	status *v1alpha1.NovaStatus

	credentials credentials
	config      configuration
	contract    contracts
}

func newPass(in *Input) *pass {
	n := in.Nova.DeepCopy()
	n.Default()
	after := &v1alpha1.Nova{TypeMeta: in.Nova.TypeMeta, ObjectMeta: in.Nova.ObjectMeta, Spec: in.Nova.Spec, Status: *in.Nova.Status.DeepCopy()}
	after.Status.ObservedGeneration = in.Nova.Generation
	after.Status.Conditions = nil
	p := &pass{Pass: index.New(n, in.forms), in: in, nova: n, seen: &in.Observed, status: &after.Status}
	p.After = after
	return p
}
