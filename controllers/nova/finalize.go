package nova

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/metrics"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// finalizers are those of a Nova, in the order in which they are added and go.
func finalizers(n *v1alpha1.Nova) []string {
	if n.Spec.TargetClusterRef == nil {
		return []string{v1alpha1.FinalizerNova}
	}
	return []string{v1alpha1.FinalizerNova, v1alpha1.FinalizerRemoteChildren}
}

// missingFinalizer is the next one to add; empty when all are there.
func missingFinalizer(n *v1alpha1.Nova) string {
	for _, f := range finalizers(n) {
		if !controllerutil.ContainsFinalizer(n, f) {
			return f
		}
	}
	return ""
}

func (r *Reconciler) addFinalizer(ctx context.Context, n *v1alpha1.Nova, finalizer string) (ctrl.Result, error) {
	before := n.DeepCopy()
	controllerutil.AddFinalizer(n, finalizer)
	if err := r.writer.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	r.writes.note(n)
	return ctrl.Result{RequeueAfter: nextPass}, nil
}

// removeFinalizer is no error for a Nova that is gone already.
func (r *Reconciler) removeFinalizer(ctx context.Context, n *v1alpha1.Nova, finalizer string) error {
	before := n.DeepCopy()
	if !controllerutil.RemoveFinalizer(n, finalizer) {
		return nil
	}
	err := r.writer.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove finalizer: %w", err)
	}
	r.writes.note(n)
	return nil
}

// finalize cleans up after a Nova that is being deleted, or leaves its children behind
// where their cluster is gone.
func (r *Reconciler) finalize(ctx context.Context, n *v1alpha1.Nova) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(n, v1alpha1.FinalizerNova) && !controllerutil.ContainsFinalizer(n, v1alpha1.FinalizerRemoteChildren) {
		return ctrl.Result{}, nil
	}
	p, err := r.places.of(ctx, n)
	switch {
	case err == nil:
		return r.cleanUp(ctx, n, p)
	case errors.Is(err, clusters.ErrEngaging):
		return ctrl.Result{RequeueAfter: pollTarget}, nil
	case !errors.Is(err, multicluster.ErrClusterNotFound):
		return r.unplaced(ctx, n, fmt.Sprintf("target cluster %s does not resolve; its children are removed as soon as it does: %v", n.Spec.TargetClusterRef.Name, err))
	case !r.abandons(n):
		return r.unplaced(ctx, n, rendernova.WaitingForTarget(n))
	}
	r.emit(n, rendernova.Abandoned(n))
	return ctrl.Result{}, r.release(ctx, n)
}

// abandons reports whether both clocks have run out: that of the deletion, and that of
// this process's search for the cluster.
func (r *Reconciler) abandons(n *v1alpha1.Nova) bool {
	deleting := r.places.now().Sub(n.DeletionTimestamp.Time)
	return min(deleting, r.places.lostFor(n.Spec.TargetClusterRef.Name)) >= r.abandonAfter
}

// cleanUp removes what the garbage collector must not be left with, and what it does not
// reach, then the finalizers.
func (r *Reconciler) cleanUp(ctx context.Context, n *v1alpha1.Nova, p *place) (ctrl.Result, error) {
	if controllerutil.ContainsFinalizer(n, v1alpha1.FinalizerNova) {
		wait, err := r.cleanUpData(ctx, n, p)
		if err != nil || wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, err
		}
		if err := r.removeFinalizer(ctx, n, v1alpha1.FinalizerNova); err != nil {
			return ctrl.Result{}, err
		}
	}
	if controllerutil.ContainsFinalizer(n, v1alpha1.FinalizerRemoteChildren) {
		if err := p.applier.Sweep(ctx, OwnerOf(n), rendernova.Kinds()); err != nil {
			return ctrl.Result{}, err
		}
	}
	p.applier.Forget(OwnerOf(n))
	p.health.forget(client.ObjectKeyFromObject(n))
	return ctrl.Result{}, r.release(ctx, n)
}

// cleanUpData deletes the objects that hold data, and says how long to wait for them.
func (r *Reconciler) cleanUpData(ctx context.Context, n *v1alpha1.Nova, p *place) (time.Duration, error) {
	var seen rendernova.Observed
	if err := p.observer.children(ctx, n, &seen); err != nil {
		return 0, err
	}
	f := rendernova.Finalize(rendernova.Input{Nova: n, Observed: seen, Settings: r.settings})
	report, err := p.applier.Apply(ctx, OwnerOf(n), f.Set)
	if err != nil {
		return 0, err
	}
	metrics.ApplyRequests.Add(float64(report.Requests))
	r.emit(n, f.Events)
	return f.Requeue, nil
}

// release removes what is left of the finalizers, and forgets the Nova.
func (r *Reconciler) release(ctx context.Context, n *v1alpha1.Nova) error {
	for _, f := range finalizers(n) {
		if err := r.removeFinalizer(ctx, n, f); err != nil {
			return err
		}
	}
	r.writes.forget(n)
	metrics.Forget(n.Namespace, n.Name)
	return nil
}
