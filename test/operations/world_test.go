package operations_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	engine "github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// novaWorld is a world with a Nova, whose operator is a process of its own.
type novaWorld struct {
	*world.Subject[*v1alpha1.Nova]
}

// newWorld is in a namespace that exists. The surroundings are played in every namespace:
// an installation may watch all of them.
func newWorld(t *testing.T, c *cluster.Cluster, namespace string) *novaWorld {
	t.Helper()
	w := &novaWorld{world.Of(world.In(t, c, namespace), world.Novas)}
	w.Play(metav1.NamespaceAll)
	return w
}

// inputs creates what the Novas of these tests refer to.
func (w *novaWorld) inputs() {
	w.T.Helper()
	w.Inputs()
	w.Secret("bus-ca", map[string]string{"ca.crt": "a trust anchor\n"})
	w.Secret("nova-outer", map[string]string{"transport_url": "rabbit://outer:" + world.Mark + "-outer@bus.example.com:5671/"})
}

// children lists what is a Nova's, one that is gone included, as kind/name with the
// UID.
func (w *novaWorld) children() map[string]string {
	w.T.Helper()
	out := map[string]string{}
	w.EachChild(func(u *unstructured.Unstructured) {
		if u.GetLabels()[engine.LabelOwnerKind] == v1alpha1.KindNova {
			out[u.GetKind()+"/"+u.GetName()] = string(u.GetUID())
		}
	})
	return out
}

// awaitChild waits until a child exists, or is gone.
func (w *novaWorld) awaitChild(name string, there bool) {
	w.T.Helper()
	cluster.Eventually(w.T, fmt.Sprintf("%s there: %t", name, there), func(context.Context) (bool, error) {
		_, found := w.children()[name]
		return found == there, nil
	})
}

// Minimal is the smallest Nova that takes its databases with it: the tests share a
// namespace, and begin with an empty one.
func (w *novaWorld) Minimal() *v1alpha1.Nova {
	n := w.Subject.Minimal()
	n.Spec.DatabaseDeletionPolicy = v1alpha1.DatabaseDelete
	return n
}

// remove deletes the Nova and waits until it is gone.
func (w *novaWorld) remove() {
	w.T.Helper()
	w.Delete()
	w.AwaitGone()
}

// awaitEmpty waits until the collector has taken every child of an earlier Nova, and
// drops its events.
func (w *novaWorld) awaitEmpty() {
	w.T.Helper()
	cluster.Eventually(w.T, "the children to go", func(context.Context) (bool, error) {
		left := w.children()
		if len(left) > 0 {
			return false, fmt.Errorf("%v are left", slices.Sorted(maps.Keys(left)))
		}
		return true, nil
	})
	if err := w.Client.DeleteAllOf(w.T.Context(), &corev1.Event{}, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
	}
}
