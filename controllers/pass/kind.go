package pass

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/metrics"
	calls "github.com/c5c3/nova-operator/controllers/openstack"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/openstack"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// Subject is what a pass decides on.
type Subject interface {
	calls.Subject
	// Absorb takes a live child into the observation.
	Absorb(*unstructured.Unstructured) error
	// Fold takes the newest answer to a question into the observation, and reports whether
	// that says anything new.
	Fold(openstack.Question, openstack.Answer) bool
}

// Kind is what the shell has to know about a kind of custom resource.
type Kind struct {
	pipeline.Kind
	// Name names the controller.
	Name string
	// New returns an empty resource, NewList an empty list of them.
	New     func() v1alpha1.Resource
	NewList func() client.ObjectList
	// Finalizer is the kind's own.
	Finalizer string
	// Observe reads what a decision needs. It writes nothing. A read that fails is an
	// error: an empty value in its place would roll pods.
	Observe func(context.Context, Reads, v1alpha1.Resource) (Subject, error)
	// Lost is a resource whose children cluster is out of reach, with the reason.
	Lost func(r v1alpha1.Resource, settings render.Settings, why string) Subject
	// Teardown decides about a resource that is being deleted.
	Teardown func(context.Context, Reads, v1alpha1.Resource) (pipeline.Teardown, error)
	// Abandoned are the events of a resource whose finalizers go although its children stay.
	Abandoned func(v1alpha1.Resource) []render.Event
	// Expected tells a conflict that is no claim of somebody else; nil for none.
	Expected func(v1alpha1.Resource, diff.Conflict) bool
	// Series names the resource in metrics.
	Series func(v1alpha1.Resource) metrics.Series
	// Count counts a recorded Job; nil for a kind without.
	Count func(metrics.Series, pipeline.Record)
	// Indexes are fields of the resource to find it by.
	Indexes map[string]client.IndexerFunc
	// Sources are what wakes the resources besides their children.
	Sources func(*Feed) []Source
	// Call makes one call of a decision; nil for a kind that makes none.
	Call func(context.Context, *Place, v1alpha1.Resource, openstack.Call) openstack.Outcome
}

// Reads is a cluster as an observer sees it.
type Reads struct {
	// Cached is a cache; Uncached reads what has no informer, or must not be stale.
	Cached, Uncached client.Reader
	// Resources reads the operator's own kinds, on its own cluster; nil where nothing does.
	Resources    client.Reader
	Capabilities Capabilities
	Settings     render.Settings
}
