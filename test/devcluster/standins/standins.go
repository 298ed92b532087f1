// Package standins holds minimal definitions of kinds whose own projects have no
// Go module to read them from, or a far too large one. They carry the fields the
// operator reads or writes and accept everything else unchecked; a test against
// them proves what we do with an object, not that the other project accepts it.
package standins

import (
	"embed"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

var (
	separator  = regexp.MustCompile(`(?m)^---.*$`)
	definition = regexp.MustCompile(`(?m)^kind: CustomResourceDefinition\s*$`)
)

// Names lists the sets, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the embedded root can't be missing
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Documents returns the definitions of one set, nil for an unknown one.
func Documents(set string) []string {
	data, err := files.ReadFile(set + ".yaml")
	if err != nil {
		return nil
	}
	return Split(string(data))
}

// Split cuts a YAML stream into its documents and keeps the definitions.
func Split(stream string) []string {
	var docs []string
	for _, doc := range separator.Split(stream, -1) {
		if definition.MatchString(doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}
