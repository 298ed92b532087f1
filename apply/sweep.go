package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// sweepPage is how many objects one answer of a sweep lists.
const sweepPage = 500

// Sweep deletes what an owner has in its namespaces, of all the kinds, in the background,
// and does not wait for it to go: what the garbage collector does for owner references.
// It reads past the cache, because a child that it misses stays for ever. Every
// object is judged by itself: a label selector would miss those with an older mark. A
// kind that is not served has no objects. The error names every object that is left.
func (a *Applier) Sweep(ctx context.Context, owner Owner, kinds []schema.GroupVersionKind) error {
	var errs []error
	for _, gvk := range kinds {
		for _, namespace := range owner.namespaces() {
			err := a.sweep(ctx, owner, gvk, namespace)
			if apierrors.IsResourceExpired(err) { // once more from the start
				err = a.sweep(ctx, owner, gvk, namespace)
			}
			if err != nil && diff.CauseOf(err) != diff.CauseMissingKind {
				errs = append(errs, fmt.Errorf("sweep %s of %s: %w", gvk.Kind, owner, err))
			}
		}
	}
	a.Forget(owner)
	return errors.Join(errs...)
}

func (a *Applier) sweep(ctx context.Context, owner Owner, gvk schema.GroupVersionKind, namespace string) error {
	var errs []error
	for next := ""; ; {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := a.uncached.List(ctx, page, client.InNamespace(namespace), client.Limit(sweepPage), client.Continue(next)); err != nil {
			return err
		}
		for i := range page.Items {
			live := &page.Items[i]
			if live.DeletionTimestamp != nil || !owner.Owns(live) {
				continue
			}
			key := render.Key{GroupVersionKind: gvk, Namespace: live.Namespace, Name: live.Name}
			err := a.client.Delete(ctx, keyed(key),
				client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &live.UID})
			if err = client.IgnoreNotFound(err); err != nil {
				errs = append(errs, diff.NewError("delete", key, err))
			}
		}
		if next = page.Continue; next == "" {
			return errors.Join(errs...)
		}
	}
}
