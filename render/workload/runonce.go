package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// JobState is where the run-once Job of a template is.
type JobState int

// The states.
const (
	// JobRunning: it runs, or is not there yet.
	JobRunning JobState = iota
	// JobDone: it ran this very template.
	JobDone
	// JobFailed: it failed for good.
	JobFailed
)

// runOnceRetries is how often a failed try is repeated. An unreachable database costs
// about 207 s a try.
const runOnceRetries = 4

// RunOnceJob builds a run-once Job. There is no TTL, because the finished Job is the record
// that its template ran, and no deadline, because a long backfill is legitimate.
func RunOnceJob(
	name, namespace string, labels map[string]string, template *corev1ac.PodTemplateSpecApplyConfiguration,
) (*batchv1ac.JobApplyConfiguration, error) {
	hash, err := templateHash(template)
	if err != nil {
		return nil, err
	}
	return batchv1ac.Job(name, namespace).
		WithLabels(labels).
		WithAnnotations(map[string]string{v1alpha1.AnnotationPodSpecHash: hash}).
		WithSpec(batchv1ac.JobSpec().WithBackoffLimit(runOnceRetries).WithTemplate(template)), nil
}

// templateHash is the digest of a pod template, by which a finished Job proves that it ran
// this very template.
func templateHash(template *corev1ac.PodTemplateSpecApplyConfiguration) (string, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("hash pod template: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// RunOnce decides about the live Job of a child: one run for one template. A running Job is
// never touched, even when its template went stale: only one of which no container ever
// started, and which would hold up the right template for ever. A finished one of another
// template goes, and the next pass makes the new one.
func RunOnce(p *pipeline.Pass, id string, live facts.Job, template *corev1ac.PodTemplateSpecApplyConfiguration) JobState {
	hash, err := templateHash(template)
	switch {
	case err != nil:
		p.Refuse(err)
	case !live.Deleting && !live.Ended() && live.Unstarted && live.TemplateHash != hash:
		p.Remove(id, render.Absent{UID: live.UID, Reason: "none of its containers ever started and its pod template changed; the next pass runs the new one"})
	case live.Deleting, !live.Ended():
		p.Hold(id, "the Job is running")
	case live.TemplateHash != hash:
		p.Remove(id, render.Absent{UID: live.UID, Reason: "its pod template changed; the next pass runs the new one"})
	case live.Failed:
		return JobFailed
	default:
		return JobDone
	}
	return JobRunning
}
