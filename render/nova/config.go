package nova

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/ini"
)

// Paths inside the pods.
const (
	configDir      = "/etc/nova/nova.conf.d"
	pasteFile      = "/var/lib/openstack/etc/nova/api-paste.ini"
	loggingFile    = "logging.ini"
	messagingCADir = "/etc/rabbitmq-ca"
	contractMount  = "/etc/nova/compute-config"
	stateDir       = "/var/lib/nova"
	lockDir        = "/var/lib/nova/tmp"
	consolePage    = "/vnc_lite.html"
)

// view is the side a configuration is written for: where Keystone and the other
// services are seen from, and where the broker's CA is.
type view struct {
	authURL string
	// interfaces is what valid_interfaces and the catalog lookups ask for.
	interfaces string
	// overrides tells whether spec.endpoints' URLs apply: they are cluster-internal.
	overrides bool
	// caFile is the broker's CA bundle.
	caFile string
}

func localView(n *v1alpha1.Nova, caFile string) view {
	return view{authURL: n.Spec.KeystoneEndpoint, interfaces: "internal", overrides: true, caFile: caFile}
}

func remoteView(n *v1alpha1.Nova) view {
	return view{authURL: n.Spec.RemoteCompute.KeystoneEndpoint, interfaces: "public", caFile: contractMount + "/ca.crt"}
}

// novaConf is the operator's part of nova.conf. The release never enters it: an
// upgrade must not rename the ConfigMap.
func novaConf(n *v1alpha1.Nova) ini.File {
	f := serviceConf(n, localView(n, messagingCADir+"/ca.crt"))
	f.Set("DEFAULT", "state_path", stateDir)
	if len(n.Spec.Logging.PerLoggerLevels) > 0 {
		// The option replaces nova's own list instead of adding to it.
		levels := loggerLevels(n)
		pairs := make([]string, 0, len(levels))
		for _, logger := range slices.Sorted(maps.Keys(levels)) {
			pairs = append(pairs, logger+"="+levels[logger])
		}
		f.Set("DEFAULT", "default_log_levels", strings.Join(pairs, ","))
	}
	if jsonLogging(n) {
		f.Set("DEFAULT", "log_config_append", configDir+"/"+loggingFile)
	}
	f.Set("api", "local_metadata_per_cell", "false")
	f.Set("api_database", "connection", catalog.PlaceholderConnection)
	f.Set("database", "connection", catalog.PlaceholderConnection)
	servers := strings.Join(cacheServers(n), ",")
	if servers != "" {
		f.Set("keystone_authtoken", "memcached_servers", servers)
	}
	f.Set("oslo_concurrency", "lock_path", lockDir)
	f.Set("cache", "enabled", "true")
	f.Set("cache", "backend", n.Spec.Cache.Backend)
	f.Set("cache", "memcache_servers", servers)
	f.Set("scheduler", "discover_hosts_in_cells_interval", "300")
	// Nova's default puts a host behind every other one after a single failed build.
	f.Set("filter_scheduler", "build_failure_weight_multiplier", "0")
	f.Set("filter_scheduler", "shuffle_best_same_weighed_hosts", "true")
	return f
}

// serviceConf is what the control plane and the compute contracts share.
func serviceConf(n *v1alpha1.Nova, v view) ini.File {
	f := ini.File{}
	f.Set("DEFAULT", "use_stderr", "true")
	f.Set("DEFAULT", "debug", strconv.FormatBool(*n.Spec.Logging.Debug))

	identity(f, "keystone_authtoken", n, v)
	f.Set("keystone_authtoken", "www_authenticate_uri", publicKeystone(n))
	regional(f, "keystone_authtoken", "region_name", n)

	// No region_name: nova registers no adapter options here in any release.
	identity(f, "service_user", n, v)
	f.Set("service_user", "send_service_user_token", "true")

	endpoints := n.Spec.Endpoints
	for section, override := range map[string]string{
		"placement": endpoints.Placement.Override,
		"neutron":   endpoints.Neutron.Override,
		"glance":    endpoints.Glance.Override,
	} {
		if section != "glance" {
			identity(f, section, n, v)
		}
		regional(f, section, "region_name", n)
		f.Set(section, "valid_interfaces", v.interfaces)
		if v.overrides && override != "" {
			f.Set(section, "endpoint_override", override)
		}
	}
	if endpoints.Cinder.Enabled {
		cinderConf(f, n, v)
	}
	if endpoints.Barbican.Enabled {
		barbicanConf(f, n, v)
	}
	busConf(f, n, v)
	f.Set("upgrade_levels", "compute", "auto")
	f.Set("vnc", "enabled", strconv.FormatBool(consoleEnabled(n)))
	if consoleEnabled(n) {
		f.Set("vnc", "novncproxy_base_url", consoleURL(n))
	}
	return f
}

// identity writes the credential options of one section; the password is never in a
// file.
func identity(f ini.File, section string, n *v1alpha1.Nova, v view) {
	user := n.Spec.ServiceUser
	f.Set(section, "auth_type", "password")
	f.Set(section, "auth_url", v.authURL)
	f.Set(section, "username", user.Username)
	f.Set(section, "project_name", user.ProjectName)
	f.Set(section, "user_domain_name", user.UserDomainName)
	f.Set(section, "project_domain_name", user.ProjectDomainName)
}

func regional(f ini.File, section, option string, n *v1alpha1.Nova) {
	if n.Spec.Region != "" {
		f.Set(section, option, n.Spec.Region)
	}
}

func cinderConf(f ini.File, n *v1alpha1.Nova, v view) {
	identity(f, "cinder", n, v)
	f.Set("cinder", "catalog_info", "block-storage:cinder:"+v.interfaces+"URL")
	regional(f, "cinder", "os_region_name", n)
	if override := n.Spec.Endpoints.Cinder.Override; v.overrides && override != "" {
		f.Set("cinder", "endpoint_template", override)
	}
}

func barbicanConf(f ini.File, n *v1alpha1.Nova, v view) {
	f.Set("key_manager", "backend", "barbican")
	f.Set("barbican", "auth_endpoint", v.authURL)
	f.Set("barbican", "barbican_endpoint_type", v.interfaces)
	f.Set("barbican", "send_service_user_token", "true")
	regional(f, "barbican", "barbican_region_name", n)
	if override := n.Spec.Endpoints.Barbican.Override; v.overrides && override != "" {
		f.Set("barbican", "barbican_endpoint", override)
	}
}

func busConf(f ini.File, n *v1alpha1.Nova, v view) {
	const bus = "oslo_messaging_rabbit"
	for _, option := range []string{"rabbit_quorum_queue", "rabbit_transient_quorum_queue", "use_queue_manager"} {
		f.Set(bus, option, "true")
	}
	if n.Spec.Messaging.TLS != nil {
		f.Set(bus, "ssl", "true")
		f.Set(bus, "ssl_ca_file", v.caFile)
		// A CA file alone proves only that somebody the CA signed answers (OSSN-0096).
		f.Set(bus, "ssl_enforce_hostname_verification", "true")
	}
	f.Set("oslo_messaging_notifications", "driver", "noop")
}

// consoleURL is where a browser opens a console.
func consoleURL(n *v1alpha1.Nova) string {
	if g := n.Spec.ConsoleProxy.Gateway; g != nil {
		return "https://" + g.Hostname + consolePage
	}
	return "http://" + serviceHost(n, n.Name+suffixConsoleProxy) + ":" + strconv.Itoa(portConsole) + consolePage
}

func jsonLogging(n *v1alpha1.Nova) bool { return n.Spec.Logging.Format == v1alpha1.LoggingFormatJSON }

// overlays are the files one role reads besides nova.conf, by key of the ConfigMap.
// All of them ship on every render: a key that comes and goes would roll four
// unrelated workloads.
func overlays(n *v1alpha1.Nova) map[string]ini.File {
	workers := func(section string, count int32) ini.File {
		return ini.File{section: {"workers": {strconv.Itoa(int(count))}}}
	}
	return map[string]ini.File{
		"metadata.conf":  {"neutron": {"service_metadata_proxy": {"true"}}},
		"scheduler.conf": workers("scheduler", *n.Spec.Scheduler.Workers),
		"conductor.conf": workers("conductor", *n.Spec.Conductor.Workers),
		"novncproxy.conf": {
			"DEFAULT": {"web": {"/usr/share/novnc"}},
			// Nova takes any text here for a reachable API database.
			"api_database": {"connection": {""}},
			"vnc":          {"novncproxy_host": {"0.0.0.0"}, "novncproxy_port": {strconv.Itoa(portConsole)}},
		},
	}
}

// libraryLevels keep libraries quiet that log every step at INFO: what nova and oslo.log
// set by default. SQLAlchemy alone would write a megabyte at each start.
// Source: oslo.log 8.1 and nova 33.0, default_log_levels.
var libraryLevels = map[string]string{
	"amqp": "WARNING", "boto": "WARNING", "sqlalchemy": "WARNING", "suds": "INFO", "oslo.messaging": "INFO", "oslo_messaging": "INFO",
	"iso8601": "WARNING", "requests.packages.urllib3.connectionpool": "WARNING", "urllib3.connectionpool": "WARNING",
	"websocket": "WARNING", "requests.packages.urllib3.util.retry": "WARNING", "urllib3.util.retry": "WARNING",
	"keystonemiddleware": "WARNING", "routes.middleware": "WARNING", "stevedore": "WARNING", "taskflow": "WARNING",
	"keystoneauth": "WARNING", "oslo.cache": "INFO", "oslo_policy": "INFO", "dogpile.core.dogpile": "INFO",
	"glanceclient": "WARNING", "oslo.privsep.daemon": "INFO",
}

// loggerLevels are the levels of all loggers that have one: the spec's over the libraries'.
func loggerLevels(n *v1alpha1.Nova) map[string]string {
	levels := maps.Clone(libraryLevels)
	maps.Copy(levels, n.Spec.Logging.PerLoggerLevels)
	return levels
}

// loggingINI is read by Python's logging, not by oslo.config: its suffix keeps it out
// of the directory scan. oslo.log then looks neither at debug nor at default_log_levels,
// so what they say stands here as well.
func loggingINI(n *v1alpha1.Nova) ini.File {
	level := n.Spec.Logging.Level
	if *n.Spec.Logging.Debug {
		level = "DEBUG"
	}
	f := ini.File{
		"handlers":       {"keys": {"stderr"}},
		"formatters":     {"keys": {"json"}},
		"logger_root":    {"level": {level}, "handlers": {"stderr"}},
		"handler_stderr": {"class": {"StreamHandler"}, "args": {"(sys.stderr,)"}, "level": {"NOTSET"}, "formatter": {"json"}},
		"formatter_json": {"class": {"oslo_log.formatters.JSONFormatter"}},
	}
	keys := []string{"root"}
	levels := loggerLevels(n)
	for _, logger := range slices.Sorted(maps.Keys(levels)) {
		if logger == "root" { // Python has no other logger of that name
			f["logger_root"]["level"] = []string{levels[logger]}
			continue
		}
		key := strings.Map(func(r rune) rune {
			if strings.ContainsRune(",%[]", r) { // syntax of the list of keys or of a section's name
				return '_'
			}
			return r
		}, logger)
		keys = append(keys, key)
		f["logger_"+key] = map[string][]string{
			"qualname": {strings.ReplaceAll(logger, "%", "%%")}, "level": {levels[logger]}, "handlers": {""},
		}
	}
	f["loggers"] = map[string][]string{"keys": {strings.Join(keys, ",")}}
	return f
}
