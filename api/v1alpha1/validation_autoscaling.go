// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	"gopkg.in/inf.v0"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateAutoscaling(nova *Nova, spec *field.Path) field.ErrorList {
	autoscaling, path := nova.Spec.Autoscaling, spec.Child("autoscaling")
	if autoscaling == nil {
		return nil
	}
	api := &nova.Spec.API.Deployment
	errs := atLeast(path.Child("maxReplicas"), &autoscaling.MaxReplicas, 1, "maxReplicas must be at least 1")
	errs = append(errs, atLeast(path.Child("minReplicas"), autoscaling.MinReplicas, 1, "minReplicas must be at least 1")...)
	errs = append(errs, atLeast(path.Child("targetCPUUtilization"), autoscaling.TargetCPUUtilization, 1, "targetCPUUtilization must be at least 1")...)
	errs = append(errs, atLeast(path.Child("targetMemoryUtilization"), autoscaling.TargetMemoryUtilization, 1, "targetMemoryUtilization must be at least 1")...)
	if autoscaling.MinReplicas != nil && *autoscaling.MinReplicas > autoscaling.MaxReplicas {
		errs = append(errs, field.Invalid(path, *autoscaling.MinReplicas, "minReplicas must not exceed maxReplicas"))
	}
	if autoscaling.MinReplicas == nil && autoscaling.MaxReplicas < api.Replicas {
		errs = append(errs, field.Invalid(path.Child("maxReplicas"), autoscaling.MaxReplicas, fmt.Sprintf(
			"maxReplicas must be >= spec.api.deployment.replicas (%d) when minReplicas is not set, because minReplicas defaults to spec.api.deployment.replicas",
			api.Replicas)))
	}
	if autoscaling.TargetCPUUtilization == nil && autoscaling.TargetMemoryUtilization == nil {
		errs = append(errs, field.Invalid(path, "", "at least one of targetCPUUtilization or targetMemoryUtilization must be set"))
	}
	if api.VerticalAutoscaling != nil {
		errs = append(errs, field.Forbidden(spec.Child("api", "deployment", "verticalAutoscaling"),
			"spec.api.deployment.verticalAutoscaling cannot be set while spec.autoscaling scales the same Deployment"))
	}
	errs = append(errs, validateTargets(autoscaling, api.Resources, spec)...)
	return append(errs, validateBehavior(autoscaling.Behavior, path.Child("behavior"))...)
}

// validateTargets asks of each targeted resource that usage can be compared with the
// request at all, and that the limit lets it reach the target.
func validateTargets(autoscaling *AutoscalingSpec, resources *corev1.ResourceRequirements, spec *field.Path) field.ErrorList {
	if resources == nil {
		resources = &corev1.ResourceRequirements{}
	}
	var errs field.ErrorList
	for _, t := range []struct {
		field    string
		target   *int32
		resource corev1.ResourceName
	}{
		{"targetCPUUtilization", autoscaling.TargetCPUUtilization, corev1.ResourceCPU},
		{"targetMemoryUtilization", autoscaling.TargetMemoryUtilization, corev1.ResourceMemory},
	} {
		if t.target == nil {
			continue
		}
		request, hasRequest := resources.Requests[t.resource]
		limit, hasLimit := resources.Limits[t.resource]
		named, kind := request, "request"
		if !hasRequest {
			named, kind = limit, "limit"
		}
		if (hasRequest || hasLimit) && named.Sign() <= 0 {
			errs = append(errs, field.Invalid(spec.Child("api", "deployment", "resources", kind+"s", string(t.resource)), named.String(), fmt.Sprintf(
				"%s %s must be greater than zero while %s is set: utilization is a share of it", t.resource, kind, t.field)))
			continue
		}
		if ceiling, bounded := reachable(resources, t.resource); bounded && *t.target > 100 && ceiling.Cmp(inf.NewDec(int64(*t.target), 0)) < 0 {
			errs = append(errs, field.Invalid(spec.Child("autoscaling", t.field), *t.target, fmt.Sprintf(
				"%s %d can never be reached: the limit of the API container caps usage at %s percent of its request", t.field, *t.target, ceiling)))
		}
	}
	return errs
}

// reachable is the greatest utilization of a resource in percent of its request, false
// when there is no limit. A container whose memory is named neither way is rendered with
// a limit equal to the request, one whose CPU is not with a request alone.
func reachable(resources *corev1.ResourceRequirements, name corev1.ResourceName) (*inf.Dec, bool) {
	request, hasRequest := resources.Requests[name]
	limit, hasLimit := resources.Limits[name]
	switch {
	case hasRequest && hasLimit:
		hundredfold := new(inf.Dec).Mul(limit.AsDec(), inf.NewDec(100, 0))
		return new(inf.Dec).QuoRound(hundredfold, request.AsDec(), 0, inf.RoundFloor), true
	case hasRequest, !hasLimit && name == corev1.ResourceCPU:
		return nil, false
	default:
		return inf.NewDec(100, 0), true
	}
}

// The bounds of an autoscaler's behaviour, in seconds.
const (
	maxStabilizationWindow = 3600
	maxPolicyPeriod        = 1800
)

func validateBehavior(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, path *field.Path) field.ErrorList {
	if behavior == nil {
		return nil
	}
	errs := validateScalingRules(behavior.ScaleUp, path.Child("scaleUp"))
	return append(errs, validateScalingRules(behavior.ScaleDown, path.Child("scaleDown"))...)
}

func validateScalingRules(rules *autoscalingv2.HPAScalingRules, path *field.Path) field.ErrorList {
	if rules == nil {
		return nil
	}
	var errs field.ErrorList
	if w := rules.StabilizationWindowSeconds; w != nil && (*w < 0 || *w > maxStabilizationWindow) {
		errs = append(errs, field.Invalid(path.Child("stabilizationWindowSeconds"), *w,
			fmt.Sprintf("stabilizationWindowSeconds must be between 0 and %d", maxStabilizationWindow)))
	}
	if rules.SelectPolicy != nil {
		errs = append(errs, oneOf(path.Child("selectPolicy"), string(*rules.SelectPolicy),
			string(autoscalingv2.MaxChangePolicySelect), string(autoscalingv2.MinChangePolicySelect), string(autoscalingv2.DisabledPolicySelect))...)
	}
	for i, policy := range rules.Policies {
		at := path.Child("policies").Index(i)
		errs = append(errs, oneOf(at.Child("type"), string(policy.Type),
			string(autoscalingv2.PodsScalingPolicy), string(autoscalingv2.PercentScalingPolicy))...)
		errs = append(errs, atLeast(at.Child("value"), &policy.Value, 1, "value must be greater than zero")...)
		if policy.PeriodSeconds < 1 || policy.PeriodSeconds > maxPolicyPeriod {
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), policy.PeriodSeconds,
				fmt.Sprintf("periodSeconds must be between 1 and %d", maxPolicyPeriod)))
		}
	}
	if rules.Tolerance != nil && rules.Tolerance.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("tolerance"), rules.Tolerance.String(), "tolerance must not be negative"))
	}
	return errs
}
