package pass

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// record counts finished Jobs once, writes the status when it changed, and then sends
// the events of the decision: a pass whose status is lost decides the same again.
func (r *Reconciler) record(ctx context.Context, o v1alpha1.Resource, d pipeline.Decision) error {
	for _, rec := range d.Records {
		r.recordJob(ctx, o, rec)
	}
	if err := r.writeStatus(ctx, o, d); err != nil {
		return err
	}
	series := r.kind.Series(o)
	metrics.Track(series)
	metrics.SetConditions(series, o.GetConditions())
	r.emit(o, d.Events)
	return nil
}

// writeStatus writes the status of a decision when it changed. The resource then has it.
func (r *Reconciler) writeStatus(ctx context.Context, o v1alpha1.Resource, d pipeline.Decision) error {
	before, after := v1alpha1.Copy(o), v1alpha1.Copy(o)
	conditions := before.GetConditions()
	after.TakeStatus(d.After)
	for _, c := range d.Conditions {
		meta.SetStatusCondition(&conditions, c)
	}
	after.SetConditions(conditions)
	if equality.Semantic.DeepEqual(o, after) {
		return nil
	}
	before.SetConditions(o.GetConditions())
	if err := r.writer.Status().Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	r.writes.note(after)
	metrics.StatusWrites.WithLabelValues(r.kind.Kind.Kind).Inc()
	o.TakeStatus(after)
	o.SetResourceVersion(after.GetResourceVersion())
	return nil
}

// recordJob marks a Job as counted first and counts it only then: at most once.
func (r *Reconciler) recordJob(ctx context.Context, o v1alpha1.Resource, rec pipeline.Record) {
	before, after := v1alpha1.Copy(o), v1alpha1.Copy(o)
	annotations := map[string]string{}
	maps.Copy(annotations, after.GetAnnotations())
	annotations[v1alpha1.AnnotationLastJobUID(rec.Subject)] = rec.UID
	after.SetAnnotations(annotations)
	if err := r.writer.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Deferred the record of a Job", "subject", rec.Subject, "job", rec.UID)
		r.emit(o, []render.Event{{Type: corev1.EventTypeWarning, Reason: rec.Deferred, Message: fmt.Sprintf(
			"Patching last-observed %s Job UID failed; metric emission deferred to the next reconcile: %v", rec.Subject, err)}})
		return
	}
	r.writes.note(after)
	o.SetResourceVersion(after.GetResourceVersion())
	o.SetAnnotations(after.GetAnnotations())
	if rec.Counted {
		r.kind.Count(r.kind.Series(o), rec)
	}
	r.emit(o, rec.Events)
}

// emit sends events.
func (r *Reconciler) emit(o v1alpha1.Resource, list []render.Event) {
	for _, e := range list {
		r.recorder.Event(o, e.Type, e.Reason, e.Message)
	}
}

// shownFields is how many changed fields an event names.
const shownFields = 5

// tell says what the applier found: drift, conflicts, and what it did.
func (r *Reconciler) tell(ctx context.Context, o v1alpha1.Resource, report diff.Report) {
	var events []render.Event
	for _, d := range report.Drifts {
		message := fmt.Sprintf("%s had been changed and was put right: %s", d.Key, diff.Fields(d.Changes, shownFields, "by"))
		if d.Deleted {
			message = fmt.Sprintf("%s had been deleted and was created again", d.Key)
		}
		events = append(events, render.Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventDriftCorrected, Message: message})
	}
	for _, c := range r.claims(o, report) {
		events = append(events, render.Event{Type: corev1.EventTypeWarning, Reason: v1alpha1.EventFieldConflict, Message: fmt.Sprintf(
			"%s: field %s is claimed by manager %q and was taken back; remove it there", c.Key, c.Path, c.Manager)})
	}
	r.emit(o, events)
	log := ctrl.LoggerFrom(ctx)
	for _, res := range report.Results {
		if res.Err == nil && res.Action != diff.ActionUnchanged && res.Action != diff.ActionHeld {
			log.Info("Applied child", "kind", res.Key.Kind, "child", res.Key.Name, "action", string(res.Action), "reason", res.Reason)
		}
	}
}

// claims are the conflicts in which somebody claims a field of ours.
func (r *Reconciler) claims(o v1alpha1.Resource, report diff.Report) []diff.Conflict {
	return slices.DeleteFunc(slices.Clone(report.Conflicts), func(c diff.Conflict) bool {
		return r.kind.Expected != nil && r.kind.Expected(o, c)
	})
}
