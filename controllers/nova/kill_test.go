package nova_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

var errKilled = errors.New("the process is dead")

// guillotine ends a manager right after its n-th write has reached the API server:
// no answer is lost, and no later request gets through.
type guillotine struct {
	// after is the write to die behind; 0 lets it live.
	after int
	dead  chan struct{}

	mu sync.Mutex
	// writes are "METHOD path status", in order.
	writes []string
}

func newGuillotine(after int) *guillotine {
	return &guillotine{after: after, dead: make(chan struct{})}
}

func (g *guillotine) wrap(next http.RoundTripper) http.RoundTripper {
	return world.RoundTripper(func(r *http.Request) (*http.Response, error) {
		select {
		case <-g.dead:
			return nil, errKilled
		default:
		}
		resp, err := next.RoundTrip(r)
		if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") || err != nil {
			return resp, err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.writes = append(g.writes, fmt.Sprintf("%s %s %d", r.Method, r.URL.Path, resp.StatusCode))
		if len(g.writes) == g.after {
			close(g.dead)
		}
		return resp, nil
	})
}

// made counts the creations of one Job.
func (g *guillotine) made(job string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, w := range g.writes {
		if strings.HasSuffix(w, "/jobs/"+job+" 201") || strings.HasSuffix(w, "/jobs 201") {
			n++
		}
	}
	return n
}

func (w *novaWorld) runUnder(g *guillotine) (stop func()) {
	w.T.Helper()
	return w.run(func(c *rest.Config, _ *operator.Options) { c.Wrap(g.wrap) })
}

// outcome is what an installation comes to.
type outcome struct {
	Inventory []string
	Installed string
	Cells     []v1alpha1.CellStatus
	Record    bool
}

func (w *novaWorld) outcome() outcome {
	w.T.Helper()
	n := w.MustLive()
	job := w.Get(render.KindJob, "nova-db-sync")
	return outcome{
		Inventory: nameless(w.inventory()), Installed: n.Status.InstalledRelease, Cells: n.Status.Cells,
		Record: job != nil && n.Annotations[v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBSync)] == string(job.GetUID()),
	}
}

// An operator that dies behind any of its writes, and comes back, ends where one that
// lives does: the same children, one run of db-sync, nothing lost.
func TestNova_SurvivesADeathBehindEveryWrite(t *testing.T) {
	calm := newWorld(t)
	calm.Inputs()
	whole := newGuillotine(0)
	calm.runUnder(whole)
	calm.Create(calm.Minimal())
	calm.AwaitReady()
	calm.settled()
	want := calm.outcome()
	whole.mu.Lock()
	points := len(whole.writes)
	whole.mu.Unlock()
	t.Logf("%d writes in an undisturbed installation", points)

	for k := 1; k <= points; k++ {
		t.Run(fmt.Sprintf("write %d", k), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Inputs()
			first := newGuillotine(k)
			stop := w.runUnder(first)
			w.Create(w.Minimal())
			// Status writes may fall together, so the last points are not always reached.
			cluster.Eventually(t, "death or the end of the installation", func(ctx context.Context) (bool, error) {
				select {
				case <-first.dead:
					return true, nil
				default:
					n, err := w.Live(ctx)
					return err == nil && meta.IsStatusConditionTrue(n.Status.Conditions, v1alpha1.ConditionReady), err
				}
			})
			stop()
			second := newGuillotine(0)
			w.runUnder(second)
			w.AwaitReady()
			if n := first.made("nova-db-sync") + second.made("nova-db-sync"); n != 1 {
				t.Errorf("db-sync ran %d times; writes before the death: %s", n, strings.Join(first.writes, "\n"))
			}
			if diff := cmp.Diff(want, w.outcome()); diff != "" {
				t.Errorf("died behind %v:\n%s", first.writes[max(0, len(first.writes)-1):], diff)
			}
		})
	}
}
