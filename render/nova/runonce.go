package nova

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// jobState is where the run-once Job of a template is.
type jobState int

const (
	jobRunning jobState = iota
	jobDone
	jobFailed
)

// templateHash is the digest of a pod template, by which a finished Job proves that
// it ran this very template.
func templateHash(template *corev1ac.PodTemplateSpecApplyConfiguration) (string, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("hash pod template: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// runOnce decides about the Job of a child: one run for one template. A running Job is
// never touched, even when its template went stale; a finished one of another
// template goes, and the next pass makes the new one.
func (p *pass) runOnce(id string) (Job, jobState) {
	migration := migrations[id]
	name := p.nova.Name + migration.suffix
	live, exists := p.seen.Jobs[name]
	if !exists {
		return Job{}, jobRunning
	}
	template, err := migration.template(p)
	if err != nil {
		p.refuse(err)
		return live, jobRunning
	}
	hash, err := templateHash(template)
	if err != nil {
		p.refuse(err)
		return live, jobRunning
	}
	switch {
	case live.Deleting, !live.terminal():
		p.hold(id, "the Job is running")
		return live, jobRunning
	case live.TemplateHash != hash:
		p.removals[id] = render.Absent{UID: live.UID, Reason: "its pod template changed; the next pass runs the new one"}
		return live, jobRunning
	case live.Failed:
		return live, jobFailed
	default:
		return live, jobDone
	}
}

// Record is a fact about a Job, to record once: the annotation for Subject is set to
// UID first, and only then the metric counts and the events go out.
type Record struct {
	// Subject is a JobSubject constant.
	Subject string
	UID     string
	// Counted tells whether a metric counts it, with Result and Duration.
	Counted  bool
	Result   string
	Duration time.Duration
	Events   []render.Event
	// Deferred is the event reason when the annotation can't be written.
	Deferred string
}

// deferred names the event of each subject whose annotation can't be written.
var deferred = map[string]string{
	v1alpha1.JobSubjectDBSync:        v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBSyncCells:   v1alpha1.EventCellsReportEmissionDeferred,
	v1alpha1.JobSubjectDBExpand:      v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBExpandCheck: v1alpha1.EventUpgradeCheckEventEmissionDeferred,
	v1alpha1.JobSubjectDBMigrate:     v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBContract:    v1alpha1.EventDBSyncMetricEmissionDeferred,
	v1alpha1.JobSubjectDBArchive:     v1alpha1.EventDBArchiveMetricEmissionDeferred,
}

// recorded reports whether a subject was recorded for this Job already.
func (p *pass) recorded(subject string, job Job) bool {
	return p.nova.Annotations[v1alpha1.AnnotationLastJobUID(subject)] == job.UID
}

// recordJob counts a finished Job once.
func (p *pass) recordJob(subject string, job Job, events ...render.Event) {
	if p.recorded(subject, job) {
		return
	}
	result := "succeeded"
	if job.Failed {
		result = "failed"
	}
	p.out.Records = append(p.out.Records, Record{
		Subject: subject, UID: job.UID, Counted: true, Result: result,
		Duration: max(0, job.Finished.Sub(job.Created)), Events: events, Deferred: deferred[subject],
	})
}

// recordSync counts a complete db-sync and takes over its cell map. An unreadable
// report leaves the last known map: dropping a UUID is worse than a stale one.
func (p *pass) recordSync(job Job) {
	p.recordJob(v1alpha1.JobSubjectDBSync, job, render.Event{
		Type: corev1.EventTypeNormal, Reason: v1alpha1.EventDatabaseSynced, Message: "Database schema is up to date",
	})
	seen := p.recorded(v1alpha1.JobSubjectDBSyncCells, job)
	if seen && len(p.out.Status.Cells) > 0 {
		return
	}
	found := cells(job.Report)
	if len(found) > 0 {
		p.out.Status.Cells = found
	}
	if seen {
		return
	}
	record := Record{Subject: v1alpha1.JobSubjectDBSyncCells, UID: job.UID, Deferred: deferred[v1alpha1.JobSubjectDBSyncCells]}
	if len(found) == 0 {
		record.Events = []render.Event{{
			Type: corev1.EventTypeNormal, Reason: v1alpha1.EventCellsReportUnavailable,
			Message: "the db-sync Job reported no cell map; status.cells is left unchanged",
		}}
	}
	p.out.Records = append(p.out.Records, record)
}

// WantsReport tells the observer whether the termination message of a finished Job is
// still needed: pods are read uncached, once.
func WantsReport(n *v1alpha1.Nova, job Job) bool {
	unrecorded := func(subject string) bool {
		return n.Annotations[v1alpha1.AnnotationLastJobUID(subject)] != job.UID
	}
	switch job.Name {
	case n.Name + suffixDBSync:
		return job.Complete && (unrecorded(v1alpha1.JobSubjectDBSyncCells) || len(n.Status.Cells) == 0)
	case n.Name + suffixDBExpand:
		return job.terminal() && unrecorded(v1alpha1.JobSubjectDBExpandCheck)
	default:
		return false
	}
}

func failureEvent(reason, message string) render.Event {
	return render.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}
