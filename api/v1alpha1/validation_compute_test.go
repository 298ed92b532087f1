// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// minimalCompute is the smallest valid NovaCompute.
func minimalCompute() *NovaCompute {
	return &NovaCompute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "pool"},
		Spec: NovaComputeSpec{
			NovaRef:      NovaRefSpec{Name: "nova"},
			NodeSelector: map[string]string{"pool": "a"},
		},
	}
}

const offboarding = "tolerates kvm.cloud.sap/offboarding:NoExecute; openstack-hypervisor-operator deletes the compute service only after every agent pod on the node is gone, and a nova-compute that stays re-registers it"

func TestValidateNovaCompute_Create(t *testing.T) {
	tolerate := func(toleration corev1.Toleration) func(*NovaCompute) {
		return func(c *NovaCompute) { c.Spec.Tolerations = []corev1.Toleration{toleration} }
	}
	unavailable := func(value intstr.IntOrString) func(*NovaCompute) {
		return func(c *NovaCompute) { c.Spec.UpdateStrategy.MaxUnavailable = &value }
	}
	for name, tc := range map[string]struct {
		change  func(*NovaCompute)
		release string
		want    []string
		warn    []string
	}{
		"the smallest resource is valid": {change: func(*NovaCompute) {}},
		"a name beyond 63 characters": {
			change: func(c *NovaCompute) { c.Name = strings.Repeat("n", 64) },
			want:   []string{"metadata.name: name must be at most 63 characters: it is the app.kubernetes.io/instance label value of every child"},
		},
		"no Nova": {
			change: func(c *NovaCompute) { c.Spec.NovaRef.Name = "" },
			want:   []string{"spec.novaRef.name: novaRef.name must be set (the Nova this node pool joins)"},
		},
		"no selector": {
			change: func(c *NovaCompute) { c.Spec.NodeSelector = map[string]string{} },
			want:   []string{"spec.nodeSelector: nodeSelector must carry at least one label"},
		},
		"a selector the API server refuses": {
			change: func(c *NovaCompute) { c.Spec.NodeSelector = map[string]string{"a": strings.Repeat("x", 64)} },
			want:   []string{"spec.nodeSelector: must be no more than 63 bytes"},
		},
		"a toleration of the taint that empties a node": {
			change: tolerate(corev1.Toleration{Key: "kvm.cloud.sap/offboarding", Operator: corev1.TolerationOpExists}),
			want:   []string{"spec.tolerations[0]: " + offboarding},
		},
		"a toleration of that taint by value": {
			change: tolerate(corev1.Toleration{Key: "kvm.cloud.sap/offboarding", Effect: corev1.TaintEffectNoExecute}),
			want:   []string{"spec.tolerations[0]: " + offboarding},
		},
		"a toleration of every taint": {
			change: tolerate(corev1.Toleration{Operator: corev1.TolerationOpExists}),
			want:   []string{"spec.tolerations[0]: " + offboarding},
		},
		"a toleration of that taint for a while": {
			change: tolerate(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(60))}),
		},
		"a toleration of another effect": {
			change: tolerate(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}),
		},
		"a toleration of another taint": {
			change: tolerate(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}),
		},
		"a toleration of another value": {
			change: tolerate(corev1.Toleration{Key: "kvm.cloud.sap/offboarding", Value: "x"}),
		},
		"a toleration that compares numbers": {
			change: tolerate(corev1.Toleration{Key: "kvm.cloud.sap/offboarding", Operator: corev1.TolerationOpGt, Value: "1"}),
		},
		"a toleration the API server refuses": {
			change: tolerate(corev1.Toleration{Value: "x"}),
			want:   []string{`spec.tolerations[0].operator: operator must be Exists when 'key' is empty, which means "match all values and all keys"`},
		},
		"unavailable pods under OnDelete": {
			change: func(c *NovaCompute) {
				c.Spec.UpdateStrategy = NovaComputeUpdateStrategy{Type: UpdateStrategyOnDelete, MaxUnavailable: new(intstr.FromInt32(1))}
			},
			want: []string{"spec.updateStrategy.maxUnavailable: maxUnavailable applies to RollingUpdate only"},
		},
		"unavailable pods as a word": {
			change: unavailable(intstr.FromString("some")),
			want:   []string{`spec.updateStrategy.maxUnavailable: maxUnavailable must be an integer or a percentage such as "25%"`},
		},
		"unavailable pods as a number in quotes": {
			change: unavailable(intstr.FromString("1")),
			want:   []string{`spec.updateStrategy.maxUnavailable: maxUnavailable must be an integer or a percentage such as "25%"`},
		},
		"no unavailable pod": {
			change: unavailable(intstr.FromInt32(0)),
			want:   []string{"spec.updateStrategy.maxUnavailable: maxUnavailable must resolve to at least 1 for RollingUpdate"},
		},
		"no unavailable share": {
			change: unavailable(intstr.FromString("0%")),
			want:   []string{"spec.updateStrategy.maxUnavailable: maxUnavailable must resolve to at least 1 for RollingUpdate"},
		},
		"a small unavailable share": {change: unavailable(intstr.FromString("1%"))},
		"models without the custom mode": {
			change: func(c *NovaCompute) { c.Spec.Libvirt.CPUModels = []string{"IvyBridge"} },
			want:   []string{"spec.libvirt.cpuModels: cpuModels is required when cpuMode is custom and must be empty otherwise"},
		},
		"the custom mode without models": {
			change: func(c *NovaCompute) { c.Spec.Libvirt.CPUMode = CPUModeCustom },
			want:   []string{"spec.libvirt.cpuModels: cpuModels is required when cpuMode is custom and must be empty otherwise"},
		},
		"an empty image": {
			change: func(c *NovaCompute) { c.Spec.Image = &ImageSpec{} },
			want: []string{
				"spec.image.repository: repository must be set",
				"spec.image: exactly one of image.tag or image.digest must be set",
			},
		},
		"a target cluster without a name": {
			change: func(c *NovaCompute) { c.Spec.TargetClusterRef = &TargetClusterRefSpec{} },
			want:   []string{"spec.targetClusterRef.name: target cluster name must be set"},
		},
		"sizes the wrong way round": {
			change: func(c *NovaCompute) {
				c.Spec.Resources = resources(cpu("2"), cpu("1"))
				c.Spec.VerticalAutoscaling = &VerticalAutoscalingSpec{UpdateMode: "Auto", MinAllowed: memory("2Gi"), MaxAllowed: memory("1Gi")}
			},
			want: []string{
				"spec.resources.requests.cpu: cpu request must not exceed limit (1)",
				"spec.verticalAutoscaling.minAllowed.memory: minAllowed must not exceed maxAllowed (1Gi)",
			},
		},
		"a vertical autoscaler without a mode": {
			change: func(c *NovaCompute) {
				c.Spec.VerticalAutoscaling = &VerticalAutoscalingSpec{MaxAllowed: corev1.ResourceList{"x": resource.MustParse("1")}}
			},
			want: []string{
				"spec.verticalAutoscaling.updateMode: updateMode must be set",
				"spec.verticalAutoscaling.maxAllowed: maxAllowed may only name cpu and memory",
			},
		},
		"a rejected key": {
			change:  func(c *NovaCompute) { c.Spec.ExtraConfig = ExtraConfig{"DEFAULT": {"my_ip": SingleValue("192.0.2.1")}} },
			release: "2026.1",
			want:    []string{"spec.extraConfig[DEFAULT][my_ip]: my_ip is managed via OS_DEFAULT__MY_IP (status.hostIP) and must not be set in extraConfig"},
		},
		"a rejected key with an impact": {
			change: func(c *NovaCompute) {
				c.Spec.ExtraConfig = ExtraConfig{"libvirt": {"live_migration_scheme": SingleValue("tcp")}}
			},
			release: "2026.1",
			want:    []string{"spec.extraConfig[libvirt][live_migration_scheme]: live_migration_scheme is managed via operator-computed and must not be set in extraConfig (live migration is fixed to TLS with native TLS; another value sends guest memory unencrypted)"},
		},
		"a password": {
			change:  func(c *NovaCompute) { c.Spec.ExtraConfig = ExtraConfig{"service_user": {"password": SingleValue("x")}} },
			release: "2026.1",
			want:    []string{"spec.extraConfig[service_user][password]: password is managed via the compute contract, OS_SERVICE_USER__PASSWORD and must not be set in extraConfig (the value comes from the environment, so the line is inert and copies a credential into the ConfigMap)"},
		},
		"another credential": {
			change:  func(c *NovaCompute) { c.Spec.ExtraConfig = ExtraConfig{"placement": {"token": SingleValue("x")}} },
			release: "2026.1",
			want:    []string{"spec.extraConfig[placement][token]: is a credential, which does not belong in a custom resource; spec.serviceUser.secretRef of the Nova names the Secret for it"},
		},
		"an unknown option": {
			change: func(c *NovaCompute) {
				c.Spec.ExtraConfig = ExtraConfig{"compute": {"reserved_host_memory_mb": SingleValue("1")}}
			},
			release: "2026.1",
			want:    []string{"spec.extraConfig[compute][reserved_host_memory_mb]: no such option in the nova 2026.1 option catalog; option exists in section [DEFAULT]"},
		},
		"an option with a line break": {
			change: func(c *NovaCompute) {
				c.Spec.ExtraConfig = ExtraConfig{"DEFAULT": {"mkisofs_cmd": SingleValue("a\nb")}}
			},
			want: []string{"spec.extraConfig[DEFAULT][mkisofs_cmd]: extraConfig key and value must not contain a newline or carriage return: the rendered INI writes them verbatim, so a newline injects arbitrary config lines"},
			warn: []string{"extraConfig catalog check skipped: Nova openstack/nova not found"},
		},
		"open keys": {
			change: func(c *NovaCompute) {
				c.Spec.ExtraConfig = ExtraConfig{
					"DEFAULT": {"compute_driver": SingleValue("libvirt.LibvirtDriver")},
					"vnc":     {"server_listen": SingleValue("$my_ip")},
					"libvirt": {"live_migration_bandwidth": SingleValue("100"), "virt_type": SingleValue("qemu")},
					"pci":     {"device_spec": ListValue(`{"address": "a"}`, `{"address": "b"}`)},
				}
			},
			release: "2026.1",
		},
		"no Nova to compare with": {
			change: func(c *NovaCompute) { c.Spec.ExtraConfig = ExtraConfig{"nope": {"a": SingleValue("b")}} },
			warn:   []string{"extraConfig catalog check skipped: Nova openstack/nova not found"},
		},
		"no catalog to compare with": {
			change:  func(c *NovaCompute) { c.Spec.ExtraConfig = ExtraConfig{"nope": {"a": SingleValue("b")}} },
			release: "2024.1",
			warn:    []string{`spec.extraConfig was not validated against an option catalog: no catalog for release "2024.1" is embedded in this operator build`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			compute := minimalCompute()
			tc.change(compute)
			errs, warnings := ValidateNovaCompute(compute, nil, tc.release)
			if diff := cmp.Diff(tc.want, complaints(errs)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.warn, warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateNovaCompute_Update(t *testing.T) {
	gone := metav1.NewTime(time.Unix(1, 0))
	for name, tc := range map[string]struct {
		old, change func(*NovaCompute)
		want        []string
	}{
		"nothing changed": {},
		"another selector": {
			change: func(c *NovaCompute) { c.Spec.NodeSelector = map[string]string{"pool": "b"} },
		},
		"a name an older operator admitted": {
			old:    func(c *NovaCompute) { c.Name = strings.Repeat("n", 64) },
			change: func(c *NovaCompute) { c.Name = strings.Repeat("n", 64) },
		},
		"another Nova": {
			change: func(c *NovaCompute) { c.Spec.NovaRef.Name = "other" },
			want:   []string{"spec.novaRef.name: novaRef is immutable"},
		},
		"a target cluster added": {
			change: func(c *NovaCompute) { c.Spec.TargetClusterRef = &TargetClusterRefSpec{Name: "a"} },
			want:   []string{"spec.targetClusterRef: targetClusterRef is immutable (adding or removing it after creation is not permitted)"},
		},
		"another target cluster": {
			old:    func(c *NovaCompute) { c.Spec.TargetClusterRef = &TargetClusterRefSpec{Name: "a"} },
			change: func(c *NovaCompute) { c.Spec.TargetClusterRef = &TargetClusterRefSpec{Name: "b"} },
			want:   []string{"spec.targetClusterRef.name: targetClusterRef is immutable (the children already exist on the previously named cluster)"},
		},
		"an option that is unknown and was there before": {
			old:    func(c *NovaCompute) { c.Spec.ExtraConfig = ExtraConfig{"libvirt": {"nope": SingleValue("x")}} },
			change: func(c *NovaCompute) { c.Spec.ExtraConfig = ExtraConfig{"libvirt": {"nope": SingleValue("x")}} },
		},
		"a finalizer removed from an invalid resource that is being deleted": {
			old:    func(c *NovaCompute) { c.Spec.NodeSelector, c.DeletionTimestamp = nil, &gone },
			change: func(c *NovaCompute) { c.Spec.NodeSelector, c.DeletionTimestamp = nil, &gone },
		},
		"an invalid change of a resource that is being deleted": {
			change: func(c *NovaCompute) { c.Spec.NodeSelector, c.DeletionTimestamp = nil, &gone },
			want:   []string{"spec.nodeSelector: nodeSelector must carry at least one label"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			compute, old := minimalCompute(), minimalCompute()
			if tc.old != nil {
				tc.old(old)
			}
			if tc.change != nil {
				tc.change(compute)
			}
			errs, warnings := ValidateNovaCompute(compute, old, "2026.1")
			if diff := cmp.Diff(tc.want, complaints(errs)); diff != "" {
				t.Error(diff)
			}
			if len(warnings) > 0 {
				t.Error(warnings)
			}
		})
	}
}

func TestValidateNovaCompute_NeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		compute := minimalCompute()
		compute.Name = text.Draw(t, "name")
		compute.Spec.NodeSelector = rapid.MapOf(text, text).Draw(t, "selector")
		compute.Spec.UpdateStrategy.Type = text.Draw(t, "type")
		unavailable := intstr.Parse(text.Draw(t, "unavailable"))
		compute.Spec.UpdateStrategy.MaxUnavailable = &unavailable
		compute.Spec.Tolerations = []corev1.Toleration{{Key: text.Draw(t, "key"), Operator: corev1.TolerationOperator(text.Draw(t, "operator"))}}
		compute.Spec.ExtraConfig = ExtraConfig{text.Draw(t, "section"): {text.Draw(t, "option"): ListValue(text.Draw(t, "value"))}}
		errs, _ := ValidateNovaCompute(compute, nil, "2026.1")
		again, _ := ValidateNovaCompute(compute, nil, "2026.1")
		if diff := cmp.Diff(complaints(errs), complaints(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}
