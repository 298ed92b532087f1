package nova

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/metrics"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

const (
	// catchUp is how soon a pass looks again at a cache that lags behind the
	// controller's own write: a status write wakes nobody.
	catchUp = 20 * time.Millisecond
	// nextPass follows the adding of a finalizer, which is a write of its own.
	nextPass = time.Second
	// pollTarget is how often an unresolvable target cluster is tried again.
	pollTarget = 15 * time.Second
)

// Writer is what the controller may write besides children: the Nova's own metadata
// and status. It cannot create or delete anything.
type Writer interface {
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	Status() client.SubResourceWriter
}

// Options are what a Reconciler is built from.
type Options struct {
	// Reader is the manager's cache, for the Novas themselves.
	Reader   client.Reader
	Writer   Writer
	Recorder record.EventRecorder
	Settings rendernova.Settings
	// Home is the operator's own cluster. Fleet are the others; nil for none. Target makes
	// a place of one of them.
	Home   Place
	Fleet  Fleet
	Target func(cluster.Cluster) (Place, error)
	// Now is the clock of the health cache and of abandoning; nil means time.Now.
	Now func() time.Time
	// AbandonAfter is how long a Nova that is being deleted waits for a cluster without
	// registration; 0 means rendernova.AbandonAfter.
	AbandonAfter time.Duration
}

// Reconciler drives one Nova at a time through observe, decide, apply and record.
type Reconciler struct {
	reader       client.Reader
	writer       Writer
	recorder     record.EventRecorder
	settings     rendernova.Settings
	places       places
	target       func(cluster.Cluster) (Place, error)
	abandonAfter time.Duration
	writes       *writes
	// queue is the controller's; it can be had once started is closed.
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	started chan struct{}
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	r := &Reconciler{
		reader: o.Reader, writer: o.Writer, recorder: o.Recorder, settings: o.Settings, target: o.Target,
		abandonAfter: cmp.Or(o.AbandonAfter, rendernova.AbandonAfter), writes: newWrites(), started: make(chan struct{}),
	}
	r.places = places{fleet: o.Fleet, now: o.Now, targets: map[string]*place{}, lost: map[string]time.Time{}}
	if o.Now == nil {
		r.places.now = time.Now
	}
	r.places.home = r.use(o.Home)
	return r
}

// use makes a place ready for passes.
func (r *Reconciler) use(p Place) *place {
	return &place{
		applier: p.Applier, health: newHealthProbe(p.HTTP, r.places.now),
		observer: observer{reader: p.Reader, uncached: p.Uncached, capabilities: p.Capabilities, namespaceScoped: r.settings.NamespaceScoped},
	}
}

// Reconcile runs one pass. It writes the status on every way out.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	n := &v1alpha1.Nova{}
	if err := r.reader.Get(ctx, req.NamespacedName, n); err != nil {
		if apierrors.IsNotFound(err) {
			// It may have gone without our finalizer.
			metrics.Forget(req.Namespace, req.Name)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read Nova %s: %w", req.NamespacedName, err)
	}
	if r.writes.ahead(n) {
		return ctrl.Result{RequeueAfter: catchUp}, nil
	}
	n = n.DeepCopy()
	if n.DeletionTimestamp != nil {
		return r.finalize(ctx, n)
	}
	p, err := r.places.of(ctx, n)
	switch {
	case errors.Is(err, clusters.ErrEngaging):
		// After a start of the operator the status still holds. The engagement wakes the Nova.
		return ctrl.Result{RequeueAfter: pollTarget}, nil
	case err != nil:
		return r.unplaced(ctx, n, err.Error())
	}
	if finalizer := missingFinalizer(n); finalizer != "" {
		return r.addFinalizer(ctx, n, finalizer)
	}
	return r.pass(ctx, n, p)
}

// unplaced reports a Nova whose children cluster is out of reach. It gets no
// finalizer, and nothing is created anywhere.
func (r *Reconciler) unplaced(ctx context.Context, n *v1alpha1.Nova, why string) (ctrl.Result, error) {
	result := rendernova.Decide(rendernova.Input{Nova: n, Observed: rendernova.Observed{TargetCluster: why}, Settings: r.settings})
	if err := r.record(ctx, n, result); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: pollTarget}, nil
}

// pass observes, decides, applies, and decides once more on what the apply brought
// about: the status of this pass is about the state after it.
func (r *Reconciler) pass(ctx context.Context, n *v1alpha1.Nova, p *place) (ctrl.Result, error) {
	in, asked, err := r.input(ctx, n, p)
	if err != nil && n.Spec.TargetClusterRef != nil && ctx.Err() == nil {
		// Somebody else runs that cluster, and gave the permissions: its answer must be seen.
		_, unsaid := r.unplaced(ctx, n, err.Error())
		return ctrl.Result{}, errors.Join(err, unsaid)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	result := rendernova.Decide(in)
	plan, err := p.applier.Plan(ctx, OwnerOf(n), result.Set)
	if err != nil {
		if len(result.Set.Desired) > 0 { // the first write is the one that is refused
			result.ApplyFailed(n, result.Set.Desired[0].Key(), err)
		}
		return ctrl.Result{}, errors.Join(err, r.record(ctx, n, result))
	}
	// What failed is told object by object: the rest of the report holds all the same.
	report, failed := p.applier.Execute(ctx, plan)
	metrics.ApplyRequests.Add(float64(report.Requests))
	changed, err := merge(&in.Observed, OwnerOf(n), report)
	if err != nil {
		return ctrl.Result{}, err
	}
	final := result
	if changed {
		final = rendernova.Decide(in)
		// What the first decision announced holds for this pass as well.
		final.Err = result.Err
	}
	r.report(ctx, n, &final, report)
	r.observeSteps(n, result, report, asked)
	if err = errors.Join(final.Err, failed, r.record(ctx, n, final)); err != nil {
		return ctrl.Result{}, err // the backoff says when to try again
	}
	return ctrl.Result{RequeueAfter: requeue(final, report)}, nil
}

// input gathers what a decision needs, the health of the API last, and says how long it
// asked for that.
func (r *Reconciler) input(ctx context.Context, n *v1alpha1.Nova, p *place) (in rendernova.Input, asked time.Duration, err error) {
	seen, err := p.observe(ctx, n)
	if err != nil {
		return rendernova.Input{}, 0, err
	}
	if rendernova.APIAvailable(n, seen) {
		start := time.Now()
		if seen.Health, err = p.health.ask(ctx, n); err != nil {
			return rendernova.Input{}, 0, err
		}
		asked = time.Since(start)
	}
	return rendernova.Input{Nova: n, Observed: seen, Settings: r.settings}, asked, nil
}

// merge folds what the applier wrote into an observation. It reports whether anything
// was written.
func merge(seen *rendernova.Observed, owner apply.Owner, report diff.Report) (bool, error) {
	changed := false
	for _, res := range report.Results {
		switch res.Action {
		case diff.ActionCreate, diff.ActionUpdate, diff.ActionRecreate:
			changed = true
			if res.Live == nil {
				continue
			}
			if err := absorb(seen, owner, res.Live); err != nil {
				return false, err
			}
		case diff.ActionDelete, diff.ActionUnchanged, diff.ActionWait, diff.ActionHeld, diff.ActionRefused,
			diff.ActionForeign, diff.ActionSkipped, diff.ActionFailed:
		}
	}
	return changed, nil
}

func requeue(result rendernova.Result, report diff.Report) time.Duration {
	if report.Pending() && (result.Requeue == 0 || result.Requeue > nextPass) {
		return nextPass
	}
	return result.Requeue
}

// OwnerOf is the owner of the children of a Nova.
func OwnerOf(n *v1alpha1.Nova) apply.Owner {
	owner := apply.Owner{
		GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova),
		Namespace:        n.Namespace, Name: n.Name, UID: n.UID, Mark: apply.OwnerReference, Adoption: apply.AdoptUnowned,
	}
	if n.Spec.TargetClusterRef != nil {
		owner.Mark, owner.Adoption = apply.Labels, apply.AdoptNone
	}
	return owner
}
