// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/c5c3/nova-operator/api/catalog/option"
)

//go:embed data/*.json
var files embed.FS

// Value is what extraConfig gives one option: one text, or a list.
type Value struct {
	// Values holds the items; a single value is a slice of one.
	Values []string
	// List tells a list of one item from a single value.
	List bool
	// Unreadable is a value that has no line in an INI file, such as an object.
	Unreadable bool
}

// catalogs holds one catalog per row of releases, each read when it is first asked for.
var catalogs = lazily()

func lazily() map[string]func() *option.List {
	loaders := make(map[string]func() *option.List, len(releases))
	for _, row := range releases {
		loaders[row.release.String()] = sync.OnceValue(func() *option.List { return mustLoad(row.release.String()) })
	}
	return loaders
}

// catalogOf is the catalog of a release, nil for one that has none.
func catalogOf(release string) *option.List {
	if loader := catalogs[release]; loader != nil {
		return loader()
	}
	return nil
}

// mustLoad reads an embedded catalog. A missing or broken one is a defect of the build,
// which the tests of this package find, so it panics.
func mustLoad(release string) *option.List {
	catalog, err := load(release)
	if err != nil {
		panic(fmt.Sprintf("option catalog of release %s: %v", release, err))
	}
	return catalog
}

func load(release string) (*option.List, error) {
	data, err := files.ReadFile("data/" + release + ".json")
	if err != nil {
		return nil, err
	}
	catalog, err := option.Decode(data)
	if err != nil {
		return nil, err
	}
	if catalog.Release != release {
		return nil, fmt.Errorf("names release %q", catalog.Release)
	}
	return catalog, nil
}

// Releases returns the releases with an embedded catalog, oldest first.
func Releases() []string {
	names := make([]string, len(releases))
	for i, row := range releases {
		names[i] = row.release.String()
	}
	return names
}

// optionSets returns the option lists that hold for a section, given by its normal
// name. References says which entries of Sections other options make it point to.
func optionSets(c *option.List, section string, references map[string][]string) []map[string]option.Option {
	var sets []map[string]option.Option
	if options, found := c.Sections[section]; found && isReal(section) {
		sets = append(sets, options)
	}
	for _, dynamic := range c.Dynamic {
		if prefix := strings.TrimSuffix(dynamic, "*"); len(section) > len(prefix) && strings.HasPrefix(section, prefix) {
			sets = append(sets, c.Sections[dynamic])
		}
	}
	for _, entry := range references[section] {
		sets = append(sets, c.Sections[entry])
	}
	return sets
}

// isReal tells a section name from a pattern and from a placeholder.
func isReal(section string) bool {
	return !strings.ContainsAny(section, "*<>")
}

// references reads from the given options which sections their values name: normal
// section name → entries of Sections.
func references(c *option.List, extra map[string]map[string]Value) map[string][]string {
	found := map[string][]string{}
	for _, options := range extra {
		for key, value := range options {
			entry, refers := c.References[key]
			if !refers {
				continue
			}
			for _, name := range strings.Split(strings.Join(value.Values, ","), ",") {
				section := Section(strings.TrimSpace(name))
				if !slices.Contains(found[section], entry) {
					found[section] = append(found[section], entry)
				}
			}
		}
	}
	return found
}

// find looks an option up in the lists that hold for a section.
func find(sets []map[string]option.Option, key string) (option.Option, bool) {
	for _, set := range sets {
		if opt, found := set[key]; found {
			return opt, true
		}
	}
	return option.Option{}, false
}

// Lines are the lines an extraConfig value becomes in the file: one per item of an
// option that may be repeated, one with all items for a list or dict, one for the rest.
// A release without a catalog renders one line per item.
func Lines(release, section, key string, value Value) []string {
	if !value.List {
		return value.Values
	}
	parsed, err := ParseRelease(release)
	if err != nil || catalogOf(parsed.String()) == nil {
		return value.Values
	}
	opt, found := find(optionSets(catalogOf(parsed.String()), Section(section), nil), key)
	if found && opt.TakesList() && opt.Type != option.TypeMulti {
		return []string{strings.Join(value.Values, ",")}
	}
	return value.Values
}

// realSections are the names a hint may name, sorted.
func realSections(c *option.List) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Sections)), func(s string) bool { return !isReal(s) })
}

// PlaceholderConnection is what a configuration of the operator has in place of a database
// URL, which reaches the process by its environment.
const PlaceholderConnection = "mysql+pymysql://placeholder"

// Credential tells whether the newest catalog marks an option as a credential.
func Credential(section, key string) bool {
	releases := Releases()
	c := catalogOf(releases[len(releases)-1])
	opt, found := find(optionSets(c, Section(section), nil), key)
	return found && opt.Secret
}
