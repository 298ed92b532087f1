package nova

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
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
	// Reader is the manager's cache; Uncached reads pods.
	Reader, Uncached client.Reader
	Writer           Writer
	Applier          *apply.Applier
	Recorder         record.EventRecorder
	Settings         rendernova.Settings
	Capabilities     Capabilities
	// HTTP asks the API for its health; nil means the default transport.
	HTTP *http.Client
	// Now is the clock of the health cache; nil means time.Now.
	Now func() time.Time
}

// Reconciler drives one Nova at a time through observe, decide, apply and record.
type Reconciler struct {
	reader   client.Reader
	writer   Writer
	applier  *apply.Applier
	recorder record.EventRecorder
	settings rendernova.Settings
	observer observer
	health   *healthProbe
	// brokers is true once RabbitmqClusters are watched.
	brokers atomic.Bool
	writes  *writes
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Reconciler{
		reader: o.Reader, writer: o.Writer, applier: o.Applier, recorder: o.Recorder, settings: o.Settings,
		observer: observer{
			reader: o.Reader, uncached: o.Uncached, capabilities: o.Capabilities, namespaceScoped: o.Settings.NamespaceScoped,
		},
		health: newHealthProbe(o.HTTP, o.Now),
		writes: newWrites(),
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
	if n.Spec.TargetClusterRef != nil {
		return r.unplaced(ctx, n)
	}
	if !controllerutil.ContainsFinalizer(n, v1alpha1.FinalizerNova) {
		return r.addFinalizer(ctx, n)
	}
	return r.pass(ctx, n)
}

// unplaced reports a Nova whose children cluster is out of reach. It gets no
// finalizer, and nothing is created anywhere.
func (r *Reconciler) unplaced(ctx context.Context, n *v1alpha1.Nova) (ctrl.Result, error) {
	result := rendernova.Decide(rendernova.Input{Nova: n, Settings: r.settings})
	if err := r.record(ctx, n, result); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: pollTarget}, nil
}

func (r *Reconciler) addFinalizer(ctx context.Context, n *v1alpha1.Nova) (ctrl.Result, error) {
	before := n.DeepCopy()
	controllerutil.AddFinalizer(n, v1alpha1.FinalizerNova)
	if err := r.writer.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	r.writes.note(n)
	return ctrl.Result{RequeueAfter: nextPass}, nil
}

// pass observes, decides, applies, and decides once more on what the apply brought
// about: the status of this pass is about the state after it.
func (r *Reconciler) pass(ctx context.Context, n *v1alpha1.Nova) (ctrl.Result, error) {
	in, asked, err := r.input(ctx, n)
	if err != nil {
		return ctrl.Result{}, err
	}
	result := rendernova.Decide(in)
	plan, err := r.applier.Plan(ctx, OwnerOf(n), result.Set)
	if err != nil {
		return ctrl.Result{}, errors.Join(err, r.record(ctx, n, result))
	}
	// What failed is told object by object: the rest of the report holds all the same.
	report, failed := r.applier.Execute(ctx, plan)
	metrics.ApplyRequests.Add(float64(report.Requests))
	changed, err := merge(&in.Observed, n.UID, report)
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
func (r *Reconciler) input(ctx context.Context, n *v1alpha1.Nova) (in rendernova.Input, asked time.Duration, err error) {
	seen, err := r.observer.observe(ctx, n)
	if err != nil {
		return rendernova.Input{}, 0, err
	}
	if rendernova.APIAvailable(n, seen) {
		start := time.Now()
		if seen.Health, err = r.health.ask(ctx, n); err != nil {
			return rendernova.Input{}, 0, err
		}
		asked = time.Since(start)
	}
	return rendernova.Input{Nova: n, Observed: seen, Settings: r.settings}, asked, nil
}

// merge folds what the applier wrote into an observation. It reports whether anything
// was written.
func merge(seen *rendernova.Observed, owner types.UID, report apply.Report) (bool, error) {
	changed := false
	for _, res := range report.Results {
		switch res.Action {
		case apply.ActionCreate, apply.ActionUpdate, apply.ActionRecreate:
			changed = true
			if res.Live == nil {
				continue
			}
			if err := absorb(seen, owner, res.Live); err != nil {
				return false, err
			}
		case apply.ActionDelete, apply.ActionUnchanged, apply.ActionWait, apply.ActionHeld, apply.ActionRefused,
			apply.ActionForeign, apply.ActionSkipped, apply.ActionFailed:
		}
	}
	return changed, nil
}

func requeue(result rendernova.Result, report apply.Report) time.Duration {
	if report.Pending() && (result.Requeue == 0 || result.Requeue > nextPass) {
		return nextPass
	}
	return result.Requeue
}

// OwnerOf is the owner of the children of a Nova.
func OwnerOf(n *v1alpha1.Nova) apply.Owner {
	return apply.Owner{
		GroupVersionKind: v1alpha1.GroupVersion.WithKind("Nova"),
		Namespace:        n.Namespace, Name: n.Name, UID: n.UID, Mark: apply.OwnerReference,
	}
}

// finalize removes what the garbage collector must not be left with, then the
// finalizer.
func (r *Reconciler) finalize(ctx context.Context, n *v1alpha1.Nova) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(n, v1alpha1.FinalizerNova) {
		return ctrl.Result{}, nil
	}
	var seen rendernova.Observed
	if err := r.observer.children(ctx, n, &seen); err != nil {
		return ctrl.Result{}, err
	}
	f := rendernova.Finalize(rendernova.Input{Nova: n, Observed: seen, Settings: r.settings})
	report, err := r.applier.Apply(ctx, OwnerOf(n), f.Set)
	if err != nil {
		return ctrl.Result{}, err
	}
	metrics.ApplyRequests.Add(float64(report.Requests))
	r.emit(n, f.Events)
	if !f.Release {
		return ctrl.Result{RequeueAfter: f.Requeue}, nil
	}
	before := n.DeepCopy()
	controllerutil.RemoveFinalizer(n, v1alpha1.FinalizerNova)
	// A Nova that is gone already is forgotten all the same.
	if err := r.writer.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("remove finalizer: %w", err)
	}
	r.applier.Forget(OwnerOf(n))
	r.health.forget(client.ObjectKeyFromObject(n))
	r.writes.forget(n)
	metrics.Forget(n.Namespace, n.Name)
	return ctrl.Result{}, nil
}
