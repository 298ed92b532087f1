package nova

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// record counts finished Jobs once, writes the status when it changed, and then sends
// the events of the decision: a pass whose status is lost decides the same again.
func (r *Reconciler) record(ctx context.Context, n *v1alpha1.Nova, result rendernova.Result) error {
	before := n.DeepCopy()
	status := result.Status
	status.Conditions = before.Status.DeepCopy().Conditions
	for _, c := range result.Conditions {
		meta.SetStatusCondition(&status.Conditions, c)
	}
	for _, rec := range result.Records {
		r.recordJob(ctx, n, rec)
	}
	// The annotations of the records moved the resourceVersion.
	before.ResourceVersion = n.ResourceVersion
	before.Annotations = n.Annotations
	if !equality.Semantic.DeepEqual(before.Status, status) {
		n.Status = status
		if err := r.writer.Status().Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("write status: %w", err)
		}
		r.writes.note(n)
		metrics.StatusWrites.WithLabelValues("Nova").Inc()
	}
	expose(n, status)
	r.emit(n, result.Events)
	return nil
}

// recordJob marks a Job as counted first and counts it only then: at most once.
func (r *Reconciler) recordJob(ctx context.Context, n *v1alpha1.Nova, rec rendernova.Record) {
	annotation := v1alpha1.AnnotationLastJobUID(rec.Subject)
	before := n.DeepCopy()
	after := n.DeepCopy()
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, annotation, rec.UID)
	if err := r.writer.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Deferred the record of a Job", "subject", rec.Subject, "job", rec.UID)
		r.emit(n, []render.Event{{Type: corev1.EventTypeWarning, Reason: rec.Deferred, Message: fmt.Sprintf(
			"Patching last-observed %s Job UID failed; metric emission deferred to the next reconcile: %v", rec.Subject, err)}})
		return
	}
	r.writes.note(after)
	n.ResourceVersion, n.Annotations = after.ResourceVersion, after.Annotations
	if rec.Counted {
		count(n, rec)
	}
	r.emit(n, rec.Events)
}

func count(n *v1alpha1.Nova, rec rendernova.Record) {
	total, duration := metrics.DBSync, metrics.DBSyncDuration
	if rec.Subject == v1alpha1.JobSubjectDBArchive {
		total, duration = metrics.DBArchive, metrics.DBArchiveDuration
	}
	total.WithLabelValues(n.Name, n.Namespace, rec.Result).Inc()
	duration.WithLabelValues(n.Name, n.Namespace).Observe(rec.Duration.Seconds())
}

func (r *Reconciler) emit(n *v1alpha1.Nova, list []render.Event) {
	for _, e := range list {
		r.recorder.Event(n, e.Type, e.Reason, e.Message)
	}
}

// shownFields is how many fields of a drift an event names.
const shownFields = 5

// report tells what the applier found: drift, conflicts, and objects that could not
// be written, whose conditions turn False.
func (r *Reconciler) report(ctx context.Context, n *v1alpha1.Nova, result *rendernova.Result, report diff.Report) {
	log := ctrl.LoggerFrom(ctx)
	for _, d := range report.Drifts {
		message := fmt.Sprintf("%s had been changed and was put right: %s", d.Key, diff.Fields(d.Changes, shownFields, "by"))
		if d.Deleted {
			message = fmt.Sprintf("%s had been deleted and was created again", d.Key)
		}
		r.emit(n, []render.Event{{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventDriftCorrected, Message: message}})
	}
	for _, c := range report.Conflicts {
		if leftByAutoscaler(n, c) {
			continue
		}
		metrics.FieldConflicts.WithLabelValues(c.Key.Kind, c.Manager).Inc()
		r.emit(n, []render.Event{{Type: corev1.EventTypeWarning, Reason: v1alpha1.EventFieldConflict, Message: fmt.Sprintf(
			"%s: field %s is claimed by manager %q and was taken back; remove it there", c.Key, c.Path, c.Manager)}})
	}
	countFailures(unwritten(n, report))
	for _, res := range report.Results {
		switch {
		case res.Err != nil:
			result.ApplyFailed(n, res.Key, res.Err)
		case res.Action != diff.ActionUnchanged && res.Action != diff.ActionHeld:
			log.Info("Applied child", "kind", res.Key.Kind, "child", res.Key.Name, "action", string(res.Action), "reason", res.Reason)
		}
	}
}

// leftByAutoscaler tells a count that the autoscaler of the API set from one that
// somebody claims: once the block is gone, the spec's own count follows it.
func leftByAutoscaler(n *v1alpha1.Nova, c diff.Conflict) bool {
	last := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionHPAReady)
	return n.Spec.Autoscaling == nil && last != nil && last.Reason == v1alpha1.ReasonHPAReady &&
		c.Key.GroupVersionKind == rendernova.KindDeployment && c.Key.Name == n.Name && c.Path == "spec.replicas"
}
