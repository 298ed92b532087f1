package nova

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/openstack"
	"github.com/c5c3/nova-operator/render/pipeline"
)

func run(name string, day int, change func(*facts.Job)) facts.Job {
	j := facts.Job{Name: name, UID: "uid-" + name, Complete: true, Created: time.Unix(int64(day)*86400, 0), Finished: time.Unix(int64(day)*86400+60, 0)}
	if change != nil {
		change(&j)
	}
	return j
}

func failed(j *facts.Job)  { j.Complete, j.Failed = false, true }
func running(j *facts.Job) { j.Complete, j.Finished = false, time.Time{} }

// runs gives the archive a history whose newest ended run was recorded already.
func runs(jobs ...facts.Job) func(*Input) {
	return func(in *Input) {
		in.Observed.ArchiveJobs = jobs
		if last, ended := newestRun(jobs); ended {
			in.Nova.Annotations[v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBArchive)] = last.UID
		}
	}
}

func suspended(n *v1alpha1.Nova) {
	n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{Suspend: true, Schedule: "@hourly", MaxRows: new(int32(50))}
}

const (
	scheduled    = `Database archive scheduled "@daily", moving up to 1000 soft-deleted rows per table per batch into the shadow tables`
	paused       = `Database archive is suspended and the backlog of soft-deleted rows grows; on resume it runs "@hourly", moving up to 50 rows per table per batch`
	archiveStuck = "Database archive Job b failed; the soft-deleted rows are no longer moving out of the live tables"
)

var dbArchiveCases = map[string]stepCase{
	"no run yet":            {want: outcome{Ready: true, Reason: v1alpha1.ReasonDBArchiveScheduled, Message: scheduled}},
	"a run that ended well": {change: runs(run("a", 1, nil)), want: outcome{Ready: true, Reason: v1alpha1.ReasonDBArchiveScheduled, Message: scheduled}},
	"a window": {
		nova: func(n *v1alpha1.Nova) { n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{RetentionDays: new(int32(30))} },
		want: outcome{Ready: true, Reason: v1alpha1.ReasonDBArchiveScheduled, Message: scheduled + ", keeping rows deleted in the last 30 days in place"},
	},
	"the newest run failed": {
		change: runs(run("a", 1, nil), run("b", 2, failed)),
		want:   outcome{Reason: v1alpha1.ReasonDBArchiveJobFailed, Message: archiveStuck},
	},
	"the newest run failed and a newer one runs": {
		change: runs(run("c", 3, running), run("b", 2, failed)),
		want:   outcome{Reason: v1alpha1.ReasonDBArchiveJobFailed, Message: archiveStuck},
	},
	"a run after the failed one ended well": {
		change: runs(run("b", 2, failed), run("c", 3, nil)),
		want:   outcome{Ready: true, Reason: v1alpha1.ReasonDBArchiveScheduled, Message: scheduled},
	},
	"a failed run is told once": {
		change: func(in *Input) { in.Observed.ArchiveJobs = []facts.Job{run("b", 2, failed)} },
		want: outcome{Reason: v1alpha1.ReasonDBArchiveJobFailed, Message: archiveStuck, Events: []string{
			"Warning DBArchiveJobFailed: Database archive Job b failed; inspect its pod logs. The soft-deleted instance rows keep accumulating in the live tables until a run succeeds",
		}},
	},
	"suspended": {nova: suspended, want: outcome{Ready: true, Reason: v1alpha1.ReasonDBArchiveSuspended, Message: paused}},
	"suspended outranks a failed run": {
		nova: suspended, change: runs(run("b", 2, failed)),
		want: outcome{Ready: true, Reason: v1alpha1.ReasonDBArchiveSuspended, Message: paused + "; the last run (Job b) failed before the pause"},
	},
}

func TestDBArchive(t *testing.T) { runCases(t, v1alpha1.ConditionDBArchiveReady, dbArchiveCases) }

func TestDBArchive_RecordsARunOnce(t *testing.T) {
	in := readyWorld(t, nil)
	in.Observed.ArchiveJobs = []facts.Job{run("a", 1, nil)}
	want := []pipeline.Record{{Subject: "db-archive", UID: "uid-a", Counted: true, Result: "succeeded", Duration: time.Minute, Deferred: v1alpha1.EventDBArchiveMetricEmissionDeferred}}
	if diff := cmp.Diff(want, Decide(in).Records); diff != "" {
		t.Error(diff)
	}
}

func answers(h *openstack.Answer) func(*Input) { return func(in *Input) { in.Observed.Health = h } }

func unhealthy(reason, message string) outcome {
	return outcome{Reason: reason, Message: message, Requeue: pollHealth}
}

var healthCases = map[string]stepCase{
	"200": {want: outcome{Ready: true, Reason: v1alpha1.ReasonAPIHealthy, Message: "Nova API is responding at http://nova.openstack.svc.cluster.local:8774/"}},
	"any 2xx behind a gateway is asked at the Service": {
		nova: apiGateway, change: answers(&openstack.Answer{Code: 204}),
		want: outcome{Ready: true, Reason: v1alpha1.ReasonAPIHealthy, Message: "Nova API is responding at http://nova.openstack.svc.cluster.local:8774/"},
	},
	"no answer yet, and nothing known": {
		change: all(answers(nil), func(in *Input) { in.Nova.Status.Conditions = nil }),
		want:   unhealthy(v1alpha1.ReasonEndpointNotReady, "endpoint not yet configured"),
	},
	"no answer yet, and well before": {change: answers(nil), want: outcome{
		Ready: true, Reason: v1alpha1.ReasonAPIHealthy, Message: "Nova API is responding at http://nova.openstack.svc.cluster.local:8774/", Requeue: pollHealth,
	}},
	"no answer yet, and not well before": {
		change: all(answers(nil), func(in *Input) {
			meta.FindStatusCondition(in.Nova.Status.Conditions, v1alpha1.ConditionNovaAPIReady).Reason = v1alpha1.ReasonAPIUnhealthy
			meta.FindStatusCondition(in.Nova.Status.Conditions, v1alpha1.ConditionNovaAPIReady).Status = "False"
		}),
		want: unhealthy(v1alpha1.ReasonAPIUnhealthy, "Nova API is responding at http://nova.openstack.svc.cluster.local:8774/"),
	},
	"a redirection": {change: answers(&openstack.Answer{Code: 302}), want: unhealthy(v1alpha1.ReasonAPIUnhealthy, "Nova API returned HTTP 302")},
	"an error with a body of lines": {
		change: answers(&openstack.Answer{Code: 503, Body: "no\r\nhealthy\nupstream\r"}),
		want:   unhealthy(v1alpha1.ReasonAPIUnhealthy, "Nova API returned HTTP 503: no healthy upstream "),
	},
	"an error with a long body": {
		change: answers(&openstack.Answer{Code: 500, Body: strings.Repeat("é", 200)}),
		want:   unhealthy(v1alpha1.ReasonAPIUnhealthy, "Nova API returned HTTP 500: "+strings.Repeat("é", 128)),
	},
	"a timeout":  {change: answers(&openstack.Answer{Class: openstack.ClassTimeout, Error: "x"}), want: unhealthy(v1alpha1.ReasonHealthCheckTimeout, "health check timed out")},
	"no address": {change: answers(&openstack.Answer{Class: openstack.ClassUnresolved, Error: "x"}), want: unhealthy(v1alpha1.ReasonEndpointNotReady, "endpoint not resolvable")},
	"no connection": {
		change: answers(&openstack.Answer{Class: openstack.ClassRefused, Error: "connection refused"}),
		want:   unhealthy(v1alpha1.ReasonConnectionFailed, "connection failed: connection refused"),
	},
	"anything else": {
		change: answers(&openstack.Answer{Class: openstack.ClassOther, Error: "EOF"}),
		want:   unhealthy(v1alpha1.ReasonHealthCheckFailed, "health check failed: EOF"),
	},
}

func TestHealth(t *testing.T) { runCases(t, v1alpha1.ConditionNovaAPIReady, healthCases) }
