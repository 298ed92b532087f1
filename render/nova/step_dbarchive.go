package nova

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pod"
)

// archiveDeadline ends a run, in seconds. The script starts no batch in the last 600
// of them, so that none is killed half done.
const archiveDeadline = 3600

// dbArchiveStep reports the archive: a pause outranks a failed run, or the retained
// failed Job would pin the condition for as long as the pause lasts.
func dbArchiveStep(p *pass) {
	a := archiveOf(p.nova)
	last, ended := newestRun(p.seen.ArchiveJobs)
	if ended {
		var events []render.Event
		if last.Failed {
			events = append(events, failureEvent(v1alpha1.EventDBArchiveJobFailed, fmt.Sprintf(
				"Database archive Job %s failed; inspect its pod logs. "+
					"The soft-deleted instance rows keep accumulating in the live tables until a run succeeds", last.Name)))
		}
		p.recordJob(v1alpha1.JobSubjectDBArchive, last, events...)
	}
	switch {
	case a.suspend:
		message := fmt.Sprintf("Database archive is suspended and the backlog of soft-deleted rows grows; "+
			"on resume it runs %q, moving up to %d rows per table per batch", a.schedule, a.maxRows)
		if ended && last.Failed {
			message += fmt.Sprintf("; the last run (Job %s) failed before the pause", last.Name)
		}
		p.Ready(v1alpha1.ReasonDBArchiveSuspended, message)
	case ended && last.Failed:
		p.Unready(v1alpha1.ReasonDBArchiveJobFailed,
			fmt.Sprintf("Database archive Job %s failed; the soft-deleted rows are no longer moving out of the live tables", last.Name))
	default:
		message := fmt.Sprintf("Database archive scheduled %q, moving up to %d soft-deleted rows per table per batch "+
			"into the shadow tables", a.schedule, a.maxRows)
		if a.retentionDays != nil {
			message += fmt.Sprintf(", keeping rows deleted in the last %d days in place", *a.retentionDays)
		}
		p.Ready(v1alpha1.ReasonDBArchiveScheduled, message)
	}
}

// newestRun is the newest run that ended.
func newestRun(jobs []facts.Job) (facts.Job, bool) {
	ended := slices.DeleteFunc(slices.Clone(jobs), func(j facts.Job) bool { return !j.Ended() })
	if len(ended) == 0 {
		return facts.Job{}, false
	}
	return slices.MaxFunc(ended, func(a, b facts.Job) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	}), true
}

// archiveCronJob is built on every pass that gets here, whether or not dbArchive is set.
func archiveCronJob(p *pass) (render.Resource, error) {
	n, a := p.nova, archiveOf(p.nova)
	env := append(jobEnvironment(n), pod.Env("MAX_ROWS", itoa(a.maxRows)), pod.Env("SLEEP", itoa(a.sleep)))
	if a.retentionDays != nil {
		env = append(env, pod.Env("RETENTION_DAYS", itoa(*a.retentionDays)))
	}
	template, err := jobTemplate(p, v1alpha1.ComponentDBArchive, corev1.RestartPolicyOnFailure,
		shell(v1alpha1.ComponentDBArchive, dbArchiveScript), env)
	if err != nil {
		return nil, err
	}
	labels := labelsOf(n).Component(v1alpha1.ComponentDBArchive)
	return batchv1ac.CronJob(archiveName(n), n.Namespace).
		WithLabels(labels).
		WithSpec(batchv1ac.CronJobSpec().
			WithSchedule(a.schedule).
			WithSuspend(a.suspend).
			WithConcurrencyPolicy(batchv1.ForbidConcurrent).
			WithJobTemplate(batchv1ac.JobTemplateSpec().
				WithLabels(labels).
				WithSpec(batchv1ac.JobSpec().WithActiveDeadlineSeconds(archiveDeadline).WithTemplate(template)))), nil
}
