// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestNovaCompute_Schema(t *testing.T) {
	compute.run(t, map[string]rule{
		"the smallest resource": {},
		"an empty spec": {
			change: "spec: {novaRef: null, nodeSelector: null}",
			want: []string{
				"spec.nodeSelector: Required value",
				"spec.novaRef: Required value",
			},
		},
		"no name of a Nova": {
			change: "spec: {novaRef: {name: ''}}",
			want: []string{
				`spec.novaRef.name: "": spec.novaRef.name in body should be at least 1 chars long`,
			},
		},
		"no label": {
			change: "spec: {nodeSelector: {pool: null}}",
			want: []string{
				"spec.nodeSelector: 0: spec.nodeSelector in body should have at least 1 properties",
			},
		},
		"an image with tag and digest": {
			change: "spec: {image: {repository: a, tag: b, digest: 'sha256:" + strings.Repeat("0", 64) + "'}}",
			want: []string{
				"spec.image: exactly one of image.tag or image.digest must be set",
			},
		},
		"an image with neither tag nor digest": {
			change: "spec: {image: {repository: ''}}",
			want: []string{
				`spec.image.repository: "": spec.image.repository in body should be at least 1 chars long`,
				"spec.image: exactly one of image.tag or image.digest must be set",
			},
		},
		"an image": {change: "spec: {image: {repository: a, tag: b, pullPolicy: Always}}"},
		"libvirt of unknown kinds": {
			change: "spec: {libvirt: {virtType: xen, cpuMode: best, imagesType: rbd}}",
			want: []string{
				`spec.libvirt.cpuMode: Unsupported value: "best": supported values: "host-model", "host-passthrough", "custom", "none"`,
				`spec.libvirt.imagesType: Unsupported value: "rbd": supported values: "default", "qcow2", "raw", "flat"`,
				`spec.libvirt.virtType: Unsupported value: "xen": supported values: "kvm", "qemu"`,
			},
		},
		"models without the custom mode": {
			change: "spec: {libvirt: {cpuMode: host-model, cpuModels: [IvyBridge]}}",
			want: []string{
				"spec.libvirt: cpuModels is required when cpuMode is custom and must be empty otherwise",
			},
		},
		"the custom mode without models": {
			change: "spec: {libvirt: {cpuMode: custom, cpuModels: []}}",
			want: []string{
				"spec.libvirt: cpuModels is required when cpuMode is custom and must be empty otherwise",
			},
		},
		"the custom mode": {change: "spec: {libvirt: {cpuMode: custom, cpuModels: [IvyBridge, Skylake-Client.v1]}}"},
		"a model with a comma": {
			change: "spec: {libvirt: {cpuMode: custom, cpuModels: ['a,b']}}",
			want: []string{
				`spec.libvirt.cpuModels[0]: "a,b": spec.libvirt.cpuModels[0] in body should match '^[A-Za-z0-9_.-]+$'`,
			},
		},
		"an unknown strategy": {
			change: "spec: {updateStrategy: {type: Never}}",
			want: []string{
				`spec.updateStrategy.type: Unsupported value: "Never": supported values: "RollingUpdate", "OnDelete"`,
			},
		},
		"a strategy the webhook judges": {change: "spec: {updateStrategy: {type: OnDelete, maxUnavailable: many}}"},
		"a vertical autoscaler of other resources": {
			change: "spec: {verticalAutoscaling: {updateMode: Auto, minReplicas: 0, minAllowed: {gpu: 1}, maxAllowed: {gpu: 1}}}",
			want: []string{
				"spec.verticalAutoscaling.minReplicas: 0: spec.verticalAutoscaling.minReplicas in body should be greater than or equal to 1",
				"spec.verticalAutoscaling: maxAllowed may only name cpu and memory",
				"spec.verticalAutoscaling: minAllowed may only name cpu and memory",
			},
		},
		"traits that are none": {
			change: "spec: {traits: [HW_CPU, CUSTOM_a, CUSTOM_]}",
			want: []string{
				`spec.traits[0]: "HW_CPU": spec.traits[0] in body should match '^CUSTOM_[A-Z0-9_]+$'`,
				`spec.traits[1]: "CUSTOM_a": spec.traits[1] in body should match '^CUSTOM_[A-Z0-9_]+$'`,
				`spec.traits[2]: "CUSTOM_": spec.traits[2] in body should match '^CUSTOM_[A-Z0-9_]+$'`,
			},
		},
		"a trait beyond 255 characters": {
			change: "spec: {traits: [CUSTOM_" + strings.Repeat("A", 249) + "]}",
			want: []string{
				"spec.traits[0]: Too long: may not be more than 255 bytes",
			},
		},
		"a trait twice": {
			change: "spec: {traits: [CUSTOM_A, CUSTOM_A]}",
			want: []string{
				`spec.traits[1]: Duplicate value: "CUSTOM_A"`,
			},
		},
		"more than 64 traits": {
			change: "spec: {traits: [" + numbered("CUSTOM_%d", 65) + "]}",
			want: []string{
				"spec.traits: Too many: 65: must have at most 64 items",
			},
		},
		"traits of a host": {change: "spec: {traits: [CUSTOM_A], hostTraits: [{nodeName: a, traits: [CUSTOM_B]}, {nodeName: b, mode: Replace}]}"},
		"no traits of a host": {
			change: "spec: {hostTraits: [{nodeName: a}, {nodeName: b, mode: Append, traits: []}]}",
			want: []string{
				"spec.hostTraits[0]: traits must not be empty unless mode is Replace",
				"spec.hostTraits[1]: traits must not be empty unless mode is Replace",
			},
		},
		"a host twice": {
			change: "spec: {hostTraits: [{nodeName: a, traits: [CUSTOM_B]}, {nodeName: a, mode: Replace}]}",
			want: []string{
				`spec.hostTraits[1]: Duplicate value: {"nodeName":"a"}`,
			},
		},
		"a host without a name and of an unknown mode": {
			change: "spec: {hostTraits: [{nodeName: '', traits: [custom], mode: Merge}]}",
			want: []string{
				`spec.hostTraits[0].mode: Unsupported value: "Merge": supported values: "Append", "Replace"`,
				`spec.hostTraits[0].nodeName: "": spec.hostTraits[0].nodeName in body should be at least 1 chars long`,
				`spec.hostTraits[0].traits[0]: "custom": spec.hostTraits[0].traits[0] in body should match '^CUSTOM_[A-Z0-9_]+$'`,
			},
		},
		"more than 1000 hosts": {
			change: "spec: {hostTraits: [" + numbered("{nodeName: n%d, mode: Replace}", 1001) + "]}",
			want: []string{
				"spec.hostTraits: Too many: 1001: must have at most 1000 items",
			},
		},
		"a target cluster of a name that is none": {
			change: "spec: {targetClusterRef: {name: ''}}",
			want: []string{
				`spec.targetClusterRef.name: "": spec.targetClusterRef.name in body should be at least 1 chars long`,
			},
		},
		"extraConfig of any shape": {change: "spec: {extraConfig: {DEFAULT: {debug: true, a: 1, b: [x, y]}}}"},
		"nothing changed":          {update: true},
		"another Nova": {
			update: true,
			change: "spec: {novaRef: {name: b}}",
			want: []string{
				`spec.novaRef.name: "b": novaRef is immutable`,
			},
		},
		"a target cluster added": {
			update: true,
			change: "spec: {targetClusterRef: {name: a}}",
			want: []string{
				"spec: targetClusterRef is immutable",
			},
		},
		"a target cluster removed": {
			old:    "spec: {targetClusterRef: {name: a}}",
			update: true,
			want: []string{
				"spec: targetClusterRef is immutable",
			},
		},
		"another target cluster": {
			old:    "spec: {targetClusterRef: {name: a}}",
			update: true,
			change: "spec: {targetClusterRef: {name: b}}",
			want: []string{
				`spec.targetClusterRef.name: "b": targetClusterRef is immutable`,
			},
		},
		"everything that may change": {update: true, change: "spec: {nodeSelector: {pool: b}, image: {repository: a, tag: b}, libvirt: {virtType: qemu}, traits: [CUSTOM_A]}"},
	})
}

// numbered is a list of n items of a format with a number in it.
func numbered(format string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(items, ", ")
}
