// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegistry_ListsOnlyOptionsOfEveryRelease(t *testing.T) {
	for kind, registry := range map[string]*Registry{"Nova": NovaKeys, "NovaCompute": ComputeKeys} {
		for row := range registry.All() {
			// No release registers it; it stays reported so that nobody is told it works.
			if row.Section == "service_user" && row.Key == "region_name" {
				continue
			}
			for _, release := range Releases() {
				opt, found := catalogOf(release).Sections[row.Section][row.Key]
				if !found || len(opt.ReplacedBy) > 0 {
					t.Errorf("%s: [%s] %s is no current option of %s", kind, row.Section, row.Key, release)
				}
			}
		}
	}
}

func TestRegistry_IsSortedAndNormal(t *testing.T) {
	for kind, registry := range map[string]*Registry{"Nova": NovaKeys, "NovaCompute": ComputeKeys} {
		rows := slices.Collect(registry.All())
		if len(rows) == 0 {
			t.Errorf("%s: no rows", kind)
		}
		for i, row := range rows {
			if row.Section != Section(row.Section) || row.Key != Key(row.Key) {
				t.Errorf("%s: [%s] %s is not in normal form", kind, row.Section, row.Key)
			}
			if i > 0 && rows[i-1].Section+" "+rows[i-1].Key >= row.Section+" "+row.Key {
				t.Errorf("%s: [%s] %s is out of order", kind, row.Section, row.Key)
			}
		}
	}
}

func TestRegistry_RejectsEveryCredentialItOwns(t *testing.T) {
	for kind, registry := range map[string]*Registry{"Nova": NovaKeys, "NovaCompute": ComputeKeys} {
		for row := range registry.All() {
			for _, release := range Releases() {
				if catalogOf(release).Sections[row.Section][row.Key].Secret && row.Treatment != Rejected {
					t.Errorf("%s: [%s] %s is a credential and only reported", kind, row.Section, row.Key)
				}
			}
		}
	}
}

func TestRegistry_LookupTakesAnySpelling(t *testing.T) {
	for _, tc := range []struct {
		section, key string
		want         bool
	}{
		{"DEFAULT", "debug", true},
		{" DEFAULT ", " De-Bug", false},
		{"DEFAULT", "transport-url", true},
		{"Keystone_Authtoken", "Auth-URL", true},
		{"default", "debug", false},
		{"libvirt", "cpu_mode", false},
	} {
		if _, got := NovaKeys.Lookup(tc.section, tc.key); got != tc.want {
			t.Errorf("Lookup(%q, %q) = %v", tc.section, tc.key, got)
		}
	}
}

func TestOverridden_NamesReportedKeysOnly(t *testing.T) {
	extra := config{
		"VNC":                {"enabled": {}, "novncproxy_port": {}},
		"keystone_authtoken": {"username": {}},
		"libvirt":            {"cpu_mode": {}},
	}
	want := "[keystone_authtoken] username; [vnc] enabled (consoles would be offered without a proxy, or hidden with one)"
	if diff := cmp.Diff(want, Overridden(NovaKeys, extra)); diff != "" {
		t.Error(diff)
	}
	if got := Overridden(NovaKeys, nil); got != "" {
		t.Errorf("nothing overridden: %q", got)
	}
	if diff := cmp.Diff("[libvirt] cpu_mode", Overridden(ComputeKeys, extra)); diff != "" {
		t.Error(diff)
	}
}

func TestShutdownTimeout_FollowsReleaseAndExtraConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		release string
		extra   config
		want    int
	}{
		"before the first catalog":        {"2024.2", nil, 60},
		"2025.1":                          {"2025.1", nil, 60},
		"2025.2":                          {"2025.2", nil, 60},
		"2026.1":                          {"2026.1", nil, 180},
		"a release still to come":         {"2027.2", nil, 180},
		"no release":                      {"x", nil, 180},
		"extraConfig wins":                {"2026.1", one("DEFAULT", gracefulKey, "600"), 600},
		"extraConfig wins, quoted":        {"2026.1", one("DEFAULT", gracefulKey, `"600"`), 600},
		"an endless wait has no grace":    {"2026.1", one("DEFAULT", gracefulKey, "0"), 180},
		"a reference cannot be evaluated": {"2026.1", one("DEFAULT", gracefulKey, "$x"), 180},
		"another section is another key":  {"2026.1", one("api", gracefulKey, "600"), 180},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ShutdownTimeout(tc.release, tc.extra); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestLines_FollowTheTypeOfTheOption(t *testing.T) {
	for name, tc := range map[string]struct {
		release, section, key string
		value                 Value
		want                  []string
	}{
		"a single value":             {"2026.1", "pci", "alias", Value{Values: []string{"a,b"}}, []string{"a,b"}},
		"an option that is repeated": {"2026.1", "pci", "alias", Value{Values: []string{"a", "b"}, List: true}, []string{"a", "b"}},
		"a list option":              {"2026.1", "Filter_Scheduler", "enabled_filters", Value{Values: []string{"a", "b"}, List: true}, []string{"a,b"}},
		"an empty list option":       {"2026.1", "filter_scheduler", "enabled_filters", Value{List: true}, []string{""}},
		"an option nobody knows":     {"2026.1", "x", "y", Value{Values: []string{"a", "b"}, List: true}, []string{"a", "b"}},
		"a release without catalog":  {"2031.1", "filter_scheduler", "enabled_filters", Value{Values: []string{"a", "b"}, List: true}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Lines(tc.release, tc.section, tc.key, tc.value)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]string{
		"2026.1":    "2026.1",
		"2026.1-p1": "2026.1",
		"2010.2":    "2010.2",
		"2009.2":    "",
		"2026.3":    "",
		"2026":      "",
		"2026.1.0":  "",
		"02026.1":   "",
		"+026.1":    "",
		"":          "",
		"master":    "",
	} {
		release, err := ParseRelease(text)
		got := release.String()
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("ParseRelease(%q) = %q, %v", text, got, err)
		}
	}
	if next := (Release{2025, 2}).Next(); next != (Release{2026, 1}) {
		t.Errorf("after 2025.2 comes %s", next)
	}
	if next := (Release{2026, 1}).Next(); next != (Release{2026, 2}) {
		t.Errorf("after 2026.1 comes %s", next)
	}
	if (Release{2025, 2}).Compare(Release{2026, 1}) >= 0 || (Release{2026, 1}).Compare(Release{2026, 1}) != 0 {
		t.Error("releases do not compare by year, then number")
	}
}
