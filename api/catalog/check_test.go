// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type config = map[string]map[string]Value

func one(section, key string, values ...string) config {
	return config{section: {key: {Values: values}}}
}

func list(section, key string, values ...string) config {
	return config{section: {key: {Values: values, List: true}}}
}

func TestCheck_Findings(t *testing.T) {
	for name, tc := range map[string]struct {
		release string
		extra   config
		want    Findings
	}{
		"nothing": {extra: nil},
		"a good option": {
			extra: one("libvirt", "cpu_mode", "host-model"),
		},
		"a section in another case is the same section": {
			extra: one("LibVirt", "cpu_mode", "host-model"),
		},
		"an empty section name": {
			extra: one("", "a", "b"),
			want:  errs(KindName, "", "", "extraConfig section name must not be empty"),
		},
		"a section name with a line break": {
			extra: one("a\nb", "cpu_mode", "b"),
			want:  errs(KindName, "a\nb", "", "extraConfig section name must not contain a newline or carriage return"),
		},
		"a section name with a control character": {
			extra: one("a\x00b", "cpu_mode", "b"),
			want:  errs(KindName, "a\x00b", "", "extraConfig section name must not contain a control character"),
		},
		"a section name with a bracket": {
			extra: one("a]b", "cpu_mode", "b"),
			want:  errs(KindName, "a]b", "", `extraConfig section name must not contain "[" or "]": nova would not find the section`),
		},
		"a section name with spaces around it": {
			extra: one(" libvirt", "cpu_mode", "none"),
			want:  errs(KindName, " libvirt", "", "extraConfig section name must not begin or end with a space: nova would not find the section"),
		},
		"DEFAULT in lower case": {
			extra: one("default", "debug", "true"),
			want:  errs(KindName, "default", "", `nova finds this section in capitals only; write "DEFAULT"`),
		},
		"a section without an option": {
			extra: config{"libvirt": {}},
			want:  errs(KindName, "libvirt", "", "extraConfig section must not be empty: give it an option or leave it out"),
		},
		"an empty key": {
			extra: one("libvirt", "", "b"),
			want:  errs(KindName, "libvirt", "", "extraConfig key must not be empty"),
		},
		"a key with a line break": {
			extra: one("libvirt", "a\r", "b"),
			want:  errs(KindName, "libvirt", "a\r", lineBreakMessage),
		},
		"a value with a line break": {
			extra: one("libvirt", "cpu_mode", "none\nvirt_type = qemu"),
			want:  errs(KindName, "libvirt", "cpu_mode", lineBreakMessage),
		},
		"a value with a control character in a list": {
			extra: list("pci", "alias", "a", "b\x1b"),
			want:  errs(KindName, "pci", "alias", controlMessage),
		},
		"a key with an equals sign": {
			extra: one("libvirt", "cpu_mode = none", "x"),
			want:  errs(KindName, "libvirt", "cpu_mode = none", `extraConfig key must not contain "=", ":" or a space: nova would read another key`),
		},
		"a key with a colon": {
			extra: one("libvirt", "a:b", "x"),
			want:  errs(KindName, "libvirt", "a:b", `extraConfig key must not contain "=", ":" or a space: nova would read another key`),
		},
		"a key with a dash": {
			extra: one("libvirt", "cpu-mode", "none"),
			want:  errs(KindName, "libvirt", "cpu-mode", `nova ignores this spelling of a key; write "cpu_mode"`),
		},
		"a key in capitals": {
			extra: one("DEFAULT", "Debug", "true"),
			want:  errs(KindName, "DEFAULT", "Debug", `nova ignores this spelling of a key; write "debug"`),
		},
		"a key that looks like a comment": {
			extra: one("DEFAULT", "#debug", "true"),
			want:  errs(KindName, "DEFAULT", "#debug", `extraConfig key must consist of lower-case letters, digits and "_"`),
		},
		"one option under two spellings of its section": {
			extra: config{"Libvirt": {"cpu_mode": {Values: []string{"none"}}}, "libvirt": {"cpu_mode": {Values: []string{"none"}}}},
			want:  errs(KindName, "libvirt", "cpu_mode", "duplicate of [Libvirt] cpu_mode: nova reads both as one option"),
		},
		"a rejected key": {
			extra: one("DEFAULT", "web", "/x"),
			want:  errs(KindOwned, "DEFAULT", "web", "web is managed via operator-computed and must not be set in extraConfig (another path gives a blank console page without an error)"),
		},
		"a rejected key in another spelling": {
			extra: one("VNC", "novncproxy_port", "1"),
			want:  errs(KindOwned, "VNC", "novncproxy_port", "novncproxy_port is managed via operator-computed and must not be set in extraConfig (the Service would route to a port nothing listens on)"),
		},
		"a rejected key on a release without a catalog": {
			release: "2030.1",
			extra:   one("DEFAULT", "transport_url", "x"),
			want: Findings{
				Errors: errs(KindOwned, "DEFAULT", "transport_url", "transport_url is managed via spec.messaging and must not be set in extraConfig ("+envInjected+")").Errors,
				Warnings: []string{
					`spec.extraConfig was not validated against an option catalog: no catalog for release "2030.1" is embedded in this operator build`,
				},
			},
		},
		"verification of the broker's name is not up for debate": {
			extra: one("oslo_messaging_rabbit", "ssl_enforce_hostname_verification", "false"),
			want:  errs(KindOwned, "oslo_messaging_rabbit", "ssl_enforce_hostname_verification", "ssl_enforce_hostname_verification is managed via spec.messaging.tls and must not be set in extraConfig (the broker's name would not be verified)"),
		},
		"a reported key that no catalog lists": {
			extra: one("service_user", "region_name", "x"),
		},
		"a reported key of the wrong type": {
			extra: one("DEFAULT", "debug", "maybe"),
			want:  errs(KindValue, "DEFAULT", "debug", "must be one of true, false, yes, no, on, off, 1, 0"),
		},
		"an unknown section": {
			extra: one("libvrit", "cpu_mode", "none"),
			want:  errs(KindUnknown, "libvrit", "cpu_mode", `no such section in the nova 2026.1 option catalog; did you mean "libvirt"?`),
		},
		"an unknown section like no other": {
			extra: one("quantum_entanglement", "a", "b"),
			want:  errs(KindUnknown, "quantum_entanglement", "a", "no such section in the nova 2026.1 option catalog"),
		},
		"the pattern of a dynamic name is not that section": {
			extra: one("mdev_", "max_instances", "1"),
			want:  errs(KindUnknown, "mdev_", "max_instances", "no such section in the nova 2026.1 option catalog"),
		},
		"a placeholder is not a section": {
			extra: one("<auth_section>", "auth_url", "http://x"),
			want:  errs(KindUnknown, "<auth_section>", "auth_url", "no such section in the nova 2026.1 option catalog"),
		},
		"a misspelt option": {
			extra: one("libvirt", "cpu_mod", "none"),
			want:  errs(KindUnknown, "libvirt", "cpu_mod", `no such option in the nova 2026.1 option catalog; did you mean "cpu_mode"?`),
		},
		"an option in the wrong section": {
			extra: one("DEFAULT", "live_migration_permit_post_copy", "true"),
			want:  errs(KindUnknown, "DEFAULT", "live_migration_permit_post_copy", "no such option in the nova 2026.1 option catalog; option exists in section [libvirt]"),
		},
		"an option that came later": {
			release: "2025.2",
			extra:   one("libvirt", "live_migration_parallel_connections", "2"),
			want:    errs(KindUnknown, "libvirt", "live_migration_parallel_connections", "no such option in the nova 2025.2 option catalog"),
		},
		"a section of a dynamic name": {
			extra: one("mdev_nvidia-35", "mdev_class", "CUSTOM_A"),
		},
		"a section another option names": {
			extra: config{
				"cinder":  {"auth_section": {Values: []string{"Volumes"}}},
				"volumes": {"auth_url": {Values: []string{"http://x"}}},
			},
		},
		"a section a list of another option names": {
			extra: config{
				"DEFAULT": {"config_source": {Values: []string{"a, remote"}}},
				"remote":  {"driver": {Values: []string{"remote_file"}}},
			},
		},
		"a credential with a field for it": {
			extra: one("keystone_authtoken", "admin_password", "x"),
			want:  errs(KindSecret, "keystone_authtoken", "admin_password", "is a credential, which does not belong in a custom resource; spec.serviceUser.secretRef names the Secret for it"),
		},
		"a credential without a field for it": {
			extra: one("ironic", "password", "x"),
			want:  errs(KindSecret, "ironic", "password", "is a credential, which does not belong in a custom resource; no field takes it from a Secret yet"),
		},
		"a deprecated option": {
			extra: one("DEFAULT", "logfile", "x"),
			want:  Findings{Warnings: []string{"spec.extraConfig [DEFAULT] logfile: deprecated option in nova 2026.1, replaced by [DEFAULT] log_file"}},
		},
		"a deprecated option with two replacements": {
			extra: one("DEFAULT", "network_device_mtu", "1"),
			want:  Findings{Warnings: []string{"spec.extraConfig [DEFAULT] network_device_mtu: deprecated option in nova 2026.1, replaced by [os_vif_linux_bridge] network_device_mtu or [os_vif_ovs] network_device_mtu"}},
		},
		"a deprecated option without replacement": {
			extra: one("libvirt", "num_memory_encrypted_guests", "1"),
			want:  Findings{Warnings: []string{"spec.extraConfig [libvirt] num_memory_encrypted_guests: deprecated option in nova 2026.1, with no replacement"}},
		},
		"an option that came with 2026.2": {
			release: "2026.2", extra: one("DEFAULT", "concurrency_backend", "threading"),
		},
		"an option that went with 2026.2": {
			release: "2026.2", extra: one("libvirt", "num_memory_encrypted_guests", "1"),
			want: errs(KindUnknown, "libvirt", "num_memory_encrypted_guests", "no such option in the nova 2026.2 option catalog"),
		},
		"a deprecated option of a section another option names": {
			extra: config{
				"cinder":  {"auth_section": {Values: []string{"volumes"}}},
				"volumes": {"auth_plugin": {Values: []string{"password"}}},
			},
			want: Findings{Warnings: []string{"spec.extraConfig [volumes] auth_plugin: deprecated option in nova 2026.1, replaced by [volumes] auth_type"}},
		},
		"a release that is none": {
			release: "antelope",
			extra:   one("libvirt", "nonsense", "x"),
			want:    Findings{Warnings: []string{"spec.extraConfig was not validated against an option catalog: spec.openStackRelease does not name an OpenStack release"}},
		},
		"a list for an option that may be repeated": {
			extra: list("pci", "alias", `{"name": "a"}`, `{"name": "b"}`),
		},
		"an empty list for an option that may be repeated": {
			extra: list("pci", "alias"),
			want:  errs(KindValue, "pci", "alias", "must not be an empty list: an option cannot be written zero times"),
		},
		"a list for a list option": {
			extra: list("filter_scheduler", "enabled_filters", "ComputeFilter", "ImagePropertiesFilter"),
		},
		"a list for a list option with a comma in an item": {
			extra: list("filter_scheduler", "enabled_filters", "A,B"),
			want:  errs(KindValue, "filter_scheduler", "enabled_filters", "an item must not contain a comma: the items become one line that nova splits at commas"),
		},
		"a list for a single value": {
			extra: list("libvirt", "cpu_mode", "none"),
			want:  errs(KindValue, "libvirt", "cpu_mode", "must be a single value: the option may not be repeated"),
		},
		"a manager that outlives its process": {
			extra: one("DEFAULT", "manager_shutdown_timeout", "180"),
			want:  errs(KindValue, "DEFAULT", "manager_shutdown_timeout", "manager_shutdown_timeout (180) must be less than graceful_shutdown_timeout (180): a process would be killed in the middle of its shutdown"),
		},
		"a process that dies before its manager": {
			extra: one("DEFAULT", "graceful_shutdown_timeout", "60"),
			want:  errs(KindValue, "DEFAULT", "graceful_shutdown_timeout", "manager_shutdown_timeout (160) must be less than graceful_shutdown_timeout (60): a process would be killed in the middle of its shutdown"),
		},
		"both shutdown times lowered": {
			extra: config{"DEFAULT": {
				"graceful_shutdown_timeout": {Values: []string{"60"}}, "manager_shutdown_timeout": {Values: []string{"50"}},
			}},
		},
		"an endless shutdown": {
			extra: one("DEFAULT", "graceful_shutdown_timeout", "0"),
		},
		"a short shutdown on a release without the manager's": {
			release: "2025.2",
			extra:   one("DEFAULT", "graceful_shutdown_timeout", "10"),
		},
		"findings are sorted": {
			extra: config{
				"vnc": {"web": {Values: []string{"x"}}, "enabled": {Values: []string{"x"}}},
				"api": {"nope": {Values: []string{"x"}}},
			},
			want: Findings{Errors: []Finding{
				{"api", "nope", KindUnknown, "no such option in the nova 2026.1 option catalog"},
				{"vnc", "enabled", KindValue, "must be one of true, false, yes, no, on, off, 1, 0"},
				{"vnc", "web", KindUnknown, "no such option in the nova 2026.1 option catalog; option exists in section [DEFAULT]"},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			release := tc.release
			if release == "" {
				release = "2026.1"
			}
			if diff := cmp.Diff(tc.want, Check(release, NovaKeys, tc.extra)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func errs(kind Kind, section, key, message string) Findings {
	return Findings{Errors: []Finding{{Section: section, Key: key, Kind: kind, Message: message}}}
}

func TestCheck_RefusesAnOldNameOfARejectedKey(t *testing.T) {
	for _, release := range Releases() {
		for section, options := range catalogOf(release).Sections {
			for key, opt := range options {
				for _, target := range opt.ReplacedBy {
					row, owned := NovaKeys.Lookup(splitTarget(target))
					if !owned || row.Treatment != Rejected {
						continue
					}
					findings := Check(release, NovaKeys, one(section, key, "x"))
					if len(findings.Errors) != 1 || findings.Errors[0].Message != row.refusal() {
						t.Errorf("%s [%s] %s: %v", release, section, key, findings)
					}
				}
			}
		}
	}
}

func TestCheck_NeverPanicsAndNeverQuotesAValue(t *testing.T) {
	sections := append(realSections(catalogOf("2026.1")), "", "default", "mdev_x", "nope")
	rapid.Check(t, func(t *rapid.T) {
		section := rapid.OneOf(rapid.SampledFrom(sections), rapid.String()).Draw(t, "section")
		key := rapid.String().Draw(t, "key")
		if options := slices.Sorted(maps.Keys(catalogOf("2026.1").Sections[section])); len(options) > 0 && rapid.Bool().Draw(t, "known") {
			key = rapid.SampledFrom(options).Draw(t, "option")
		}
		value := Value{Values: rapid.SliceOf(rapid.String()).Draw(t, "values"), List: rapid.Bool().Draw(t, "list")}
		release := rapid.SampledFrom([]string{"2025.1", "2025.2", "2026.1", "2099.1", "x"}).Draw(t, "release")
		extra := config{section: {key: value, "marker": {Values: []string{"s3cret-value"}}}}
		first, second := Check(release, NovaKeys, extra), Check(release, NovaKeys, extra)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatal(diff)
		}
		for _, finding := range first.Errors {
			if strings.Contains(finding.Message, "s3cret-value") {
				t.Fatalf("quotes a value: %v", finding)
			}
		}
	})
}
