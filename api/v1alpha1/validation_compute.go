// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/nova-operator/api/catalog"
)

// computeRules hold on create and on update. Each returns every violation it finds.
var computeRules = []func(*NovaCompute, *field.Path) field.ErrorList{
	validateNovaRef,
	validatePoolSelector,
	validatePoolTolerations,
	validatePoolImage,
	validateLibvirt,
	validateUpdateStrategy,
	validatePoolSizes,
	validateComputeExtraConfig,
	validateComputeTargetCluster,
}

// ValidateNovaCompute returns every violation of a NovaCompute and the warnings for its
// author. Old is nil on create; novaRelease is spec.openStackRelease of the Nova the pool
// joins, empty when there is no such Nova.
//
// It holds the rules of the validating webhook and repeats the CEL rules of the schema,
// except those on traits, which stay with the schema. An update of a resource that is
// being deleted and whose spec did not change is admitted as it is.
func ValidateNovaCompute(compute, old *NovaCompute, novaRelease string) (field.ErrorList, []string) {
	if old != nil && compute.DeletionTimestamp != nil && equality.Semantic.DeepEqual(compute.Spec, old.Spec) {
		return nil, nil
	}
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if old == nil && len(compute.Name) > validation.LabelValueMaxLength {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), compute.Name,
			"name must be at most 63 characters: it is the app.kubernetes.io/instance label value of every child"))
	}
	for _, rule := range computeRules {
		errs = append(errs, rule(compute, spec)...)
	}
	if old != nil {
		errs = append(errs, validateTargetClusterUpdate(compute.Spec.TargetClusterRef, old.Spec.TargetClusterRef, spec.Child("targetClusterRef"))...)
		if compute.Spec.NovaRef.Name != old.Spec.NovaRef.Name {
			errs = append(errs, field.Invalid(spec.Child("novaRef", "name"), compute.Spec.NovaRef.Name, "novaRef is immutable"))
		}
	}
	if old != nil && equality.Semantic.DeepEqual(compute.Spec.ExtraConfig, old.Spec.ExtraConfig) {
		return errs, nil
	}
	optionErrs, warnings := computeOptions(compute, novaRelease, spec)
	return append(errs, optionErrs...), warnings
}

func validateNovaRef(compute *NovaCompute, spec *field.Path) field.ErrorList {
	return required(spec.Child("novaRef", "name"), compute.Spec.NovaRef.Name, "novaRef.name must be set (the Nova this node pool joins)")
}

func validatePoolSelector(compute *NovaCompute, spec *field.Path) field.ErrorList {
	path := spec.Child("nodeSelector")
	if len(compute.Spec.NodeSelector) == 0 {
		return field.ErrorList{field.Required(path, "nodeSelector must carry at least one label")}
	}
	return validateNodeSelector(compute.Spec.NodeSelector, path)
}

// validatePoolTolerations refuses to stay on a node the hypervisor operator empties.
func validatePoolTolerations(compute *NovaCompute, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range compute.Spec.Tolerations {
		t, path := &compute.Spec.Tolerations[i], spec.Child("tolerations").Index(i)
		errs = append(errs, validateToleration(t, path)...)
		if t.TolerationSeconds == nil && toleratesOffboarding(t) {
			errs = append(errs, field.Invalid(path, t.Key,
				"tolerates kvm.cloud.sap/offboarding:NoExecute; openstack-hypervisor-operator deletes the compute service only after every agent pod on the node is gone, and a nova-compute that stays re-registers it"))
		}
	}
	return errs
}

// toleratesOffboarding is the standard match with the taint kvm.cloud.sap/offboarding,
// which has no value and effect NoExecute. Lt and Gt compare numbers, so they never match.
func toleratesOffboarding(t *corev1.Toleration) bool {
	if (t.Effect != "" && t.Effect != corev1.TaintEffectNoExecute) || (t.Key != "" && t.Key != TaintOffboarding) {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpEqual, "":
		return t.Value == ""
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
	}
	return false
}

func validatePoolImage(compute *NovaCompute, spec *field.Path) field.ErrorList {
	if compute.Spec.Image == nil {
		return nil
	}
	return validateImage(compute.Spec.Image, spec.Child("image"))
}

func validateLibvirt(compute *NovaCompute, spec *field.Path) field.ErrorList {
	libvirt := &compute.Spec.Libvirt
	if (libvirt.CPUMode == CPUModeCustom) != (len(libvirt.CPUModels) > 0) {
		return field.ErrorList{field.Invalid(spec.Child("libvirt", "cpuModels"), libvirt.CPUModels,
			"cpuModels is required when cpuMode is custom and must be empty otherwise")}
	}
	return nil
}

// validateUpdateStrategy scales a percentage against 100 and rounds up, as the
// DaemonSet controller does.
func validateUpdateStrategy(compute *NovaCompute, spec *field.Path) field.ErrorList {
	strategy, path := &compute.Spec.UpdateStrategy, spec.Child("updateStrategy", "maxUnavailable")
	if strategy.MaxUnavailable == nil {
		return nil
	}
	if strategy.Type == UpdateStrategyOnDelete {
		return field.ErrorList{field.Forbidden(path, "maxUnavailable applies to RollingUpdate only")}
	}
	unavailable, err := intstr.GetScaledValueFromIntOrPercent(strategy.MaxUnavailable, 100, true)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(path, strategy.MaxUnavailable.String(), `maxUnavailable must be an integer or a percentage such as "25%"`)}
	case unavailable < 1:
		return field.ErrorList{field.Invalid(path, strategy.MaxUnavailable.String(), "maxUnavailable must resolve to at least 1 for RollingUpdate")}
	}
	return nil
}

func validatePoolSizes(compute *NovaCompute, spec *field.Path) field.ErrorList {
	errs := validateResources(compute.Spec.Resources, spec.Child("resources"))
	return append(errs, validateVerticalAutoscaling(compute.Spec.VerticalAutoscaling, spec.Child("verticalAutoscaling"))...)
}

func validateComputeExtraConfig(compute *NovaCompute, spec *field.Path) field.ErrorList {
	findings := catalog.CheckKeys(catalog.ComputeKeys, compute.Spec.ExtraConfig.Catalog())
	return extraConfigErrors(findings, compute.Spec.ExtraConfig, spec)
}

// computeOptions compares extraConfig with the catalog of the Nova's release.
func computeOptions(compute *NovaCompute, novaRelease string, spec *field.Path) (field.ErrorList, []string) {
	if len(compute.Spec.ExtraConfig) == 0 {
		return nil, nil
	}
	if novaRelease == "" {
		return nil, []string{fmt.Sprintf("extraConfig catalog check skipped: Nova %s/%s not found", compute.Namespace, compute.Spec.NovaRef.Name)}
	}
	findings := catalog.CheckOptions(novaRelease, catalog.ComputeKeys, compute.Spec.ExtraConfig.Catalog())
	return extraConfigErrors(findings, compute.Spec.ExtraConfig, spec), findings.Warnings
}

func validateComputeTargetCluster(compute *NovaCompute, spec *field.Path) field.ErrorList {
	return validateTargetCluster(compute.Spec.TargetClusterRef, spec.Child("targetClusterRef"))
}
