// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// novaText are addresses, rendered texts, references, the archive and extraConfig.
var novaText = map[string]NovaCase{
	"no Keystone": {
		Change: func(n *v1alpha1.Nova) { n.Spec.KeystoneEndpoint = "" },
		Want:   []string{"spec.keystoneEndpoint: keystoneEndpoint must be set"},
	},
	"URLs of every wrong kind": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.KeystoneEndpoint = "http://a b"
			n.Spec.KeystonePublicEndpoint = "ftp://a"
			n.Spec.Endpoints.Placement.Override = "http://"
			n.Spec.Endpoints.Neutron.Override = "https://:80"
			n.Spec.Endpoints.Glance.Override = "glance"
			n.Spec.Endpoints.Cinder.Override = "https:///v3"
			n.Spec.Endpoints.Barbican.Override = "http://b:x"
		},
		Want: []string{
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
		Change: func(n *v1alpha1.Nova) { n.Spec.RemoteCompute = &v1alpha1.NovaRemoteComputeSpec{} },
		Want: []string{
			"spec.remoteCompute.keystoneEndpoint: keystoneEndpoint must be set",
			"spec.remoteCompute.transportURLSecretRef.name: transportURLSecretRef.name must be set: it carries the transport URL of the broker's external listener",
			"spec.messaging.tls: is required when spec.remoteCompute is set: a compute on another cluster verifies the broker against this CA bundle",
		},
	},
	"a remote compute over plain HTTP": {
		Change: func(n *v1alpha1.Nova) { remote(n, "HTTP://keystone.example") },
		Want:   []string{"spec.remoteCompute.keystoneEndpoint: must use scheme https: every compute on another cluster sends the nova service-user password to this URL across a cluster boundary"},
	},
	"a remote compute with a broken URL": {
		Change: func(n *v1alpha1.Nova) { remote(n, "http://") },
		Want:   []string{"spec.remoteCompute.keystoneEndpoint: URL must include a host"},
	},
	"a good remote compute": {
		Change: func(n *v1alpha1.Nova) { remote(n, "https://keystone.example") },
	},
	"line breaks in rendered texts": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Region = "a\nb"
			n.Spec.ServiceUser.Username = "a\rb"
			n.Spec.ServiceUser.ProjectName = "\n"
			n.Spec.ServiceUser.UserDomainName = "\n"
			n.Spec.ServiceUser.ProjectDomainName = "\n"
		},
		Want: []string{
			"spec.region: " + inNovaConf,
			"spec.serviceUser.username: " + inNovaConf,
			"spec.serviceUser.projectName: " + inNovaConf,
			"spec.serviceUser.userDomainName: " + inNovaConf,
			"spec.serviceUser.projectDomainName: " + inNovaConf,
		},
	},
	"no Secret of the service user and the metadata agent": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ServiceUser.SecretRef.Name, n.Spec.Metadata.SharedSecretRef.Name = "", ""
		},
		Want: []string{
			"spec.serviceUser.secretRef.name: secretRef.name must be set: it carries the Keystone service-user password",
			"spec.metadata.sharedSecretRef.name: sharedSecretRef.name must be set: it carries the secret the Neutron metadata agent signs proxied requests with",
		},
	},
	"empty gateways": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Gateway, n.Spec.Metadata.Gateway, n.Spec.ConsoleProxy.Gateway = &v1alpha1.GatewaySpec{}, &v1alpha1.GatewaySpec{}, &v1alpha1.GatewaySpec{}
		},
		Want: []string{
			"spec.gateway.hostname: hostname must be set when spec.gateway is configured",
			"spec.gateway.parentRef.name: parentRef.name must be set when spec.gateway is configured",
			"spec.metadata.gateway.hostname: hostname must be set when spec.metadata.gateway is configured",
			"spec.metadata.gateway.parentRef.name: parentRef.name must be set when spec.metadata.gateway is configured",
			"spec.consoleProxy.gateway.hostname: hostname must be set when spec.consoleProxy.gateway is configured",
			"spec.consoleProxy.gateway.parentRef.name: parentRef.name must be set when spec.consoleProxy.gateway is configured",
		},
	},
	"bad logging": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Logging.Format, n.Spec.Logging.Level = "xml", "LOUD"
			n.Spec.Logging.PerLoggerLevels = map[string]string{"": "INFO", "a\nb": "INFO", "nova": "TRACE"}
		},
		Want: []string{
			`spec.logging.format: unsupported, supported values: "text", "json"`,
			`spec.logging.level: unsupported, supported values: "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"`,
			"spec.logging.perLoggerLevels[]: logger name must not be empty",
			"spec.logging.perLoggerLevels[a\nb]: logger name must not contain a newline or carriage return: it is rendered verbatim into nova.conf, so a newline injects arbitrary config lines",
			"spec.logging.perLoggerLevels[nova]: level must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL",
		},
	},
	"a network policy without a source": {
		Change: func(n *v1alpha1.Nova) { n.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{} },
		Want:   []string{"spec.networkPolicy.ingress: at least one ingress source must be specified"},
	},
	"a network policy with a broken selector": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{
				NamespaceSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}},
			}}}
		},
		Want: []string{"spec.networkPolicy.ingress[0].namespaceSelector.matchExpressions[0].operator: not a valid selector operator"},
	},
	"a store without a name": {
		Change: func(n *v1alpha1.Nova) { n.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Kind: "Store"} },
		Want: []string{
			"spec.secretStoreRef.name: store name must be set",
			`spec.secretStoreRef.kind: unsupported, supported values: "ClusterSecretStore", "SecretStore"`,
		},
	},
	"a target cluster without a name": {
		Change: func(n *v1alpha1.Nova) { n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{} },
		Want:   []string{"spec.targetClusterRef.name: target cluster name must be set"},
	},
	"a bad archive": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{Schedule: "daily", MaxRows: new(int32(0)), Sleep: new(int32(-1)), RetentionDays: new(int32(0))}
		},
		Want: []string{
			"spec.dbArchive.schedule: invalid cron expression: expected exactly 5 fields, found 1: [daily]",
			"spec.dbArchive.maxRows: maxRows must be at least 1",
			"spec.dbArchive.sleep: sleep must be non-negative",
			"spec.dbArchive.retentionDays: retentionDays must be at least 1",
		},
	},
	"an archive in a time zone": {
		Change: func(n *v1alpha1.Nova) { n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{Schedule: "TZ=0"} },
		Want:   []string{"spec.dbArchive.schedule: invalid cron expression: TZ and CRON_TZ are not supported"},
	},
	"an archive with a descriptor": {
		Change: func(n *v1alpha1.Nova) { n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{Schedule: "@weekly"} },
	},
	"extraConfig with every kind of finding": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{
				"":        {"a": v1alpha1.SingleValue("b")},
				"DEFAULT": {"": v1alpha1.SingleValue("b"), "transport_url": v1alpha1.SingleValue("x"), "debug": v1alpha1.SingleValue("maybe")},
				"a\nb":    {"c": v1alpha1.SingleValue("d")},
				"ironic":  {"password": v1alpha1.SingleValue("s3cret")},
				"libvirt": {"cpu_mod": v1alpha1.SingleValue("none"), "images_type": v1alpha1.SingleValue("a\nb")},
			}
		},
		Want: []string{
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
}

// novaOptions are options compared with the catalog of the release.
var novaOptions = map[string]NovaCase{
	"a section nova does not have": {
		Change: options(v1alpha1.ExtraConfig{"libvrt": {"cpu_mode": v1alpha1.SingleValue("none")}}),
		Want:   []string{`spec.extraConfig[libvrt][cpu_mode]: no such section in the nova 2026.1 option catalog; did you mean "libvirt"?`},
	},
	"an option nova is about to drop": {
		Change:   options(v1alpha1.ExtraConfig{"DEFAULT": {"logfile": v1alpha1.SingleValue("x")}}),
		Warnings: []string{"spec.extraConfig [DEFAULT] logfile: deprecated option in nova 2026.1, replaced by [DEFAULT] log_file"},
	},
	"an option in a spelling nova ignores": {
		Change: options(v1alpha1.ExtraConfig{"libvirt": {"cpu-mode": v1alpha1.SingleValue("none"), "Images_Type": v1alpha1.SingleValue("raw")}}),
		Want: []string{
			`spec.extraConfig[libvirt][Images_Type]: nova ignores this spelling of a key; write "images_type"`,
			`spec.extraConfig[libvirt][cpu-mode]: nova ignores this spelling of a key; write "cpu_mode"`,
		},
	},
	"a section in another case": {
		Change: options(v1alpha1.ExtraConfig{"LibVirt": {"live_migration_bandwidth": v1alpha1.SingleValue("5")}}),
	},
	"shutdown times turned round": {
		Change: options(v1alpha1.ExtraConfig{"DEFAULT": {"manager_shutdown_timeout": v1alpha1.SingleValue("200")}}),
		Want:   []string{"spec.extraConfig[DEFAULT][manager_shutdown_timeout]: manager_shutdown_timeout (200) must be less than graceful_shutdown_timeout (180): a process would be killed in the middle of its shutdown"},
	},
	"a release without a catalog": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.OpenStackRelease, n.Spec.ExtraConfig = "2024.1", v1alpha1.ExtraConfig{"nope": {"a": v1alpha1.SingleValue("b")}}
		},
		Warnings: []string{`spec.extraConfig was not validated against an option catalog: no catalog for release "2024.1" is embedded in this operator build`},
	},
	"a release that is none": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.OpenStackRelease, n.Spec.ExtraConfig = "zed", v1alpha1.ExtraConfig{"nope": {"a": v1alpha1.SingleValue("b")}}
		},
		Warnings: []string{"spec.extraConfig was not validated against an option catalog: spec.openStackRelease does not name an OpenStack release"},
	},
}

func options(extra v1alpha1.ExtraConfig) func(*v1alpha1.Nova) {
	return func(n *v1alpha1.Nova) { n.Spec.ExtraConfig = extra.DeepCopy() }
}

func remote(n *v1alpha1.Nova, endpoint string) {
	n.Spec.Messaging.TLS = &v1alpha1.MessagingTLSSpec{CABundleSecretRef: v1alpha1.SecretRefSpec{Name: "ca"}}
	n.Spec.RemoteCompute = &v1alpha1.NovaRemoteComputeSpec{KeystoneEndpoint: endpoint, TransportURLSecretRef: v1alpha1.SecretRefSpec{Name: "bus"}}
}
