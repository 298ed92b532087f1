package nova

import (
	"fmt"
	"strings"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// vpaStep reports the vertical autoscalers of the Deployments that opt in.
func vpaStep(p *pass) {
	var optedIn []string
	for _, r := range roles {
		if verticalSpec(p.nova, r) != nil {
			optedIn = append(optedIn, r.name(p.nova))
		}
	}
	switch capability := p.seen.VPA; {
	case capability.Error != "":
		p.fail(v1alpha1.ReasonCapabilityProbeFailed, fmt.Errorf("ask for autoscaling.k8s.io/v1 VerticalPodAutoscaler: %s", capability.Error))
		p.holdAfter("", v1alpha1.ReasonCapabilityProbeFailed)
	case !capability.Served && len(optedIn) > 0:
		p.unready(v1alpha1.ReasonVPANotInstalled, fmt.Sprintf(
			"%s opt into vertical autoscaling but the cluster does not serve autoscaling.k8s.io/v1 VerticalPodAutoscaler; install it%s", strings.Join(optedIn, ", "), askedAgain(p.nova)))
		p.holdAfter("", v1alpha1.ReasonVPANotInstalled)
	case !capability.Served:
		p.holdAfter("", "the cluster does not serve the kind")
		p.ready(v1alpha1.ReasonVPANotRequired, "no workload opts into vertical autoscaling")
	case len(optedIn) == 0:
		p.ready(v1alpha1.ReasonVPANotRequired, "no workload opts into vertical autoscaling")
	default:
		p.ready(v1alpha1.ReasonVPAReady, "VerticalPodAutoscalers are configured: "+strings.Join(optedIn, ", "))
	}
}

func verticalSpec(n *v1alpha1.Nova, r *role) *v1alpha1.VerticalAutoscalingSpec {
	if block := r.deployment(n); block != nil {
		return block.VerticalAutoscaling
	}
	return nil
}

// verticalAutoscaler sizes the pods of one role. It is written out because the
// module of the kind has no apply configurations and its types send zero values.
func verticalAutoscaler(r *role) builder {
	return func(p *pass) (render.Resource, error) {
		v := verticalSpec(p.nova, r)
		if v == nil {
			return nil, nil
		}
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
			"apiVersion": KindVPA.GroupVersion().String(),
			"kind":       KindVPA.Kind,
			"metadata":   map[string]any{"name": r.name(p.nova), "namespace": p.nova.Namespace, "labels": commonLabels(p.nova)},
			"spec": map[string]any{
				"targetRef":      map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": r.name(p.nova)},
				"updatePolicy":   update,
				"resourcePolicy": map[string]any{"containerPolicies": []any{policy}},
			},
		}, nil
	}
}
