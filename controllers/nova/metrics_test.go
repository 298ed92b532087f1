package nova

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
)

func refusal(condition string) error {
	return &render.ReasonError{Condition: condition, Err: errors.New("refused")}
}

func TestFailedSteps(t *testing.T) {
	all := []string{"Secrets", "DBConnectionSecrets", "TransportURLSecret", "Config", "ComputeConfig", "Database", "HPA", "VPA"}
	cases := map[string]struct {
		reached []string
		err     error
		want    []string
	}{
		"nothing failed": {reached: all},
		"of the steps behind one condition the last one reached ended the pass": {
			reached: all[:3], err: refusal(v1alpha1.ConditionSecretsReady), want: []string{"TransportURLSecret"},
		},
		"a step that let the pass go on is not the last one reached": {
			reached: all, err: refusal(v1alpha1.ConditionComputeConfigReady), want: []string{"ComputeConfig"},
		},
		"members of the group fail side by side": {
			reached: all,
			err:     errors.Join(refusal(v1alpha1.ConditionHPAReady), fmt.Errorf("decide: %w", refusal(v1alpha1.ConditionVPAReady))),
			want:    []string{"HPA", "VPA"},
		},
		"two refusals of one step are one failed pass of it": {
			reached: all, err: errors.Join(errors.Join(refusal(v1alpha1.ConditionHPAReady), refusal(v1alpha1.ConditionHPAReady))), want: []string{"HPA"},
		},
		"an error that names no condition belongs to no step": {reached: all, err: errors.New("other")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, failedSteps(tc.reached, tc.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConditionOf_IsUnknownForAnythingElse(t *testing.T) {
	if got := conditionOf("Secrets"); got != v1alpha1.ConditionSecretsReady {
		t.Errorf("Secrets turns %s", got)
	}
	if got := conditionOf("Observe"); got != metrics.Unknown {
		t.Errorf("a step without a condition turns %s", got)
	}
}
