package nova

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pod"
)

// hpaStep reports the autoscaler of the API.
func hpaStep(p *pass) {
	if p.nova.Spec.Autoscaling == nil {
		p.Ready(v1alpha1.ReasonHPANotRequired, "Autoscaling is not configured")
		return
	}
	p.Ready(v1alpha1.ReasonHPAReady, "HorizontalPodAutoscaler is configured")
}

// horizontalAutoscaler scales the API Deployment.
func horizontalAutoscaler(p *pass) (render.Resource, error) {
	a := p.nova.Spec.Autoscaling
	if a == nil {
		return nil, nil
	}
	spec := autoscalingv2ac.HorizontalPodAutoscalerSpec().
		WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().WithAPIVersion("apps/v1").WithKind("Deployment").WithName(p.nova.Name)).
		WithMinReplicas(lowerAPIReplicas(p.nova)).
		WithMaxReplicas(a.MaxReplicas)
	for _, metric := range []struct {
		resource corev1.ResourceName
		target   *int32
	}{
		{corev1.ResourceCPU, a.TargetCPUUtilization},
		{corev1.ResourceMemory, a.TargetMemoryUtilization},
	} {
		if metric.target != nil {
			spec.WithMetrics(autoscalingv2ac.MetricSpec().
				WithType(autoscalingv2.ResourceMetricSourceType).
				WithResource(autoscalingv2ac.ResourceMetricSource().
					WithName(metric.resource).
					WithTarget(autoscalingv2ac.MetricTarget().
						WithType(autoscalingv2.UtilizationMetricType).
						WithAverageUtilization(*metric.target))))
		}
	}
	if a.Behavior != nil {
		behavior, err := pod.Convert[autoscalingv2ac.HorizontalPodAutoscalerBehaviorApplyConfiguration](a.Behavior)
		if err != nil {
			return nil, err
		}
		spec.WithBehavior(behavior)
	}
	return autoscalingv2ac.HorizontalPodAutoscaler(p.nova.Name, p.nova.Namespace).
		WithLabels(labelsOf(p.nova).Common()).
		WithSpec(spec), nil
}

// LeftByAutoscaler tells a count that the autoscaler of the API set from one that
// somebody claims: once the block is gone, the spec's own count follows it.
func LeftByAutoscaler(n *v1alpha1.Nova, key render.Key, path string) bool {
	last := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionHPAReady)
	return n.Spec.Autoscaling == nil && last != nil && last.Reason == v1alpha1.ReasonHPAReady &&
		key.GroupVersionKind == render.KindDeployment && key.Name == n.Name && path == "spec.replicas"
}
