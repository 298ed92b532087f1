package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// ExtraConfigHealth says which of the operator's own options extraConfig overrides; empty
// for none. It warns when that changes.
func ExtraConfigHealth(p *pipeline.Pass, overridden string) {
	if overridden == "" {
		p.Say(v1alpha1.ConditionExtraConfigHealthy, metav1.ConditionTrue, v1alpha1.ReasonNoOwnedKeysOverridden,
			"spec.extraConfig overrides no operator-owned keys")
		return
	}
	message := "spec.extraConfig overrides operator-owned keys: " + overridden
	p.Say(v1alpha1.ConditionExtraConfigHealthy, metav1.ConditionFalse, v1alpha1.ReasonOwnedKeysOverridden, message)
	last := p.Last(v1alpha1.ConditionExtraConfigHealthy)
	if last == nil || last.Status != metav1.ConditionFalse || last.Message != message {
		p.Warn(v1alpha1.EventExtraConfigOwnedKeyOverride, message)
	}
}
