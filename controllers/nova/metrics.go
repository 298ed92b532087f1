package nova

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// stepConditions maps the label of a step to the condition it turns.
var stepConditions = rendernova.StepConditions()

func init() {
	// Prometheus sees no increase in a counter that appears with its first error.
	for step := range stepConditions {
		metrics.ReconcileErrors.WithLabelValues(step, conditionOf(step))
	}
}

// conditionOf is the condition_type label of a step.
func conditionOf(step string) string {
	if condition := stepConditions[step]; condition != "" {
		return condition
	}
	return metrics.Unknown
}

// observeSteps records how long a pass took for each step it reached, and the steps
// that failed.
func (r *Reconciler) observeSteps(result rendernova.Result, took time.Duration) {
	for _, step := range result.Reached {
		metrics.ReconcileDuration.WithLabelValues(step).Observe(took.Seconds())
	}
	for _, step := range failedSteps(result.Reached, result.Err) {
		metrics.ReconcileErrors.WithLabelValues(step, conditionOf(step)).Inc()
	}
}

// failedSteps lists the steps behind the refusals of a decision, each once. A refusal
// names a condition. Where several steps turn it, the last one reached is meant: a
// refusal ends the pass. Members of the concurrent group go on, but share none.
func failedSteps(reached []string, err error) []string {
	var failed []string
	for _, refused := range refusals(err) {
		for _, step := range slices.Backward(reached) {
			if stepConditions[step] == refused.Condition {
				if !slices.Contains(failed, step) {
					failed = append(failed, step)
				}
				break
			}
		}
	}
	return failed
}

// refusals are the ReasonErrors in a tree of joined errors.
func refusals(err error) []*render.ReasonError {
	switch e := err.(type) { //nolint:errorlint // every error of the tree is wanted; errors.As gives the first
	case *render.ReasonError:
		return []*render.ReasonError{e}
	case interface{ Unwrap() []error }:
		var all []*render.ReasonError
		for _, part := range e.Unwrap() {
			all = append(all, refusals(part)...)
		}
		return all
	case interface{ Unwrap() error }:
		return refusals(e.Unwrap())
	default:
		return nil
	}
}

// expose publishes the state of a Nova after a pass. One without our finalizer may go
// unseen, and nobody would drop its series.
func expose(n *v1alpha1.Nova, status v1alpha1.NovaStatus) {
	if !controllerutil.ContainsFinalizer(n, v1alpha1.FinalizerNova) {
		return
	}
	metrics.Track(n.Namespace, n.Name)
	metrics.SetConditions(n.Namespace, n.Name, status.Conditions)
}
