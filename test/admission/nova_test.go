// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"strings"
	"testing"
)

func TestNova_Schema(t *testing.T) {
	nova.run(t, map[string]rule{
		"the smallest resource": {},
		"no spec": {
			change: "spec: null",
			want: []string{
				"spec: Required value",
			},
		},
		"an empty spec": {
			change: "spec: {openStackRelease: null, image: null, apiDatabase: null, database: null, cache: null, messaging: null, metadata: null, keystoneEndpoint: null, serviceUser: null}",
			want: []string{
				"spec.apiDatabase: Required value",
				"spec.cache: Required value",
				"spec.database: Required value",
				"spec.image: Required value",
				"spec.keystoneEndpoint: Required value",
				"spec.messaging: Required value",
				"spec.metadata: Required value",
				"spec.openStackRelease: Required value",
				"spec.serviceUser: Required value",
			},
		},
		"a release that is none": {
			change: "spec: {openStackRelease: '2026.3'}",
			want: []string{
				`spec.openStackRelease: "2026.3": spec.openStackRelease in body should match '^\d{4}\.[12]$'`,
			},
		},
		"an empty repository": {
			change: "spec: {image: {repository: ''}}",
			want: []string{
				`spec.image.repository: "": spec.image.repository in body should be at least 1 chars long`,
			},
		},
		"a repository with a tag in it": {
			change: "spec: {image: {repository: 'a/b@c'}}",
			want: []string{
				`spec.image.repository: "a/b@c": spec.image.repository in body should match '^[a-z0-9]+([._:/-][a-z0-9]+)*$'`,
			},
		},
		"a tag with a space": {
			change: "spec: {image: {tag: 'a b'}}",
			want: []string{
				`spec.image.tag: "a b": spec.image.tag in body should match '^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$'`,
			},
		},
		"a digest that is too short": {
			change: "spec: {image: {tag: null, digest: 'sha256:00'}}",
			want: []string{
				`spec.image.digest: "sha256:00": spec.image.digest in body should match '^sha256:[a-f0-9]{64}$'`,
			},
		},
		"an image with tag and digest": {
			change: "spec: {image: {digest: 'sha256:" + strings.Repeat("0", 64) + "'}}",
			want: []string{
				"spec.image: exactly one of image.tag or image.digest must be set",
			},
		},
		"an image with neither tag nor digest": {
			change: "spec: {image: {tag: null}}",
			want: []string{
				"spec.image: exactly one of image.tag or image.digest must be set",
			},
		},
		"a digest": {change: "spec: {image: {tag: null, digest: 'sha256:" + strings.Repeat("0", 64) + "', pullPolicy: Never}}"},
		"an unknown pull policy": {
			change: "spec: {image: {pullPolicy: Sometimes}}",
			want: []string{
				`spec.image.pullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`,
			},
		},
		"a database with cluster and host": {
			change: "spec: {database: {host: a}}",
			want: []string{
				"spec.database: exactly one of clusterRef or host must be set",
			},
		},
		"a database with neither cluster nor host": {
			change: "spec: {apiDatabase: {clusterRef: null}}",
			want: []string{
				"spec.apiDatabase: exactly one of clusterRef or host must be set",
			},
		},
		"a foreign database": {change: "spec: {database: {clusterRef: null, host: 'fd00::1', port: 3307}}"},
		"a database on a strange host and port": {
			change: "spec: {database: {clusterRef: null, host: 'a b', port: 65536}}",
			want: []string{
				`spec.database.host: "a b": spec.database.host in body should match '^[a-zA-Z0-9._:-]+$'`,
				"spec.database.port: 65536: spec.database.port in body should be less than or equal to 65535",
			},
		},
		"a database on no host": {
			change: "spec: {database: {clusterRef: null, host: ''}}",
			want: []string{
				`spec.database.host: "": spec.database.host in body should be at least 1 chars long`,
			},
		},
		"a database on port zero": {
			change: "spec: {database: {port: 0}}",
			want: []string{
				"spec.database.port: 0: spec.database.port in body should be greater than or equal to 1",
			},
		},
		"a schema with a dash": {
			change: "spec: {apiDatabase: {database: 'nova-api'}}",
			want: []string{
				`spec.apiDatabase.database: "nova-api": spec.apiDatabase.database in body should match '^[A-Za-z0-9_]+$'`,
			},
		},
		"a schema beyond 64 characters": {
			change: "spec: {apiDatabase: {database: '" + strings.Repeat("a", 65) + "'}}",
			want: []string{
				"spec.apiDatabase.database: Too long: may not be more than 64 bytes",
			},
		},
		"a schema without a name": {
			change: "spec: {apiDatabase: {database: ''}}",
			want: []string{
				`spec.apiDatabase.database: "": spec.apiDatabase.database in body should be at least 1 chars long`,
			},
		},
		"a database without a Secret": {
			change: "spec: {database: {secretRef: null}}",
			want: []string{
				"spec.database.secretRef: Required value",
			},
		},
		"a Secret without a name": {
			change: "spec: {database: {secretRef: {name: ''}}}",
			want: []string{
				`spec.database.secretRef.name: "": spec.database.secretRef.name in body should be at least 1 chars long`,
			},
		},
		"a Secret of a name that is none": {
			change: "spec: {database: {secretRef: {name: 'A_b'}}}",
			want: []string{
				`spec.database.secretRef.name: "A_b": spec.database.secretRef.name in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`,
			},
		},
		"unknown credentials": {
			change: "spec: {database: {credentialsMode: Magic}}",
			want: []string{
				`spec.database.credentialsMode: Unsupported value: "Magic": supported values: "Static", "Dynamic"`,
			},
		},
		"dynamic credentials of a foreign database": {
			change: "spec: {apiDatabase: {credentialsMode: Dynamic}, database: {credentialsMode: Dynamic, clusterRef: null, host: a}}",
			want: []string{
				"spec.database: credentialsMode Dynamic requires clusterRef (managed mode)",
			},
		},
		"dynamic credentials":          {change: "spec: {apiDatabase: {credentialsMode: Dynamic}, database: {credentialsMode: Dynamic}}"},
		"static and unset credentials": {change: "spec: {database: {credentialsMode: Static}}"},
		"two modes of credentials": {
			change: "spec: {database: {credentialsMode: Dynamic}}",
			want: []string{
				"spec: apiDatabase and database must use the same credentialsMode",
			},
		},
		"one schema for both databases": {
			change: "spec: {apiDatabase: {database: nova}}",
			want: []string{
				"spec: apiDatabase and database must name different schemas",
			},
		},
		"the API database is cell0's": {
			change: "spec: {apiDatabase: {database: nova_cell0}}",
			want: []string{
				"spec: apiDatabase must not name the cell0 schema derived from database",
			},
		},
		"a cell schema beyond 58 characters": {
			change: "spec: {database: {database: '" + strings.Repeat("a", 59) + "'}}",
			want: []string{
				"spec.database: database.database must be at most 58 characters: cell0 is provisioned as <database>_cell0 under the 64-character schema limit",
			},
		},
		"a cell schema of 58 characters": {change: "spec: {database: {database: '" + strings.Repeat("a", 58) + "'}}"},
		"TLS without Secrets": {
			change: "spec: {database: {tls: {mode: require}}}",
			want: []string{
				"spec.database.tls.caBundleSecretRef: Required value",
				"spec.database.tls.clientCertSecretRef: Required value",
			},
		},
		"TLS of an unknown mode": {
			change: "spec: {database: {tls: {mode: maybe, caBundleSecretRef: {name: a}, clientCertSecretRef: {name: b}}}}",
			want: []string{
				`spec.database.tls.mode: Unsupported value: "maybe": supported values: "disabled", "prefer", "require", "verify-ca", "verify-full"`,
			},
		},
		"TLS without a mode": {change: "spec: {database: {tls: {caBundleSecretRef: {name: a}, clientCertSecretRef: {name: b}}}}"},
		"unused sizes of a database": {
			change: "spec: {database: {replicas: 0, storageSize: 1G}}",
			want: []string{
				"spec.database.replicas: 0: spec.database.replicas in body should be greater than or equal to 1",
				`spec.database.storageSize: "1G": spec.database.storageSize in body should match '^[0-9]+(Mi|Gi|Ti)$'`,
			},
		},
		"a cache with cluster and servers": {
			change: "spec: {cache: {servers: ['a:11211']}}",
			want: []string{
				"spec.cache: exactly one of clusterRef or servers must be set",
			},
		},
		"a cache with cluster and no servers": {change: "spec: {cache: {servers: []}}"},
		"a cache with neither cluster nor servers": {
			change: "spec: {cache: {clusterRef: null, servers: []}}",
			want: []string{
				"spec.cache: exactly one of clusterRef or servers must be set",
			},
		},
		"a cache of servers": {change: "spec: {cache: {clusterRef: null, servers: ['a:11211', 'b:11211']}}"},
		"a cache server with a line break": {
			change: `spec: {cache: {clusterRef: null, servers: ["a\nb"]}}`,
			want: []string{
				`spec.cache.servers[0]: "a\nb": spec.cache.servers[0] in body should match '^[^\n\r]*$'`,
			},
		},
		"a cache cluster with a line break": {
			change: `spec: {cache: {clusterRef: {name: "a\rb"}}}`,
			want: []string{
				"spec.cache: clusterRef.name must not contain a newline or carriage return",
			},
		},
		"a cache without a backend": {
			change: "spec: {cache: {backend: null, replicas: 0}}",
			want: []string{
				"spec.cache.backend: Required value",
				"spec.cache.replicas: 0: spec.cache.replicas in body should be greater than or equal to 1",
			},
		},
		"a bus with cluster and Secret": {
			change: "spec: {messaging: {secretRef: {name: a}}}",
			want: []string{
				"spec.messaging: exactly one of clusterRef or secretRef must be set",
			},
		},
		"a bus with neither cluster nor Secret": {
			change: "spec: {messaging: {clusterRef: null}}",
			want: []string{
				"spec.messaging: exactly one of clusterRef or secretRef must be set",
			},
		},
		"a bus of a Secret with TLS": {change: "spec: {messaging: {clusterRef: null, secretRef: {name: a, key: b}, tls: {caBundleSecretRef: {name: c}}}}"},
		"a bus with TLS and no CA bundle": {
			change: "spec: {messaging: {tls: {}}}",
			want: []string{
				"spec.messaging.tls.caBundleSecretRef: Required value",
			},
		},
		"no metadata secret": {
			change: "spec: {metadata: {sharedSecretRef: null}}",
			want: []string{
				"spec.metadata.sharedSecretRef: Required value",
			},
		},
		"a process without workers": {
			change: "spec: {scheduler: {workers: 0}, conductor: {workers: 0}}",
			want: []string{
				"spec.conductor.workers: 0: spec.conductor.workers in body should be greater than or equal to 1",
				"spec.scheduler.workers: 0: spec.scheduler.workers in body should be greater than or equal to 1",
			},
		},
		"a console deployment while the proxy is disabled": {
			change: "spec: {consoleProxy: {enabled: false, deployment: {}}}",
			want: []string{
				"spec.consoleProxy: consoleProxy.deployment must not be set when consoleProxy.enabled is false",
			},
		},
		"a console deployment while the proxy is enabled": {change: "spec: {consoleProxy: {deployment: {}}}"},
		"a disabled console":                              {change: "spec: {consoleProxy: {enabled: false}}"},
		"a deployment below every bound": {
			change: "spec: {api: {deployment: {replicas: 0, terminationGracePeriodSeconds: 9, preStopSleepSeconds: -1}}}",
			want: []string{
				"spec.api.deployment.preStopSleepSeconds: -1: spec.api.deployment.preStopSleepSeconds in body should be greater than or equal to 0",
				"spec.api.deployment.replicas: 0: spec.api.deployment.replicas in body should be greater than or equal to 1",
				"spec.api.deployment.terminationGracePeriodSeconds: 9: spec.api.deployment.terminationGracePeriodSeconds in body should be greater than or equal to 10",
			},
		},
		"a sleep as long as the grace period": {
			change: "spec: {metadata: {deployment: {preStopSleepSeconds: 20, terminationGracePeriodSeconds: 20}}}",
			want: []string{
				"spec.metadata.deployment: preStopSleepSeconds must be strictly less than terminationGracePeriodSeconds",
			},
		},
		"a sleep as long as an unset grace period": {
			change: "spec: {scheduler: {deployment: {preStopSleepSeconds: 30}}}",
			want: []string{
				"spec.scheduler.deployment: preStopSleepSeconds must be strictly less than terminationGracePeriodSeconds",
			},
		},
		"an unset sleep in a short grace period": {change: "spec: {scheduler: {deployment: {terminationGracePeriodSeconds: 10}}}"},
		"a web server below every bound": {
			change: "spec: {api: {uwsgi: {processes: 0, threads: 0, harakiri: 0, httpKeepAliveTimeout: 0}}}",
			want: []string{
				"spec.api.uwsgi.harakiri: 0: spec.api.uwsgi.harakiri in body should be greater than or equal to 1",
				"spec.api.uwsgi.httpKeepAliveTimeout: 0: spec.api.uwsgi.httpKeepAliveTimeout in body should be greater than or equal to 1",
				"spec.api.uwsgi.processes: 0: spec.api.uwsgi.processes in body should be greater than or equal to 1",
				"spec.api.uwsgi.threads: 0: spec.api.uwsgi.threads in body should be greater than or equal to 1",
			},
		},
		"a keep-alive timeout without keep-alive": {
			change: "spec: {metadata: {uwsgi: {httpKeepAlive: false, httpKeepAliveTimeout: 5}}}",
			want: []string{
				"spec.metadata.uwsgi: httpKeepAliveTimeout may only be set when httpKeepAlive is true",
			},
		},
		"a keep-alive timeout with keep-alive unset": {change: "spec: {metadata: {uwsgi: {httpKeepAliveTimeout: 5}}}"},
		"a vertical autoscaler without a mode": {
			change: "spec: {conductor: {deployment: {verticalAutoscaling: {}}}}",
			want: []string{
				"spec.conductor.deployment.verticalAutoscaling.updateMode: Required value",
			},
		},
		"a vertical autoscaler below every bound": {
			change: "spec: {conductor: {deployment: {verticalAutoscaling: {updateMode: Now, minReplicas: 0}}}}",
			want: []string{
				"spec.conductor.deployment.verticalAutoscaling.minReplicas: 0: spec.conductor.deployment.verticalAutoscaling.minReplicas in body should be greater than or equal to 1",
				`spec.conductor.deployment.verticalAutoscaling.updateMode: Unsupported value: "Now": supported values: "Off", "Initial", "Recreate", "Auto"`,
			},
		},
		"a vertical autoscaler of other resources": {
			change: "spec: {conductor: {deployment: {verticalAutoscaling: {updateMode: 'Off', minAllowed: {gpu: 1}, maxAllowed: {disk: 1, cpu: 2}}}}}",
			want: []string{
				"spec.conductor.deployment.verticalAutoscaling: maxAllowed may only name cpu and memory",
				"spec.conductor.deployment.verticalAutoscaling: minAllowed may only name cpu and memory",
			},
		},
		"a vertical autoscaler of three resources": {
			change: "spec: {conductor: {deployment: {verticalAutoscaling: {updateMode: 'Off', minAllowed: {cpu: 1, memory: 1, x: 1}}}}}",
			want: []string{
				"spec.conductor.deployment.verticalAutoscaling.minAllowed: Too many: 3: must have at most 2 items",
			},
		},
		"a vertical autoscaler": {change: "spec: {conductor: {deployment: {verticalAutoscaling: {updateMode: Auto, minAllowed: {cpu: 100m}, maxAllowed: {cpu: 2, memory: 1Gi}}}}}"},
		"both autoscalers on the API": {
			change: "spec: {api: {deployment: {verticalAutoscaling: {updateMode: Auto}}}, autoscaling: {maxReplicas: 3, targetCPUUtilization: 80}}",
			want: []string{
				"spec: spec.api.deployment.verticalAutoscaling cannot be set while spec.autoscaling scales the same Deployment",
			},
		},
		"an autoscaler without a target": {
			change: "spec: {autoscaling: {maxReplicas: 3}}",
			want: []string{
				"spec.autoscaling: at least one of targetCPUUtilization or targetMemoryUtilization must be set",
			},
		},
		"an autoscaler without an upper bound": {
			change: "spec: {autoscaling: {targetCPUUtilization: 500}}",
			want: []string{
				"spec.autoscaling.maxReplicas: Required value",
			},
		},
		"an autoscaler below every bound": {
			change: "spec: {autoscaling: {minReplicas: 0, maxReplicas: 0, targetCPUUtilization: 0, targetMemoryUtilization: 0}}",
			want: []string{
				"spec.autoscaling.maxReplicas: 0: spec.autoscaling.maxReplicas in body should be greater than or equal to 1",
				"spec.autoscaling.minReplicas: 0: spec.autoscaling.minReplicas in body should be greater than or equal to 1",
				"spec.autoscaling.targetCPUUtilization: 0: spec.autoscaling.targetCPUUtilization in body should be greater than or equal to 1",
				"spec.autoscaling.targetMemoryUtilization: 0: spec.autoscaling.targetMemoryUtilization in body should be greater than or equal to 1",
			},
		},
		"an autoscaler with bounds the wrong way round": {
			change: "spec: {autoscaling: {minReplicas: 4, maxReplicas: 3, targetMemoryUtilization: 500}}",
			want: []string{
				"spec.autoscaling: minReplicas must not exceed maxReplicas",
			},
		},
		"Keystone nowhere": {
			change: "spec: {keystoneEndpoint: ''}",
			want: []string{
				`spec.keystoneEndpoint: "": spec.keystoneEndpoint in body should be at least 1 chars long`,
			},
		},
		"Keystone by other means": {
			change: "spec: {keystoneEndpoint: 'ftp://a', keystonePublicEndpoint: b}",
			want: []string{
				`spec.keystoneEndpoint: "ftp://a": spec.keystoneEndpoint in body should match '^https?://'`,
				`spec.keystonePublicEndpoint: "b": spec.keystonePublicEndpoint in body should match '^https?://'`,
			},
		},
		"overrides by other means": {
			change: "spec: {endpoints: {placement: {override: a}, neutron: {override: a}, glance: {override: a}, cinder: {override: a}, barbican: {override: a}}}",
			want: []string{
				`spec.endpoints.barbican.override: "a": spec.endpoints.barbican.override in body should match '^https?://'`,
				`spec.endpoints.cinder.override: "a": spec.endpoints.cinder.override in body should match '^https?://'`,
				`spec.endpoints.glance.override: "a": spec.endpoints.glance.override in body should match '^https?://'`,
				`spec.endpoints.neutron.override: "a": spec.endpoints.neutron.override in body should match '^https?://'`,
				`spec.endpoints.placement.override: "a": spec.endpoints.placement.override in body should match '^https?://'`,
			},
		},
		"a remote compute without TLS": {
			change: "spec: {remoteCompute: {keystoneEndpoint: 'https://a', transportURLSecretRef: {name: b}}}",
			want: []string{
				"spec: remoteCompute requires messaging.tls: a compute on another cluster verifies the broker against the messaging CA bundle",
			},
		},
		"a remote compute over plain HTTP": {
			change: "spec: {messaging: {tls: {caBundleSecretRef: {name: c}}}, remoteCompute: {keystoneEndpoint: 'http://a', transportURLSecretRef: {name: ''}}}",
			want: []string{
				`spec.remoteCompute.keystoneEndpoint: "http://a": spec.remoteCompute.keystoneEndpoint in body should match '^https://'`,
				`spec.remoteCompute.transportURLSecretRef.name: "": spec.remoteCompute.transportURLSecretRef.name in body should be at least 1 chars long`,
			},
		},
		"a remote compute": {change: "spec: {messaging: {tls: {caBundleSecretRef: {name: c}}}, remoteCompute: {keystoneEndpoint: 'https://a', transportURLSecretRef: {name: b}}}"},
		"an archive below every bound": {
			change: "spec: {dbArchive: {maxRows: 0, sleep: -1, retentionDays: 0}}",
			want: []string{
				"spec.dbArchive.maxRows: 0: spec.dbArchive.maxRows in body should be greater than or equal to 1",
				"spec.dbArchive.retentionDays: 0: spec.dbArchive.retentionDays in body should be greater than or equal to 1",
				"spec.dbArchive.sleep: -1: spec.dbArchive.sleep in body should be greater than or equal to 0",
			},
		},
		"an archive with a schedule the webhook judges": {change: "spec: {dbArchive: {schedule: never}}"},
		"an empty gateway": {
			change: "spec: {gateway: {}}",
			want: []string{
				"spec.gateway.hostname: Required value",
				"spec.gateway.parentRef: Required value",
			},
		},
		"a gateway without names": {
			change: "spec: {gateway: {hostname: '', parentRef: {name: ''}}}",
			want: []string{
				`spec.gateway.hostname: "": spec.gateway.hostname in body should be at least 1 chars long`,
				`spec.gateway.parentRef.name: "": spec.gateway.parentRef.name in body should be at least 1 chars long`,
			},
		},
		"a network policy without a source": {
			change: "spec: {networkPolicy: {ingress: []}}",
			want: []string{
				"spec.networkPolicy.ingress: at least one ingress source must be specified",
			},
		},
		"a network policy without a selector": {
			change: "spec: {networkPolicy: {ingress: [{}]}}",
			want: []string{
				"spec.networkPolicy.ingress[0].namespaceSelector: Required value",
			},
		},
		"a network policy": {change: "spec: {networkPolicy: {ingress: [{namespaceSelector: {}}], additionalEgress: [{ports: [{port: 53}]}]}}"},
		"logging of unknown form and level": {
			change: "spec: {logging: {format: xml, level: LOUD}}",
			want: []string{
				`spec.logging.format: Unsupported value: "xml": supported values: "text", "json"`,
				`spec.logging.level: Unsupported value: "LOUD": supported values: "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"`,
			},
		},
		"loggers without a name and of an unknown level": {
			change: "spec: {logging: {perLoggerLevels: {'': INFO, nova: TRACE}}}",
			want: []string{
				"spec.logging: logger name must not be empty",
				"spec.logging: per-logger level must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL",
			},
		},
		"loggers": {change: "spec: {logging: {perLoggerLevels: {nova: DEBUG, oslo.messaging: CRITICAL}}}"},
		"a store of an unknown kind": {
			change: "spec: {secretStoreRef: {kind: Store, name: a}}",
			want: []string{
				`spec.secretStoreRef.kind: Unsupported value: "Store": supported values: "ClusterSecretStore", "SecretStore"`,
			},
		},
		"a store without a name": {
			change: "spec: {secretStoreRef: {}}",
			want: []string{
				"spec.secretStoreRef.name: Required value",
			},
		},
		"a target cluster of a name that is none": {
			change: "spec: {targetClusterRef: {name: 'A'}}",
			want: []string{
				`spec.targetClusterRef.name: "A": spec.targetClusterRef.name in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`,
			},
		},
		"extraConfig of any shape": {change: "spec: {extraConfig: {DEFAULT: {debug: true, a: 1, b: [x, y]}, pci: {alias: [1, true, '']}}}"},
		"nothing changed":          {update: true},
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
		"another API schema": {
			update: true,
			change: "spec: {apiDatabase: {database: other}}",
			want: []string{
				"spec.apiDatabase: apiDatabase.database is immutable: the schema holds the cell map and every instance mapping",
			},
		},
		"another cell schema": {
			update: true,
			change: "spec: {database: {database: other}}",
			want: []string{
				"spec.database: database.database is immutable: the cell mappings store the schema name",
			},
		},
		"another mode of the API database": {
			update: true,
			change: "spec: {apiDatabase: {clusterRef: null, host: a}}",
			want: []string{
				"spec.apiDatabase: apiDatabase mode (managed clusterRef vs brownfield host) is immutable",
			},
		},
		"another mode of the cell database": {
			update: true,
			change: "spec: {database: {clusterRef: null, host: a}}",
			want: []string{
				"spec.database: database mode (managed clusterRef vs brownfield host) is immutable",
			},
		},
		"everything that may change": {update: true, change: "spec: {image: {tag: x}, openStackRelease: '2026.2', cache: {clusterRef: {name: x}}, messaging: {clusterRef: null, secretRef: {name: x}}, apiDatabase: {clusterRef: {name: x}, secretRef: {name: x}, credentialsMode: Dynamic}, database: {clusterRef: {name: x}, secretRef: {name: x}, credentialsMode: Dynamic, tls: {caBundleSecretRef: {name: a}, clientCertSecretRef: {name: b}}}}"},
	})
}
