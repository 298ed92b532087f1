package live_test

import (
	"context"
	"flag"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
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
	"github.com/c5c3/nova-operator/test/surroundings"
)

// parallel is how many chains run at a time: they wait more than they compute.
const parallel = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	crds, err := filepath.Abs("../../../kustomize/crd")
	if err != nil {
		panic(err)
	}
	cluster.Main(m, cluster.Options{CRDs: append([]string{crds}, cluster.AllCRDs...)})
}

// runOperator runs the controllers over the whole cluster until the test ends, or until
// it is told to stop, with everything around a Nova played.
func runOperator(t *testing.T, config *rest.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	played, err := surroundings.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := operator.New(config, operator.Options{
		MetricsAddress: "0", ProbeAddress: "0", SyncPeriod: 10 * time.Minute, Concurrency: 4,
		HTTP: played.Network.Client(), Reused: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("manager: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// novaKind is the row of the kind that these tests are about.
var novaKind = *kind.Named(v1alpha1.KindNova)

// world is a namespace with everything the edits refer to.
type world struct {
	t         *testing.T
	namespace string
	client    client.Client
	live      *live.Cluster
	veil      diff.Veil
}

// mark is in every credential.
const mark = "marked-s3cret"

var inputs = map[string]map[string]string{
	"nova-api-db":   {"username": "u", "password": mark + "-api$db"},
	"nova-db":       {"username": "u", "password": mark + "-cell,db"},
	"other-db":      {"username": "v", "password": mark + "-other"},
	"nova-service":  {"password": mark + "-service\n"},
	"other-service": {"secret": mark + "-other-service"},
	"nova-shared":   {"shared_secret": mark + "-metadata"},
	"other-shared":  {"hmac": mark + "-other-metadata"},
	"outer-bus":     {"url": "rabbit://u:" + mark + "@bus.example.com:5671/"},
	"db-ca":         {"ca.crt": "anchor"},
	"db-client":     {"tls.crt": "certificate", "tls.key": mark + "-key"},
	"bus-ca":        {"ca.crt": "anchor"},
}

// known are the inputs as an observation holds them.
func known() map[string]facts.SecretData {
	secrets := map[string]facts.SecretData{}
	for name, data := range inputs {
		secrets[name] = facts.SecretData{}
		for key, value := range data {
			secrets[name][key] = render.Sensitive(value)
		}
	}
	return secrets
}

var foreign = []struct {
	gvk  schema.GroupVersionKind
	name string
	spec map[string]any
}{
	{schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "SecretStore"}, "store", map[string]any{}},
	{schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "SecretStore"}, "store2", map[string]any{}},
	{schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ClusterSecretStore"}, "fidelity-store", map[string]any{}},
	{schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"}, "mariadb", map[string]any{"storage": map[string]any{"size": "1Gi"}}},
	{schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"}, "mariadb2", map[string]any{"storage": map[string]any{"size": "1Gi"}}},
	{schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}, "rabbitmq", map[string]any{}},
	{schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}, "rabbitmq2", map[string]any{}},
}

func newWorld(t *testing.T, c *cluster.Cluster) *world {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	cl, err := client.New(c.Config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, namespace: c.Namespace(t), client: cl, veil: apply.NewVeil()}
	if w.live, err = live.Of(c.Config, w.veil); err != nil {
		t.Fatal(err)
	}
	for name, data := range inputs {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}, StringData: data}
		if err := cl.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range foreign {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": f.spec}}
		u.SetGroupVersionKind(f.gvk)
		u.SetName(f.name)
		if f.gvk.Kind != "ClusterSecretStore" {
			u.SetNamespace(w.namespace)
		}
		if err := cl.Create(t.Context(), u); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	return w
}

// minimal is the smallest Nova, with a merge patch of its spec.
func (w *world) minimal(start map[string]any) *unstructured.Unstructured {
	ref := func(name string) map[string]any { return map[string]any{"name": name} }
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"openStackRelease": "2026.1",
		"image":            map[string]any{"repository": "registry.example.com/nova", "tag": "2026.1"},
		"apiDatabase":      map[string]any{"clusterRef": ref("mariadb"), "database": "nova_api", "secretRef": ref("nova-api-db")},
		"database":         map[string]any{"clusterRef": ref("mariadb"), "database": "nova", "secretRef": ref("nova-db")},
		"cache":            map[string]any{"clusterRef": ref("memcached"), "backend": "dogpile.cache.pymemcache"},
		"messaging":        map[string]any{"clusterRef": ref("rabbitmq")},
		"keystoneEndpoint": "http://keystone.example.com:5000/v3",
		"serviceUser":      map[string]any{"secretRef": ref("nova-service")},
		"metadata":         map[string]any{"sharedSecretRef": ref("nova-shared")},
		"secretStoreRef":   map[string]any{"kind": "SecretStore", "name": "store"},
	}}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova))
	u.SetName("nova")
	u.SetNamespace(w.namespace)
	return patched(w.t, u, start)
}

// apply stores a manifest as a tool that keeps it in git does.
func (w *world) apply(manifest *unstructured.Unstructured) {
	w.t.Helper()
	u := manifest.DeepCopy()
	if err := w.client.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("gitops"), client.ForceOwnership); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) nova() *v1alpha1.Nova {
	w.t.Helper()
	n := &v1alpha1.Nova{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "nova"}, n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
