package nova_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// hanging is how many APIs do not answer: more than there are workers.
const hanging = 6

// While more APIs hang than there are workers, the drift of a Nova that is well is put
// right: no question to an API holds a worker.
func TestHealth_APIsThatHangHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.run()
	w.Create(w.Minimal())
	for i := range hanging {
		n := w.Minimal()
		n.Name = fmt.Sprintf("hung-%d", i)
		n.Spec.APIDatabase.Database, n.Spec.Database.Database = fmt.Sprintf("hung_api_%d", i), fmt.Sprintf("hung_%d", i)
		w.Create(n)
	}
	w.awaitEvery("to be Ready", func(n *v1alpha1.Nova) bool {
		return meta.IsStatusConditionTrue(n.Status.Conditions, v1alpha1.ConditionReady)
	})
	t.Logf("a repair takes %s while every API answers", w.repair())

	var waiting atomic.Int32
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	w.Surroundings.Network.Answer(func(host string) (int, string) {
		if strings.HasPrefix(host, "hung-") {
			waiting.Add(1)
			defer waiting.Add(-1)
			select {
			case <-end:
			case <-time.After(time.Minute):
			}
		}
		return http.StatusOK, ""
	})
	cluster.Eventually(t, "every hanging API to be asked", func(context.Context) (bool, error) {
		return waiting.Load() >= hanging, nil
	})
	t.Logf("a repair takes %s while %d APIs hang", w.repair(), hanging)
	if n := waiting.Load(); n < hanging {
		t.Errorf("only %d APIs are still asked: the repair waited for one", n)
	}
	w.awaitEvery("that hangs to say so", func(n *v1alpha1.Nova) bool {
		c := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionNovaAPIReady)
		return n.Name == "nova" || c.Reason == v1alpha1.ReasonHealthCheckTimeout
	})
	w.AwaitReason(v1alpha1.ConditionNovaAPIReady, v1alpha1.ReasonAPIHealthy)
}

// awaitEvery waits until every Nova of the namespace is as wanted, one after the other.
func (w *novaWorld) awaitEvery(what string, is func(*v1alpha1.Nova) bool) {
	w.T.Helper()
	list := &v1alpha1.NovaList{}
	if err := w.Client.List(w.T.Context(), list, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
	}
	for i := range list.Items {
		n := &list.Items[i]
		cluster.Eventually(w.T, fmt.Sprintf("Nova %s %s", n.Name, what), func(ctx context.Context) (bool, error) {
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(n), n)
			return err == nil && is(n), err
		})
	}
}

// repair changes the target of a Service of Nova nova and says how long it takes until that is put right.
func (w *novaWorld) repair() time.Duration {
	w.T.Helper()
	port := func() int64 {
		ports, _, _ := unstructured.NestedSlice(w.Get(render.KindService, "nova").Object, "spec", "ports")
		number, _, _ := unstructured.NestedInt64(ports[0].(map[string]any), "targetPort")
		return number
	}
	before := port()
	u := w.Get(render.KindService, "nova")
	patch := client.RawPatch("application/json-patch+json", fmt.Appendf(nil, `[{"op":"replace","path":"/spec/ports/0/targetPort","value":%d}]`, before+1))
	start := time.Now()
	if err := w.Client.Patch(w.T.Context(), u, patch); err != nil {
		w.T.Fatal(err)
	}
	cluster.Eventually(w.T, "the port to be put right", func(context.Context) (bool, error) { return port() == before, nil })
	return time.Since(start)
}
