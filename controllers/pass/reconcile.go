package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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
	calls "github.com/c5c3/nova-operator/controllers/openstack"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/openstack"
	"github.com/c5c3/nova-operator/render/pipeline"
)

const (
	// catchUp is how soon a pass looks again at a cache that lags behind the
	// controller's own write: a status write wakes nobody.
	catchUp = 20 * time.Millisecond
	// nextPass follows the adding of a finalizer, which is a write of its own.
	nextPass = time.Second
	// pollTarget is how often an unresolvable target cluster is tried again.
	pollTarget = 15 * time.Second
	// observeLimit bounds the reading of a target cluster: a read through a cache that can't
	// be filled waits for ever.
	observeLimit = time.Minute
	// maxAnswers bounds how often answers may lead to further questions in one pass.
	maxAnswers = 8
)

// Writer is what the controller may write besides children: the resource's own metadata
// and status. It cannot create or delete anything.
type Writer interface {
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	Status() client.SubResourceWriter
}

// Options are what a Reconciler is built from.
type Options struct {
	Kind Kind
	// Reader is the manager's cache, for the resources themselves.
	Reader   client.Reader
	Writer   Writer
	Recorder record.EventRecorder
	Settings render.Settings
	// Home is the operator's own cluster. Fleet are the others; nil for none. Target makes
	// a place of one of them.
	Home   Place
	Fleet  Fleet
	Target func(cluster.Cluster) (Place, error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// AbandonAfter is how long a resource that is being deleted waits for a cluster without
	// registration; 0 means pipeline.AbandonAfter.
	AbandonAfter time.Duration
}

// Reconciler drives one resource of a kind at a time through observe, decide, apply, call
// and record.
type Reconciler struct {
	kind         Kind
	reader       client.Reader
	writer       Writer
	recorder     record.EventRecorder
	settings     render.Settings
	places       places
	target       func(cluster.Cluster) (Place, error)
	now          func() time.Time
	abandonAfter time.Duration
	writes       *writes
	asker        *calls.Asker
	// queue is the controller's; it is set once started is closed.
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	started chan struct{}
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Reconciler{
		kind: o.Kind, reader: o.Reader, writer: o.Writer, recorder: o.Recorder, settings: o.Settings, target: o.Target, now: o.Now,
		abandonAfter: cmp.Or(o.AbandonAfter, pipeline.AbandonAfter), writes: newWrites(), started: make(chan struct{}),
		places: places{fleet: o.Fleet, home: &o.Home, now: o.Now, targets: map[string]*Place{}, lost: map[string]time.Time{}},
	}
	r.asker = calls.NewAsker(o.Now, func(name types.NamespacedName) { r.queue.Add(reconcile.Request{NamespacedName: name}) })
	return r
}

// Reconcile runs one pass. It writes the status on every way out.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := r.kind.New()
	if err := r.reader.Get(ctx, req.NamespacedName, o); err != nil {
		if apierrors.IsNotFound(err) {
			// It may have gone without our finalizer.
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", r.kind.Kind.Kind, req.NamespacedName, err)
	}
	if r.writes.ahead(o) {
		return ctrl.Result{RequeueAfter: catchUp}, nil
	}
	o = v1alpha1.Copy(o)
	if o.GetDeletionTimestamp() != nil {
		return r.finalize(ctx, o)
	}
	at, err := r.places.of(ctx, o)
	switch {
	case errors.Is(err, clusters.ErrEngaging):
		// After a start of the operator the status still holds. The engagement wakes the resource.
		return ctrl.Result{RequeueAfter: pollTarget}, nil
	case err != nil:
		return r.unplaced(ctx, o, err.Error())
	}
	if finalizer := r.missingFinalizer(o); finalizer != "" {
		return r.addFinalizer(ctx, o, finalizer)
	}
	return r.pass(ctx, o, at)
}

// forget drops what is known about a resource that is gone.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.asker.Forget(name)
	metrics.Forget(r.kind.Kind.Kind, name)
}

// unplaced reports a resource whose children cluster is out of reach. It gets no
// finalizer, and nothing is created anywhere.
func (r *Reconciler) unplaced(ctx context.Context, o v1alpha1.Resource, why string) (ctrl.Result, error) {
	if err := r.record(ctx, o, r.kind.Lost(o, r.settings, why).Decide()); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: pollTarget}, nil
}

// pass observes, decides, applies, and decides once more on what the apply brought
// about: the status of this pass is about the state after it.
func (r *Reconciler) pass(ctx context.Context, o v1alpha1.Resource, at *Place) (result ctrl.Result, err error) {
	var final *pipeline.Decision
	defer func() {
		if final != nil {
			err = errors.Join(err, r.record(ctx, o, *final))
		}
		if err != nil {
			result = ctrl.Result{} // the backoff says when to try again
		}
	}()
	subject, err := r.observe(ctx, at, o)
	if err != nil {
		if o.TargetCluster() != "" && ctx.Err() == nil {
			// Somebody else runs that cluster, and gave the permissions: its answer must be seen.
			final = new(r.kind.Lost(o, r.settings, err.Error()).Decide())
		}
		return ctrl.Result{}, err
	}
	decided := r.decide(at, subject)
	final = &decided
	owner := OwnerOf(r.kind.Kind, o)
	plan, err := at.Applier.Plan(ctx, owner, decided.Set)
	if err != nil {
		if len(decided.Set.Desired) > 0 { // the first write is the one that is refused
			r.kind.ApplyFailed(o, final, decided.Set.Desired[0].Key(), err)
		}
		return ctrl.Result{}, err
	}
	// What failed is told object by object: the rest of the report holds all the same.
	report, failed := at.Applier.Execute(ctx, plan)
	changed, err := merge(subject, owner, report)
	if err != nil {
		return ctrl.Result{}, err
	}
	if changed {
		final = new(subject.Decide())
		// What the first decision announced holds for this pass as well.
		final.Err = decided.Err
	}
	if failed == nil {
		failed = r.call(ctx, o, at, subject, final)
	}
	r.unwritten(o, final, report)
	r.tell(ctx, o, report)
	r.count(o, decided, report)
	return ctrl.Result{RequeueAfter: requeue(*final, report)}, errors.Join(final.Err, failed)
}

// observe reads what a decision about a resource needs.
func (r *Reconciler) observe(ctx context.Context, at *Place, o v1alpha1.Resource) (Subject, error) {
	if o.TargetCluster() != "" {
		limited, cancel := context.WithTimeout(ctx, observeLimit)
		defer cancel()
		ctx = limited
	}
	return r.kind.Observe(ctx, r.reads(at), o)
}

// decide takes the decision with the newest answers to its questions. It waits for none:
// the one that comes wakes the resource.
func (r *Reconciler) decide(at *Place, subject Subject) pipeline.Decision {
	d := subject.Decide()
	for range maxAnswers {
		news := false
		for _, q := range d.Questions {
			o := subject.Resource()
			if answer, ok := r.asker.Newest(client.ObjectKeyFromObject(o), o.GetUID(), at.HTTP, q); ok {
				news = subject.Fold(q, answer) || news
			}
		}
		if !news {
			break
		}
		d = subject.Decide()
	}
	return d
}

// call makes the calls of a decision whose set is applied. What a call brought about is
// recorded before the next one.
func (r *Reconciler) call(ctx context.Context, o v1alpha1.Resource, at *Place, subject Subject, d *pipeline.Decision) error {
	if len(d.Calls) == 0 {
		return nil
	}
	last, _, err := calls.Execute(ctx, subject, *d,
		func(ctx context.Context, c openstack.Call) openstack.Outcome { return r.kind.Call(ctx, at, o, c) },
		func(next pipeline.Decision, _ openstack.Outcome) error { return r.writeStatus(ctx, o, next) })
	last.Err = d.Err
	*d = last
	return err
}

// merge folds what the applier wrote into an observation. It reports whether anything
// was written.
func merge(subject Subject, owner apply.Owner, report diff.Report) (bool, error) {
	changed := false
	for _, res := range report.Results {
		switch res.Action {
		case diff.ActionCreate, diff.ActionUpdate, diff.ActionRecreate:
			changed = true
			if res.Live == nil || !owner.Owns(res.Live) {
				continue
			}
			if err := subject.Absorb(res.Live); err != nil {
				return false, err
			}
		case diff.ActionDelete, diff.ActionUnchanged, diff.ActionWait, diff.ActionHeld, diff.ActionRefused,
			diff.ActionForeign, diff.ActionSkipped, diff.ActionFailed:
		}
	}
	return changed, nil
}

// unwritten turns the conditions of what could not be written.
func (r *Reconciler) unwritten(o v1alpha1.Resource, d *pipeline.Decision, report diff.Report) {
	for _, res := range report.Results {
		if res.Err != nil {
			r.kind.ApplyFailed(o, d, res.Key, res.Err)
		}
	}
}

func requeue(d pipeline.Decision, report diff.Report) time.Duration {
	if report.Pending() && (d.Requeue == 0 || d.Requeue > nextPass) {
		return nextPass
	}
	return d.Requeue
}

// OwnerOf is the owner of the children of a resource.
func OwnerOf(kind pipeline.Kind, o v1alpha1.Resource) apply.Owner {
	return apply.Owner{
		GroupVersionKind: kind.GroupVersionKind,
		Namespace:        o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), Remote: o.TargetCluster() != "",
	}
}
