// Package docs holds the users' pages that commands quote, so that a page and a command
// can't say different things.
package docs

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed conditions.md
var conditions string

// remedies is condition → reason → what to do.
var remedies = parseRemedies(conditions)

// link is a link of a page to another.
var link = regexp.MustCompile(`\[[^\]]*\]\(([^)]*)\)`)

// Remedy is what conditions.md says to do about a reason of a condition, with links as the
// paths of pages; "" when it says nothing.
func Remedy(condition, reason string) string { return remedies[condition][reason] }

// parseRemedies reads the tables with the head "Reason | What to do" under the headings
// that name conditions.
func parseRemedies(page string) map[string]map[string]string {
	out := map[string]map[string]string{}
	var names []string
	inTable := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		heading, isHeading := strings.CutPrefix(line, "## ")
		switch {
		case isHeading:
			names, inTable = strings.Split(heading, ", "), false
		case line == "| Reason | What to do |":
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable && !strings.HasPrefix(line, "| ---"):
			reasons, text, _ := strings.Cut(strings.Trim(line, "| "), " | ")
			for _, name := range names {
				for _, reason := range strings.Split(reasons, ", ") {
					if out[name] == nil {
						out[name] = map[string]string{}
					}
					out[name][reason] = link.ReplaceAllString(text, "docs/$1")
				}
			}
		}
	}
	return out
}
