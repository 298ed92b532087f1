package pass

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// finalizers are those of a resource, in the order in which they are added and go.
func (r *Reconciler) finalizers(o v1alpha1.Resource) []string {
	if o.TargetCluster() == "" {
		return []string{r.kind.Finalizer}
	}
	return []string{r.kind.Finalizer, v1alpha1.FinalizerRemoteChildren}
}

// missingFinalizer is the next one to add; empty when all are there.
func (r *Reconciler) missingFinalizer(o v1alpha1.Resource) string {
	for _, f := range r.finalizers(o) {
		if !controllerutil.ContainsFinalizer(o, f) {
			return f
		}
	}
	return ""
}

func (r *Reconciler) addFinalizer(ctx context.Context, o v1alpha1.Resource, finalizer string) (ctrl.Result, error) {
	before := v1alpha1.Copy(o)
	controllerutil.AddFinalizer(o, finalizer)
	if err := r.writer.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	r.writes.note(o)
	return ctrl.Result{RequeueAfter: nextPass}, nil
}

// removeFinalizer is no error for a resource that is gone already.
func (r *Reconciler) removeFinalizer(ctx context.Context, o v1alpha1.Resource, finalizer string) error {
	before := v1alpha1.Copy(o)
	if !controllerutil.RemoveFinalizer(o, finalizer) {
		return nil
	}
	err := r.writer.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove finalizer: %w", err)
	}
	r.writes.note(o)
	return nil
}

// finalize cleans up after a resource that is being deleted, or leaves its children behind
// where their cluster is gone.
func (r *Reconciler) finalize(ctx context.Context, o v1alpha1.Resource) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(o, r.kind.Finalizer) && !controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerRemoteChildren) {
		return ctrl.Result{}, nil
	}
	at, err := r.places.of(ctx, o)
	switch {
	case err == nil:
		return r.cleanUp(ctx, o, at)
	case errors.Is(err, clusters.ErrEngaging):
		return ctrl.Result{RequeueAfter: pollTarget}, nil
	case !errors.Is(err, multicluster.ErrClusterNotFound):
		return r.unplaced(ctx, o, fmt.Sprintf(
			"target cluster %s does not resolve; its children are removed as soon as it does: %v", o.TargetCluster(), err))
	case !r.abandons(o):
		return r.unplaced(ctx, o, pipeline.WaitingForTarget(o))
	}
	r.emit(o, r.kind.Abandoned(o))
	return ctrl.Result{}, r.release(ctx, o)
}

// abandons reports whether both clocks have run out: that of the deletion, and that of
// this process's search for the cluster.
func (r *Reconciler) abandons(o v1alpha1.Resource) bool {
	deleting := r.now().Sub(o.GetDeletionTimestamp().Time)
	return min(deleting, r.places.lostFor(o.TargetCluster())) >= r.abandonAfter
}

// cleanUp removes what the garbage collector must not be left with, and what it does not
// reach, then the finalizers.
func (r *Reconciler) cleanUp(ctx context.Context, o v1alpha1.Resource, at *Place) (ctrl.Result, error) {
	owner := OwnerOf(r.kind.Kind, o)
	if controllerutil.ContainsFinalizer(o, r.kind.Finalizer) {
		t, err := r.tearDown(ctx, o, at)
		if err != nil || !t.Release {
			return ctrl.Result{RequeueAfter: t.Requeue}, err
		}
		if err := r.removeFinalizer(ctx, o, r.kind.Finalizer); err != nil {
			return ctrl.Result{}, err
		}
	}
	if controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerRemoteChildren) {
		outliving := r.kind.Outliving(o)
		sweeps := slices.DeleteFunc(slices.Clone(r.kind.Children), func(k schema.GroupVersionKind) bool { return slices.Contains(outliving, k) })
		if err := at.Applier.Sweep(ctx, owner, sweeps); err != nil {
			return ctrl.Result{}, err
		}
	}
	at.Applier.Forget(owner)
	return ctrl.Result{}, r.release(ctx, o)
}

// tearDown does what the kind's own finalizer is for, and says what stays.
func (r *Reconciler) tearDown(ctx context.Context, o v1alpha1.Resource, at *Place) (pipeline.Teardown, error) {
	t, err := r.kind.Teardown(ctx, r.reads(at), o)
	if err = errors.Join(err, t.Err); err != nil {
		return pipeline.Teardown{}, err
	}
	report, err := at.Applier.Apply(ctx, OwnerOf(r.kind.Kind, o), t.Set)
	if err != nil {
		return pipeline.Teardown{}, err
	}
	metrics.ApplyRequests.Add(float64(report.Requests))
	if len(t.Conditions) > 0 {
		if err := r.writeStatus(ctx, o, pipeline.Decision{Conditions: t.Conditions, After: v1alpha1.Copy(o)}); err != nil {
			return pipeline.Teardown{}, err
		}
	}
	r.emit(o, t.Events)
	return t, nil
}

// release removes what is left of the finalizers, and forgets the resource.
func (r *Reconciler) release(ctx context.Context, o v1alpha1.Resource) error {
	for _, f := range r.finalizers(o) {
		if err := r.removeFinalizer(ctx, o, f); err != nil {
			return err
		}
	}
	r.writes.forget(o)
	r.forget(client.ObjectKeyFromObject(o))
	return nil
}
