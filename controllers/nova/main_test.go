package nova_test

import (
	"context"
	"flag"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
)

// parallel is how many tests run at a time: they wait more than they compute.
const parallel = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", parallel); err != nil {
			panic(err)
		}
	}
	// One level deeper the work queue logs items it has not locked; from 8 on client-go
	// writes the bodies of requests.
	logger := zap.New(zap.WriteTo(logs), zap.Level(zapcore.Level(-4)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	cluster.Main(m, options())
}

// options are those of every cluster: all definitions, and the operator's own.
func options() cluster.Options {
	crds, err := filepath.Abs("../../kustomize/crd")
	if err != nil {
		panic(err)
	}
	return cluster.Options{CRDs: append([]string{crds}, cluster.AllCRDs...)}
}

// logs is what every manager and client of this binary logged.
var logs = &logbook{}

type logbook struct {
	mu    sync.Mutex
	lines []string
	// leaks are the lines with a credential.
	leaks []string
}

// Write takes one line.
func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	if betrays(string(line)) {
		l.leaks = append(l.leaks, string(line))
	}
	return len(line), nil
}

// leaked returns the lines with a credential.
func (l *logbook) leaked() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.leaks)
}

// mentioning returns the lines with all of the texts.
func (l *logbook) mentioning(texts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
next:
	for _, line := range l.lines {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// world is a namespace of a real cluster with its surroundings and a manager of the
// test's own, which watches that namespace only.
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

// newWorld makes a namespace on the shared cluster. When the test ends, nothing the
// manager said may contain a credential.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, cluster.Shared(t))
}

func newWorldOn(t *testing.T, c *cluster.Cluster) *world {
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
	w := &world{t: t, namespace: c.Namespace(t), client: cl, config: c.Config}
	t.Cleanup(w.endsWell)
	if w.surroundings, err = surroundings.StartIn(t.Context(), c.Config, w.namespace); err != nil {
		t.Fatal(err)
	}
	return w
}

// run starts a manager and stops it with the test. The returned function stops it
// earlier.
func (w *world) run(change ...func(*rest.Config, *operator.Options)) (stop func()) {
	w.t.Helper()
	config := rest.CopyConfig(w.config)
	config.Wrap(w.requests.wrap)
	settings := operator.Options{
		MetricsAddress: "0", ProbeAddress: "0", SyncPeriod: 10 * time.Minute, Namespace: w.namespace,
		HTTP: w.surroundings.Network.Client(), Reused: true,
	}
	for _, c := range change {
		c(config, &settings)
	}
	mgr, err := operator.New(config, settings)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("manager: %v", err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}
