package nova_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/world"
)

var errDead = errors.New("the manager is dead")

// reaper kills managers: each write goes through once, its answer is lost, and nothing
// that manager sends afterwards arrives.
type reaper struct {
	mu sync.Mutex
	// survived are the writes whose answer was lost before, with how often.
	survived map[string]int
}

// lives is how often the answer to a write is lost: the Nova itself is written for
// its finalizer, for two records of a Job, and with each status.
func lives(write string) int {
	if strings.Contains(write, "novas/nova") {
		return 4
	}
	return 1
}

// spares tells whether a request is let alone.
func (r *reaper) spares(req *http.Request) bool {
	if req.Method == http.MethodGet || strings.Contains(req.URL.Path, "/events") {
		return true
	}
	_, object, _ := strings.Cut(req.URL.Path, "/namespaces/")
	_, object, _ = strings.Cut(object, "/")
	write := req.Method + " " + object
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.survived[write] == lives(write) {
		return true
	}
	r.survived[write]++
	return false
}

// next is a manager that dies at its first write that was not survived yet.
func (r *reaper) next(died chan<- struct{}) func(*rest.Config, *operator.Options) {
	var mu sync.Mutex
	dead := false
	isDead := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return dead
	}
	return func(c *rest.Config, _ *operator.Options) {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if isDead() {
					return nil, errDead
				}
				if r.spares(req) {
					return next.RoundTrip(req)
				}
				resp, err := next.RoundTrip(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				mu.Lock()
				defer mu.Unlock()
				if !dead {
					dead = true
					close(died)
				}
				return nil, errDead
			})
		})
	}
}

func TestRestart_AfterEachWriteComesToTheSameEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	jobs := w.jobsSeen()
	w.Create(w.Minimal())
	reaper := &reaper{survived: map[string]int{}}
	for alive := false; !alive; {
		died := make(chan struct{})
		stop := w.run(reaper.next(died))
		cluster.Eventually(t, "the manager to be done or dead", func(ctx context.Context) (bool, error) {
			select {
			case <-died:
				return true, nil
			default:
			}
			n, err := w.Live(ctx)
			alive = err == nil && meta.IsStatusConditionTrue(n.Status.Conditions, v1alpha1.ConditionReady)
			return alive, err
		})
		stop()
	}
	w.run()
	w.pass()
	t.Logf("it died after %d different writes", len(reaper.survived))
	if len(reaper.survived) < len(minimalInventory) {
		t.Errorf("writes it died after: %v", reaper.survived)
	}
	w.AwaitReady()
	if diff := cmp.Diff(minimalInventory, nameless(w.inventory())); diff != "" {
		t.Error(diff)
	}
	if n, err := w.Live(t.Context()); err != nil || len(n.Status.Cells) != 2 || n.Status.InstalledRelease != "2026.1" {
		t.Errorf("the status ends as %+v (%v)", n.Status, err)
	}
	for _, name := range roles {
		if d := w.deployment(name); d.Generation != 1 {
			t.Errorf("%s was written %d times", name, d.Generation)
		}
	}
	if seen := jobs(); len(seen) != 1 {
		t.Errorf("db-sync ran %d times", len(seen))
	}
	if events, count := w.said(v1alpha1.EventDatabaseSynced), w.syncs("succeeded"); events > 1 || count > 1 {
		t.Errorf("one Job made %d events and counted %v times", events, count)
	}
}

// jobsSeen follows the db-sync Jobs. The returned function tells which there were.
func (w *novaWorld) jobsSeen() func() map[types.UID]bool {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.T.Context())
	jobs := w.watch(ctx, &batchv1.JobList{})
	seen := map[types.UID]bool{}
	var done sync.WaitGroup
	done.Go(func() {
		for e := range jobs.ResultChan() {
			if j, ok := e.Object.(*batchv1.Job); ok && j.Name == "nova-db-sync" {
				seen[j.UID] = true
			}
		}
	})
	return func() map[types.UID]bool {
		cancel()
		done.Wait()
		return seen
	}
}

// own lets a manager act for its service account, with the rights that are installed,
// in every namespace.
func own(c *rest.Config, o *operator.Options) {
	account := "system:serviceaccount:" + process.Namespace + ":" + process.ServiceAccount
	c.Impersonate = rest.ImpersonationConfig{
		UserName: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + process.Namespace, "system:authenticated"},
	}
	o.Namespace = ""
}

// It has a cluster of its own, whose API server it kills, and a manager that sees all
// of it.
func TestRestart_OfTheAPIServerWithTheRightsOfAnInstallation(t *testing.T) {
	t.Parallel()
	c := cluster.StartFor(t, options())
	w := newWorldOn(t, c)
	if err := process.InstallRole(t.Context(), c.Config, w.Client, "../.."); err != nil {
		t.Fatal(err)
	}
	w.Play(metav1.NamespaceAll)
	w.Inputs()
	w.Foreign(render.KindClusterSecretStore, v1alpha1.DefaultSecretStoreName)
	w.run(own)
	w.useEveryRight()
	if refused := logs.mentioning("forbidden", process.ServiceAccount); len(refused) > 0 {
		t.Errorf("%d times it may not, first: %s", len(refused), refused[0])
	}

	// Killed in the middle of an install.
	w.Surroundings.Pause("Grant")
	n := w.Minimal()
	n.Spec.SecretStoreRef = nil
	w.Create(n)
	w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonWaitingForDatabase)
	w.restartAPIServer(c)
	if err := w.Surroundings.Resume(t.Context(), "Grant"); err != nil {
		t.Fatal(err)
	}
	w.AwaitReady()
	synced, before := w.dbSync(), w.inventory()

	// Killed while nothing happens.
	w.restartAPIServer(c)
	w.pass()
	w.AwaitReady()
	if diff := cmp.Diff(before, w.inventory()); diff != "" {
		t.Error(diff)
	}
	if w.dbSync() != synced {
		t.Error("db-sync ran again")
	}
	for _, name := range roles {
		if d := w.deployment(name); d.Generation != 1 {
			t.Errorf("%s was written %d times", name, d.Generation)
		}
	}
}

// useEveryRight takes a Nova with all that is optional through its life.
func (w *novaWorld) useEveryRight() {
	w.T.Helper()
	n := w.Minimal()
	n.Spec.SecretStoreRef = nil
	n.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{}}}
	n.Spec.Gateway = &v1alpha1.GatewaySpec{ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw"}, Hostname: "nova.example.com"}
	n.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80))}
	n.Spec.Scheduler.Deployment.VerticalAutoscaling = &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Off"}
	w.Create(n)
	w.AwaitReady()
	w.tag("2026.1-next")
	for _, name := range roles {
		w.awaitImage(name, "registry.example.com/nova:2026.1-next")
	}
	w.AwaitReady()
	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.NetworkPolicy, n.Spec.Gateway, n.Spec.Autoscaling, n.Spec.Scheduler.Deployment.VerticalAutoscaling = nil, nil, nil, nil
	})
	w.AwaitReady()
	w.AwaitEvent(v1alpha1.EventDatabaseSynced)
	if err := w.Client.Delete(w.T.Context(), n); err != nil {
		w.T.Fatal(err)
	}
	cluster.Eventually(w.T, "the Nova and its Deployments to go", func(ctx context.Context) (bool, error) {
		_, err := w.Live(ctx)
		return apierrors.IsNotFound(err) && w.Get(render.KindDeployment, "nova") == nil && w.Get(render.KindGrant, "nova") == nil, client.IgnoreNotFound(err)
	})
}

func (w *novaWorld) restartAPIServer(c *cluster.Cluster) {
	w.T.Helper()
	if err := errors.Join(c.StopAPIServer(w.T.Context()), c.StartAPIServer(w.T.Context())); err != nil {
		w.T.Fatal(err)
	}
}
