package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// computeRules are the rules of a node pool, whose options are those of the release its
// Nova is at.
func computeRules(reader client.Reader) rules[v1alpha1.NovaCompute] {
	return func(ctx context.Context, compute, old *v1alpha1.NovaCompute) (field.ErrorList, []string, error) {
		release, err := releaseOf(ctx, reader, compute, old)
		if err != nil {
			return nil, nil, err
		}
		errs, warnings := v1alpha1.ValidateNovaCompute(compute, old, release)
		return errs, warnings, nil
	}
}

// releaseOf reads the release of the Nova a pool joins, empty when there is no such Nova.
// It reads nothing when no option is to be compared with the release's catalog.
func releaseOf(ctx context.Context, reader client.Reader, compute, old *v1alpha1.NovaCompute) (string, error) {
	extra, name := compute.Spec.ExtraConfig, compute.Spec.NovaRef.Name
	if reader == nil || name == "" || len(extra) == 0 || (old != nil && equality.Semantic.DeepEqual(extra, old.Spec.ExtraConfig)) {
		return "", nil
	}
	// Without a type, so that nothing in the Nova keeps the one field from being read.
	nova := &unstructured.Unstructured{}
	nova.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova))
	err := reader.Get(ctx, client.ObjectKey{Namespace: compute.Namespace, Name: name}, nova)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Nova %s/%s: %w", compute.Namespace, name, err)
	}
	release, _, err := unstructured.NestedString(nova.Object, "spec", "openStackRelease")
	return release, err
}
