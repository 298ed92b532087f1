package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/facts"
)

// Observation reads an observation of one resource. Every error names the file and the
// field, and no error quotes a value: the file holds credentials.
func Observation(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	errs := decodeObservation(raw, into)
	for i := range errs {
		errs[i] = fmt.Errorf("%s: %w", path, errs[i])
	}
	return errors.Join(errs...)
}

// WriteObservation writes an observation in the form Observation reads, behind comments.
// It writes the given Secrets out: mask them before.
func WriteObservation(w io.Writer, head string, seen any, known map[string]facts.SecretData) error {
	raw, err := json.Marshal(seen)
	if err != nil {
		return fmt.Errorf("encode the observation: %w", err)
	}
	var document map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &document); err != nil {
		return fmt.Errorf("encode the observation: %w", err)
	}
	secrets, _ := document["secrets"].(map[string]any)
	for name, data := range known {
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

// One reads the one resource of our kinds that a place holds, with its status, as kubectl
// prints it. It is not checked.
func One(place string, kinds ...string) (*unstructured.Unstructured, error) {
	documents, err := Open(place, "default", nil)
	if err != nil {
		return nil, err
	}
	var found *unstructured.Unstructured
	for _, d := range documents {
		if d.Err != nil || d.Object.GroupVersionKind().GroupVersion() != v1alpha1.GroupVersion || !slices.Contains(kinds, d.Object.GetKind()) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s holds more than one %s", place, strings.Join(kinds, " or "))
		}
		found = d.Object
	}
	if found == nil {
		return nil, fmt.Errorf("%s holds no %s", place, strings.Join(kinds, " and no "))
	}
	return found, nil
}

func decodeObservation(raw []byte, into any) []error {
	asJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return []error{located(syntaxError(raw, err))}
	}
	if errs := textOnly(asJSON); len(errs) > 0 {
		return errs
	}
	strict, err := kjson.UnmarshalStrict(asJSON, into)
	if err != nil {
		return []error{err}
	}
	return strict
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
