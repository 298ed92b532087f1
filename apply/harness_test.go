package apply

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	cluster.Main(m, cluster.Options{CRDs: cluster.AllCRDs})
}

// counter counts requests as they leave the client.
type counter struct {
	mu    sync.Mutex
	calls []string
	next  http.RoundTripper
}

func (c *counter) RoundTrip(req *http.Request) (*http.Response, error) {
	// Discovery and schemas are read once a process; they are no call of an object.
	if strings.Contains(req.URL.Path, "/namespaces/") {
		call := req.Method
		if req.URL.Query().Get("force") == "true" {
			call += " force"
		}
		if req.URL.Query().Get("dryRun") != "" {
			call += " dry"
		}
		c.mu.Lock()
		c.calls = append(c.calls, call)
		c.mu.Unlock()
	}
	return c.next.RoundTrip(req)
}

// take returns the calls since the last take, joined by commas.
func (c *counter) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := strings.Join(c.calls, ",")
	c.calls = nil
	return out
}

// env is one namespace with an owner in it.
type env struct {
	t       testing.TB
	ns      string
	config  *rest.Config
	admin   client.Client // unstructured and uncounted: the other people
	owner   Owner
	applier *Applier
	calls   *counter
}

func newEnv(t testing.TB) *env {
	t.Helper()
	c := cluster.Shared(t)
	e := &env{t: t, ns: c.Namespace(t), config: c.Config}
	e.admin = newClient(t, c.Config)
	holder := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "owner"}}
	if err := e.admin.Create(t.Context(), holder); err != nil {
		t.Fatal(err)
	}
	e.owner = Owner{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Namespace:        e.ns, Name: "owner", UID: holder.UID,
	}
	e.restart()
	return e
}

func newClient(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// restart replaces the applier by one without a memory.
func (e *env) restart() { e.as(e.config) }

// as makes the applier write with another credential; it still reads as admin.
func (e *env) as(config *rest.Config) {
	e.t.Helper()
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		e.calls = &counter{next: next}
		return e.calls
	})
	disco, err := discovery.NewDiscoveryClientForConfig(e.config)
	if err != nil {
		e.t.Fatal(err)
	}
	e.applier = New(Options{Client: newClient(e.t, config), Reader: e.admin, OpenAPI: disco.OpenAPIV3()})
}

// remote makes the owner one whose children lie on a target cluster.
func (e *env) remote() {
	e.owner.Remote, e.owner.Kind = true, "Nova"
}

// obj builds a desired object in the namespace from YAML.
func (e *env) obj(stage render.Stage, policy render.Policy, doc string) render.Object {
	e.t.Helper()
	o, err := render.NewObject(stage, policy, e.raw(doc).Object)
	if err != nil {
		e.t.Fatal(err)
	}
	return o
}

// raw decodes YAML as it stands, in the namespace.
func (e *env) raw(doc string) *unstructured.Unstructured {
	e.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		e.t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &u.Object); err != nil {
		e.t.Fatal(err)
	}
	u.SetNamespace(e.ns)
	return u
}

// run applies and returns report and error.
func (e *env) run(set render.Set) (diff.Report, error) {
	e.t.Helper()
	return e.applier.Apply(e.t.Context(), e.owner, set)
}

// must applies and fails the test on an error.
func (e *env) must(set render.Set) diff.Report {
	e.t.Helper()
	r, err := e.run(set)
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

// live reads an object past every cache; nil if it does not exist.
func (e *env) live(key render.Key) *unstructured.Unstructured {
	e.t.Helper()
	u, err := Get(e.t.Context(), e.admin, key)
	if err != nil {
		e.t.Fatal(err)
	}
	return u
}

// patch writes to an object as another manager.
func (e *env) patch(key render.Key, manager string, kind types.PatchType, doc string) {
	e.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		e.t.Fatal(err)
	}
	opts := []client.PatchOption{client.FieldOwner(manager)}
	if kind == types.ApplyPatchType {
		opts = append(opts, client.ForceOwnership)
	}
	if err := e.admin.Patch(context.WithoutCancel(e.t.Context()), keyed(key), client.RawPatch(kind, raw), opts...); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) wantCalls(want string) {
	e.t.Helper()
	if got := e.calls.take(); got != want {
		e.t.Errorf("requests %q, want %q", got, want)
	}
}

// desired is a set of desired objects and nothing else.
func desired(objects ...render.Object) render.Set { return render.Set{Desired: objects} }

func actions(r diff.Report) string {
	var out []string
	for _, res := range r.Results {
		out = append(out, res.Key.Name+":"+string(res.Action))
	}
	return strings.Join(out, " ")
}

const (
	configMapDoc  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {a: b}}, data: {k: v}}`
	deploymentDoc = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, labels: {app: api}}
spec:
  replicas: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      containers:
      - name: api
        image: nova:2026.1
        ports: [{containerPort: 8774}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
        resources: {limits: {memory: 1024Mi}, requests: {cpu: 0.5}}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]`
	jobDoc = `
apiVersion: batch/v1
kind: Job
metadata: {name: db-sync}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: db-sync, image: "nova:2026.1-hang-db-sync"}]`
)

// Short names for what tables write often.
type (
	contextT  = context.Context
	schemaGVK = schema.GroupVersionKind
)

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// roundTripper is a transport in a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
