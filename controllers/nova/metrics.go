package nova

import (
	"cmp"
	"slices"
	"time"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// healthStep is the step whose condition tells the health of the API.
const healthStep = "HealthCheck"

// unknownStep is the sub_reconciler of an error no step stands for.
const unknownStep = "Other"

// stepConditions maps the label of a step to the condition it turns.
var stepConditions = map[string]string{}

func init() {
	for _, step := range rendernova.Steps() {
		stepConditions[step.Name] = step.Condition
	}
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

// observeSteps records how long a pass waited for each step it reached, and the steps
// whose decision failed.
func (r *Reconciler) observeSteps(n *v1alpha1.Nova, result rendernova.Result, report diff.Report, asked time.Duration) {
	times := waited(n, report, asked)
	for _, step := range result.Reached {
		metrics.ReconcileDuration.WithLabelValues(step).Observe(times[step].Seconds())
	}
	countFailures(failedSteps(result.Reached, result.Err))
}

// waited adds the calls for the children of each step up; objects of one wave are
// written at a time. The health check waits for the API. A decision itself takes
// microseconds.
func waited(n *v1alpha1.Nova, report diff.Report, asked time.Duration) map[string]time.Duration {
	times := map[string]time.Duration{healthStep: asked}
	for _, res := range report.Results {
		if res.Took > 0 {
			times[stepOf(n, res.Key)] += res.Took
		}
	}
	return times
}

func countFailures(failed []string) {
	for _, step := range failed {
		metrics.ReconcileErrors.WithLabelValues(step, conditionOf(step)).Inc()
	}
}

// unwritten lists the steps whose children could not be written, each once.
func unwritten(n *v1alpha1.Nova, report diff.Report) []string {
	var failed []string
	for _, res := range report.Results {
		if res.Err == nil {
			continue
		}
		if step := stepOf(n, res.Key); !slices.Contains(failed, step) {
			failed = append(failed, step)
		}
	}
	return failed
}

// stepOf is the step that makes a child.
func stepOf(n *v1alpha1.Nova, key render.Key) string {
	return cmp.Or(rendernova.StepOf(n, key), unknownStep)
}

// failedSteps lists the steps behind the refusals of a decision, each once. A refusal
// names a condition. Where several steps turn it, the last one reached is meant: a
// refusal ends the pass. Members of the concurrent group go on, but share none.
func failedSteps(reached []string, err error) []string {
	var failed []string
	for refused := range render.Refusals(err) {
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

// expose publishes the state of a Nova after a pass.
func expose(n *v1alpha1.Nova, status v1alpha1.NovaStatus) {
	metrics.Track(n.Namespace, n.Name)
	metrics.SetConditions(n.Namespace, n.Name, status.Conditions)
}
