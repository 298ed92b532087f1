package workload

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// VPAHealth reports the vertical autoscalers of the workloads that opt in, by name, in the
// running step. again ends the remedy for a kind that is not served.
func VPAHealth(p *pipeline.Pass, capability facts.Capability, optedIn []string, again string) {
	names := strings.Join(optedIn, ", ")
	switch {
	case capability.Error != "":
		p.Fail(v1alpha1.ReasonCapabilityProbeFailed, fmt.Errorf("ask for autoscaling.k8s.io/v1 VerticalPodAutoscaler: %s", capability.Error))
		p.HoldAfter("", v1alpha1.ReasonCapabilityProbeFailed)
	case !capability.Served && len(optedIn) > 0:
		p.Unready(v1alpha1.ReasonVPANotInstalled, fmt.Sprintf(
			"%s opt into vertical autoscaling but the cluster does not serve autoscaling.k8s.io/v1 VerticalPodAutoscaler; install it%s",
			names, again))
		p.HoldAfter("", v1alpha1.ReasonVPANotInstalled)
	case !capability.Served:
		p.HoldAfter("", "the cluster does not serve the kind")
		p.Ready(v1alpha1.ReasonVPANotRequired, "no workload opts into vertical autoscaling")
	case len(optedIn) == 0:
		p.Ready(v1alpha1.ReasonVPANotRequired, "no workload opts into vertical autoscaling")
	default:
		p.Ready(v1alpha1.ReasonVPAReady, "VerticalPodAutoscalers are configured: "+names)
	}
}

// VPA sizes the pods of a workload of that kind and name. It is written out because the
// module of the kind has no apply configurations and its types send zero values.
func VPA(
	target schema.GroupVersionKind, name, namespace string, labels map[string]string, v *v1alpha1.VerticalAutoscalingSpec,
) render.Resource {
	update := map[string]any{"updateMode": v.UpdateMode}
	if v.MinReplicas != nil {
		update["minReplicas"] = *v.MinReplicas
	}
	policy := map[string]any{
		"containerName":       "*",
		"controlledValues":    "RequestsOnly",
		"controlledResources": []string{"cpu", "memory"},
	}
	if len(v.MinAllowed) > 0 {
		policy["minAllowed"] = v.MinAllowed
	}
	if len(v.MaxAllowed) > 0 {
		policy["maxAllowed"] = v.MaxAllowed
	}
	return map[string]any{
		"apiVersion": render.KindVPA.GroupVersion().String(),
		"kind":       render.KindVPA.Kind,
		"metadata":   map[string]any{"name": name, "namespace": namespace, "labels": labels},
		"spec": map[string]any{
			"targetRef":      map[string]any{"apiVersion": target.GroupVersion().String(), "kind": target.Kind, "name": name},
			"updatePolicy":   update,
			"resourcePolicy": map[string]any{"containerPolicies": []any{policy}},
		},
	}
}
