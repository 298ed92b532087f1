package nova_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// said counts the events of a reason on the Nova, repetitions included. Events are
// written behind the manager's back, in order: one that is provoked now is the last.
func (w *novaWorld) said(reason string) int32 {
	w.T.Helper()
	before := w.count(v1alpha1.EventDriftCorrected)
	w.Remove(render.KindSecret, "nova-transport-url")
	cluster.Eventually(w.T, "an event about a deleted Secret", func(context.Context) (bool, error) {
		return w.count(v1alpha1.EventDriftCorrected) > before, nil
	})
	return w.count(reason)
}

func (w *novaWorld) count(reason string) int32 {
	w.T.Helper()
	var n int32
	for _, e := range w.Events() {
		if e.Reason == reason {
			n += e.Count
		}
	}
	return n
}

// syncs is how often the metric counted a db-sync of this Nova with a result.
func (w *novaWorld) syncs(result string) float64 {
	return testutil.ToFloat64(metrics.DBSync.WithLabelValues("nova", w.Namespace, result))
}

// tag changes the image.
func (w *novaWorld) tag(tag string) {
	w.T.Helper()
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Image.Tag = tag })
}

// dbSync is the UID of the live Job, empty without one.
func (w *novaWorld) dbSync() types.UID {
	w.T.Helper()
	if job := w.Get(render.KindJob, "nova-db-sync"); job != nil {
		return job.GetUID()
	}
	return ""
}

func TestJobs_AFailedSyncIsToldOnceAndRepaired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	stop := w.run()
	n := w.Minimal()
	n.Spec.Image.Tag = "2026.1-fail-db-sync"
	w.Create(n)
	w.noRetries("nova-db-sync")
	c := w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDBSyncFailed)
	if !strings.HasPrefix(c.Message, "db_sync job failed: BackoffLimitExceeded") {
		t.Errorf("message %q", c.Message)
	}
	if got := w.AwaitEvent(v1alpha1.EventDBSyncFailed); got != c.Message {
		t.Errorf("event %q, condition %q", got, c.Message)
	}
	w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
	failed := w.dbSync()

	// A failed pass is tried again with growing pauses, and by a manager that starts.
	stop()
	w.run()
	w.pass()
	w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDBSyncFailed)
	if events, count := w.said(v1alpha1.EventDBSyncFailed), w.syncs("failed"); events != 1 || count != 1 {
		t.Errorf("one failure made %d events and counted %v times", events, count)
	}
	if diff := cmp.Diff([]string(nil), w.deployments()); diff != "" {
		t.Errorf("behind a failed db-sync: %s", diff)
	}

	w.tag("2026.1-fixed")
	w.AwaitReady()
	if now := w.dbSync(); now == failed {
		t.Error("the failed Job was not replaced")
	}
	if count := w.syncs("succeeded"); count != 1 {
		t.Errorf("one success counted %v times", count)
	}
}

// deployments are those the Nova owns.
func (w *novaWorld) deployments() []string {
	w.T.Helper()
	var out []string
	for _, entry := range w.inventory() {
		if name, ok := strings.CutPrefix(entry, "Deployment/"); ok {
			out = append(out, name)
		}
	}
	return out
}

func TestJobs_AHangingSyncHoldsTheRoll(t *testing.T) {
	t.Parallel()
	w := ready(t)
	before := map[string]int64{}
	for _, name := range roles {
		before[name] = w.deployment(name).Generation
	}
	untouched := func() {
		t.Helper()
		for _, name := range roles {
			if d := w.deployment(name); d.Generation != before[name] {
				t.Errorf("%s was touched behind the closed schema gate: %s", name, d.Spec.Template.Spec.Containers[0].Image)
			}
		}
	}
	w.tag("2026.1-hang-db-sync")
	w.AwaitSays(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDBSyncInProgress, "db_sync job is running")
	cluster.Eventually(t, "the hanging Job", func(context.Context) (bool, error) {
		job := w.Get(render.KindJob, "nova-db-sync")
		return job != nil && strings.Contains(fmt.Sprint(job.Object["spec"]), "hang"), nil
	})
	w.pass()
	untouched()

	// A running Job is never replaced, whatever its template should be by now.
	running := w.dbSync()
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Image.Tag, n.Spec.Region = "2026.1-other", "RegionOne" })
	w.pass()
	w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDBSyncInProgress)
	untouched()
	if now := w.dbSync(); now != running {
		t.Error("a running Job was replaced")
	}

	// Somebody ends it: the next one is of the current template, and then all roll.
	w.Remove(render.KindJob, "nova-db-sync")
	for _, name := range roles {
		w.awaitImage(name, "registry.example.com/nova:2026.1-other")
	}
	w.AwaitReady()
}

func TestJobs_AMissingCellReportKeepsTheCells(t *testing.T) {
	t.Parallel()
	w := ready(t)
	n := w.MustLive()
	cells := n.Status.Cells
	w.tag("2026.1-no-report")
	if got := w.AwaitEvent(v1alpha1.EventCellsReportUnavailable); got != "the db-sync Job reported no cell map; status.cells is left unchanged" {
		t.Errorf("event %q", got)
	}
	w.AwaitReady()
	n = w.MustLive()
	if diff := cmp.Diff(cells, n.Status.Cells); diff != "" || len(cells) != 2 {
		t.Errorf("cells of %v: %s", cells, diff)
	}
	if events := w.said(v1alpha1.EventCellsReportUnavailable); events != 1 {
		t.Errorf("%d events about one Job", events)
	}
}

func TestJobs_ASuccessIsCountedOnceAcrossARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	stop := w.run()
	w.Create(w.Minimal())
	w.AwaitReady()
	stop()
	w.run()
	w.pass()
	w.AwaitReady()
	n := w.MustLive()
	for _, subject := range []string{v1alpha1.JobSubjectDBSync, v1alpha1.JobSubjectDBSyncCells} {
		if got := n.Annotations[v1alpha1.AnnotationLastJobUID(subject)]; got != string(w.dbSync()) {
			t.Errorf("%s was recorded for %q, the Job is %s", subject, got, w.dbSync())
		}
	}
	if events, count := w.said(v1alpha1.EventDatabaseSynced), w.syncs("succeeded"); events != 1 || count != 1 {
		t.Errorf("one Job made %d events and counted %v times", events, count)
	}
}

func TestJobs_SyncFirstThenRoll(t *testing.T) {
	t.Parallel()
	w := ready(t)
	old := w.dbSync()
	stop := w.versions(old)
	w.tag("2026.1-next")
	for _, name := range roles {
		w.awaitImage(name, "registry.example.com/nova:2026.1-next")
	}
	w.AwaitReady()
	synced, rolls := stop()
	if synced == 0 || len(rolls) != len(roles) {
		t.Fatalf("seen: db-sync complete at %d, rolls at %v", synced, rolls)
	}
	for name, at := range rolls {
		if at < synced {
			t.Errorf("%s rolled at %d, db-sync was complete at %d", name, at, synced)
		}
	}
}

// versions follows the Jobs and Deployments until stopped. It returns the version of
// the store at which a db-sync other than the old one was complete, and those at which
// each Deployment took another template.
func (w *novaWorld) versions(old types.UID) (stop func() (synced uint64, rolls map[string]uint64)) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.T.Context())
	jobs, apps := w.watch(ctx, &batchv1.JobList{}), w.watch(ctx, &appsv1.DeploymentList{})
	var synced uint64
	rolls := map[string]uint64{}
	version := func(o client.Object) uint64 {
		v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
		if err != nil {
			w.T.Error(err)
		}
		return v
	}
	done := sync.WaitGroup{}
	done.Go(func() {
		for e := range jobs.ResultChan() {
			if j, ok := e.Object.(*batchv1.Job); ok && j.UID != old && j.Status.Succeeded > 0 && j.Status.CompletionTime != nil && synced == 0 {
				synced = version(j)
			}
		}
	})
	done.Go(func() {
		first := map[string]int64{}
		for e := range apps.ResultChan() {
			d, ok := e.Object.(*appsv1.Deployment)
			if !ok {
				continue
			}
			if generation, seen := first[d.Name]; !seen {
				first[d.Name] = d.Generation
			} else if generation != d.Generation && rolls[d.Name] == 0 {
				rolls[d.Name] = version(d)
			}
		}
	})
	return func() (uint64, map[string]uint64) {
		cancel()
		done.Wait()
		return synced, rolls
	}
}
