// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// novaAutoscaling are the bounds, targets and behaviour of the API's autoscaler.
var novaAutoscaling = map[string]NovaCase{
	"good bounds": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80))}, nil),
	},
	"nothing but zeroes": {
		Change: scale(v1alpha1.AutoscalingSpec{MinReplicas: new(int32(0)), TargetCPUUtilization: new(int32(0)), TargetMemoryUtilization: new(int32(0))}, nil),
		Want: []string{
			"spec.autoscaling.maxReplicas: maxReplicas must be at least 1",
			"spec.autoscaling.minReplicas: minReplicas must be at least 1",
			"spec.autoscaling.targetCPUUtilization: targetCPUUtilization must be at least 1",
			"spec.autoscaling.targetMemoryUtilization: targetMemoryUtilization must be at least 1",
		},
	},
	"no target": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3}, nil),
		Want:   []string{"spec.autoscaling: at least one of targetCPUUtilization or targetMemoryUtilization must be set"},
	},
	"bounds the wrong way round": {
		Change: scale(v1alpha1.AutoscalingSpec{MinReplicas: new(int32(4)), MaxReplicas: 3, TargetCPUUtilization: new(int32(80))}, nil),
		Want:   []string{"spec.autoscaling: minReplicas must not exceed maxReplicas"},
	},
	"an upper bound below the default of the lower one": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 2, TargetCPUUtilization: new(int32(80))}, nil),
		Want:   []string{"spec.autoscaling.maxReplicas: maxReplicas must be >= spec.api.deployment.replicas (3) when minReplicas is not set, because minReplicas defaults to spec.api.deployment.replicas"},
	},
	"a share of no request": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80))}, Resources(cpu("0"), nil)),
		Want:   []string{"spec.api.deployment.resources.requests.cpu: cpu request must be greater than zero while targetCPUUtilization is set: utilization is a share of it"},
	},
	"a share of no limit": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetMemoryUtilization: new(int32(80))}, Resources(nil, memory("0"))),
		Want:   []string{"spec.api.deployment.resources.limits.memory: memory limit must be greater than zero while targetMemoryUtilization is set: utilization is a share of it"},
	},
	"processor usage without a limit has no ceiling": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(500))}, nil),
	},
	"processor usage with a request alone has no ceiling": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(500))}, Resources(cpu("1"), nil)),
	},
	"a limit alone is the request": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(101))}, Resources(nil, cpu("1"))),
		Want:   []string{"spec.autoscaling.targetCPUUtilization: targetCPUUtilization 101 can never be reached: the limit of the API container caps usage at 100 percent of its request"},
	},
	"memory that is not named has a limit equal to the request": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetMemoryUtilization: new(int32(120))}, nil),
		Want:   []string{"spec.autoscaling.targetMemoryUtilization: targetMemoryUtilization 120 can never be reached: the limit of the API container caps usage at 100 percent of its request"},
	},
	"a ceiling is rounded down": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(134))}, Resources(cpu("3"), cpu("4"))),
		Want:   []string{"spec.autoscaling.targetCPUUtilization: targetCPUUtilization 134 can never be reached: the limit of the API container caps usage at 133 percent of its request"},
	},
	"a ceiling that is reached": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetMemoryUtilization: new(int32(200))}, Resources(memory("512Mi"), memory("1Gi"))),
	},
	"bad behaviour": {
		Change: scale(v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80)), Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp: &autoscalingv2.HPAScalingRules{
				StabilizationWindowSeconds: new(int32(3601)), SelectPolicy: new(autoscalingv2.ScalingPolicySelect("Any")),
				Tolerance: new(resource.MustParse("-0.1")),
			},
			ScaleDown: &autoscalingv2.HPAScalingRules{
				StabilizationWindowSeconds: new(int32(-1)),
				Policies:                   []autoscalingv2.HPAScalingPolicy{{Type: "Nodes", PeriodSeconds: 1801}, {Type: autoscalingv2.PodsScalingPolicy, Value: 1}},
			},
		}}, nil),
		Want: []string{
			"spec.autoscaling.behavior.scaleUp.stabilizationWindowSeconds: stabilizationWindowSeconds must be between 0 and 3600",
			`spec.autoscaling.behavior.scaleUp.selectPolicy: unsupported, supported values: "Max", "Min", "Disabled"`,
			"spec.autoscaling.behavior.scaleUp.tolerance: tolerance must not be negative",
			"spec.autoscaling.behavior.scaleDown.stabilizationWindowSeconds: stabilizationWindowSeconds must be between 0 and 3600",
			`spec.autoscaling.behavior.scaleDown.policies[0].type: unsupported, supported values: "Pods", "Percent"`,
			"spec.autoscaling.behavior.scaleDown.policies[0].value: value must be greater than zero",
			"spec.autoscaling.behavior.scaleDown.policies[0].periodSeconds: periodSeconds must be between 1 and 1800",
			"spec.autoscaling.behavior.scaleDown.policies[1].periodSeconds: periodSeconds must be between 1 and 1800",
		},
	},
	"two autoscalers of one Deployment": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80))}
			n.Spec.API.Deployment.VerticalAutoscaling = &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Off"}
		},
		Want: []string{"spec.api.deployment.verticalAutoscaling: spec.api.deployment.verticalAutoscaling cannot be set while spec.autoscaling scales the same Deployment"},
	},
}

func scale(autoscaling v1alpha1.AutoscalingSpec, amounts *corev1.ResourceRequirements) func(*v1alpha1.Nova) {
	return func(n *v1alpha1.Nova) {
		n.Spec.Autoscaling, n.Spec.API.Deployment.Resources = autoscaling.DeepCopy(), amounts.DeepCopy()
	}
}
