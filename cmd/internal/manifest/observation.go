package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
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

// WriteObservation writes an observation in the form Observation reads, behind comments.
// It writes credentials out: veil them before.
func WriteObservation(w io.Writer, head string, seen nova.Observed) error {
	raw, err := json.Marshal(seen)
	if err != nil {
		return fmt.Errorf("encode the observation: %w", err)
	}
	var document map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &document); err != nil {
		return fmt.Errorf("encode the observation: %w", err)
	}
	secrets, _ := document["secrets"].(map[string]any)
	for name, data := range seen.Secrets {
		values, _ := secrets[name].(map[string]any)
		for key, value := range data {
			values[key] = value.Reveal()
		}
	}
	out, err := yaml.Marshal(document)
	if err != nil {
		return fmt.Errorf("encode the observation: %w", err)
	}
	_, err = io.WriteString(w, head+string(out))
	return err
}

// Nova reads the one Nova of a place with its status, as kubectl prints it. It is not
// checked.
func Nova(place string) (*v1alpha1.Nova, error) {
	documents, err := Open(place, "default", nil)
	if err != nil {
		return nil, err
	}
	var found *v1alpha1.Nova
	for _, d := range documents {
		if d.Err != nil || d.Object.GroupVersionKind() != v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s holds more than one %s", place, v1alpha1.KindNova)
		}
		raw, err := json.Marshal(d.Object.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		found = &v1alpha1.Nova{}
		if err := json.Unmarshal(raw, found); err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s holds no %s", place, v1alpha1.KindNova)
	}
	return found, nil
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
