// SPDX-License-Identifier: Apache-2.0

package catalog

// Sources and impacts several rows share.
const (
	operatorComputed  = "operator-computed"
	serviceUserSecret = "spec.serviceUser.secretRef"
	serviceUser       = "spec.serviceUser"
	keystoneEndpoint  = "spec.keystoneEndpoint"
	region            = "spec.region"

	envInjected = "the value comes from the environment, so the line is inert and copies a credential into the ConfigMap"
	keysMissing = "encryption keys are not found"
	notWritable = "the path is not writable in the pod"
)

// identityKeys are the options that name an account, besides where it logs in.
const identityKeys = "username project_name user_domain_name project_domain_name"

// NovaKeys are the owned keys of a Nova: what nova.conf and the role overlays hold, and
// what the environment overrides. A key that is rendered under a condition is owned
// without it.
var NovaKeys = newRegistry([]group{
	{"DEFAULT", "transport_url", Rejected, "spec.messaging", envInjected},
	{"DEFAULT", "web", Rejected, operatorComputed, "another path gives a blank console page without an error"},
	{"database", "connection", Rejected, "spec.database", envInjected},
	{"api_database", "connection", Rejected, "spec.apiDatabase", envInjected},
	{"keystone_authtoken service_user placement neutron cinder", "password", Rejected, serviceUserSecret, envInjected},
	{"neutron", "metadata_proxy_shared_secret", Rejected, "spec.metadata.sharedSecretRef", envInjected},
	{"oslo_messaging_rabbit", "ssl", Rejected, "spec.messaging.tls", "drops or demands encryption of the bus against the broker"},
	{"oslo_messaging_rabbit", "ssl_ca_file", Rejected, "spec.messaging.tls.caBundleSecretRef", "the file is not in the pod"},
	{"oslo_messaging_rabbit", "ssl_enforce_hostname_verification", Rejected, "spec.messaging.tls", "the broker's name would not be verified"},
	{"vnc", "novncproxy_host novncproxy_port", Rejected, operatorComputed, "the Service would route to a port nothing listens on"},

	{"DEFAULT", "use_stderr default_log_levels log_config_append", Reported, operatorComputed, ""},
	{"DEFAULT", "debug", Reported, "spec.logging.debug", ""},
	{"DEFAULT", "state_path", Reported, operatorComputed, notWritable},
	{"api", "local_metadata_per_cell", Reported, operatorComputed, "the metadata API would read other cells"},

	{"keystone_authtoken", "auth_type auth_url www_authenticate_uri region_name memcached_servers", Reported, operatorComputed, ""},
	{"keystone_authtoken service_user", identityKeys, Reported, operatorComputed, ""},
	{"service_user", "send_service_user_token auth_type auth_url region_name", Reported, operatorComputed, ""},
	{"placement neutron cinder", "auth_type", Reported, operatorComputed, ""},
	{"placement neutron cinder", "auth_url", Reported, keystoneEndpoint, ""},
	{"placement neutron cinder", identityKeys, Reported, serviceUser, ""},
	{"placement neutron glance", "region_name", Reported, region, ""},
	{"placement neutron glance", "valid_interfaces", Reported, "spec.endpoints.<section>", "public endpoints are often unreachable from the pods"},
	{"placement", "endpoint_override", Reported, "spec.endpoints.<section>.override", "nova would use the inventory of another deployment"},
	{"neutron", "endpoint_override", Reported, "spec.endpoints.<section>.override", "nova would use the networks of another deployment"},
	{"glance", "endpoint_override", Reported, "spec.endpoints.<section>.override", "nova would use the images of another deployment"},
	{"neutron", "service_metadata_proxy", Reported, operatorComputed, "instances would lose their metadata"},
	{"cinder", "os_region_name", Reported, region, ""},
	{"cinder", "catalog_info", Reported, "spec.endpoints.cinder", "the catalog may not list that service type"},
	{"cinder", "endpoint_template", Reported, "spec.endpoints.cinder.override", "nova would use the volumes of another deployment"},
	{"key_manager", "backend", Reported, "spec.endpoints.barbican", keysMissing},
	{"barbican", "auth_endpoint", Reported, keystoneEndpoint, "tokens would not be accepted"},
	{"barbican", "barbican_endpoint", Reported, "spec.endpoints.barbican.override", keysMissing},
	{"barbican", "barbican_endpoint_type", Reported, "spec.endpoints.barbican", "nova would use another entry of the catalog"},
	{"barbican", "barbican_region_name", Reported, region, ""},
	{"barbican", "send_service_user_token", Reported, operatorComputed, "reading a key would fail once the user's token has expired"},

	{"oslo_messaging_rabbit", "rabbit_quorum_queue rabbit_transient_quorum_queue", Reported, operatorComputed, "declaring a queue of another type fails"},
	{"oslo_messaging_rabbit", "use_queue_manager", Reported, operatorComputed, ""},
	{"oslo_messaging_notifications", "driver", Reported, operatorComputed, "decides whether notifications are published"},
	{"upgrade_levels", "compute", Reported, operatorComputed, "computes of an older release may receive messages they cannot read"},
	{"oslo_concurrency", "lock_path", Reported, operatorComputed, notWritable},
	{"cache", "enabled memcache_servers", Reported, "spec.cache", "nova would run without a cache or with a foreign one"},
	{"cache", "backend", Reported, "spec.cache.backend", ""},
	{"scheduler", "discover_hosts_in_cells_interval", Reported, operatorComputed, "new hypervisors may stay invisible"},
	{"scheduler", "workers", Reported, "spec.scheduler.workers", "the scheduler's own file is read later and wins, so the line has no effect"},
	{"conductor", "workers", Reported, "spec.conductor.workers", "the conductor's own file is read later and wins, so the line has no effect"},
	{"filter_scheduler", "build_failure_weight_multiplier shuffle_best_same_weighed_hosts", Reported, operatorComputed, ""},
	{"vnc", "enabled", Reported, "spec.consoleProxy.enabled", "consoles would be offered without a proxy, or hidden with one"},
	{"vnc", "novncproxy_base_url", Reported, "spec.consoleProxy.gateway", "browsers would be sent elsewhere"},
}, map[string]string{
	"database":                     "spec.database.secretRef",
	"api_database":                 "spec.apiDatabase.secretRef",
	"keystone_authtoken":           serviceUserSecret,
	"service_user":                 serviceUserSecret,
	"placement":                    serviceUserSecret,
	"neutron":                      serviceUserSecret,
	"cinder":                       serviceUserSecret,
	"oslo_messaging_notifications": "spec.messaging.secretRef",
})
