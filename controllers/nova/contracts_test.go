package nova_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// remote switches the contract for computes on another cluster on, and TLS, without
// which they must not reach the broker.
func remote(n *v1alpha1.Nova) {
	n.Spec.Messaging.TLS = &v1alpha1.MessagingTLSSpec{CABundleSecretRef: v1alpha1.SecretRefSpec{Name: "nova-ca"}}
	n.Spec.RemoteCompute = &v1alpha1.NovaRemoteComputeSpec{
		KeystoneEndpoint: "https://keystone.example.com/v3", TransportURLSecretRef: v1alpha1.SecretRefSpec{Name: "nova-remote"},
	}
}

// contractKeys are those of a contract without TLS.
var contractKeys = []string{"cell_name", "metadata_proxy_shared_secret", "nova-compute.conf", "password", "password_env", "transport_url"}

// data is the content of a Secret, nil without one.
func (w *novaWorld) data(name string) map[string]string {
	w.T.Helper()
	s := &corev1.Secret{}
	err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, s)
	if client.IgnoreNotFound(err) != nil {
		w.T.Fatal(err)
	}
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for key, value := range s.Data {
		out[key] = string(value)
	}
	return out
}

func (w *novaWorld) awaitKeys(name string, want ...string) {
	w.T.Helper()
	cluster.Eventually(w.T, "the keys of Secret "+name, func(context.Context) (bool, error) {
		if diff := cmp.Diff(want, sortedKeys(w.data(name))); diff != "" {
			return false, fmt.Errorf("%s", diff)
		}
		return true, nil
	})
}

// awaitRemoteRef waits for the reference in the status; "" is none.
func (w *novaWorld) awaitRemoteRef(want string) {
	w.T.Helper()
	cluster.Eventually(w.T, "the reference to the remote contract", func(ctx context.Context) (bool, error) {
		n, err := w.Live(ctx)
		if err != nil {
			return false, err
		}
		got := ""
		if ref := n.Status.RemoteComputeConfigSecretRef; ref != nil {
			got = ref.Name
		}
		return got == want, nil
	})
}

func TestContracts_TheRemoteOneComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.Secret("nova-ca", map[string]string{"ca.crt": "s3cret-ca"})
	w.run()
	n := w.Minimal()
	remote(n)
	w.Create(n)

	// Waiting for its URL does not stop the control plane.
	missing := fmt.Sprintf("spec.remoteCompute.transportURLSecretRef: transport URL Secret %s/nova-remote not found", w.Namespace)
	w.AwaitSays(v1alpha1.ConditionComputeConfigReady, v1alpha1.ReasonWaitingForRemoteTransportURL, missing)
	w.AwaitReason(v1alpha1.ConditionNovaAPIReady, v1alpha1.ReasonAPIHealthy)
	w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
	w.awaitRemoteRef("")

	w.Secret("nova-remote", bus("amqp://u:s3cret@bus.example.com:5671/"))
	w.AwaitSays(v1alpha1.ConditionComputeConfigReady, v1alpha1.ReasonComputeConfigError,
		`spec.remoteCompute.transportURLSecretRef: transport URL scheme "amqp" is not supported; use rabbit`)
	w.Secret("nova-remote", bus(""))
	w.AwaitSays(v1alpha1.ConditionComputeConfigReady, v1alpha1.ReasonWaitingForRemoteTransportURL,
		fmt.Sprintf(`spec.remoteCompute.transportURLSecretRef: transport URL Secret %s/nova-remote missing key "transport_url"`, w.Namespace))
	if w.data("nova-remote-compute-config") != nil {
		t.Error("a remote contract without a URL was written")
	}

	w.promptly(func() {
		w.Secret("nova-remote", bus("rabbit://u:s3cret@bus.example.com:5671/"))
		w.AwaitReady()
	})
	w.awaitRemoteRef("nova-remote-compute-config")
	w.awaitKeys("nova-remote-compute-config", append([]string{"ca.crt"}, contractKeys...)...)
	if got := w.data("nova-remote-compute-config")["transport_url"]; got != "rabbit://u:s3cret@bus.example.com:5671/" {
		t.Errorf("transport_url %q", got)
	}

	// An earlier contract stays while its URL is away, and goes with the block.
	before := w.data("nova-remote-compute-config")
	w.Remove(render.KindSecret, "nova-remote")
	w.AwaitSays(v1alpha1.ConditionComputeConfigReady, v1alpha1.ReasonWaitingForRemoteTransportURL, missing)
	if diff := cmp.Diff(before, w.data("nova-remote-compute-config")); diff != "" {
		t.Error(diff)
	}
	w.awaitRemoteRef("nova-remote-compute-config")
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.RemoteCompute = nil })
	w.awaitRemoteRef("")
	cluster.Eventually(t, "the remote contract to go", func(context.Context) (bool, error) {
		return w.data("nova-remote-compute-config") == nil, nil
	})
	w.AwaitReady()
}

func TestContracts_LoseTheCAWithTLS(t *testing.T) {
	t.Parallel()
	w := everything(t)
	w.awaitKeys("nova-compute-config", append([]string{"ca.crt"}, contractKeys...)...)
	uid := w.Get(render.KindSecret, "nova-compute-config").GetUID()
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Messaging.TLS, n.Spec.RemoteCompute = nil, nil })
	w.awaitKeys("nova-compute-config", contractKeys...)
	if w.Get(render.KindSecret, "nova-compute-config").GetUID() != uid {
		t.Error("the contract is another object")
	}
	w.AwaitReady()
}

func TestContracts_LeaveAForeignSecretAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.Secret("nova-remote-compute-config", map[string]string{"theirs": "s3cret"})
	w.run()
	w.Create(w.Minimal())
	w.AwaitReady()
	w.pass()
	w.awaitKeys("nova-remote-compute-config", "theirs")
}

func TestContracts_HoldNoForeignKeys(t *testing.T) {
	t.Parallel()
	w := everything(t)
	before := w.snapshot()
	for _, name := range derivedSecrets {
		s := w.Get(render.KindSecret, name)
		if err := w.Client.Patch(t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"extra":"czNjcmV0"}}`)), client.FieldOwner("kubectl-patch")); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "the foreign keys to go", func(context.Context) (bool, error) {
		if diff := cmp.Diff(before, w.snapshot()); diff != "" {
			return false, fmt.Errorf("%s", diff)
		}
		return true, nil
	})
}
