package nova_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	crds, err := filepath.Abs("../../kustomize/crd")
	if err != nil {
		panic(err)
	}
	cluster.Main(m, cluster.Options{CRDs: append([]string{crds}, cluster.AllCRDs...)})
}

// world is a real cluster with its surroundings and a manager of the test's own, which
// watches the test's namespace only.
type world struct {
	t            *testing.T
	namespace    string
	client       client.Client
	config       *rest.Config
	surroundings *surroundings.Surroundings
	requests     requestLog
}

// requestLog counts what a manager asks of the API server, watches, discovery and
// events aside.
type requestLog struct {
	mu    sync.Mutex
	calls []string
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		watched := r.URL.Query().Get("watch") != ""
		discovery := strings.HasPrefix(r.URL.Path, "/openapi") || strings.Count(r.URL.Path, "/") < 4
		if !watched && !discovery && !strings.Contains(r.URL.Path, "/events") {
			l.mu.Lock()
			l.calls = append(l.calls, r.Method+" "+r.URL.Path)
			l.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// take returns the calls since the last take.
func (l *requestLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.Shared(t)
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
	played, err := surroundings.Start(t.Context(), c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, namespace: c.Namespace(t), client: cl, config: c.Config, surroundings: played}
}

// run starts a manager and stops it with the test. The returned function stops it
// earlier.
func (w *world) run() (stop func()) {
	w.t.Helper()
	counted := rest.CopyConfig(w.config)
	counted.Wrap(w.requests.wrap)
	mgr, err := operator.New(counted, operator.Options{
		MetricsAddress: "0", ProbeAddress: "0", SyncPeriod: 10 * time.Minute, Namespace: w.namespace,
		HTTP: w.surroundings.Network.Client(), Reused: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("manager: %v", err)
		}
	}
	w.t.Cleanup(stop)
	return stop
}
