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

// maxHints is how many names a hint lists at most.
const maxHints = 2

// nearest returns up to two candidates close to a name, the closest first.
func nearest(name string, candidates []string) []string {
	type scored struct {
		name     string
		distance int
	}
	limit := max(1, len(name)/3)
	var found []scored
	for _, candidate := range candidates {
		if d := distance(name, candidate, limit); d <= limit {
			found = append(found, scored{candidate, d})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	names := make([]string, 0, maxHints)
	for _, s := range found[:min(len(found), maxHints)] {
		names = append(names, s.name)
	}
	return names
}

// distance is the number of characters to insert, delete, replace or swap with their
// neighbour that turns a into b. Above the limit any greater number is returned.
func distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
	}
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}

// sectionHint names the sections a misspelt one may mean.
func sectionHint(c *option.List, section string) string {
	return didYouMean(nearest(section, realSections(c)))
}

// optionHint names the sections that have this very option, and the options of the
// section that are spelt alike. Deprecated names are left out.
func optionHint(c *option.List, sets []map[string]option.Option, key string) string {
	var others, siblings []string
	for _, section := range realSections(c) {
		if opt, found := c.Sections[section][key]; found && !opt.Deprecated() {
			others = append(others, "["+section+"]")
		}
	}
	for _, set := range sets {
		for name := range maps.Keys(set) {
			if opt := set[name]; !opt.Deprecated() {
				siblings = append(siblings, name)
			}
		}
	}
	hint := didYouMean(nearest(key, siblings))
	// An option that half the sections have, such as auth_url, says nothing.
	if len(others) > 0 && len(others) <= maxHints {
		hint = "; option exists in section " + strings.Join(others, " and ") + hint
	}
	return hint
}

// DidYouMean asks for one of the candidates that are spelt like a name, "" when none is.
func DidYouMean(name string, candidates []string) string {
	return strings.TrimPrefix(didYouMean(nearest(name, candidates)), "; ")
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return "; did you mean " + strings.Join(quoted, " or ") + "?"
}
