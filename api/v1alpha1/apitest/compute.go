// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// ComputeCreate are new node pools.
var ComputeCreate = map[string]ComputeCase{
	"the smallest resource is valid": {Change: func(*v1alpha1.NovaCompute) {}},
	"a name beyond 63 characters": {
		Change: func(c *v1alpha1.NovaCompute) { c.Name = strings.Repeat("n", 64) },
		Want:   []string{"metadata.name: name must be at most 63 characters: it is the app.kubernetes.io/instance label value of every child"},
	},
	"no Nova": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.NovaRef.Name = "" },
		Want:   []string{"spec.novaRef.name: novaRef.name must be set (the Nova this node pool joins)"},
	},
	"no selector": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.NodeSelector = map[string]string{} },
		Want:   []string{"spec.nodeSelector: nodeSelector must carry at least one label"},
	},
	"a selector the API server refuses": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.NodeSelector = map[string]string{"a": strings.Repeat("x", 64)} },
		Want:   []string{"spec.nodeSelector: must be no more than 63 bytes"},
	},
	"a toleration of the taint that empties a node": {
		Change: tolerateOn(corev1.Toleration{Key: "kvm.cloud.sap/offboarding", Operator: corev1.TolerationOpExists}),
		Want:   []string{"spec.tolerations[0]: " + offboarding},
	},
	"a toleration of that taint by value": {
		Change: tolerateOn(corev1.Toleration{Key: "kvm.cloud.sap/offboarding", Effect: corev1.TaintEffectNoExecute}),
		Want:   []string{"spec.tolerations[0]: " + offboarding},
	},
	"a toleration of every taint": {
		Change: tolerateOn(corev1.Toleration{Operator: corev1.TolerationOpExists}),
		Want:   []string{"spec.tolerations[0]: " + offboarding},
	},
	"a toleration of that taint for a while": {
		Change: tolerateOn(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(60))}),
	},
	"a toleration of another effect": {
		Change: tolerateOn(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}),
	},
	"a toleration of another taint": {
		Change: tolerateOn(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}),
	},
	"a toleration of another value": {
		Change: tolerateOn(corev1.Toleration{Key: "kvm.cloud.sap/offboarding", Value: "x"}),
	},
	"a toleration that compares numbers": {
		Change: tolerateOn(corev1.Toleration{Key: "kvm.cloud.sap/offboarding", Operator: corev1.TolerationOpGt, Value: "1"}),
	},
	"a toleration the API server refuses": {
		Change: tolerateOn(corev1.Toleration{Value: "x"}),
		Want:   []string{`spec.tolerations[0].operator: operator must be Exists when 'key' is empty, which means "match all values and all keys"`},
	},
	"unavailable pods under OnDelete": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.UpdateStrategy = v1alpha1.NovaComputeUpdateStrategy{Type: v1alpha1.UpdateStrategyOnDelete, MaxUnavailable: new(intstr.FromInt32(1))}
		},
		Want: []string{"spec.updateStrategy.maxUnavailable: maxUnavailable applies to RollingUpdate only"},
	},
	"unavailable pods as a word": {
		Change: unavailable(intstr.FromString("some")),
		Want:   []string{`spec.updateStrategy.maxUnavailable: maxUnavailable must be an integer or a percentage such as "25%"`},
	},
	"unavailable pods as a number in quotes": {
		Change: unavailable(intstr.FromString("1")),
		Want:   []string{`spec.updateStrategy.maxUnavailable: maxUnavailable must be an integer or a percentage such as "25%"`},
	},
	"no unavailable pod": {
		Change: unavailable(intstr.FromInt32(0)),
		Want:   []string{"spec.updateStrategy.maxUnavailable: maxUnavailable must resolve to at least 1 for RollingUpdate"},
	},
	"no unavailable share": {
		Change: unavailable(intstr.FromString("0%")),
		Want:   []string{"spec.updateStrategy.maxUnavailable: maxUnavailable must resolve to at least 1 for RollingUpdate"},
	},
	"a small unavailable share": {Change: unavailable(intstr.FromString("1%"))},
	"models without the custom mode": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.Libvirt.CPUModels = []string{"IvyBridge"} },
		Want:   []string{"spec.libvirt.cpuModels: cpuModels is required when cpuMode is custom and must be empty otherwise"},
	},
	"the custom mode without models": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.Libvirt.CPUMode = v1alpha1.CPUModeCustom },
		Want:   []string{"spec.libvirt.cpuModels: cpuModels is required when cpuMode is custom and must be empty otherwise"},
	},
	"an empty image": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.Image = &v1alpha1.ImageSpec{} },
		Want: []string{
			"spec.image.repository: repository must be set",
			"spec.image: exactly one of image.tag or image.digest must be set",
		},
	},
	"a target cluster without a name": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{} },
		Want:   []string{"spec.targetClusterRef.name: target cluster name must be set"},
	},
	"sizes the wrong way round": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.Resources = Resources(cpu("2"), cpu("1"))
			c.Spec.VerticalAutoscaling = &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Auto", MinAllowed: memory("2Gi"), MaxAllowed: memory("1Gi")}
		},
		Want: []string{
			"spec.resources.requests.cpu: cpu request must not exceed limit (1)",
			"spec.verticalAutoscaling.minAllowed.memory: minAllowed must not exceed maxAllowed (1Gi)",
		},
	},
	"a vertical autoscaler without a mode": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.VerticalAutoscaling = &v1alpha1.VerticalAutoscalingSpec{MaxAllowed: corev1.ResourceList{"x": resource.MustParse("1")}}
		},
		Want: []string{
			"spec.verticalAutoscaling.updateMode: updateMode must be set",
			"spec.verticalAutoscaling.maxAllowed: maxAllowed may only name cpu and memory",
		},
	},
	"a rejected key": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"my_ip": v1alpha1.SingleValue("192.0.2.1")}}
		},
		Release: "2026.1",
		Want:    []string{"spec.extraConfig[DEFAULT][my_ip]: my_ip is managed via OS_DEFAULT__MY_IP (status.hostIP) and must not be set in extraConfig"},
	},
	"a rejected key with an impact": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"libvirt": {"live_migration_scheme": v1alpha1.SingleValue("tcp")}}
		},
		Release: "2026.1",
		Want:    []string{"spec.extraConfig[libvirt][live_migration_scheme]: live_migration_scheme is managed via operator-computed and must not be set in extraConfig (live migration is fixed to TLS with native TLS; another value sends guest memory unencrypted)"},
	},
	"a password": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"service_user": {"password": v1alpha1.SingleValue("x")}}
		},
		Release: "2026.1",
		Want:    []string{"spec.extraConfig[service_user][password]: password is managed via the compute contract, OS_SERVICE_USER__PASSWORD and must not be set in extraConfig (the value comes from the environment, so the line is inert and copies a credential into the ConfigMap)"},
	},
	"another credential": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"placement": {"token": v1alpha1.SingleValue("x")}}
		},
		Release: "2026.1",
		Want:    []string{"spec.extraConfig[placement][token]: is a credential, which does not belong in a custom resource; spec.serviceUser.secretRef of the Nova names the Secret for it"},
	},
	"an unknown option": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"compute": {"reserved_host_memory_mb": v1alpha1.SingleValue("1")}}
		},
		Release: "2026.1",
		Want:    []string{"spec.extraConfig[compute][reserved_host_memory_mb]: no such option in the nova 2026.1 option catalog; option exists in section [DEFAULT]"},
	},
	"an option with a line break": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"mkisofs_cmd": v1alpha1.SingleValue("a\nb")}}
		},
		Want:     []string{"spec.extraConfig[DEFAULT][mkisofs_cmd]: extraConfig key and value must not contain a newline or carriage return: the rendered INI writes them verbatim, so a newline injects arbitrary config lines"},
		Warnings: []string{"extraConfig catalog check skipped: Nova openstack/nova not found"},
	},
	"open keys": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{
				"DEFAULT": {"compute_driver": v1alpha1.SingleValue("libvirt.LibvirtDriver")},
				"vnc":     {"server_listen": v1alpha1.SingleValue("$my_ip")},
				"libvirt": {"live_migration_bandwidth": v1alpha1.SingleValue("100"), "virt_type": v1alpha1.SingleValue("qemu")},
				"pci":     {"device_spec": v1alpha1.ListValue(`{"address": "a"}`, `{"address": "b"}`)},
			}
		},
		Release: "2026.1",
	},
	"names of options that are none": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{
				"":        {"a": v1alpha1.SingleValue("b")},
				"a\rb":    {"c": v1alpha1.SingleValue("d")},
				"DEFAULT": {"": v1alpha1.SingleValue("b"), "e\nf": v1alpha1.SingleValue("g")},
			}
		},
		Release: "2026.1",
		Want: []string{
			"spec.extraConfig: extraConfig section name must not be empty",
			"spec.extraConfig[DEFAULT]: extraConfig key must not be empty",
			"spec.extraConfig[DEFAULT][e\nf]: extraConfig key and value must not contain a newline or carriage return: the rendered INI writes them verbatim, so a newline injects arbitrary config lines",
			"spec.extraConfig[a\rb]: extraConfig section name must not contain a newline or carriage return",
		},
	},
	"a section nova does not have": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"nope": {"a": v1alpha1.SingleValue("b")}}
		},
		Release: "2025.2",
		Want:    []string{"spec.extraConfig[nope][a]: no such section in the nova 2025.2 option catalog"},
	},
	"an option nova is about to drop": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"logfile": v1alpha1.SingleValue("x")}}
		},
		Release:  "2026.1",
		Warnings: []string{"spec.extraConfig [DEFAULT] logfile: deprecated option in nova 2026.1, replaced by [DEFAULT] log_file"},
	},
	"no Nova to compare with": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"nope": {"a": v1alpha1.SingleValue("b")}}
		},
		Warnings: []string{"extraConfig catalog check skipped: Nova openstack/nova not found"},
	},
	"no catalog to compare with": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"nope": {"a": v1alpha1.SingleValue("b")}}
		},
		Release:  "2024.1",
		Warnings: []string{`spec.extraConfig was not validated against an option catalog: no catalog for release "2024.1" is embedded in this operator build`},
	},
}

// ComputeUpdate are changes of a stored node pool.
var ComputeUpdate = map[string]ComputeCase{
	"nothing changed": {},
	"another selector": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.NodeSelector = map[string]string{"pool": "b"} },
	},
	"a name an older operator admitted": {
		Old:    func(c *v1alpha1.NovaCompute) { c.Name = strings.Repeat("n", 64) },
		Change: func(c *v1alpha1.NovaCompute) { c.Name = strings.Repeat("n", 64) },
	},
	"another Nova": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.NovaRef.Name = "other" },
		Want:   []string{"spec.novaRef.name: novaRef is immutable"},
	},
	"a target cluster added": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "a"} },
		Want:   []string{"spec.targetClusterRef: targetClusterRef is immutable (adding or removing it after creation is not permitted)"},
	},
	"another target cluster": {
		Old:    func(c *v1alpha1.NovaCompute) { c.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "a"} },
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "b"} },
		Want:   []string{"spec.targetClusterRef.name: targetClusterRef is immutable (the children already exist on the previously named cluster)"},
	},
	"an option that is unknown and was there before": {
		Old: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"libvirt": {"nope": v1alpha1.SingleValue("x")}}
		},
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"libvirt": {"nope": v1alpha1.SingleValue("x")}}
		},
	},
	"an option that is unknown": {
		Change: func(c *v1alpha1.NovaCompute) {
			c.Spec.ExtraConfig = v1alpha1.ExtraConfig{"libvirt": {"nope": v1alpha1.SingleValue("x")}}
		},
		Release: "2026.1",
		Want:    []string{"spec.extraConfig[libvirt][nope]: no such option in the nova 2026.1 option catalog"},
	},
	"a target cluster removed": {
		Old:  func(c *v1alpha1.NovaCompute) { c.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "a"} },
		Want: []string{"spec.targetClusterRef: targetClusterRef is immutable (adding or removing it after creation is not permitted)"},
	},
	"a finalizer removed from an invalid resource that is being deleted": {
		Old:    func(c *v1alpha1.NovaCompute) { c.Spec.NodeSelector, c.DeletionTimestamp = nil, &gone },
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.NodeSelector, c.DeletionTimestamp = nil, &gone },
	},
	"an invalid change of a resource that is being deleted": {
		Change: func(c *v1alpha1.NovaCompute) { c.Spec.NodeSelector, c.DeletionTimestamp = nil, &gone },
		Want:   []string{"spec.nodeSelector: nodeSelector must carry at least one label"},
	},
}

const offboarding = "tolerates kvm.cloud.sap/offboarding:NoExecute; openstack-hypervisor-operator deletes the compute service only after every agent pod on the node is gone, and a nova-compute that stays re-registers it"

func tolerateOn(toleration corev1.Toleration) func(*v1alpha1.NovaCompute) {
	return func(c *v1alpha1.NovaCompute) { c.Spec.Tolerations = []corev1.Toleration{toleration} }
}

func unavailable(value intstr.IntOrString) func(*v1alpha1.NovaCompute) {
	return func(c *v1alpha1.NovaCompute) { c.Spec.UpdateStrategy.MaxUnavailable = &value }
}
