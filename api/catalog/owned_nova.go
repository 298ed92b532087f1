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
var identityKeys = []string{"username", "project_name", "user_domain_name", "project_domain_name"}

// NovaKeys are the owned keys of a Nova: what nova.conf and the role overlays hold, and
// what the environment overrides. A key that is rendered under a condition is owned
// without it.
var NovaKeys = newRegistry([]group{
	{[]string{"DEFAULT"}, []string{"transport_url"}, Rejected, "spec.messaging",
		envInjected},
	{[]string{"DEFAULT"}, []string{"web"}, Rejected, operatorComputed,
		"another path gives a blank console page without an error"},
	{[]string{"database"}, []string{"connection"}, Rejected, "spec.database",
		envInjected},
	{[]string{"api_database"}, []string{"connection"}, Rejected, "spec.apiDatabase",
		envInjected},
	{[]string{"keystone_authtoken", "service_user", "placement", "neutron", "cinder"}, []string{"password"},
		Rejected, serviceUserSecret, envInjected},
	{[]string{"neutron"}, []string{"metadata_proxy_shared_secret"}, Rejected, "spec.metadata.sharedSecretRef",
		envInjected},
	{[]string{"oslo_messaging_rabbit"}, []string{"ssl"}, Rejected, "spec.messaging.tls",
		"drops or demands encryption of the bus against the broker"},
	{[]string{"oslo_messaging_rabbit"}, []string{"ssl_ca_file"}, Rejected, "spec.messaging.tls.caBundleSecretRef",
		"the file is not in the pod"},
	{[]string{"oslo_messaging_rabbit"}, []string{"ssl_enforce_hostname_verification"}, Rejected, "spec.messaging.tls",
		"the broker's name would not be verified"},
	{[]string{"vnc"}, []string{"novncproxy_host", "novncproxy_port"}, Rejected, operatorComputed,
		"the Service would route to a port nothing listens on"},

	{[]string{"DEFAULT"}, []string{"use_stderr", "default_log_levels", "log_config_append"}, Reported, operatorComputed, ""},
	{[]string{"DEFAULT"}, []string{"debug"}, Reported, "spec.logging.debug", ""},
	{[]string{"DEFAULT"}, []string{"state_path"}, Reported, operatorComputed, notWritable},
	{[]string{"api"}, []string{"local_metadata_per_cell"}, Reported, operatorComputed,
		"the metadata API would read other cells"},

	{[]string{"keystone_authtoken"}, []string{"auth_type", "auth_url", "www_authenticate_uri", "region_name", "memcached_servers"},
		Reported, operatorComputed, ""},
	{[]string{"keystone_authtoken", "service_user"}, identityKeys, Reported, operatorComputed, ""},
	{[]string{"service_user"}, []string{"send_service_user_token", "auth_type", "auth_url", "region_name"},
		Reported, operatorComputed, ""},
	{[]string{"placement", "neutron", "cinder"}, []string{"auth_type"}, Reported, operatorComputed, ""},
	{[]string{"placement", "neutron", "cinder"}, []string{"auth_url"}, Reported, keystoneEndpoint, ""},
	{[]string{"placement", "neutron", "cinder"}, identityKeys, Reported, serviceUser, ""},
	{[]string{"placement", "neutron", "glance"}, []string{"region_name"}, Reported, region, ""},
	{[]string{"placement", "neutron", "glance"}, []string{"valid_interfaces"}, Reported, "spec.endpoints.<section>",
		"public endpoints are often unreachable from the pods"},
	{[]string{"placement"}, []string{"endpoint_override"}, Reported, "spec.endpoints.<section>.override",
		"nova would use the inventory of another deployment"},
	{[]string{"neutron"}, []string{"endpoint_override"}, Reported, "spec.endpoints.<section>.override",
		"nova would use the networks of another deployment"},
	{[]string{"glance"}, []string{"endpoint_override"}, Reported, "spec.endpoints.<section>.override",
		"nova would use the images of another deployment"},
	{[]string{"neutron"}, []string{"service_metadata_proxy"}, Reported, operatorComputed,
		"instances would lose their metadata"},
	{[]string{"cinder"}, []string{"os_region_name"}, Reported, region, ""},
	{[]string{"cinder"}, []string{"catalog_info"}, Reported, "spec.endpoints.cinder",
		"the catalog may not list that service type"},
	{[]string{"cinder"}, []string{"endpoint_template"}, Reported, "spec.endpoints.cinder.override",
		"nova would use the volumes of another deployment"},
	{[]string{"key_manager"}, []string{"backend"}, Reported, "spec.endpoints.barbican", keysMissing},
	{[]string{"barbican"}, []string{"auth_endpoint"}, Reported, keystoneEndpoint,
		"tokens would not be accepted"},
	{[]string{"barbican"}, []string{"barbican_endpoint"}, Reported, "spec.endpoints.barbican.override", keysMissing},
	{[]string{"barbican"}, []string{"barbican_endpoint_type"}, Reported, "spec.endpoints.barbican",
		"nova would use another entry of the catalog"},
	{[]string{"barbican"}, []string{"barbican_region_name"}, Reported, region, ""},
	{[]string{"barbican"}, []string{"send_service_user_token"}, Reported, operatorComputed,
		"reading a key would fail once the user's token has expired"},

	{[]string{"oslo_messaging_rabbit"}, []string{"rabbit_quorum_queue", "rabbit_transient_quorum_queue"},
		Reported, operatorComputed, "declaring a queue of another type fails"},
	{[]string{"oslo_messaging_rabbit"}, []string{"use_queue_manager"}, Reported, operatorComputed, ""},
	{[]string{"oslo_messaging_notifications"}, []string{"driver"}, Reported, operatorComputed,
		"decides whether notifications are published"},
	{[]string{"upgrade_levels"}, []string{"compute"}, Reported, operatorComputed,
		"computes of an older release may receive messages they cannot read"},
	{[]string{"oslo_concurrency"}, []string{"lock_path"}, Reported, operatorComputed, notWritable},
	{[]string{"cache"}, []string{"enabled", "memcache_servers"}, Reported, "spec.cache",
		"nova would run without a cache or with a foreign one"},
	{[]string{"cache"}, []string{"backend"}, Reported, "spec.cache.backend", ""},
	{[]string{"scheduler"}, []string{"discover_hosts_in_cells_interval"}, Reported, operatorComputed,
		"new hypervisors may stay invisible"},
	{[]string{"scheduler"}, []string{"workers"}, Reported, "spec.scheduler.workers",
		"the scheduler's own file is read later and wins, so the line has no effect"},
	{[]string{"conductor"}, []string{"workers"}, Reported, "spec.conductor.workers",
		"the conductor's own file is read later and wins, so the line has no effect"},
	{[]string{"filter_scheduler"}, []string{"build_failure_weight_multiplier", "shuffle_best_same_weighed_hosts"},
		Reported, operatorComputed, ""},
	{[]string{"vnc"}, []string{"enabled"}, Reported, "spec.consoleProxy.enabled",
		"consoles would be offered without a proxy, or hidden with one"},
	{[]string{"vnc"}, []string{"novncproxy_base_url"}, Reported, "spec.consoleProxy.gateway",
		"browsers would be sent elsewhere"},
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
