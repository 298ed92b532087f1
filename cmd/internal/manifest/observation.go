package manifest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/render/nova"
)

// Observation reads an observation of one Nova. Every error names the file and the
// field, and no error quotes a value: the file holds credentials.
func Observation(path string) (*nova.Observed, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out, errs := decodeObservation(raw)
	for i := range errs {
		errs[i] = fmt.Errorf("%s: %w", path, errs[i])
	}
	return out, errors.Join(errs...)
}

func decodeObservation(raw []byte) (*nova.Observed, []error) {
	asJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return nil, []error{located(syntaxError(raw, err))}
	}
	if errs := textOnly(asJSON); len(errs) > 0 {
		return nil, errs
	}
	var out nova.Observed
	strict, err := kjson.UnmarshalStrict(asJSON, &out)
	if err != nil {
		return nil, []error{err}
	}
	return &out, strict
}

// textOnly names the credentials that are not text: a bare number in YAML is the usual
// mistake.
func textOnly(asJSON []byte) []error {
	var file struct {
		Secrets map[string]map[string]any `json:"secrets"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(asJSON, &file); err != nil {
		return []error{err}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(file.Secrets)) {
		for _, key := range slices.Sorted(maps.Keys(file.Secrets[name])) {
			if _, ok := file.Secrets[name][key].(string); !ok {
				errs = append(errs, fmt.Errorf("secrets.%s.%s: must be text; put it in quotes", name, key))
			}
		}
	}
	return errs
}
