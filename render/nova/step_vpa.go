package nova

import (
	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/workload"
)

// vpaStep reports the vertical autoscalers of the Deployments that opt in.
func vpaStep(p *pass) {
	var optedIn []string
	for _, r := range roles {
		if verticalSpec(p.nova, r) != nil {
			optedIn = append(optedIn, r.name(p.nova))
		}
	}
	workload.VPAHealth(p.Pass, p.seen.VPA, optedIn, askedAgain(p.nova))
}

func verticalSpec(n *v1alpha1.Nova, r *role) *v1alpha1.VerticalAutoscalingSpec {
	if block := r.deployment(n); block != nil {
		return block.VerticalAutoscaling
	}
	return nil
}

// verticalAutoscaler sizes the pods of one role.
func verticalAutoscaler(r *role) builder {
	return func(p *pass) (render.Resource, error) {
		v := verticalSpec(p.nova, r)
		if v == nil {
			return nil, nil
		}
		return workload.VPA(render.KindDeployment, r.name(p.nova), p.nova.Namespace, labelsOf(p.nova).Common(), v), nil
	}
}
