// SPDX-License-Identifier: Apache-2.0

package catalog

// novaServiceUser is where the password of a pool comes from: the Nova it joins.
const novaServiceUser = "spec.serviceUser.secretRef of the Nova"

// ComputeKeys are the owned keys of a NovaCompute: what compute-pool.conf and the
// environment of its pods hold. [DEFAULT] compute_driver and [vnc] server_listen are
// rendered and not owned, so that they can be overridden without a report.
var ComputeKeys = newRegistry([]group{
	{[]string{"DEFAULT"}, []string{"host"}, Rejected, "the node name in OS_DEFAULT__HOST (spec.nodeName)",
		"another name orphans the compute service and everything recorded under it"},
	{[]string{"DEFAULT"}, []string{"my_ip"}, Rejected, "OS_DEFAULT__MY_IP (status.hostIP)", ""},
	{[]string{"DEFAULT"}, []string{"transport_url"}, Rejected, "the compute contract, OS_DEFAULT__TRANSPORT_URL",
		envInjected},
	{[]string{"DEFAULT"}, []string{"state_path"}, Rejected, "the /var/lib/nova host mount", ""},
	{[]string{"oslo_concurrency"}, []string{"lock_path"}, Rejected, "the /var/lib/nova host mount", ""},
	{[]string{"oslo_messaging_rabbit"}, []string{"ssl_enforce_hostname_verification"}, Rejected, "the compute contract",
		"the broker's name would not be verified"},
	{[]string{"libvirt"}, []string{"connection_uri"}, Rejected, "the /run/libvirt host mount", ""},
	{[]string{"libvirt"}, []string{"live_migration_scheme", "live_migration_with_native_tls", "live_migration_uri", "live_migration_tunnelled"},
		Rejected, operatorComputed, "live migration is fixed to TLS with native TLS; another value sends guest memory unencrypted"},
	{[]string{"libvirt"}, []string{"live_migration_inbound_addr"}, Rejected, "OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR (status.hostIP)",
		"live migration is fixed to TLS with native TLS; another value sends guest memory to an address the peer cannot verify"},
	{[]string{"os_vif_ovs"}, []string{"ovsdb_connection"}, Rejected, "the /run/openvswitch host mount", ""},
	{[]string{"vnc"}, []string{"server_proxyclient_address"}, Rejected, "OS_VNC__SERVER_PROXYCLIENT_ADDRESS (status.hostIP)", ""},
	{[]string{"keystone_authtoken", "service_user", "placement", "neutron", "cinder"}, []string{"password"},
		Rejected, "the compute contract, OS_<SECTION>__PASSWORD", envInjected},

	{[]string{"libvirt"}, []string{"virt_type"}, Reported, "spec.libvirt.virtType", ""},
	{[]string{"libvirt"}, []string{"cpu_mode"}, Reported, "spec.libvirt.cpuMode", ""},
	{[]string{"libvirt"}, []string{"cpu_models"}, Reported, "spec.libvirt.cpuModels", ""},
	{[]string{"libvirt"}, []string{"images_type"}, Reported, "spec.libvirt.imagesType", ""},
}, map[string]string{
	"keystone_authtoken": novaServiceUser,
	"service_user":       novaServiceUser,
	"placement":          novaServiceUser,
	"neutron":            novaServiceUser,
	"cinder":             novaServiceUser,
})
