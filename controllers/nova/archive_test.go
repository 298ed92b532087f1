package nova_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/metrics"
)

// cronJob is the archive's.
func (w *novaWorld) cronJob() *batchv1.CronJob {
	w.T.Helper()
	cron := &batchv1.CronJob{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "nova-db-archive"}, cron); err != nil {
		w.T.Fatal(err)
	}
	return cron
}

func TestArchive_RunsOnTheScheduleOfItsBlock(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.AwaitSays(v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveScheduled,
		`Database archive scheduled "@daily", moving up to 1000 soft-deleted rows per table per batch into the shadow tables`)
	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{Schedule: "0 3 * * 0", MaxRows: new(int32(50)), Sleep: new(int32(2)), RetentionDays: new(int32(14))}
	})
	w.AwaitSays(v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveScheduled,
		`Database archive scheduled "0 3 * * 0", moving up to 50 soft-deleted rows per table per batch into the shadow tables, keeping rows deleted in the last 14 days in place`)
	w.AwaitReady()
	spec := w.cronJob().Spec
	env := map[string]string{}
	for _, e := range spec.JobTemplate.Spec.Template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	type facts struct {
		Schedule, Concurrency         string
		Suspend                       bool
		Deadline                      int64
		MaxRows, Sleep, RetentionDays string
	}
	want := facts{"0 3 * * 0", "Forbid", false, 3600, "50", "2", "14"}
	got := facts{
		spec.Schedule, string(spec.ConcurrencyPolicy), *spec.Suspend, *spec.JobTemplate.Spec.ActiveDeadlineSeconds,
		env["MAX_ROWS"], env["SLEEP"], env["RETENTION_DAYS"],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestArchive_AFailedRunIsToldOnceAndAPauseOutranksIt(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.promptly(func() {
		w.archiveRun("nova-db-archive-1", "fail")
		w.AwaitSays(v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveJobFailed,
			"Database archive Job nova-db-archive-1 failed; the soft-deleted rows are no longer moving out of the live tables")
	})
	w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
	if got := w.AwaitEvent(v1alpha1.EventDBArchiveJobFailed); got != "Database archive Job nova-db-archive-1 failed; inspect its pod logs. The soft-deleted instance rows keep accumulating in the live tables until a run succeeds" {
		t.Errorf("event %q", got)
	}

	w.Edit(func(n *v1alpha1.Nova) { n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{Suspend: true} })
	w.AwaitSays(v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveSuspended,
		`Database archive is suspended and the backlog of soft-deleted rows grows; on resume it runs "@daily", moving up to 1000 rows per table per batch; the last run (Job nova-db-archive-1) failed before the pause`)
	w.AwaitReady()
	if !*w.cronJob().Spec.Suspend {
		t.Error("the CronJob is not suspended")
	}
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.DBArchive = nil })
	w.AwaitReason(v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveJobFailed)

	failed := func() float64 {
		return testutil.ToFloat64(metrics.DBArchive.WithLabelValues("nova", w.Namespace, "failed"))
	}
	if events, count := w.said(v1alpha1.EventDBArchiveJobFailed), failed(); events != 1 || count != 1 {
		t.Errorf("one failure made %d events and counted %v times", events, count)
	}
	w.promptly(func() {
		w.archiveRun("nova-db-archive-2", "")
		w.AwaitReason(v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveScheduled)
	})
	w.AwaitReady()
	if events, count := w.said(v1alpha1.EventDBArchiveJobFailed), failed(); events != 1 || count != 1 {
		t.Errorf("after a success there are %d events and %v counted failures", events, count)
	}
}
