package live_test

import (
	"maps"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/cmd/internal/live"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

func TestMain(m *testing.M) {
	world.Parallel(8)
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	cluster.Main(m, cluster.Options{CRDs: world.Definitions("../../..")})
}

// runOperator runs the controllers over the whole cluster until the test ends, or until
// it is told to stop, with everything around a Nova played.
func runOperator(t *testing.T) (stop func()) {
	t.Helper()
	everywhere := world.In(t, cluster.Shared(t), metav1.NamespaceAll)
	everywhere.Play(metav1.NamespaceAll)
	return everywhere.Run(func(_ *rest.Config, o *operator.Options) { o.Concurrency = 4 })
}

// novaKind is the row of the kind that these tests are about.
var novaKind = *kind.Named(v1alpha1.KindNova)

// novaWorld is a world with a Nova, a reader of its cluster and all that the edits refer
// to.
type novaWorld struct {
	*world.Subject[*v1alpha1.Nova]
	live *live.Cluster
	mask diff.Mask
}

// others are the credentials that only an edit refers to.
var others = map[string]map[string]string{
	"other-db":      {"username": "v", "password": world.Mark + "-other"},
	"other-service": {"secret": world.Mark + "-other-service"},
	"other-shared":  {"hmac": world.Mark + "-other-metadata"},
	"outer-bus":     {"url": "rabbit://u:" + world.Mark + "@bus.example.com:5671/"},
	"db-ca":         {"ca.crt": "anchor"},
	"db-client":     {"tls.crt": "certificate", "tls.key": world.Mark + "-key"},
	"bus-ca":        {"ca.crt": "anchor"},
}

// known are all credentials as an observation holds them.
func known() map[string]facts.SecretData {
	all := maps.Clone(others)
	maps.Copy(all, world.Novas.Secrets)
	secrets := map[string]facts.SecretData{}
	for name, data := range all {
		secrets[name] = facts.SecretData{}
		for key, value := range data {
			secrets[name][key] = render.Sensitive(value)
		}
	}
	return secrets
}

func newWorld(t *testing.T) *novaWorld {
	t.Helper()
	c := cluster.Shared(t)
	w := &novaWorld{Subject: world.Of(world.In(t, c, c.Namespace(t)), world.Novas), mask: apply.NewMask()}
	var err error
	if w.live, err = live.Of(c.Config, w.mask); err != nil {
		t.Fatal(err)
	}
	w.Inputs()
	for name, data := range others {
		w.Secret(name, data)
	}
	w.Foreign(render.KindSecretStore, "store2")
	w.Foreign(render.KindClusterSecretStore, "fidelity-store")
	w.Foreign(render.KindMariaDB, "mariadb2")
	w.Foreign(render.KindRabbitmqCluster, "rabbitmq2")
	return w
}

// manifest is the smallest Nova as git has it, with a merge patch of its spec.
func (w *novaWorld) manifest(start map[string]any) *unstructured.Unstructured {
	w.T.Helper()
	n := w.Minimal()
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&n.Spec)
	if err != nil {
		w.T.Fatal(err)
	}
	u := w.Object(v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova), n.Name)
	u.Object["spec"] = spec
	return patched(w.T, u, start)
}

// apply stores a manifest as a tool that keeps it in git does.
func (w *novaWorld) apply(manifest *unstructured.Unstructured) {
	w.T.Helper()
	u := manifest.DeepCopy()
	if err := w.Client.Apply(w.T.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("gitops"), client.ForceOwnership); err != nil {
		w.T.Fatal(err)
	}
}
