package nova

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// deferred names the event of each subject whose annotation can't be written.
var deferred = map[string]string{
	v1alpha1.JobSubjectDBSync:        v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBInspect:     v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBSyncCells:   v1alpha1.EventCellsReportEmissionDeferred,
	v1alpha1.JobSubjectDBExpand:      v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBExpandCheck: v1alpha1.EventUpgradeCheckEventEmissionDeferred,
	v1alpha1.JobSubjectDBMigrate:     v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBContract:    v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBArchive:     v1alpha1.EventDBArchiveMetricEmissionDeferred,
}

// recorded reports whether a subject was recorded for this Job already.
func (p *pass) recorded(subject string, job facts.Job) bool {
	return p.nova.Annotations[v1alpha1.AnnotationLastJobUID(subject)] == job.UID
}

// recordJob counts a finished Job once.
func (p *pass) recordJob(subject string, job facts.Job, events ...render.Event) {
	if p.recorded(subject, job) {
		return
	}
	result := "succeeded"
	if job.Failed {
		result = "failed"
	}
	p.Records = append(p.Records, pipeline.Record{
		Subject: subject, UID: job.UID, Counted: true, Result: result,
		Duration: max(0, job.Finished.Sub(job.Created)), Events: events, Deferred: deferred[subject],
	})
}

// recordSync counts a complete db-sync and takes over its cell map. An unreadable
// report leaves the last known map: dropping a UUID is worse than a stale one.
func (p *pass) recordSync(job facts.Job) {
	p.recordJob(v1alpha1.JobSubjectDBSync, job, render.Event{
		Type: corev1.EventTypeNormal, Reason: v1alpha1.EventDatabaseSynced, Message: "Database schema is up to date",
	})
	seen := p.recorded(v1alpha1.JobSubjectDBSyncCells, job)
	if seen && len(p.status.Cells) > 0 {
		return
	}
	found := cells(job.Message)
	if len(found) > 0 {
		p.status.Cells = found
	}
	if seen {
		return
	}
	record := pipeline.Record{Subject: v1alpha1.JobSubjectDBSyncCells, UID: job.UID, Deferred: deferred[v1alpha1.JobSubjectDBSyncCells]}
	if len(found) == 0 {
		record.Events = []render.Event{{
			Type: corev1.EventTypeNormal, Reason: v1alpha1.EventCellsReportUnavailable,
			Message: "the db-sync Job reported no cell map; status.cells is left unchanged",
		}}
	}
	p.Records = append(p.Records, record)
}

// WantsMessage tells the observer whether the termination message of a finished Job is
// still needed: pods are read uncached, once.
func WantsMessage(n *v1alpha1.Nova, job facts.Job) bool {
	unrecorded := func(subject string) bool {
		return n.Annotations[v1alpha1.AnnotationLastJobUID(subject)] != job.UID
	}
	switch job.Name {
	case n.Name + suffixDBSync:
		return job.Complete && (unrecorded(v1alpha1.JobSubjectDBSyncCells) || len(n.Status.Cells) == 0)
	case n.Name + suffixDBInspect:
		return job.Complete && unrecorded(v1alpha1.JobSubjectDBInspect)
	case n.Name + suffixDBExpand:
		return job.Ended() && unrecorded(v1alpha1.JobSubjectDBExpandCheck)
	default:
		return false
	}
}

func failureEvent(reason, message string) render.Event {
	return render.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}
