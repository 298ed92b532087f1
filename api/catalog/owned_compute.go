// SPDX-License-Identifier: Apache-2.0

package catalog

// novaServiceUser is where the password of a pool comes from: the Nova it joins.
const novaServiceUser = "spec.serviceUser.secretRef of the Nova"

// ComputeKeys are the owned keys of a NovaCompute: what compute-pool.conf and the
// environment of its pods hold. [DEFAULT] compute_driver and [vnc] server_listen are
// rendered and not owned, so that they can be overridden without a report.
var ComputeKeys = newRegistry([]group{
	{"DEFAULT", "host", Rejected, "the node name in OS_DEFAULT__HOST (spec.nodeName)", "another name orphans the compute service and everything recorded under it"},
	{"DEFAULT", "my_ip", Rejected, "OS_DEFAULT__MY_IP (status.hostIP)", ""},
	{"DEFAULT", "transport_url", Rejected, "the compute contract, OS_DEFAULT__TRANSPORT_URL", envInjected},
	{"DEFAULT", "state_path", Rejected, "the /var/lib/nova host mount", ""},
	{"oslo_concurrency", "lock_path", Rejected, "the /var/lib/nova host mount", ""},
	{"oslo_messaging_rabbit", "ssl_enforce_hostname_verification", Rejected, "the compute contract", "the broker's name would not be verified"},
	{"libvirt", "connection_uri", Rejected, "the /run/libvirt host mount", ""},
	{"libvirt", "live_migration_scheme live_migration_with_native_tls live_migration_uri live_migration_tunnelled", Rejected, operatorComputed, "live migration is fixed to TLS with native TLS; another value sends guest memory unencrypted"},
	{"libvirt", "live_migration_inbound_addr", Rejected, "OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR (status.hostIP)", "live migration is fixed to TLS with native TLS; another value sends guest memory to an address the peer cannot verify"},
	{"os_vif_ovs", "ovsdb_connection", Rejected, "the /run/openvswitch host mount", ""},
	{"vnc", "server_proxyclient_address", Rejected, "OS_VNC__SERVER_PROXYCLIENT_ADDRESS (status.hostIP)", ""},
	{"keystone_authtoken service_user placement neutron cinder", "password", Rejected, "the compute contract, OS_<SECTION>__PASSWORD", envInjected},

	{"libvirt", "virt_type", Reported, "spec.libvirt.virtType", ""},
	{"libvirt", "cpu_mode", Reported, "spec.libvirt.cpuMode", ""},
	{"libvirt", "cpu_models", Reported, "spec.libvirt.cpuModels", ""},
	{"libvirt", "images_type", Reported, "spec.libvirt.imagesType", ""},
}, map[string]string{
	"keystone_authtoken": novaServiceUser,
	"service_user":       novaServiceUser,
	"placement":          novaServiceUser,
	"neutron":            novaServiceUser,
	"cinder":             novaServiceUser,
})
