// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Treatment is what happens when extraConfig sets an owned key.
type Treatment int

const (
	// Rejected is refused at admission.
	Rejected Treatment = iota + 1
	// Reported is honoured, and ExtraConfigHealthy turns False.
	Reported
)

// OwnedKey is one option the operator sets itself, in a file or in the environment.
type OwnedKey struct {
	Section, Key string
	Treatment    Treatment
	// Source is the field or the mechanism the value comes from.
	Source string
	// Impact is what an override does; may be empty.
	Impact string
}

// Registry holds the owned keys of one kind.
type Registry struct {
	rows []OwnedKey
	keys map[name]OwnedKey
	// secretFields is section → the field that names the Secret with its credentials.
	secretFields map[string]string
}

// group is rows of a registry that differ in section and key only. Sections and keys are
// lists separated by spaces; <section> in the source stands for the row's section, and
// <SECTION> for the same in capitals.
type group struct {
	sections, keys string
	treatment      Treatment
	source, impact string
}

// newRegistry expands groups. Two rows of one name are a defect of the build.
func newRegistry(groups []group, secretFields map[string]string) *Registry {
	r := &Registry{keys: map[name]OwnedKey{}, secretFields: secretFields}
	for _, g := range groups {
		for section := range strings.FieldsSeq(g.sections) {
			for key := range strings.FieldsSeq(g.keys) {
				row := OwnedKey{
					Section: section, Key: key, Treatment: g.treatment,
					Source: strings.NewReplacer("<section>", section, "<SECTION>", strings.ToUpper(section)).Replace(g.source), Impact: g.impact,
				}
				if _, twice := r.keys[name{section, key}]; twice {
					panic(fmt.Sprintf("owned key [%s] %s is registered twice", section, key))
				}
				r.keys[name{section, key}] = row
				r.rows = append(r.rows, row)
			}
		}
	}
	slices.SortFunc(r.rows, func(a, b OwnedKey) int {
		return cmp.Or(strings.Compare(a.Section, b.Section), strings.Compare(a.Key, b.Key))
	})
	return r
}

// All yields every row, sorted by section, then key.
func (r *Registry) All() iter.Seq[OwnedKey] {
	return slices.Values(r.rows)
}

// Lookup finds the row of a name in any spelling.
func (r *Registry) Lookup(section, key string) (OwnedKey, bool) {
	row, found := r.keys[name{Section(section), Key(key)}]
	return row, found
}

// refusal is the message of a rejected key.
func (k OwnedKey) refusal() string {
	return fmt.Sprintf("%s is managed via %s and must not be set in extraConfig%s", k.Key, k.Source, k.parenthesis())
}

func (k OwnedKey) parenthesis() string {
	if k.Impact == "" {
		return ""
	}
	return " (" + k.Impact + ")"
}

// Overridden lists the reported keys extraConfig sets, as "[s] k (impact); [s] k", sorted
// by section, then key. It is empty when there is none.
func Overridden(registry *Registry, extra map[string]map[string]Value) string {
	found := map[name]OwnedKey{}
	for section, options := range extra {
		for key := range options {
			if row, owned := registry.Lookup(section, key); owned && row.Treatment == Reported {
				found[name{row.Section, row.Key}] = row
			}
		}
	}
	rows := slices.SortedFunc(maps.Values(found), func(a, b OwnedKey) int {
		return cmp.Or(strings.Compare(a.Section, b.Section), strings.Compare(a.Key, b.Key))
	})
	parts := make([]string, len(rows))
	for i, row := range rows {
		parts[i] = fmt.Sprintf("[%s] %s%s", row.Section, row.Key, row.parenthesis())
	}
	return strings.Join(parts, "; ")
}
