// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePlacement applies the API server's own rules to a pod's node selector and
// tolerations, so that a bad one is refused here and not by a Deployment later.
func validatePlacement(nodeSelector map[string]string, tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	errs := validateNodeSelector(nodeSelector, path.Child("nodeSelector"))
	for i := range tolerations {
		errs = append(errs, validateToleration(&tolerations[i], path.Child("tolerations").Index(i))...)
	}
	return errs
}

// validateNodeSelector goes through the keys in order, so that two runs report alike.
func validateNodeSelector(nodeSelector map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(nodeSelector)) {
		errs = append(errs, metav1validation.ValidateLabels(map[string]string{key: nodeSelector[key]}, path)...)
	}
	return errs
}

// The operators and effects of a toleration.
var (
	tolerationOperators = []string{
		string(corev1.TolerationOpEqual), string(corev1.TolerationOpExists),
		string(corev1.TolerationOpLt), string(corev1.TolerationOpGt),
	}
	taintEffects = []string{
		string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule), string(corev1.TaintEffectNoExecute),
	}
)

func validateToleration(t *corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Key != "" {
		errs = append(errs, metav1validation.ValidateLabelName(t.Key, path.Child("key"))...)
	} else if t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(path.Child("operator"), t.Operator,
			`operator must be Exists when 'key' is empty, which means "match all values and all keys"`))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(path.Child("effect"), t.Effect, "effect must be 'NoExecute' when 'tolerationSeconds' is set"))
	}
	errs = append(errs, validateTolerationValue(t, path)...)
	errs = append(errs, oneOf(path.Child("operator"), string(t.Operator), tolerationOperators...)...)
	return append(errs, oneOf(path.Child("effect"), string(t.Effect), taintEffects...)...)
}

func validateTolerationValue(t *corev1.Toleration, path *field.Path) field.ErrorList {
	path = path.Child("value")
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if messages := validation.IsValidLabelValue(t.Value); len(messages) > 0 {
			return field.ErrorList{field.Invalid(path, t.Value, strings.Join(messages, "; "))}
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			return field.ErrorList{field.Invalid(path, t.Value, "value must be empty when 'operator' is 'Exists'")}
		}
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		if number, err := strconv.ParseInt(t.Value, 10, 64); err != nil || strconv.FormatInt(number, 10) != t.Value {
			return field.ErrorList{field.Invalid(path, t.Value, "value must be an integer when 'operator' is 'Lt' or 'Gt'")}
		}
	}
	return nil
}

// validateTopologySpread wants constraints that count exactly the pods of the Deployment.
func validateTopologySpread(constraints []corev1.TopologySpreadConstraint, selector map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, constraint := range constraints {
		labels := path.Index(i).Child("labelSelector")
		if constraint.LabelSelector == nil {
			errs = append(errs, field.Required(labels, "labelSelector is required on each TopologySpreadConstraint"))
			continue
		}
		if !maps.Equal(constraint.LabelSelector.MatchLabels, selector) {
			errs = append(errs, field.Invalid(labels.Child("matchLabels"), fmt.Sprint(constraint.LabelSelector.MatchLabels),
				fmt.Sprintf("labelSelector.matchLabels must equal the Deployment selector labels %v", selector)))
		}
		if len(constraint.LabelSelector.MatchExpressions) > 0 {
			errs = append(errs, field.Forbidden(labels.Child("matchExpressions"),
				"matchExpressions are not allowed; labelSelector must use matchLabels only"))
		}
	}
	return errs
}

func validateNetworkPolicy(nova *Nova, spec *field.Path) field.ErrorList {
	policy, path := nova.Spec.NetworkPolicy, spec.Child("networkPolicy", "ingress")
	if policy == nil {
		return nil
	}
	var errs field.ErrorList
	if len(policy.Ingress) == 0 {
		errs = append(errs, field.Required(path, "at least one ingress source must be specified"))
	}
	options := metav1validation.LabelSelectorValidationOptions{}
	for i := range policy.Ingress {
		source := &policy.Ingress[i]
		errs = append(errs, metav1validation.ValidateLabelSelector(&source.NamespaceSelector, options, path.Index(i).Child("namespaceSelector"))...)
		errs = append(errs, metav1validation.ValidateLabelSelector(source.PodSelector, options, path.Index(i).Child("podSelector"))...)
	}
	return errs
}
