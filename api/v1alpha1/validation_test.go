// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"
)

// minimalNova is the smallest valid Nova, as Default leaves it.
func minimalNova() *Nova {
	nova := &Nova{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "nova"},
		Spec: NovaSpec{
			OpenStackRelease: "2026.1",
			Image:            ImageSpec{Repository: "ghcr.io/c5c3/nova", Tag: "2026.1"},
			APIDatabase: DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "db"}, Database: "nova_api",
				SecretRef: SecretRefSpec{Name: "nova-api-db"},
			},
			Database: DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "db"}, Database: "nova",
				SecretRef: SecretRefSpec{Name: "nova-db"},
			},
			Cache:            CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}},
			Messaging:        MessagingSpec{ClusterRef: &corev1.LocalObjectReference{Name: "rabbitmq"}},
			Metadata:         NovaMetadataSpec{SharedSecretRef: SecretRefSpec{Name: "metadata"}},
			KeystoneEndpoint: "http://keystone.openstack.svc:5000/v3",
			ServiceUser:      ServiceUserSpec{SecretRef: SecretRefSpec{Name: "nova-user"}},
		},
	}
	nova.Default()
	return nova
}

// complaints are the errors as "path: message", without the value.
func complaints(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		detail := err.Detail
		if err.Type == field.ErrorTypeNotSupported {
			detail = "unsupported, " + detail
		}
		lines = append(lines, err.Field+": "+detail)
	}
	return lines
}

func resources(requests, limits corev1.ResourceList) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{Requests: requests, Limits: limits}
}

func cpu(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
}

func memory(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}
}

func TestValidateNova_Create(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Nova)
		want   []string
	}{
		"the smallest resource is valid": {
			change: func(*Nova) {},
		},
		"a name beyond 41 characters": {
			change: func(n *Nova) { n.Name = strings.Repeat("n", 42) },
			want:   []string{`metadata.name: name must be at most 41 characters: the db-archive CronJob appends "-db-archive" and Kubernetes caps CronJob names at 52 characters`},
		},
		"a name of 41 characters": {
			change: func(n *Nova) { n.Name = strings.Repeat("n", 41) },
		},
		"a name that no Service may have": {
			change: func(n *Nova) { n.Name = "nova.example" },
			want:   []string{"metadata.name: name must be one a Service accepts: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
		},
		"a name that ends like a child": {
			change: func(n *Nova) { n.Name = "nova-console" },
			want:   []string{`metadata.name: name must not end in "-console": a Nova named "nova" in this namespace names one of its own children "nova-console", so the two CRs would share and delete each other's objects`},
		},
		"a name that ends like the objects of cell0": {
			change: func(n *Nova) { n.Name = "a-nova-cell0" },
			want:   []string{`metadata.name: name must not end in "-cell0": a Nova in this namespace names its cell0 MariaDB Database and Grant <name>-<database>-cell0, which can be "a-nova-cell0", so the two CRs would share and delete each other's objects`},
		},
		"an image without a repository": {
			change: func(n *Nova) { n.Spec.Image.Repository = "" },
			want:   []string{"spec.image.repository: repository must be set"},
		},
		"an image with tag and digest": {
			change: func(n *Nova) { n.Spec.Image.Digest = "sha256:" + strings.Repeat("0", 64) },
			want:   []string{"spec.image: exactly one of image.tag or image.digest must be set"},
		},
		"an image with neither tag nor digest": {
			change: func(n *Nova) { n.Spec.Image.Tag = "" },
			want:   []string{"spec.image: exactly one of image.tag or image.digest must be set"},
		},
		"a database with cluster and host": {
			change: func(n *Nova) { n.Spec.Database.Host = "db" },
			want:   []string{"spec.database: exactly one of clusterRef or host must be set"},
		},
		"a database with neither": {
			change: func(n *Nova) { n.Spec.APIDatabase.ClusterRef = nil },
			want:   []string{"spec.apiDatabase: exactly one of clusterRef or host must be set"},
		},
		"a database cluster without a name": {
			change: func(n *Nova) { n.Spec.APIDatabase.ClusterRef.Name = "" },
			want:   []string{"spec.apiDatabase.clusterRef.name: clusterRef.name must be set"},
		},
		"dynamic credentials of a foreign database": {
			change: func(n *Nova) {
				n.Spec.Database.ClusterRef, n.Spec.Database.Host = nil, "db"
				n.Spec.Database.CredentialsMode, n.Spec.APIDatabase.CredentialsMode = CredentialsModeDynamic, CredentialsModeDynamic
			},
			want: []string{"spec.database: credentialsMode Dynamic requires clusterRef (managed mode)"},
		},
		"two modes of credentials": {
			change: func(n *Nova) { n.Spec.Database.CredentialsMode = CredentialsModeDynamic },
			want:   []string{"spec: apiDatabase and database must use the same credentialsMode"},
		},
		"an empty mode of credentials is Static": {
			change: func(n *Nova) { n.Spec.Database.CredentialsMode = CredentialsModeStatic },
		},
		"one schema for both databases": {
			change: func(n *Nova) { n.Spec.APIDatabase.Database = "nova" },
			want:   []string{"spec: apiDatabase and database must name different schemas"},
		},
		"the API database is cell0's": {
			change: func(n *Nova) { n.Spec.APIDatabase.Database = "nova_cell0" },
			want:   []string{"spec: apiDatabase must not name the cell0 schema derived from database"},
		},
		"a cell schema beyond 58 characters": {
			change: func(n *Nova) { n.Spec.Database.Database = strings.Repeat("n", 59) },
			want:   []string{"spec.database: database.database must be at most 58 characters: cell0 is provisioned as <database>_cell0 under the 64-character schema limit"},
		},
		"a cache with cluster and servers": {
			change: func(n *Nova) { n.Spec.Cache.Servers = []string{"a:11211"} },
			want:   []string{"spec.cache: exactly one of clusterRef or servers must be set"},
		},
		"a cache with neither": {
			change: func(n *Nova) { n.Spec.Cache.ClusterRef = nil },
			want:   []string{"spec.cache: exactly one of clusterRef or servers must be set"},
		},
		"line breaks in the cache": {
			change: func(n *Nova) {
				n.Spec.Cache = CacheSpec{Servers: []string{"a:11211", "b\n"}, Backend: "x\ry"}
			},
			want: []string{"spec.cache.backend: " + lineInServiceConfig, "spec.cache.servers[1]: " + lineInServiceConfig},
		},
		"a line break in the cache's cluster": {
			change: func(n *Nova) { n.Spec.Cache.ClusterRef.Name = "a\nb" },
			want:   []string{"spec.cache.clusterRef.name: " + lineInServiceConfig},
		},
		"a bus with cluster and Secret": {
			change: func(n *Nova) { n.Spec.Messaging.SecretRef = &SecretRefSpec{Name: "bus"} },
			want:   []string{"spec.messaging: exactly one of clusterRef or secretRef must be set"},
		},
		"a bus with neither": {
			change: func(n *Nova) { n.Spec.Messaging.ClusterRef = nil },
			want:   []string{"spec.messaging: exactly one of clusterRef or secretRef must be set"},
		},
		"a bus with TLS and no CA bundle": {
			change: func(n *Nova) { n.Spec.Messaging.TLS = &MessagingTLSSpec{} },
			want:   []string{"spec.messaging.tls.caBundleSecretRef.name: caBundleSecretRef.name must be set when spec.messaging.tls is configured"},
		},
		"no replica": {
			change: func(n *Nova) { n.Spec.Scheduler.Deployment.Replicas = 0 },
			want:   []string{"spec.scheduler.deployment.replicas: replicas must be at least 1"},
		},
		"a grace period below 10 seconds": {
			change: func(n *Nova) { n.Spec.API.Deployment.TerminationGracePeriodSeconds = new(int64(9)) },
			want:   []string{"spec.api.deployment.terminationGracePeriodSeconds: terminationGracePeriodSeconds must be at least 10"},
		},
		"a negative sleep": {
			change: func(n *Nova) { n.Spec.API.Deployment.PreStopSleepSeconds = new(int64(-1)) },
			want:   []string{"spec.api.deployment.preStopSleepSeconds: preStopSleepSeconds must be non-negative"},
		},
		"a sleep as long as the grace period": {
			change: func(n *Nova) {
				n.Spec.Metadata.Deployment.PreStopSleepSeconds = new(int64(20))
				n.Spec.Metadata.Deployment.TerminationGracePeriodSeconds = new(int64(20))
			},
			want: []string{"spec.metadata.deployment.preStopSleepSeconds: preStopSleepSeconds (20) must be strictly less than terminationGracePeriodSeconds (20)"},
		},
		"a sleep as long as the schema's idea of an unset grace period": {
			change: func(n *Nova) { n.Spec.Conductor.Deployment.PreStopSleepSeconds = new(int64(30)) },
			want:   []string{"spec.conductor.deployment.preStopSleepSeconds: preStopSleepSeconds (30) must be strictly less than terminationGracePeriodSeconds (30)"},
		},
		"a sleep as long as nova's lowered shutdown time allows": {
			change: func(n *Nova) {
				n.Spec.ExtraConfig = ExtraConfig{"DEFAULT": {
					"graceful_shutdown_timeout": SingleValue("2"), "manager_shutdown_timeout": SingleValue("1"),
				}}
				n.Spec.Conductor.Deployment.PreStopSleepSeconds = new(int64(7))
			},
			want: []string{"spec.conductor.deployment.preStopSleepSeconds: preStopSleepSeconds (7) must be strictly less than terminationGracePeriodSeconds (7)"},
		},
		"Recreate with a rolling update": {
			change: func(n *Nova) {
				n.Spec.API.Deployment.Strategy = &appsv1.DeploymentStrategy{
					Type: appsv1.RecreateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{},
				}
			},
			want: []string{"spec.api.deployment.strategy.rollingUpdate: rollingUpdate must not be set when strategy.type is Recreate"},
		},
		"a request beyond its limit": {
			change: func(n *Nova) { n.Spec.API.Deployment.Resources = resources(cpu("2"), cpu("1500m")) },
			want:   []string{"spec.api.deployment.resources.requests.cpu: cpu request must not exceed limit (1500m)"},
		},
		"a node selector the API server refuses": {
			change: func(n *Nova) { n.Spec.API.Deployment.NodeSelector = map[string]string{"a b": "c d"} },
			want: []string{
				"spec.api.deployment.nodeSelector: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
				"spec.api.deployment.nodeSelector: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
			},
		},
		"a toleration without key and Exists": {
			change: tolerate(corev1.Toleration{Value: "x"}),
			want:   []string{`spec.api.deployment.tolerations[0].operator: operator must be Exists when 'key' is empty, which means "match all values and all keys"`},
		},
		"a toleration for a time of another effect": {
			change: tolerate(corev1.Toleration{Key: "a", TolerationSeconds: new(int64(1)), Effect: corev1.TaintEffectNoSchedule}),
			want:   []string{"spec.api.deployment.tolerations[0].effect: effect must be 'NoExecute' when 'tolerationSeconds' is set"},
		},
		"a toleration of existence with a value": {
			change: tolerate(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Value: "x"}),
			want:   []string{"spec.api.deployment.tolerations[0].value: value must be empty when 'operator' is 'Exists'"},
		},
		"a toleration of a value that is no label": {
			change: tolerate(corev1.Toleration{Key: "a", Value: "x y"}),
			want:   []string{"spec.api.deployment.tolerations[0].value: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		},
		"a toleration that compares what is no number": {
			change: tolerate(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpLt, Value: "01"}),
			want:   []string{"spec.api.deployment.tolerations[0].value: value must be an integer when 'operator' is 'Lt' or 'Gt'"},
		},
		"a toleration with an unknown operator and effect": {
			change: tolerate(corev1.Toleration{Key: "a", Operator: "Is", Effect: "Never"}),
			want: []string{
				`spec.api.deployment.tolerations[0].operator: unsupported, supported values: "Equal", "Exists", "Lt", "Gt"`,
				`spec.api.deployment.tolerations[0].effect: unsupported, supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
			},
		},
		"a toleration with a key that is no name": {
			change: tolerate(corev1.Toleration{Key: "a/b/c", Operator: corev1.TolerationOpExists}),
			want:   []string{"spec.api.deployment.tolerations[0].key: a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"},
		},
		"good tolerations": {
			change: func(n *Nova) {
				n.Spec.Jobs = &JobSpec{Tolerations: []corev1.Toleration{
					{Operator: corev1.TolerationOpExists},
					{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(5))},
					{Key: "a", Operator: corev1.TolerationOpGt, Value: "-5"},
				}}
			},
		},
		"a spread constraint without a selector": {
			change: spread(nil),
			want:   []string{"spec.api.deployment.topologySpreadConstraints[0].labelSelector: labelSelector is required on each TopologySpreadConstraint"},
		},
		"a spread constraint over other pods": {
			change: spread(&metav1.LabelSelector{
				MatchLabels:      map[string]string{"a": "b"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}},
			}),
			want: []string{
				"spec.api.deployment.topologySpreadConstraints[0].labelSelector.matchLabels: labelSelector.matchLabels must equal the Deployment selector labels map[app.kubernetes.io/component:api app.kubernetes.io/instance:nova app.kubernetes.io/name:nova]",
				"spec.api.deployment.topologySpreadConstraints[0].labelSelector.matchExpressions: matchExpressions are not allowed; labelSelector must use matchLabels only",
			},
		},
		"a spread constraint over the block's pods": {
			change: spread(&metav1.LabelSelector{MatchLabels: map[string]string{LabelName: "nova", LabelInstance: "nova", LabelComponent: "api"}}),
		},
		"a worker timeout as long as the grace period allows": {
			change: func(n *Nova) {
				n.Spec.API.UWSGI.Harakiri = new(int32(25))
				n.Spec.API.Deployment.TerminationGracePeriodSeconds = new(int64(30))
			},
			want: []string{"spec.api.uwsgi.harakiri: harakiri (25) must be strictly less than terminationGracePeriodSeconds - preStopSleepSeconds (25)"},
		},
		"a worker timeout as long as nova's shutdown time allows": {
			change: func(n *Nova) { n.Spec.Metadata.UWSGI.Harakiri = new(int32(180)) },
			want:   []string{"spec.metadata.uwsgi.harakiri: harakiri (180) must be strictly less than terminationGracePeriodSeconds - preStopSleepSeconds (180)"},
		},
		"a keep-alive timeout without keep-alive": {
			change: func(n *Nova) {
				n.Spec.API.UWSGI.HTTPKeepAlive, n.Spec.API.UWSGI.HTTPKeepAliveTimeout = new(false), new(int32(5))
			},
			want: []string{"spec.api.uwsgi: httpKeepAliveTimeout may only be set when httpKeepAlive is true"},
		},
		"no worker": {
			change: func(n *Nova) { n.Spec.Scheduler.Workers, n.Spec.Conductor.Workers = new(int32(0)), new(int32(0)) },
			want: []string{
				"spec.scheduler.workers: workers must be at least 1",
				"spec.conductor.workers: workers must be at least 1",
			},
		},
		"a console deployment while the proxy is disabled": {
			change: func(n *Nova) { n.Spec.ConsoleProxy.Enabled = new(false) },
			want:   []string{"spec.consoleProxy: consoleProxy.deployment must not be set when consoleProxy.enabled is false"},
		},
		"a console block is checked while the proxy is enabled": {
			change: func(n *Nova) { n.Spec.ConsoleProxy.Deployment.Replicas = 0 },
			want:   []string{"spec.consoleProxy.deployment.replicas: replicas must be at least 1"},
		},
		"a console block is not checked while the proxy is disabled": {
			change: func(n *Nova) {
				n.Spec.ConsoleProxy.Enabled, n.Spec.ConsoleProxy.Deployment.Replicas = new(false), 0
			},
			want: []string{"spec.consoleProxy: consoleProxy.deployment must not be set when consoleProxy.enabled is false"},
		},
		"a console below a path": {
			change: func(n *Nova) {
				n.Spec.ConsoleProxy.Gateway = &GatewaySpec{ParentRef: GatewayParentRefSpec{Name: "gw"}, Hostname: "c\n", Path: "/x"}
			},
			want: []string{
				`spec.consoleProxy.gateway.path: path must be empty or "/": the console page and its WebSocket are served from the root of the console hostname`,
				"spec.consoleProxy.gateway.hostname: " + lineInNovaConf,
			},
		},
		"bad Jobs": {
			change: func(n *Nova) {
				n.Spec.Jobs = &JobSpec{Resources: resources(memory("2Gi"), memory("1Gi")), Tolerations: []corev1.Toleration{{}}}
			},
			want: []string{
				"spec.jobs.resources.requests.memory: memory request must not exceed limit (1Gi)",
				`spec.jobs.tolerations[0].operator: operator must be Exists when 'key' is empty, which means "match all values and all keys"`,
			},
		},
		"no Keystone": {
			change: func(n *Nova) { n.Spec.KeystoneEndpoint = "" },
			want:   []string{"spec.keystoneEndpoint: keystoneEndpoint must be set"},
		},
		"URLs of every wrong kind": {
			change: func(n *Nova) {
				n.Spec.KeystoneEndpoint = "http://a b"
				n.Spec.KeystonePublicEndpoint = "ftp://a"
				n.Spec.Endpoints.Placement.Override = "http://"
				n.Spec.Endpoints.Neutron.Override = "https://:80"
				n.Spec.Endpoints.Glance.Override = "glance"
				n.Spec.Endpoints.Cinder.Override = "https:///v3"
				n.Spec.Endpoints.Barbican.Override = "http://b:x"
			},
			want: []string{
				`spec.keystoneEndpoint: must be a valid URL: parse "http://a b": invalid character " " in host name`,
				"spec.keystonePublicEndpoint: scheme must be http or https",
				"spec.endpoints.placement.override: URL must include a host",
				"spec.endpoints.neutron.override: URL must include a host",
				"spec.endpoints.glance.override: scheme must be http or https",
				"spec.endpoints.cinder.override: URL must include a host",
				`spec.endpoints.barbican.override: must be a valid URL: parse "http://b:x": invalid port ":x" after host`,
			},
		},
		"an empty remote compute": {
			change: func(n *Nova) { n.Spec.RemoteCompute = &NovaRemoteComputeSpec{} },
			want: []string{
				"spec.remoteCompute.keystoneEndpoint: keystoneEndpoint must be set",
				"spec.remoteCompute.transportURLSecretRef.name: transportURLSecretRef.name must be set: it carries the transport URL of the broker's external listener",
				"spec.messaging.tls: is required when spec.remoteCompute is set: a compute on another cluster verifies the broker against this CA bundle",
			},
		},
		"a remote compute over plain HTTP": {
			change: func(n *Nova) { remote(n, "HTTP://keystone.example") },
			want:   []string{"spec.remoteCompute.keystoneEndpoint: must use scheme https: every compute on another cluster sends the nova service-user password to this URL across a cluster boundary"},
		},
		"a remote compute with a broken URL": {
			change: func(n *Nova) { remote(n, "http://") },
			want:   []string{"spec.remoteCompute.keystoneEndpoint: URL must include a host"},
		},
		"a good remote compute": {
			change: func(n *Nova) { remote(n, "https://keystone.example") },
		},
		"line breaks in rendered texts": {
			change: func(n *Nova) {
				n.Spec.Region = "a\nb"
				n.Spec.ServiceUser.Username = "a\rb"
				n.Spec.ServiceUser.ProjectName = "\n"
				n.Spec.ServiceUser.UserDomainName = "\n"
				n.Spec.ServiceUser.ProjectDomainName = "\n"
			},
			want: []string{
				"spec.region: " + lineInNovaConf,
				"spec.serviceUser.username: " + lineInNovaConf,
				"spec.serviceUser.projectName: " + lineInNovaConf,
				"spec.serviceUser.userDomainName: " + lineInNovaConf,
				"spec.serviceUser.projectDomainName: " + lineInNovaConf,
			},
		},
		"no Secret of the service user and the metadata agent": {
			change: func(n *Nova) { n.Spec.ServiceUser.SecretRef.Name, n.Spec.Metadata.SharedSecretRef.Name = "", "" },
			want: []string{
				"spec.serviceUser.secretRef.name: secretRef.name must be set: it carries the Keystone service-user password",
				"spec.metadata.sharedSecretRef.name: sharedSecretRef.name must be set: it carries the secret the Neutron metadata agent signs proxied requests with",
			},
		},
		"empty gateways": {
			change: func(n *Nova) {
				n.Spec.Gateway, n.Spec.Metadata.Gateway, n.Spec.ConsoleProxy.Gateway = &GatewaySpec{}, &GatewaySpec{}, &GatewaySpec{}
			},
			want: []string{
				"spec.gateway.hostname: hostname must be set when spec.gateway is configured",
				"spec.gateway.parentRef.name: parentRef.name must be set when spec.gateway is configured",
				"spec.metadata.gateway.hostname: hostname must be set when spec.metadata.gateway is configured",
				"spec.metadata.gateway.parentRef.name: parentRef.name must be set when spec.metadata.gateway is configured",
				"spec.consoleProxy.gateway.hostname: hostname must be set when spec.consoleProxy.gateway is configured",
				"spec.consoleProxy.gateway.parentRef.name: parentRef.name must be set when spec.consoleProxy.gateway is configured",
			},
		},
		"bad logging": {
			change: func(n *Nova) {
				n.Spec.Logging.Format, n.Spec.Logging.Level = "xml", "LOUD"
				n.Spec.Logging.PerLoggerLevels = map[string]string{"": "INFO", "a\nb": "INFO", "nova": "TRACE"}
			},
			want: []string{
				`spec.logging.format: unsupported, supported values: "text", "json"`,
				`spec.logging.level: unsupported, supported values: "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"`,
				"spec.logging.perLoggerLevels[]: logger name must not be empty",
				"spec.logging.perLoggerLevels[a\nb]: logger name must not contain a newline or carriage return: it is rendered verbatim into nova.conf, so a newline injects arbitrary config lines",
				"spec.logging.perLoggerLevels[nova]: level must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL",
			},
		},
		"a network policy without a source": {
			change: func(n *Nova) { n.Spec.NetworkPolicy = &NetworkPolicySpec{} },
			want:   []string{"spec.networkPolicy.ingress: at least one ingress source must be specified"},
		},
		"a network policy with a broken selector": {
			change: func(n *Nova) {
				n.Spec.NetworkPolicy = &NetworkPolicySpec{Ingress: []NetworkPolicyIngressSource{{
					NamespaceSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}},
				}}}
			},
			want: []string{"spec.networkPolicy.ingress[0].namespaceSelector.matchExpressions[0].operator: not a valid selector operator"},
		},
		"a store without a name": {
			change: func(n *Nova) { n.Spec.SecretStoreRef = &SecretStoreRefSpec{Kind: "Store"} },
			want: []string{
				"spec.secretStoreRef.name: store name must be set",
				`spec.secretStoreRef.kind: unsupported, supported values: "ClusterSecretStore", "SecretStore"`,
			},
		},
		"a target cluster without a name": {
			change: func(n *Nova) { n.Spec.TargetClusterRef = &TargetClusterRefSpec{} },
			want:   []string{"spec.targetClusterRef.name: target cluster name must be set"},
		},
		"a bad archive": {
			change: func(n *Nova) {
				n.Spec.DBArchive = &DBArchiveSpec{Schedule: "daily", MaxRows: new(int32(0)), Sleep: new(int32(-1)), RetentionDays: new(int32(0))}
			},
			want: []string{
				"spec.dbArchive.schedule: invalid cron expression: expected exactly 5 fields, found 1: [daily]",
				"spec.dbArchive.maxRows: maxRows must be at least 1",
				"spec.dbArchive.sleep: sleep must be non-negative",
				"spec.dbArchive.retentionDays: retentionDays must be at least 1",
			},
		},
		"an archive in a time zone": {
			change: func(n *Nova) { n.Spec.DBArchive = &DBArchiveSpec{Schedule: "TZ=0"} },
			want:   []string{"spec.dbArchive.schedule: invalid cron expression: TZ and CRON_TZ are not supported"},
		},
		"an archive with a descriptor": {
			change: func(n *Nova) { n.Spec.DBArchive = &DBArchiveSpec{Schedule: "@weekly"} },
		},
		"a vertical autoscaler of other resources": {
			change: func(n *Nova) {
				n.Spec.Scheduler.Deployment.VerticalAutoscaling = &VerticalAutoscalingSpec{
					UpdateMode: "Sometimes", MinReplicas: new(int32(0)),
					MinAllowed: corev1.ResourceList{"gpu": resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("2")},
					MaxAllowed: corev1.ResourceList{"disk": resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("1")},
				}
			},
			want: []string{
				`spec.scheduler.deployment.verticalAutoscaling.updateMode: unsupported, supported values: "Off", "Initial", "Recreate", "Auto"`,
				"spec.scheduler.deployment.verticalAutoscaling.minReplicas: minReplicas must be at least 1",
				"spec.scheduler.deployment.verticalAutoscaling.minAllowed: minAllowed may only name cpu and memory",
				"spec.scheduler.deployment.verticalAutoscaling.maxAllowed: maxAllowed may only name cpu and memory",
				"spec.scheduler.deployment.verticalAutoscaling.minAllowed.cpu: minAllowed must not exceed maxAllowed (1)",
			},
		},
		"extraConfig with every kind of finding": {
			change: func(n *Nova) {
				n.Spec.ExtraConfig = ExtraConfig{
					"":        {"a": SingleValue("b")},
					"DEFAULT": {"": SingleValue("b"), "transport_url": SingleValue("x"), "debug": SingleValue("maybe")},
					"a\nb":    {"c": SingleValue("d")},
					"ironic":  {"password": SingleValue("s3cret")},
					"libvirt": {"cpu_mod": SingleValue("none"), "images_type": SingleValue("a\nb")},
				}
			},
			want: []string{
				"spec.extraConfig: extraConfig section name must not be empty",
				"spec.extraConfig[DEFAULT]: extraConfig key must not be empty",
				"spec.extraConfig[DEFAULT][transport_url]: transport_url is managed via spec.messaging and must not be set in extraConfig (the value comes from the environment, so the line is inert and copies a credential into the ConfigMap)",
				"spec.extraConfig[a\nb]: extraConfig section name must not contain a newline or carriage return",
				"spec.extraConfig[libvirt][images_type]: extraConfig key and value must not contain a newline or carriage return: the rendered INI writes them verbatim, so a newline injects arbitrary config lines",
				"spec.extraConfig[DEFAULT][debug]: must be one of true, false, yes, no, on, off, 1, 0",
				"spec.extraConfig[ironic][password]: is a credential, which does not belong in a custom resource; no field takes it from a Secret yet",
				`spec.extraConfig[libvirt][cpu_mod]: no such option in the nova 2026.1 option catalog; did you mean "cpu_mode"?`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			nova := minimalNova()
			tc.change(nova)
			errs, _ := ValidateNova(nova, nil)
			if diff := cmp.Diff(tc.want, complaints(errs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func tolerate(toleration corev1.Toleration) func(*Nova) {
	return func(n *Nova) { n.Spec.API.Deployment.Tolerations = []corev1.Toleration{toleration} }
}

func spread(selector *metav1.LabelSelector) func(*Nova) {
	return func(n *Nova) {
		n.Spec.API.Deployment.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, LabelSelector: selector}}
	}
}

func remote(n *Nova, endpoint string) {
	n.Spec.Messaging.TLS = &MessagingTLSSpec{CABundleSecretRef: SecretRefSpec{Name: "ca"}}
	n.Spec.RemoteCompute = &NovaRemoteComputeSpec{KeystoneEndpoint: endpoint, TransportURLSecretRef: SecretRefSpec{Name: "bus"}}
}

func TestValidateNova_Autoscaling(t *testing.T) {
	for name, tc := range map[string]struct {
		autoscaling AutoscalingSpec
		resources   *corev1.ResourceRequirements
		want        []string
	}{
		"good bounds": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80))},
		},
		"nothing but zeroes": {
			autoscaling: AutoscalingSpec{MinReplicas: new(int32(0)), TargetCPUUtilization: new(int32(0)), TargetMemoryUtilization: new(int32(0))},
			want: []string{
				"spec.autoscaling.maxReplicas: maxReplicas must be at least 1",
				"spec.autoscaling.minReplicas: minReplicas must be at least 1",
				"spec.autoscaling.targetCPUUtilization: targetCPUUtilization must be at least 1",
				"spec.autoscaling.targetMemoryUtilization: targetMemoryUtilization must be at least 1",
			},
		},
		"no target": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3},
			want:        []string{"spec.autoscaling: at least one of targetCPUUtilization or targetMemoryUtilization must be set"},
		},
		"bounds the wrong way round": {
			autoscaling: AutoscalingSpec{MinReplicas: new(int32(4)), MaxReplicas: 3, TargetCPUUtilization: new(int32(80))},
			want:        []string{"spec.autoscaling: minReplicas must not exceed maxReplicas"},
		},
		"an upper bound below the default of the lower one": {
			autoscaling: AutoscalingSpec{MaxReplicas: 2, TargetCPUUtilization: new(int32(80))},
			want:        []string{"spec.autoscaling.maxReplicas: maxReplicas must be >= spec.api.deployment.replicas (3) when minReplicas is not set, because minReplicas defaults to spec.api.deployment.replicas"},
		},
		"a share of no request": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80))},
			resources:   resources(cpu("0"), nil),
			want:        []string{"spec.api.deployment.resources.requests.cpu: cpu request must be greater than zero while targetCPUUtilization is set: utilization is a share of it"},
		},
		"a share of no limit": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetMemoryUtilization: new(int32(80))},
			resources:   resources(nil, memory("0")),
			want:        []string{"spec.api.deployment.resources.limits.memory: memory limit must be greater than zero while targetMemoryUtilization is set: utilization is a share of it"},
		},
		"processor usage without a limit has no ceiling": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(500))},
		},
		"processor usage with a request alone has no ceiling": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(500))},
			resources:   resources(cpu("1"), nil),
		},
		"a limit alone is the request": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(101))},
			resources:   resources(nil, cpu("1")),
			want:        []string{"spec.autoscaling.targetCPUUtilization: targetCPUUtilization 101 can never be reached: the limit of the API container caps usage at 100 percent of its request"},
		},
		"memory that is not named has a limit equal to the request": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetMemoryUtilization: new(int32(120))},
			want:        []string{"spec.autoscaling.targetMemoryUtilization: targetMemoryUtilization 120 can never be reached: the limit of the API container caps usage at 100 percent of its request"},
		},
		"a ceiling is rounded down": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(134))},
			resources:   resources(cpu("3"), cpu("4")),
			want:        []string{"spec.autoscaling.targetCPUUtilization: targetCPUUtilization 134 can never be reached: the limit of the API container caps usage at 133 percent of its request"},
		},
		"a ceiling that is reached": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetMemoryUtilization: new(int32(200))},
			resources:   resources(memory("512Mi"), memory("1Gi")),
		},
		"bad behaviour": {
			autoscaling: AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80)), Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleUp: &autoscalingv2.HPAScalingRules{
					StabilizationWindowSeconds: new(int32(3601)), SelectPolicy: new(autoscalingv2.ScalingPolicySelect("Any")),
					Tolerance: new(resource.MustParse("-0.1")),
				},
				ScaleDown: &autoscalingv2.HPAScalingRules{
					StabilizationWindowSeconds: new(int32(-1)),
					Policies:                   []autoscalingv2.HPAScalingPolicy{{Type: "Nodes", PeriodSeconds: 1801}, {Type: autoscalingv2.PodsScalingPolicy, Value: 1}},
				},
			}},
			want: []string{
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
	} {
		t.Run(name, func(t *testing.T) {
			nova := minimalNova()
			nova.Spec.Autoscaling, nova.Spec.API.Deployment.Resources = &tc.autoscaling, tc.resources
			errs, _ := ValidateNova(nova, nil)
			if diff := cmp.Diff(tc.want, complaints(errs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateNova_AutoscalersExcludeEachOther(t *testing.T) {
	nova := minimalNova()
	nova.Spec.Autoscaling = &AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(80))}
	nova.Spec.API.Deployment.VerticalAutoscaling = &VerticalAutoscalingSpec{UpdateMode: "Off"}
	errs, _ := ValidateNova(nova, nil)
	want := []string{"spec.api.deployment.verticalAutoscaling: spec.api.deployment.verticalAutoscaling cannot be set while spec.autoscaling scales the same Deployment"}
	if diff := cmp.Diff(want, complaints(errs)); diff != "" {
		t.Error(diff)
	}
}

func TestValidateNova_Update(t *testing.T) {
	gone := metav1.NewTime(time.Unix(1, 0))
	for name, tc := range map[string]struct {
		old, change func(*Nova)
		want        []string
		warnings    []string
	}{
		"nothing changed": {},
		"what may change": {
			change: func(n *Nova) {
				n.Spec.Database.ClusterRef.Name, n.Spec.Database.SecretRef.Name = "db2", "other"
				n.Spec.Database.CredentialsMode, n.Spec.APIDatabase.CredentialsMode = CredentialsModeDynamic, CredentialsModeDynamic
				n.Spec.Image.Tag = "2026.1-p1"
			},
		},
		"a name an older operator admitted": {
			old:    func(n *Nova) { n.Name = strings.Repeat("n", 60) + "-api" },
			change: func(n *Nova) { n.Name = strings.Repeat("n", 60) + "-api" },
		},
		"other schemas": {
			change: func(n *Nova) { n.Spec.Database.Database, n.Spec.APIDatabase.Database = "a", "b" },
			want: []string{
				"spec.apiDatabase: apiDatabase.database is immutable: the schema holds the cell map and every instance mapping",
				"spec.database: database.database is immutable: the cell mappings store the schema name",
			},
		},
		"other modes of the databases": {
			change: func(n *Nova) {
				n.Spec.Database.ClusterRef, n.Spec.Database.Host = nil, "a"
				n.Spec.APIDatabase.ClusterRef, n.Spec.APIDatabase.Host = nil, "a"
			},
			want: []string{
				"spec.apiDatabase: apiDatabase mode (managed clusterRef vs brownfield host) is immutable",
				"spec.database: database mode (managed clusterRef vs brownfield host) is immutable",
			},
		},
		"a target cluster added": {
			change: func(n *Nova) { n.Spec.TargetClusterRef = &TargetClusterRefSpec{Name: "a"} },
			want:   []string{"spec.targetClusterRef: targetClusterRef is immutable (adding or removing it after creation is not permitted)"},
		},
		"a target cluster removed": {
			old:  func(n *Nova) { n.Spec.TargetClusterRef = &TargetClusterRefSpec{Name: "a"} },
			want: []string{"spec.targetClusterRef: targetClusterRef is immutable (adding or removing it after creation is not permitted)"},
		},
		"another target cluster": {
			old:    func(n *Nova) { n.Spec.TargetClusterRef = &TargetClusterRefSpec{Name: "a"} },
			change: func(n *Nova) { n.Spec.TargetClusterRef = &TargetClusterRefSpec{Name: "b"} },
			want:   []string{"spec.targetClusterRef.name: targetClusterRef is immutable (the children already exist on the previously named cluster)"},
		},
		"a finalizer removed from an invalid resource that is being deleted": {
			old:    func(n *Nova) { n.Spec.KeystoneEndpoint, n.DeletionTimestamp = "", &gone },
			change: func(n *Nova) { n.Spec.KeystoneEndpoint, n.DeletionTimestamp, n.Finalizers = "", &gone, nil },
		},
		"an invalid change of a resource that is being deleted": {
			old:    func(n *Nova) { n.DeletionTimestamp = &gone },
			change: func(n *Nova) { n.Spec.KeystoneEndpoint, n.DeletionTimestamp = "", &gone },
			want:   []string{"spec.keystoneEndpoint: keystoneEndpoint must be set"},
		},
		"an option that is unknown and was there before": {
			old:    func(n *Nova) { n.Spec.ExtraConfig = ExtraConfig{"libvirt": {"nope": SingleValue("x")}} },
			change: func(n *Nova) { n.Spec.ExtraConfig = ExtraConfig{"libvirt": {"nope": SingleValue("x")}} },
		},
		"an option that was removed in the new release": {
			old: func(n *Nova) {
				n.Spec.OpenStackRelease = "2025.2"
				n.Spec.ExtraConfig = ExtraConfig{"DEFAULT": {"watch_log_file": SingleValue("true")}}
			},
			change: func(n *Nova) { n.Spec.ExtraConfig = ExtraConfig{"DEFAULT": {"watch_log_file": SingleValue("true")}} },
			want:   []string{"spec.extraConfig[DEFAULT][watch_log_file]: no such option in the nova 2026.1 option catalog"},
		},
		"a rejected key that was there before": {
			old:    func(n *Nova) { n.Spec.ExtraConfig = ExtraConfig{"DEFAULT": {"web": SingleValue("x")}} },
			change: func(n *Nova) { n.Spec.ExtraConfig = ExtraConfig{"DEFAULT": {"web": SingleValue("x")}} },
			want:   []string{"spec.extraConfig[DEFAULT][web]: web is managed via operator-computed and must not be set in extraConfig (another path gives a blank console page without an error)"},
		},
		"a deprecated option": {
			change:   func(n *Nova) { n.Spec.ExtraConfig = ExtraConfig{"DEFAULT": {"logfile": SingleValue("x")}} },
			warnings: []string{"spec.extraConfig [DEFAULT] logfile: deprecated option in nova 2026.1, replaced by [DEFAULT] log_file"},
		},
		"a window removed": {
			old:      keep(30),
			warnings: []string{"spec.dbArchive.retentionDays removed (was 30): the next archive run moves every soft-deleted row into the shadow tables, including the ones deleted today"},
		},
		"a window lowered": {
			old:      keep(30),
			change:   keep(7),
			warnings: []string{"spec.dbArchive.retentionDays reduced 30 to 7: the next archive run also moves the rows soft-deleted between 7 and 30 days ago"},
		},
		"a window raised":               {old: keep(7), change: keep(30)},
		"a window where there was none": {change: keep(30)},
	} {
		t.Run(name, func(t *testing.T) {
			nova, old := minimalNova(), minimalNova()
			if tc.old != nil {
				tc.old(old)
			}
			if tc.change != nil {
				tc.change(nova)
			}
			errs, warnings := ValidateNova(nova, old)
			if diff := cmp.Diff(tc.want, complaints(errs)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.warnings, warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func keep(days int32) func(*Nova) {
	return func(n *Nova) { n.Spec.DBArchive = &DBArchiveSpec{RetentionDays: &days} }
}

func TestValidateNova_CollectsEverything(t *testing.T) {
	errs, _ := ValidateNova(&Nova{}, nil)
	want := []string{
		"spec.image.repository: repository must be set",
		"spec.image: exactly one of image.tag or image.digest must be set",
		"spec.apiDatabase: exactly one of clusterRef or host must be set",
		"spec.database: exactly one of clusterRef or host must be set",
		"spec: apiDatabase and database must name different schemas",
		"spec.cache: exactly one of clusterRef or servers must be set",
		"spec.messaging: exactly one of clusterRef or secretRef must be set",
		"spec.api.deployment.replicas: replicas must be at least 1",
		"spec.metadata.deployment.replicas: replicas must be at least 1",
		"spec.scheduler.deployment.replicas: replicas must be at least 1",
		"spec.conductor.deployment.replicas: replicas must be at least 1",
		"spec.keystoneEndpoint: keystoneEndpoint must be set",
		"spec.serviceUser.secretRef.name: secretRef.name must be set: it carries the Keystone service-user password",
		"spec.metadata.sharedSecretRef.name: sharedSecretRef.name must be set: it carries the secret the Neutron metadata agent signs proxied requests with",
	}
	if diff := cmp.Diff(want, complaints(errs)); diff != "" {
		t.Error(diff)
	}
}

func TestDefault_StoresWhatTheWebhookStores(t *testing.T) {
	nova := minimalNova()
	again := nova.DeepCopy()
	again.Default()
	if diff := cmp.Diff(nova, again); diff != "" {
		t.Errorf("not idempotent: %s", diff)
	}
	replicas := []int32{
		nova.Spec.API.Deployment.Replicas, nova.Spec.Metadata.Deployment.Replicas, nova.Spec.Scheduler.Deployment.Replicas,
		nova.Spec.Conductor.Deployment.Replicas, nova.Spec.ConsoleProxy.Deployment.Replicas,
	}
	if diff := cmp.Diff([]int32{3, 1, 1, 1, 1}, replicas); diff != "" {
		t.Error(diff)
	}
	uwsgi := &UWSGISpec{Processes: 2, Threads: 1, HTTPKeepAlive: new(true)}
	for _, pair := range []struct{ want, got any }{
		{uwsgi, nova.Spec.API.UWSGI},
		{uwsgi, nova.Spec.Metadata.UWSGI},
		{new(int32(2)), nova.Spec.Scheduler.Workers},
		{new(int32(2)), nova.Spec.Conductor.Workers},
		{new(true), nova.Spec.ConsoleProxy.Enabled},
		{"dogpile.cache.pymemcache", nova.Spec.Cache.Backend},
		{&LoggingSpec{Format: "text", Level: "INFO", Debug: new(false)}, nova.Spec.Logging},
		{ServiceUserSpec{
			Username: "nova", ProjectName: "service", UserDomainName: "Default", ProjectDomainName: "Default",
			SecretRef: SecretRefSpec{Name: "nova-user", Key: "password"},
		}, nova.Spec.ServiceUser},
		{"shared_secret", nova.Spec.Metadata.SharedSecretRef.Key},
		{(*DBArchiveSpec)(nil), nova.Spec.DBArchive},
		{"", nova.Spec.KeystonePublicEndpoint},
		{(*int64)(nil), nova.Spec.Scheduler.Deployment.TerminationGracePeriodSeconds},
	} {
		if diff := cmp.Diff(pair.want, pair.got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDefault_FollowsSwitches(t *testing.T) {
	nova := minimalNova()
	nova.Spec.ConsoleProxy.Enabled = new(false)
	nova.Spec.RemoteCompute = &NovaRemoteComputeSpec{}
	nova.Spec.Database.TLS, nova.Spec.APIDatabase.TLS = &DatabaseTLSSpec{}, &DatabaseTLSSpec{Mode: DatabaseTLSDisabled}
	nova.Default()
	if nova.Spec.ConsoleProxy.Deployment != nil {
		t.Error("a disabled proxy keeps its deployment block")
	}
	if nova.Spec.RemoteCompute.TransportURLSecretRef.Key != "transport_url" {
		t.Error("the key of the remote transport URL has no default")
	}
	if nova.Spec.Database.TLS.Mode != "require" || nova.Spec.APIDatabase.TLS.Mode != "disabled" {
		t.Error("an empty TLS mode is require, and no other")
	}
	nova.Spec.ConsoleProxy = NovaConsoleProxySpec{Deployment: &DeploymentSpec{}}
	nova.Default()
	if nova.Spec.ConsoleProxy.Deployment.Replicas != 3 {
		t.Error("a present console block without replicas takes the shared default")
	}
}

func TestValidateNova_NeverPanicsAndIsStable(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"http://a", "2026.1", "nova", "\n", "@daily", "TZ=0", "\x00", "a$b"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string { return text.Draw(t, name) }
		number := func(name string) *int32 { return rapid.Ptr(rapid.Int32(), true).Draw(t, name) }
		nova := minimalNova()
		nova.Name, nova.Spec.OpenStackRelease, nova.Spec.KeystoneEndpoint = draw("name"), draw("release"), draw("url")
		nova.Spec.Database.Database, nova.Spec.APIDatabase.Host, nova.Spec.Region = draw("database"), draw("host"), draw("region")
		nova.Spec.DBArchive = &DBArchiveSpec{Schedule: draw("schedule"), MaxRows: number("rows"), RetentionDays: number("days")}
		nova.Spec.Autoscaling = &AutoscalingSpec{MaxReplicas: rapid.Int32().Draw(t, "max"), MinReplicas: number("min"), TargetCPUUtilization: number("cpu"), TargetMemoryUtilization: number("memory")}
		quantity := rapid.Map(rapid.Int64(), func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) })
		amounts := rapid.MapOf(rapid.SampledFrom([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "x"}), quantity)
		nova.Spec.API.Deployment.Resources = resources(amounts.Draw(t, "requests"), amounts.Draw(t, "limits"))
		nova.Spec.API.Deployment.Tolerations = []corev1.Toleration{{
			Key: draw("key"), Operator: corev1.TolerationOperator(draw("operator")), Value: draw("value"), Effect: corev1.TaintEffect(draw("effect")),
		}}
		nova.Spec.API.Deployment.NodeSelector = map[string]string{draw("label"): draw("labelValue"), "b": "c"}
		nova.Spec.ExtraConfig = ExtraConfig{draw("section"): {draw("option"): SingleValue(draw("setting")), "x": {List: true}}}
		if rapid.Bool().Draw(t, "default") {
			nova.Default()
		}
		old := rapid.SampledFrom([]*Nova{nil, minimalNova(), {}}).Draw(t, "old")
		before := nova.DeepCopy()
		errs, warnings := ValidateNova(nova, old)
		if diff := cmp.Diff(before, nova); diff != "" {
			t.Fatalf("changed its input: %s", diff)
		}
		againErrs, againWarnings := ValidateNova(nova, old)
		if diff := cmp.Diff(complaints(errs), complaints(againErrs)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(warnings, againWarnings); diff != "" {
			t.Fatal(diff)
		}
	})
}
