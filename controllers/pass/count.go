package pass

import (
	"cmp"
	"slices"
	"time"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// unknownStep is the sub_reconciler of an error no step stands for.
const unknownStep = "Other"

// conditionOf is the condition_type label of a step.
func conditionOf(kind pipeline.Kind, step string) string {
	for _, s := range kind.Steps {
		if s.Name == step {
			return s.Condition
		}
	}
	return metrics.Unknown
}

// prepare makes the counter of every step start at 0: Prometheus sees no increase in a
// counter that appears with its first error.
func prepare(kind pipeline.Kind) {
	for _, s := range kind.Steps {
		metrics.ReconcileErrors.WithLabelValues(s.Name, s.Condition)
	}
}

// count records how long a pass waited for each step it reached, what it asked of the API
// server, the fields that others claim, and the steps that failed.
func (r *Reconciler) count(o v1alpha1.Resource, d pipeline.Decision, report diff.Report) {
	metrics.ApplyRequests.Add(float64(report.Requests))
	for _, c := range r.claims(o, report) {
		metrics.FieldConflicts.WithLabelValues(c.Key.Kind, c.Manager).Inc()
	}
	kind := r.kind.Kind
	times := waited(kind, o, report)
	for _, step := range d.Reached {
		metrics.ReconcileDuration.WithLabelValues(step).Observe(times[step].Seconds())
	}
	for _, step := range slices.Concat(unwritten(kind, o, report), failedSteps(kind, d.Reached, d.Err)) {
		metrics.ReconcileErrors.WithLabelValues(step, conditionOf(kind, step)).Inc()
	}
}

// waited adds the calls for the children of each step up; objects of one wave are
// written at a time. A decision itself takes microseconds.
func waited(kind pipeline.Kind, o v1alpha1.Resource, report diff.Report) map[string]time.Duration {
	times := map[string]time.Duration{}
	for _, res := range report.Results {
		if res.Took > 0 {
			times[stepOf(kind, o, res.Key)] += res.Took
		}
	}
	return times
}

// unwritten lists the steps whose children could not be written, each once.
func unwritten(kind pipeline.Kind, o v1alpha1.Resource, report diff.Report) []string {
	var failed []string
	for _, res := range report.Results {
		if res.Err == nil {
			continue
		}
		if step := stepOf(kind, o, res.Key); !slices.Contains(failed, step) {
			failed = append(failed, step)
		}
	}
	return failed
}

// stepOf is the step that makes a child.
func stepOf(kind pipeline.Kind, o v1alpha1.Resource, key render.Key) string {
	return cmp.Or(kind.StepOf(o, key), unknownStep)
}

// failedSteps lists the steps behind the refusals of a decision, each once. A refusal
// names a condition. Where several steps turn it, the last one reached is meant: a
// refusal ends the pass. Members of the concurrent group go on, but share none.
func failedSteps(kind pipeline.Kind, reached []string, err error) []string {
	var failed []string
	for refused := range render.Refusals(err) {
		for _, step := range slices.Backward(reached) {
			if conditionOf(kind, step) == refused.Condition {
				if !slices.Contains(failed, step) {
					failed = append(failed, step)
				}
				break
			}
		}
	}
	return failed
}
