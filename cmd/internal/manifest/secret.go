package manifest

import (
	"encoding/base64"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/cmd/internal/check"
	"github.com/c5c3/nova-operator/render"
)

// IsSecret reports whether a document is a Secret.
func (d Document) IsSecret() bool {
	return d.Object.GroupVersionKind() == render.KindSecret
}

// Secret returns the content of a Secret, stringData over data as on the API server. Its
// findings name keys, never values.
func Secret(u *unstructured.Unstructured) (map[string]string, []check.Finding) {
	out := map[string]string{}
	data, problems := section(u, "data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		raw, err := base64.StdEncoding.DecodeString(data[key])
		if err != nil {
			problems = append(problems, secretProblem("data."+key, "must be base64", "plain text goes under stringData"))
			continue
		}
		out[key] = string(raw)
	}
	text, more := section(u, "stringData")
	maps.Copy(out, text)
	return out, append(problems, more...)
}

// section reads one of the two maps of a Secret.
func section(u *unstructured.Unstructured, name string) (map[string]string, []check.Finding) {
	out := map[string]string{}
	entries, ok := u.Object[name].(map[string]any)
	if !ok && u.Object[name] != nil {
		return nil, []check.Finding{secretProblem(name, "must be a map", "")}
	}
	var problems []check.Finding
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		value, ok := entries[key].(string)
		if !ok {
			problems = append(problems, secretProblem(name+"."+key, "must be a string", "put it in quotes"))
			continue
		}
		out[key] = value
	}
	return out, problems
}

func secretProblem(path, message, suggestion string) check.Finding {
	return check.Finding{Rule: check.RuleSecret, Path: path, Message: message, Suggestion: suggestion}
}
