package clusters_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubecluster "sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/test/cluster"
)

// world is a fleet that runs on the shared cluster, and finds its registrations in the
// namespace of the test. Every target is the same cluster again.
type world struct {
	t         *testing.T
	home      *cluster.Cluster
	namespace string
	client    client.Client
	manager   ctrl.Manager
	fleet     *clusters.Fleet

	mu sync.Mutex
	// engaged are the engagements the fleet told about, by name, in order.
	engaged map[multicluster.ClusterName][]engagement
	// busy is what Engage does, and its answer; nil takes every cluster.
	busy func(context.Context, kubecluster.Cluster) error
}

type engagement struct {
	ctx     context.Context //nolint:containedctx // its end is what is tested
	cluster kubecluster.Cluster
}

// newWorld starts a manager that ends with the test. Nothing is registered yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.Shared(t)
	w := &world{t: t, home: c, namespace: c.Namespace(t), engaged: map[multicluster.ClusterName][]engagement{}}
	var err error
	if w.client, err = client.New(c.Config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	w.manager, err = ctrl.NewManager(c.Config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.fleet = clusters.New(clusters.Options{Namespace: w.namespace, Scheme: scheme.Scheme, SyncPeriod: time.Hour})
	if err := w.fleet.SetupWithManager(w.manager, w); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("manager: %v", err)
		}
		if strings.Contains(logs.String(), marked) {
			t.Error("a credential is in the log")
		}
	})
	return w
}

// Engage notes what the fleet tells.
func (w *world) Engage(ctx context.Context, name multicluster.ClusterName, cl kubecluster.Cluster) error {
	w.mu.Lock()
	w.engaged[name] = append(w.engaged[name], engagement{ctx, cl})
	busy := w.busy
	w.mu.Unlock()
	if busy != nil {
		return busy(ctx, cl)
	}
	return nil
}

// engages lets the listener do something when it is told.
func (w *world) engages(busy func(context.Context, kubecluster.Cluster) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = busy
}

func (w *world) engagements(name string) []engagement {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.engaged[multicluster.ClusterName(name)]
}

// register creates a registration with the shared cluster's own credential.
func (w *world) register(name string, change ...func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) {
	w.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace, Labels: map[string]string{clusters.Label: "true"}},
		Data:       map[string][]byte{"kubeconfig": kubeconfigOf(w.t, w.home.Config, change...)},
	}
	if err := w.client.Create(w.t.Context(), secret); err != nil {
		w.t.Fatal(err)
	}
}

// account makes a ServiceAccount without permissions and returns a token of it.
func (w *world) account(name string) string {
	w.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}}
	if err := w.client.Create(w.t.Context(), account); err != nil {
		w.t.Fatal(err)
	}
	token := &authenticationv1.TokenRequest{}
	if err := w.client.SubResource("token").Create(w.t.Context(), account, token); err != nil {
		w.t.Fatal(err)
	}
	return token.Status.Token
}

// change edits a registration.
func (w *world) change(name string, edit func(*corev1.Secret)) {
	w.t.Helper()
	secret := &corev1.Secret{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, secret); err != nil {
		w.t.Fatal(err)
	}
	before := secret.DeepCopy()
	edit(secret)
	if err := w.client.Patch(w.t.Context(), secret, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// get waits until a cluster is engaged for the given time, counted from 1.
func (w *world) get(name string, times int) kubecluster.Cluster {
	w.t.Helper()
	var got kubecluster.Cluster
	cluster.Eventually(w.t, name+" engaged", func(ctx context.Context) (bool, error) {
		var err error
		got, err = w.fleet.Get(ctx, multicluster.ClusterName(name))
		return len(w.engagements(name)) == times, err
	})
	if told := w.engagements(name)[times-1].cluster; told != got {
		w.t.Errorf("told about another cluster than Get returns")
	}
	return got
}

// works waits until a cluster is engaged, however often that was tried.
func (w *world) works(name string) {
	w.t.Helper()
	cluster.Eventually(w.t, name+" engaged", func(ctx context.Context) (bool, error) {
		_, err := w.fleet.Get(ctx, multicluster.ClusterName(name))
		return err == nil, err
	})
}

// fails waits until a cluster is not engaged for a reason.
func (w *world) fails(name, why string) error {
	w.t.Helper()
	var got error
	cluster.Eventually(w.t, name+" fails: "+why, func(ctx context.Context) (bool, error) {
		_, got = w.fleet.Get(ctx, multicluster.ClusterName(name))
		if got == nil {
			return false, errors.New("it is engaged")
		}
		if strings.Contains(got.Error(), why) {
			return true, nil
		}
		return false, got
	})
	if strings.Contains(got.Error(), marked) {
		w.t.Errorf("error quotes a credential: %v", got)
	}
	return got
}

// lost waits until nothing valid is registered, for a reason.
func (w *world) lost(name, why string) {
	w.t.Helper()
	if err := w.fails(name, why); !errors.Is(err, multicluster.ErrClusterNotFound) {
		w.t.Errorf("%v is not %v", err, multicluster.ErrClusterNotFound)
	}
}

// broken waits until a registered cluster can't be engaged, for a reason.
func (w *world) broken(name, why string) {
	w.t.Helper()
	if err := w.fails(name, why); errors.Is(err, multicluster.ErrClusterNotFound) || errors.Is(err, clusters.ErrEngaging) {
		w.t.Errorf("%v says that it is not registered, or not tried", err)
	}
}

// ended waits until an engagement, counted from 1, is over.
func (w *world) ended(name string, times int) {
	w.t.Helper()
	select {
	case <-w.engagements(name)[times-1].ctx.Done():
	case <-time.After(time.Minute):
		w.t.Fatalf("engagement %d of %s does not end", times, name)
	}
}

func TestFleet_FollowsARegistration(t *testing.T) {
	t.Parallel()
	const nothingRegistered = "cluster not found"
	tests := map[string]struct {
		edit func(*corev1.Secret)
		want string
	}{
		"key-removed": {func(s *corev1.Secret) { delete(s.Data, "kubeconfig") }, "no key kubeconfig in its data"},
		"key-emptied": {func(s *corev1.Secret) { s.Data["kubeconfig"] = nil }, "no key kubeconfig in its data"},
		"turned-invalid": {func(s *corev1.Secret) {
			s.Data["kubeconfig"] = []byte(document(goodServer, `exec: {command: marked-s3cret}`))
		}, `user "u" runs a command (exec)`},
		"bad-namespaces": {func(s *corev1.Secret) { s.Data["namespaces"] = []byte("a,,b") }, "the key namespaces has an empty entry"},
		"no-namespaces":  {func(s *corev1.Secret) { s.Data["namespaces"] = []byte{} }, "the key namespaces is empty"},
		"label-changed":  {func(s *corev1.Secret) { s.Labels[clusters.Label] = "True" }, nothingRegistered},
		"label-removed":  {func(s *corev1.Secret) { delete(s.Labels, clusters.Label) }, nothingRegistered},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lost(name, nothingRegistered)
			w.register(name)
			w.get(name, 1)
			var good *corev1.Secret
			w.change(name, func(s *corev1.Secret) {
				good = s.DeepCopy()
				tc.edit(s)
			})
			w.ended(name, 1)
			want := nothingRegistered
			if tc.want != nothingRegistered {
				want += ": Secret " + w.namespace + "/" + name + ": " + tc.want
			}
			w.lost(name, want)
			w.change(name, func(s *corev1.Secret) { s.Data, s.Labels = good.Data, good.Labels })
			w.get(name, 2)
			if err := w.client.Delete(t.Context(), good); err != nil {
				t.Fatal(err)
			}
			w.ended(name, 2)
			w.lost(name, nothingRegistered)
		})
	}
}

func TestFleet_ChangedBytesEngageAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("edge")
	first := w.get("edge", 1)
	changes := []func(*corev1.Secret){
		func(s *corev1.Secret) { s.Data["namespaces"] = []byte(w.namespace) },
		func(s *corev1.Secret) { s.Data["namespaces"] = []byte(w.namespace + ",default") },
		func(s *corev1.Secret) { delete(s.Data, "namespaces") },
		func(s *corev1.Secret) { s.Data["kubeconfig"] = append(s.Data["kubeconfig"], '\n') },
	}
	for i, change := range changes {
		w.change("edge", change)
		w.ended("edge", i+1)
		if next := w.get("edge", i+2); next == first {
			t.Error("the old cluster is engaged again")
		}
		// The end of an old engagement must not end the one that took its place.
		if err := w.engagements("edge")[i+1].ctx.Err(); err != nil {
			t.Errorf("engagement %d: %v", i+2, err)
		}
	}
}

func TestFleet_OtherChangesDoNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("edge")
	first := w.get("edge", 1)
	w.change("edge", func(s *corev1.Secret) {
		s.Annotations = map[string]string{"a": "b"}
		s.Data["note"] = []byte("c")
	})
	// Whatever came later had its turn: so had the change.
	for _, name := range []string{"later", "last"} {
		w.register(name)
		w.get(name, 1)
	}
	if again := w.get("edge", 1); again != first || w.engagements("edge")[0].ctx.Err() != nil {
		t.Error("the cluster was engaged anew")
	}
}

func TestFleet_OnlyTheExactLabelInTheNamespaceRegisters(t *testing.T) {
	t.Parallel()
	w, elsewhere := newWorld(t), newWorld(t)
	for name, value := range map[string]string{"capital": "True", "number": "1", "empty": ""} {
		w.register("x-" + name)
		w.change("x-"+name, func(s *corev1.Secret) { s.Labels[clusters.Label] = value })
		w.lost("x-"+name, "cluster not found")
	}
	elsewhere.register("edge")
	elsewhere.get("edge", 1)
	if _, err := w.fleet.Get(t.Context(), "edge"); !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("a Secret in another namespace registers: %v", err)
	}
}

func TestFleet_ASecretBeingDeletedIsWithdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("edge")
	w.change("edge", func(s *corev1.Secret) { s.Finalizers = []string{"test.c5c3.io/wait"} })
	w.get("edge", 1)
	if err := w.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: w.namespace}}); err != nil {
		t.Fatal(err)
	}
	w.ended("edge", 1)
	w.lost("edge", "is being deleted")
	w.change("edge", func(s *corev1.Secret) { s.Finalizers = nil })
}

func TestFleet_ScopeOfNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("edge")
	w.change("edge", func(s *corev1.Secret) { s.Data["namespaces"] = []byte(" kube-public , " + w.namespace) })
	cluster.Eventually(t, "scoped cluster", func(ctx context.Context) (bool, error) {
		cl, err := w.fleet.Get(ctx, "edge")
		if err != nil {
			return false, err
		}
		err = cl.GetClient().Get(ctx, client.ObjectKey{Namespace: "default", Name: "kubernetes"}, &corev1.Service{})
		if err != nil && strings.Contains(err.Error(), "unknown namespace for the cache") {
			return true, nil
		}
		return false, err
	})
	cl, err := w.fleet.Get(t.Context(), "edge")
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.GetClient().Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "edge"}, &corev1.Secret{}); err != nil {
		t.Errorf("a read inside: %v", err)
	}
	if err := cl.GetClient().Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err != nil {
		t.Errorf("a read of a cluster-scoped kind: %v", err)
	}
	if err := cl.GetAPIReader().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "kubernetes"}, &corev1.Service{}); err != nil {
		t.Errorf("an uncached read outside: %v", err)
	}
}

func TestFleet_ByTokenOfAServiceAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.account("access")
	w.register("edge", byToken(token))
	err := w.get("edge", 1).GetAPIReader().Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "edge"}, &corev1.Secret{})
	if want := "system:serviceaccount:" + w.namespace + ":access"; !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("read as %s: %v", want, err)
	}
	if strings.Contains(logs.String(), token) {
		t.Error("the token is in the log")
	}
}

func TestFleet_RejectedCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("edge", byToken(marked))
	w.broken("edge", "target cluster edge: "+w.home.Config.Host+" rejects the credential; renew it in the registration")
	w.change("edge", func(s *corev1.Secret) { s.Data["kubeconfig"] = kubeconfigOf(t, w.home.Config) })
	w.get("edge", 1)
	w.change("edge", func(s *corev1.Secret) { s.Data["kubeconfig"] = kubeconfigOf(t, w.home.Config, byToken(marked)) })
	w.ended("edge", 1)
	w.broken("edge", "rejects the credential")
}

func TestFleet_UnreachableClusterIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := openGate(t, strings.TrimPrefix(w.home.Config.Host, "https://"))
	w.register("closed", func(s *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { s.Server = "https://127.0.0.1:1" })
	w.register("edge", func(s *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { s.Server = "https://" + gate.address })
	w.register("good")
	w.broken("closed", "target cluster closed: it can't be reached: Get \"https://127.0.0.1:1/version\": dial tcp 127.0.0.1:1: connect: connection refused")
	w.broken("edge", "target cluster edge: it can't be reached")
	w.get("good", 1)
	gate.open.Store(true)
	w.get("edge", 1)
}

func TestFleet_FailureToldByTheListenerIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.engages(func(context.Context, kubecluster.Cluster) error { return errors.New("no watch possible") })
	w.register("edge")
	w.broken("edge", "target cluster edge: no watch possible")
	w.ended("edge", 1)
	w.engages(nil)
	w.works("edge")
}

// A cache that may not list a kind never fills: nobody waits for it.
func TestFleet_AMissingPermissionIsToldAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.account("access")
	w.engages(func(ctx context.Context, cl kubecluster.Cluster) error {
		_, err := cl.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
		return err
	})
	w.register("edge", byToken(token))
	w.broken("edge", `configmaps is forbidden: User "system:serviceaccount:`+w.namespace+`:access" cannot list resource "configmaps"`)
	w.ended("edge", 1)
	w.change("edge", func(s *corev1.Secret) { s.Data["kubeconfig"] = kubeconfigOf(t, w.home.Config) })
	w.works("edge")
}

// A registration that is put right does not wait for the attempt with the wrong one.
func TestFleet_AChangeEndsAnAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.engages(func(ctx context.Context, _ kubecluster.Cluster) error {
		<-ctx.Done()
		return ctx.Err()
	})
	w.register("edge")
	cluster.Eventually(t, "an attempt", func(context.Context) (bool, error) { return len(w.engagements("edge")) == 1, nil })
	w.engages(nil)
	w.change("edge", func(s *corev1.Secret) { s.Data["namespaces"] = []byte(w.namespace) })
	w.ended("edge", 1)
	w.get("edge", 2)
}

func TestFleet_IndexesNothing(t *testing.T) {
	err := clusters.New(clusters.Options{}).IndexField(t.Context(), &corev1.Secret{}, "type", nil)
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

// gate is an address that hangs up until it is open; then it leads to a server.
type gate struct {
	address string
	open    atomic.Bool
}

func openGate(t *testing.T, server string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	g := &gate{address: listener.Addr().String()}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			if !g.open.Load() {
				in.Close()
				continue
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				in.Close()
				continue
			}
			pipe := func(to, from net.Conn) {
				defer to.Close()
				_, _ = io.Copy(to, from) // its end is the end of the connection
			}
			go pipe(in, out)
			go pipe(out, in)
		}
	}()
	return g
}
