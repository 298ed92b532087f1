package manifest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// quotes are the places where kustomize's errors quote what it read, and what stands
// there instead.
var quotes = []struct {
	found *regexp.Regexp
	shown string
}{
	{regexp.MustCompile("(?s)`.*`"), "(not shown)"},
	{regexp.MustCompile(`(?s)patch from \[.*\]`), "patch from (not shown)"},
	{regexp.MustCompile(`(?s)literal sources? .*`), "a literal is not KEY=VALUE"},
	{regexp.MustCompile(`(?s)line \[[\d ]*\] has invalid utf8 bytes.*`), "a line is not UTF-8"},
	{regexp.MustCompile(`unknown anchor '[^']*' referenced`), "an alias without an anchor"},
}

// redact takes out of an error of kustomize what can be a credential: quoted input, and
// every value of a Secret among the files that were read.
func (o *offline) redact(message string) string {
	for _, quote := range quotes {
		message = quote.found.ReplaceAllString(message, quote.shown)
	}
	var values []string
	for _, name := range o.read {
		raw, err := o.FileSystem.ReadFile(name)
		if err != nil {
			continue
		}
		for _, part := range split(raw) {
			var content any
			if yaml.Unmarshal(part.raw, &content) == nil {
				values = append(values, secretValues("", content)...)
			}
		}
	}
	// The longest first: one value may hold another.
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, value := range values {
		message = strings.ReplaceAll(message, value, "(not shown)")
	}
	return message
}

// secretValues are the texts below the fields that hold credentials, but for those that
// are too short to be told from other text.
func secretValues(field string, value any) []string {
	var out []string
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if !slices.Contains(credentials, field) {
				out = append(out, secretValues(key, inner)...)
				continue
			}
			out = append(out, secretValues(field, inner)...)
		}
	case []any:
		for _, inner := range value {
			out = append(out, secretValues(field, inner)...)
		}
	case string:
		if _, after, ok := strings.Cut(value, "="); ok && field == "literals" {
			value = after
		}
		if slices.Contains(credentials, field) && len(value) > 3 {
			out = append(out, value)
		}
	}
	return out
}

// credentials are the fields whose values may be credentials. A value is one of a patch.
var credentials = []string{"data", "stringData", "literals", "value"}
