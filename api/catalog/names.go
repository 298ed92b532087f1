// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// defaultSection is the one section oslo.config finds in its exact spelling only.
const defaultSection = "DEFAULT"

// Section is the normal form of a section name: lower case, except DEFAULT. Two names
// with one normal form are one section for nova.
func Section(name string) string {
	name = strings.TrimSpace(name)
	if name == defaultSection {
		return name
	}
	return strings.ToLower(name)
}

// Key is the normal form of a key: lower case with underscores, the only spelling an
// option has.
func Key(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
}

// keyPattern is what option names consist of.
var keyPattern = regexp.MustCompile(`^[a-z0-9_]+$`)

// sectionProblem returns what is wrong with the name of a section, or "".
func sectionProblem(name string) string {
	switch {
	case name == "":
		return "extraConfig section name must not be empty"
	case strings.ContainsAny(name, "\n\r"):
		return "extraConfig section name must not contain a newline or carriage return"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "extraConfig section name must not contain a control character"
	case strings.ContainsAny(name, "[]"):
		return `extraConfig section name must not contain "[" or "]": nova would not find the section`
	case strings.TrimSpace(name) != name:
		return "extraConfig section name must not begin or end with a space: nova would not find the section"
	case name != defaultSection && strings.EqualFold(name, defaultSection):
		return fmt.Sprintf("nova finds this section in capitals only; write %q", defaultSection)
	}
	return ""
}

// keyProblem returns what is wrong with a key, or "".
func keyProblem(name string) string {
	switch normal := Key(name); {
	case name == "":
		return "extraConfig key must not be empty"
	case strings.ContainsAny(name, "\n\r"):
		return lineBreakMessage
	case strings.ContainsFunc(name, unicode.IsControl):
		return controlMessage
	case strings.ContainsAny(name, "=:") || strings.ContainsFunc(name, unicode.IsSpace):
		return `extraConfig key must not contain "=", ":" or a space: nova would read another key`
	case normal != name && keyPattern.MatchString(normal):
		return fmt.Sprintf("nova ignores this spelling of a key; write %q", normal)
	case !keyPattern.MatchString(name):
		return `extraConfig key must consist of lower-case letters, digits and "_"`
	}
	return ""
}

const (
	lineBreakMessage = "extraConfig key and value must not contain a newline or carriage return: the rendered INI writes them verbatim, so a newline injects arbitrary config lines"
	controlMessage   = "extraConfig key and value must not contain a control character"
)

// valueProblem returns what is wrong with the characters of a value, or "".
func valueProblem(value Value) string {
	if value.Unreadable {
		return "must be a string, a boolean, a number or a list of these"
	}
	for _, item := range value.Values {
		if strings.ContainsAny(item, "\n\r") {
			return lineBreakMessage
		}
		if strings.ContainsFunc(item, unicode.IsControl) {
			return controlMessage
		}
	}
	return ""
}

// name is a pair of normal names.
type name struct{ section, key string }

// checkNames reports names and characters nova would misread, and names that are one
// for nova. Its second result holds the pairs it complained about, as they were given.
func checkNames(extra map[string]map[string]Value) ([]Finding, map[name]bool) {
	var findings []Finding
	bad := map[name]bool{}
	seen := map[name]name{}
	for _, section := range slices.Sorted(maps.Keys(extra)) {
		problem := sectionProblem(section)
		if problem == "" && len(extra[section]) == 0 {
			problem = "extraConfig section must not be empty: give it an option or leave it out"
		}
		if problem != "" {
			findings = append(findings, Finding{Section: section, Kind: KindName, Message: problem})
		}
		for _, key := range slices.Sorted(maps.Keys(extra[section])) {
			given, normal := name{section, key}, name{Section(section), Key(key)}
			first, duplicate := seen[normal]
			bad[given] = problem != ""
			for _, message := range []string{
				keyProblem(key),
				valueProblem(extra[section][key]),
				duplicateProblem(first, duplicate),
			} {
				if message != "" {
					bad[given] = true
					findings = append(findings, Finding{Section: section, Key: key, Kind: KindName, Message: message})
				}
			}
			if !duplicate {
				seen[normal] = given
			}
		}
	}
	return findings, bad
}

func duplicateProblem(first name, duplicate bool) string {
	if !duplicate {
		return ""
	}
	return fmt.Sprintf("duplicate of [%s] %s: nova reads both as one option", first.section, first.key)
}
