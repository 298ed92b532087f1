package manifest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// IsSecret reports whether a document is a Secret.
func (d Document) IsSecret() bool {
	return d.Object.GetAPIVersion() == "v1" && d.Object.GetKind() == "Secret"
}

// Secret returns the content of a Secret, stringData over data as on the API server.
// Its errors name keys, never values.
func Secret(u *unstructured.Unstructured) (map[string]string, error) {
	out := map[string]string{}
	var errs []error
	data, err := section(u, "data")
	errs = append(errs, err)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		raw, err := base64.StdEncoding.DecodeString(data[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("data.%s: must be base64; plain text goes under stringData", key))
			continue
		}
		out[key] = string(raw)
	}
	text, err := section(u, "stringData")
	errs = append(errs, err)
	maps.Copy(out, text)
	return out, errors.Join(errs...)
}

// section reads one of the two maps of a Secret.
func section(u *unstructured.Unstructured, name string) (map[string]string, error) {
	switch entries := u.Object[name].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		out := map[string]string{}
		var errs []error
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			value, ok := entries[key].(string)
			if !ok {
				errs = append(errs, fmt.Errorf("%s.%s: must be a string", name, key))
				continue
			}
			out[key] = value
		}
		return out, errors.Join(errs...)
	default:
		return nil, fmt.Errorf("%s: must be a map", name)
	}
}
