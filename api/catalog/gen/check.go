// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/c5c3/nova-operator/api/catalog/option"
)

// namePattern is what option names, and section names but the special ones, consist of.
var namePattern = regexp.MustCompile(`^[a-z0-9_]+$`)

// rule is which fields an option of some type may have.
type rule struct{ bounds, text, choices, items bool }

// rules has one row per known type.
var rules = map[option.Type]rule{
	option.TypeBool:        {},
	option.TypeInt:         {bounds: true, choices: true},
	option.TypeFloat:       {bounds: true},
	option.TypePort:        {bounds: true},
	option.TypeString:      {text: true, choices: true},
	option.TypeList:        {items: true},
	option.TypeMulti:       {items: true},
	option.TypeDict:        {items: true},
	option.TypeHostAddress: {},
	option.TypeHostDomain:  {},
	option.TypeURI:         {text: true},
}

// check returns every fact of a catalog that cannot be right.
func check(release string, c *option.List) error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Release != release {
		report("names release %q", c.Release)
	}
	for _, section := range slices.Sorted(maps.Keys(c.Sections)) {
		if !namePattern.MatchString(section) && !special(c, section) {
			report("section [%s]: neither a name, nor dynamic, nor referenced", section)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Sections[section])) {
			opt := c.Sections[section][name]
			if !namePattern.MatchString(name) {
				report("[%s] %s: not a name", section, name)
			}
			for _, err := range checkOption(c, &opt) {
				report("[%s] %s: %w", section, name, err)
			}
		}
	}
	for _, section := range c.Dynamic {
		if strings.Index(section, "*") != len(section)-1 || c.Sections[section] == nil {
			report("dynamic section [%s]: must end in its only * and have options", section)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.References)) {
		if c.Sections[c.References[name]] == nil {
			report("reference %s: no section [%s]", name, c.References[name])
		}
	}
	return errors.Join(errs...)
}

// special reports whether a section is DEFAULT, a pattern or a placeholder.
func special(c *option.List, section string) bool {
	return section == "DEFAULT" || slices.Contains(c.Dynamic, section) ||
		slices.Contains(slices.Collect(maps.Values(c.References)), section)
}

func checkOption(c *option.List, o *option.Option) []error {
	var errs []error
	allowed, known := rules[o.Type]
	for _, problem := range []struct {
		found bool
		text  string
	}{
		{!known, "unknown type " + string(o.Type)},
		{(o.Min != nil || o.Max != nil) && !allowed.bounds, "bounds on a type without an order"},
		{o.Min != nil && o.Max != nil && *o.Min > *o.Max, "min above max"},
		{len(o.Choices) > 0 && !allowed.choices, "choices on another type than a text or an integer"},
		{o.IgnoreCase && len(o.Choices) == 0, "ignoreCase without choices"},
		{!slices.IsSorted(o.Choices) && o.Type == option.TypeString, "choices are not sorted"},
		{len(slices.Compact(slices.Sorted(slices.Values(o.Choices)))) != len(o.Choices), "a choice is listed twice"},
		{(o.Regex != nil || o.MaxLength != 0) && !allowed.text, "text rules on another type than a text"},
		{o.MaxLength < 0, "negative maxLength"},
		{len(o.Schemes) > 0 && o.Type != option.TypeURI, "schemes on another type than a URI"},
		{o.Items != nil && !allowed.items, "items on a type without items"},
		{o.Removal && len(o.ReplacedBy) > 0, "both replaced and removed"},
	} {
		if problem.found {
			errs = append(errs, errors.New(problem.text))
		}
	}
	for _, target := range o.ReplacedBy {
		errs = append(errs, checkTarget(c, target)...)
	}
	if o.Items != nil {
		errs = append(errs, checkOption(c, o.Items)...)
	}
	return errs
}

// checkTarget wants a replacement to exist and to be a current name itself.
func checkTarget(c *option.List, target string) []error {
	i := strings.LastIndex(target, ".")
	if i < 0 {
		return []error{fmt.Errorf("replacement %q is not section.option", target)}
	}
	replacement, exists := c.Sections[target[:i]][target[i+1:]]
	switch {
	case !exists:
		return []error{fmt.Errorf("replacement %s does not exist", target)}
	case len(replacement.ReplacedBy) > 0:
		return []error{fmt.Errorf("replacement %s is itself replaced", target)}
	}
	return nil
}
