// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/api/v1alpha1/apitest"
)

func TestValidateNovaCompute_Create(t *testing.T) {
	for name, tc := range apitest.ComputeCreate {
		t.Run(name, func(t *testing.T) {
			compute := apitest.MinimalCompute()
			tc.Change(compute)
			errs, warnings := v1alpha1.ValidateNovaCompute(compute, nil, tc.Release)
			compare(t, tc.Want, tc.Warnings, errs, warnings)
		})
	}
}

func TestValidateNovaCompute_Update(t *testing.T) {
	for name, tc := range apitest.ComputeUpdate {
		t.Run(name, func(t *testing.T) {
			compute, old := apitest.MinimalCompute(), apitest.MinimalCompute()
			if tc.Old != nil {
				tc.Old(old)
			}
			if tc.Change != nil {
				tc.Change(compute)
			}
			errs, warnings := v1alpha1.ValidateNovaCompute(compute, old, tc.Release)
			compare(t, tc.Want, tc.Warnings, errs, warnings)
		})
	}
}

func TestValidateNovaCompute_NeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		compute := apitest.MinimalCompute()
		compute.Name = text.Draw(t, "name")
		compute.Spec.NodeSelector = rapid.MapOf(text, text).Draw(t, "selector")
		compute.Spec.UpdateStrategy.Type = text.Draw(t, "type")
		unavailable := intstr.Parse(text.Draw(t, "unavailable"))
		compute.Spec.UpdateStrategy.MaxUnavailable = &unavailable
		compute.Spec.Tolerations = []corev1.Toleration{{Key: text.Draw(t, "key"), Operator: corev1.TolerationOperator(text.Draw(t, "operator"))}}
		compute.Spec.ExtraConfig = v1alpha1.ExtraConfig{text.Draw(t, "section"): {text.Draw(t, "option"): v1alpha1.ListValue(text.Draw(t, "value"))}}
		errs, _ := v1alpha1.ValidateNovaCompute(compute, nil, "2026.1")
		again, _ := v1alpha1.ValidateNovaCompute(compute, nil, "2026.1")
		if diff := cmp.Diff(apitest.Complaints(errs), apitest.Complaints(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}
