package nova_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/controllers/pass"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// novaWorld is a world with a Nova, whose operators are watched.
type novaWorld struct {
	*world.Subject[*v1alpha1.Nova]
	requests requestLog
}

// requestLog counts what a manager asks of the API server, watches, discovery and
// events aside.
type requestLog struct {
	mu    sync.Mutex
	calls []string
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return world.RoundTripper(func(r *http.Request) (*http.Response, error) {
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

// newWorld makes a namespace on the shared cluster. When the test ends, nothing the
// manager said may contain a credential.
func newWorld(t *testing.T) *novaWorld {
	t.Helper()
	return newWorldOn(t, cluster.Shared(t))
}

func newWorldOn(t *testing.T, c *cluster.Cluster) *novaWorld {
	t.Helper()
	w := &novaWorld{Subject: world.Of(world.In(t, c, c.Namespace(t)), world.Novas)}
	t.Cleanup(w.endsWell)
	w.Play(w.Namespace)
	return w
}

// run starts a manager whose requests are counted, and stops it with the test. The
// returned function stops it earlier.
func (w *novaWorld) run(change ...func(*rest.Config, *operator.Options)) (stop func()) {
	w.T.Helper()
	counted := func(c *rest.Config, _ *operator.Options) { c.Wrap(w.requests.wrap) }
	return w.Run(append([]func(*rest.Config, *operator.Options){counted}, change...)...)
}

// watch follows the objects of a kind in the namespace until the context ends.
func (w *novaWorld) watch(ctx context.Context, list client.ObjectList) watch.Interface {
	w.T.Helper()
	watching, err := client.NewWithWatch(w.Cluster.Config, client.Options{Scheme: w.Client.Scheme()})
	if err != nil {
		w.T.Fatal(err)
	}
	events, err := watching.Watch(ctx, list, client.InNamespace(w.Namespace))
	if err != nil {
		w.T.Fatal(err)
	}
	return events
}

// play lets the controller of one object report, although its kind is paused.
func (w *novaWorld) play(gvk schema.GroupVersionKind, name string) {
	w.T.Helper()
	if err := w.Surroundings.Play(w.T.Context(), gvk.Kind, w.Namespace, name); err != nil {
		w.T.Fatal(err)
	}
}

// promptly runs a step and fails when it took so long that a poll may have done what
// a watch should: the shortest is 15 s at a gate, and 30 s when the Nova is Ready.
func (w *novaWorld) promptly(step func()) {
	w.T.Helper()
	limit := 14 * time.Second
	if meta.IsStatusConditionTrue(w.MustLive().Status.Conditions, v1alpha1.ConditionReady) {
		limit = 29 * time.Second
	}
	start := time.Now()
	step()
	if took := time.Since(start); took > limit {
		w.T.Errorf("it took %s: no watch woke the Nova", took)
	}
}

// pass makes the manager look again, by an edit that matters to the archive only, and
// waits until it has.
func (w *novaWorld) pass() {
	w.T.Helper()
	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{MaxRows: new(int32(1000 + n.Generation))}
	})
	w.AwaitSeen()
}

// inventory lists what is the Nova's, as kind/name.
func (w *novaWorld) inventory() []string {
	w.T.Helper()
	owner := pass.OwnerOf(rendernova.About(), w.MustLive())
	var out []string
	w.EachChild(func(u *unstructured.Unstructured) {
		if owner.Owns(u) {
			out = append(out, u.GetKind()+"/"+u.GetName())
		}
	})
	slices.Sort(out)
	return out
}

// settled waits until the manager has asked nothing of the API server for a while,
// and forgets what it asked before.
func (w *novaWorld) settled() {
	w.T.Helper()
	w.requests.take()
	quiet := time.Now()
	cluster.Eventually(w.T, "a quiet manager", func(context.Context) (bool, error) {
		if calls := w.requests.take(); len(calls) > 0 {
			quiet = time.Now()
			return false, fmt.Errorf("it asked for %v", calls)
		}
		return time.Since(quiet) > 2*time.Second, nil
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
