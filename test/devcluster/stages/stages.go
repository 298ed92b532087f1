// Package stages holds the kwok Stage documents with which a test makes pods
// behave. A test selects a behaviour on the pod itself, by an annotation or label,
// or, where an operator renders the pod, by a word in the image tag.
//
// kwok draws lots among the stages that match, by weight, and a weight of 0 never
// wins against another. Its own stages have 0. Ours have 1 where they only say
// more than kwok does and 1e9 where they must win; a caller's stage that has to
// win against those takes 1e18, which leaves the others a chance of 1e-9.
package stages

import (
	"embed"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Documents returns all stages as one YAML stream that begins with a separator.
func Documents() string {
	var stream strings.Builder
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the embedded root can't be missing
	}
	for _, e := range entries {
		data, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err) // just listed
		}
		stream.WriteString("\n---\n")
		stream.Write(data)
	}
	return stream.String()
}
