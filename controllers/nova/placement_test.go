package nova_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
)

func TestPlacement_AnotherClusterIsNotReachableYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inputs()
	w.run()
	n := w.nova()
	n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "elsewhere"}
	w.create(n)
	c := w.awaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable)
	if c.Message == "" {
		t.Error("it does not say why")
	}
	w.awaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
	w.settled()
	live, err := w.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(live.Finalizers) > 0 {
		t.Errorf("finalizers %v on a Nova whose children are out of reach", live.Finalizers)
	}
	if got := w.inventory(); got != nil {
		t.Errorf("created: %v", got)
	}
	if err := w.client.Delete(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the Nova to go", func(context.Context) (bool, error) {
		_, err := w.live(t.Context())
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
