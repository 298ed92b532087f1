// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/c5c3/nova-operator/api/catalog/option"
)

// Kind says what a finding is about, so that a caller can choose how to print it.
type Kind int

const (
	// KindName is a name or a character nova would misread.
	KindName Kind = iota + 1
	// KindOwned is a key the operator does not let go.
	KindOwned
	// KindUnknown is a section or an option the release does not have.
	KindUnknown
	// KindValue is a value the option does not take.
	KindValue
	// KindSecret is a credential.
	KindSecret
)

// Finding is one problem of an extraConfig.
type Finding struct {
	// Section and Key as they were given. An empty Key means the section as a whole.
	Section, Key string
	Kind         Kind
	// Message is complete, hints included. It never quotes a value.
	Message string
}

// Findings is the outcome of a check, sorted by section, then key.
type Findings struct {
	// Errors refuse the resource.
	Errors []Finding
	// Warnings are complete sentences for the user.
	Warnings []string
}

// Check is CheckKeys and CheckOptions in one.
func Check(release string, registry *Registry, extra map[string]map[string]Value) Findings {
	keys, options := CheckKeys(registry, extra), CheckOptions(release, registry, extra)
	return Findings{Errors: sorted(append(keys.Errors, options.Errors...)), Warnings: options.Warnings}
}

// CheckKeys reports what no release makes right: names nova would misread, control
// characters, two spellings of one name, and owned keys that are rejected.
func CheckKeys(registry *Registry, extra map[string]map[string]Value) Findings {
	findings, _ := checkNames(extra)
	for section, options := range extra {
		for key := range options {
			if row, owned := registry.Lookup(section, key); owned && row.Treatment == Rejected {
				findings = append(findings, Finding{Section: section, Key: key, Kind: KindOwned, Message: row.refusal()})
			}
		}
	}
	return Findings{Errors: sorted(findings)}
}

// CheckOptions compares sections, options and values with the catalog of a release, and
// the two shutdown timeouts with each other. Owned keys need not be in the catalog, and
// keys CheckKeys complains about are left out. A release without a catalog yields one
// warning and no error.
func CheckOptions(release string, registry *Registry, extra map[string]map[string]Value) Findings {
	if len(extra) == 0 {
		return Findings{}
	}
	parsed, err := ParseRelease(release)
	if err != nil {
		return Findings{Warnings: []string{
			"spec.extraConfig was not validated against an option catalog: spec.openStackRelease does not name an OpenStack release",
		}}
	}
	catalog := catalogOf(parsed.String())
	if catalog == nil {
		return Findings{Warnings: []string{fmt.Sprintf(
			"spec.extraConfig was not validated against an option catalog: no catalog for release %q is embedded in this operator build",
			parsed)}}
	}
	check := optionCheck{
		catalog: catalog, registry: registry, references: references(catalog, extra),
	}
	_, bad := checkNames(extra)
	for _, section := range slices.Sorted(maps.Keys(extra)) {
		for _, key := range slices.Sorted(maps.Keys(extra[section])) {
			if !bad[name{section, key}] {
				check.option(section, key, extra[section][key])
			}
		}
	}
	check.findings.Errors = sorted(append(check.findings.Errors, checkShutdown(release, extra)...))
	return check.findings
}

// optionCheck collects the findings of one CheckOptions.
type optionCheck struct {
	catalog    *option.List
	registry   *Registry
	references map[string][]string
	findings   Findings
}

func (c *optionCheck) refuse(section, key string, kind Kind, message string) {
	c.findings.Errors = append(c.findings.Errors, Finding{Section: section, Key: key, Kind: kind, Message: message})
}

// option checks one option whose names are well formed.
func (c *optionCheck) option(section, key string, value Value) {
	row, owned := c.registry.Lookup(section, key)
	if owned && row.Treatment == Rejected {
		return
	}
	sets := optionSets(c.catalog, Section(section), c.references)
	opt, found := find(sets, key)
	switch {
	case !found && owned:
		return
	case len(sets) == 0:
		c.refuse(section, key, KindUnknown, fmt.Sprintf("no such section in the nova %s option catalog%s",
			c.catalog.Release, sectionHint(c.catalog, Section(section))))
		return
	case !found:
		c.refuse(section, key, KindUnknown, fmt.Sprintf("no such option in the nova %s option catalog%s",
			c.catalog.Release, optionHint(c.catalog, sets, key)))
		return
	}
	if refusal, rejected := c.rejectedAlias(opt); rejected {
		c.refuse(section, key, KindOwned, refusal)
		return
	}
	if opt.Secret {
		c.refuse(section, key, KindSecret, c.registry.secretRefusal(section))
		return
	}
	if opt.Deprecated() {
		c.findings.Warnings = append(c.findings.Warnings, fmt.Sprintf(
			"spec.extraConfig [%s] %s: deprecated option in nova %s, %s", section, key, c.catalog.Release, successor(section, opt)))
	}
	if problem := checkValue(&opt, value); problem != "" {
		c.refuse(section, key, KindValue, problem)
	}
}

// rejectedAlias finds the refusal of an old name of an owned key, which would copy the
// same credential into the file.
func (c *optionCheck) rejectedAlias(opt option.Option) (string, bool) {
	for _, target := range opt.ReplacedBy {
		section, key := splitTarget(target)
		if row, owned := c.registry.Lookup(section, key); owned && row.Treatment == Rejected {
			return row.refusal(), true
		}
	}
	return "", false
}

// successor ends the warning about a deprecated option. A replacement that is listed
// under a placeholder stands in the section at hand.
func successor(given string, opt option.Option) string {
	if len(opt.ReplacedBy) == 0 {
		return "with no replacement"
	}
	names := make([]string, len(opt.ReplacedBy))
	for i, target := range opt.ReplacedBy {
		section, key := splitTarget(target)
		if strings.HasPrefix(section, "<") {
			section = given
		}
		names[i] = fmt.Sprintf("[%s] %s", section, key)
	}
	return "replaced by " + strings.Join(names, " or ")
}

// splitTarget takes section.option apart. No option name has a dot.
func splitTarget(target string) (section, key string) {
	i := strings.LastIndex(target, ".")
	return target[:i], target[i+1:]
}

// secretRefusal says where a credential of a section belongs.
func (r *Registry) secretRefusal(section string) string {
	const refusal = "is a credential, which does not belong in a custom resource"
	if field, found := r.secretFields[Section(section)]; found {
		return refusal + "; " + field + " names the Secret for it"
	}
	return refusal + "; no field takes it from a Secret yet"
}

// checkValue returns what is wrong with a value, or "".
func checkValue(opt *option.Option, value Value) string {
	switch {
	case value.List && !opt.TakesList():
		return "must be a single value: the option may not be repeated"
	case value.List && opt.Type == option.TypeMulti && len(value.Values) == 0:
		return "must not be an empty list: an option cannot be written zero times"
	case value.List && opt.Type != option.TypeMulti:
		for _, item := range value.Values {
			if strings.Contains(item, ",") {
				return "an item must not contain a comma: the items become one line that nova splits at commas"
			}
		}
		return opt.Check(strings.Join(value.Values, ","))
	}
	for _, item := range value.Values {
		if problem := opt.Check(item); problem != "" {
			return problem
		}
	}
	return ""
}

// sorted orders findings by section, key and message.
func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Section, b.Section), strings.Compare(a.Key, b.Key),
			strings.Compare(a.Message, b.Message))
	})
	return findings
}
