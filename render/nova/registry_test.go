package nova

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// notRendered are owned keys that no file holds, besides those the environment sets.
var notRendered = []string{
	// No release registers it: a line would say nothing. It stays owned so that nobody
	// is told it works.
	"service_user/region_name",
}

// everyOption is a Nova that renders every option the operator has.
func everyOption(t *testing.T) *v1alpha1.Nova {
	n := loadFixture(t, "everything").in.Nova.DeepCopy()
	n.Spec.ExtraConfig = nil
	n.Default()
	return n
}

func optionsOf(text string) []string {
	var out []string
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
		} else if key, _, found := strings.Cut(line, " ="); found {
			out = append(out, section+"/"+key)
		}
	}
	return out
}

func TestRegistry_OwnsWhatIsRendered(t *testing.T) {
	n := everyOption(t)
	data, err := configData(n)
	if err != nil {
		t.Fatal(err)
	}
	rendered := map[string]bool{}
	for name, text := range data {
		// Read by Python's logging, not by oslo.config.
		if name == loggingFile {
			continue
		}
		for _, option := range optionsOf(text) {
			rendered[option] = true
		}
	}
	result, _ := Settle(loadFixture(t, "everything").in)
	injected := map[string]bool{}
	for _, env := range environments(t, result) {
		for name := range env {
			group, option, found := strings.Cut(strings.TrimPrefix(name, "OS_"), "__")
			if found {
				if group != "DEFAULT" {
					group = strings.ToLower(group)
				}
				injected[group+"/"+strings.ToLower(option)] = true
			}
		}
	}
	owned := map[string]catalog.OwnedKey{}
	for row := range catalog.NovaKeys.All() {
		owned[row.Section+"/"+row.Key] = row
	}
	for option := range maps.Keys(owned) {
		if !rendered[option] && !injected[option] && !slices.Contains(notRendered, option) {
			t.Errorf("%s is owned and set nowhere", option)
		}
	}
	for option := range rendered {
		if _, ok := owned[option]; !ok {
			t.Errorf("%s is rendered and not owned", option)
		}
	}
	for option := range injected {
		if owned[option].Treatment != catalog.Rejected {
			t.Errorf("%s comes from the environment and is not rejected", option)
		}
	}
	for _, option := range notRendered {
		if rendered[option] || injected[option] {
			t.Errorf("%s is set after all", option)
		}
	}
}

// The compute fragment holds a choice of the control plane's options and no other.
func TestRegistry_OwnsTheFragment(t *testing.T) {
	n := everyOption(t)
	var sections []string
	for _, view := range []view{localView(n, "/ca.crt"), remoteView(n)} {
		for section, options := range fragment(n, view) {
			sections = append(sections, section)
			for key := range options {
				if _, ok := catalog.NovaKeys.Lookup(section, key); !ok {
					t.Errorf("[%s] %s is rendered and not owned", section, key)
				}
			}
		}
	}
	slices.Sort(sections)
	want := []string{
		"DEFAULT", "barbican", "cinder", "glance", "key_manager", "keystone_authtoken", "neutron", "oslo_messaging_notifications",
		"oslo_messaging_rabbit", "placement", "service_user", "upgrade_levels", "vnc",
	}
	if diff := cmp.Diff(want, slices.Compact(sections)); diff != "" {
		t.Error(diff)
	}
}

// An option that is never in a file, because the environment sets it or nova must not
// have it.
func TestConfig_NeverHolds(t *testing.T) {
	data, err := configData(everyOption(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range data {
		for _, option := range optionsOf(text) {
			section, key, _ := strings.Cut(option, "/")
			switch {
			case key == "password", key == "transport_url", key == "metadata_proxy_shared_secret", option == "DEFAULT/host",
				option == "api/auth_strategy", section == "oslo_policy", option == "cinder/region_name",
				name == "nova.conf" && (option == "neutron/service_metadata_proxy" || key == "workers"):
				t.Errorf("%s holds %s", name, option)
			}
		}
	}
}

// The release must not rename the ConfigMap: an upgrade would roll every role twice.
func TestConfig_IsTheSameInEveryRelease(t *testing.T) {
	n := everyOption(t)
	n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"filter_scheduler": {"enabled_filters": v1alpha1.ListValue("a", "b")}}
	first, err := configData(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range append(catalog.Releases(), "2024.1", "2031.2") {
		n.Spec.OpenStackRelease = release
		n.Spec.Image.Tag = release
		data, err := configData(n)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, data); diff != "" {
			t.Errorf("%s: %s", release, diff)
		}
	}
}
