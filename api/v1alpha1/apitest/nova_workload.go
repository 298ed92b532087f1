// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// novaWorkload are the blocks that become pods.
var novaWorkload = map[string]NovaCase{
	"no replica": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Scheduler.Deployment.Replicas = 0 },
		Want:   []string{"spec.scheduler.deployment.replicas: replicas must be at least 1"},
	},
	"a grace period below 10 seconds": {
		Change: func(n *v1alpha1.Nova) { n.Spec.API.Deployment.TerminationGracePeriodSeconds = new(int64(9)) },
		Want:   []string{"spec.api.deployment.terminationGracePeriodSeconds: terminationGracePeriodSeconds must be at least 10"},
	},
	"a negative sleep": {
		Change: func(n *v1alpha1.Nova) { n.Spec.API.Deployment.PreStopSleepSeconds = new(int64(-1)) },
		Want:   []string{"spec.api.deployment.preStopSleepSeconds: preStopSleepSeconds must be non-negative"},
	},
	"a sleep as long as the grace period": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Metadata.Deployment.PreStopSleepSeconds = new(int64(20))
			n.Spec.Metadata.Deployment.TerminationGracePeriodSeconds = new(int64(20))
		},
		Want: []string{"spec.metadata.deployment.preStopSleepSeconds: preStopSleepSeconds (20) must be strictly less than terminationGracePeriodSeconds (20)"},
	},
	"a sleep as long as the schema's idea of an unset grace period": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Conductor.Deployment.PreStopSleepSeconds = new(int64(30)) },
		Want:   []string{"spec.conductor.deployment.preStopSleepSeconds: preStopSleepSeconds (30) must be strictly less than terminationGracePeriodSeconds (30)"},
	},
	"a sleep as long as nova's lowered shutdown time allows": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {
				"graceful_shutdown_timeout": v1alpha1.SingleValue("2"), "manager_shutdown_timeout": v1alpha1.SingleValue("1"),
			}}
			n.Spec.Conductor.Deployment.PreStopSleepSeconds = new(int64(7))
		},
		Want: []string{"spec.conductor.deployment.preStopSleepSeconds: preStopSleepSeconds (7) must be strictly less than terminationGracePeriodSeconds (7)"},
	},
	"Recreate with a rolling update": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.API.Deployment.Strategy = &appsv1.DeploymentStrategy{
				Type: appsv1.RecreateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{},
			}
		},
		Want: []string{"spec.api.deployment.strategy.rollingUpdate: rollingUpdate must not be set when strategy.type is Recreate"},
	},
	"a request beyond its limit": {
		Change: func(n *v1alpha1.Nova) { n.Spec.API.Deployment.Resources = Resources(cpu("2"), cpu("1500m")) },
		Want:   []string{"spec.api.deployment.resources.requests.cpu: cpu request must not exceed limit (1500m)"},
	},
	"a node selector the API server refuses": {
		Change: func(n *v1alpha1.Nova) { n.Spec.API.Deployment.NodeSelector = map[string]string{"a b": "c d"} },
		Want: []string{
			"spec.api.deployment.nodeSelector: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
			"spec.api.deployment.nodeSelector: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
		},
	},
	"a toleration without key and Exists": {
		Change: tolerate(corev1.Toleration{Value: "x"}),
		Want:   []string{`spec.api.deployment.tolerations[0].operator: operator must be Exists when 'key' is empty, which means "match all values and all keys"`},
	},
	"a toleration for a time of another effect": {
		Change: tolerate(corev1.Toleration{Key: "a", TolerationSeconds: new(int64(1)), Effect: corev1.TaintEffectNoSchedule}),
		Want:   []string{"spec.api.deployment.tolerations[0].effect: effect must be 'NoExecute' when 'tolerationSeconds' is set"},
	},
	"a toleration of existence with a value": {
		Change: tolerate(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Value: "x"}),
		Want:   []string{"spec.api.deployment.tolerations[0].value: value must be empty when 'operator' is 'Exists'"},
	},
	"a toleration of a value that is no label": {
		Change: tolerate(corev1.Toleration{Key: "a", Value: "x y"}),
		Want:   []string{"spec.api.deployment.tolerations[0].value: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	},
	"a toleration that compares what is no number": {
		Change: tolerate(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpLt, Value: "01"}),
		Want:   []string{"spec.api.deployment.tolerations[0].value: value must be an integer when 'operator' is 'Lt' or 'Gt'"},
	},
	"a toleration with an unknown operator and effect": {
		Change: tolerate(corev1.Toleration{Key: "a", Operator: "Is", Effect: "Never"}),
		Want: []string{
			`spec.api.deployment.tolerations[0].operator: unsupported, supported values: "Equal", "Exists", "Lt", "Gt"`,
			`spec.api.deployment.tolerations[0].effect: unsupported, supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
		},
	},
	"a toleration with a key that is no name": {
		Change: tolerate(corev1.Toleration{Key: "a/b/c", Operator: corev1.TolerationOpExists}),
		Want:   []string{"spec.api.deployment.tolerations[0].key: a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"},
	},
	"good tolerations": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Jobs = &v1alpha1.JobSpec{Tolerations: []corev1.Toleration{
				{Operator: corev1.TolerationOpExists},
				{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(5))},
				{Key: "a", Operator: corev1.TolerationOpGt, Value: "-5"},
			}}
		},
	},
	"a spread constraint without a selector": {
		Change: spread(nil),
		Want:   []string{"spec.api.deployment.topologySpreadConstraints[0].labelSelector: labelSelector is required on each TopologySpreadConstraint"},
	},
	"a spread constraint over other pods": {
		Change: spread(&metav1.LabelSelector{
			MatchLabels:      map[string]string{"a": "b"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}},
		}),
		Want: []string{
			"spec.api.deployment.topologySpreadConstraints[0].labelSelector.matchLabels: labelSelector.matchLabels must equal the Deployment selector labels map[app.kubernetes.io/component:api app.kubernetes.io/instance:nova app.kubernetes.io/name:nova]",
			"spec.api.deployment.topologySpreadConstraints[0].labelSelector.matchExpressions: matchExpressions are not allowed; labelSelector must use matchLabels only",
		},
	},
	"a spread constraint over the block's pods": {
		Change: spread(&metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelName: "nova", v1alpha1.LabelInstance: "nova", v1alpha1.LabelComponent: "api"}}),
	},
	"a worker timeout as long as the grace period allows": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.API.UWSGI.Harakiri = new(int32(25))
			n.Spec.API.Deployment.TerminationGracePeriodSeconds = new(int64(30))
		},
		Want: []string{"spec.api.uwsgi.harakiri: harakiri (25) must be strictly less than terminationGracePeriodSeconds - preStopSleepSeconds (25)"},
	},
	"a worker timeout as long as nova's shutdown time allows": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Metadata.UWSGI.Harakiri = new(int32(180)) },
		Want:   []string{"spec.metadata.uwsgi.harakiri: harakiri (180) must be strictly less than terminationGracePeriodSeconds - preStopSleepSeconds (180)"},
	},
	"a keep-alive timeout without keep-alive": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.API.UWSGI.HTTPKeepAlive, n.Spec.API.UWSGI.HTTPKeepAliveTimeout = new(false), new(int32(5))
		},
		Want: []string{"spec.api.uwsgi: httpKeepAliveTimeout may only be set when httpKeepAlive is true"},
	},
	"no worker": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Scheduler.Workers, n.Spec.Conductor.Workers = new(int32(0)), new(int32(0))
		},
		Want: []string{
			"spec.scheduler.workers: workers must be at least 1",
			"spec.conductor.workers: workers must be at least 1",
		},
	},
	"a console deployment while the proxy is disabled": {
		Change: func(n *v1alpha1.Nova) { n.Spec.ConsoleProxy.Enabled = new(false) },
		Want:   []string{"spec.consoleProxy: consoleProxy.deployment must not be set when consoleProxy.enabled is false"},
	},
	"a console block is checked while the proxy is enabled": {
		Change: func(n *v1alpha1.Nova) { n.Spec.ConsoleProxy.Deployment.Replicas = 0 },
		Want:   []string{"spec.consoleProxy.deployment.replicas: replicas must be at least 1"},
	},
	"a console block is not checked while the proxy is disabled": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ConsoleProxy.Enabled, n.Spec.ConsoleProxy.Deployment.Replicas = new(false), 0
		},
		Want: []string{"spec.consoleProxy: consoleProxy.deployment must not be set when consoleProxy.enabled is false"},
	},
	"a console below a path": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ConsoleProxy.Gateway = &v1alpha1.GatewaySpec{ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw"}, Hostname: "c\n", Path: "/x"}
		},
		Want: []string{
			`spec.consoleProxy.gateway.path: path must be empty or "/": the console page and its WebSocket are served from the root of the console hostname`,
			"spec.consoleProxy.gateway.hostname: " + inNovaConf,
		},
	},
	"bad Jobs": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Jobs = &v1alpha1.JobSpec{Resources: Resources(memory("2Gi"), memory("1Gi")), Tolerations: []corev1.Toleration{{}}}
		},
		Want: []string{
			"spec.jobs.resources.requests.memory: memory request must not exceed limit (1Gi)",
			`spec.jobs.tolerations[0].operator: operator must be Exists when 'key' is empty, which means "match all values and all keys"`,
		},
	},
	"a vertical autoscaler of other resources": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Scheduler.Deployment.VerticalAutoscaling = &v1alpha1.VerticalAutoscalingSpec{
				UpdateMode: "Sometimes", MinReplicas: new(int32(0)),
				MinAllowed: corev1.ResourceList{"gpu": resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("2")},
				MaxAllowed: corev1.ResourceList{"disk": resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("1")},
			}
		},
		Want: []string{
			`spec.scheduler.deployment.verticalAutoscaling.updateMode: unsupported, supported values: "Off", "Initial", "Recreate", "Auto"`,
			"spec.scheduler.deployment.verticalAutoscaling.minReplicas: minReplicas must be at least 1",
			"spec.scheduler.deployment.verticalAutoscaling.minAllowed: minAllowed may only name cpu and memory",
			"spec.scheduler.deployment.verticalAutoscaling.maxAllowed: maxAllowed may only name cpu and memory",
			"spec.scheduler.deployment.verticalAutoscaling.minAllowed.cpu: minAllowed must not exceed maxAllowed (1)",
		},
	},
}

func tolerate(toleration corev1.Toleration) func(*v1alpha1.Nova) {
	return func(n *v1alpha1.Nova) { n.Spec.API.Deployment.Tolerations = []corev1.Toleration{toleration} }
}

func spread(selector *metav1.LabelSelector) func(*v1alpha1.Nova) {
	return func(n *v1alpha1.Nova) {
		n.Spec.API.Deployment.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, LabelSelector: selector}}
	}
}
