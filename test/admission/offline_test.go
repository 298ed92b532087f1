// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/test/process"
)

// TestOffline_JudgesLikeTheAPIServer puts odd values into every field of both kinds, and
// holds what `validate` says of each against a create with dry run on an API server with
// the webhooks: both refuse it, or both admit it, and `validate` names every field that
// the API server names.
func TestOffline_JudgesLikeTheAPIServer(t *testing.T) {
	h := newHooked(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := process.Build(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(h.config)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		kind
		// step takes every so many variants.
		step int
	}{
		"a small Nova":       {smallest, 1},
		"a Nova with it all": {kind{"novas", "../../fixtures/nova/everything/nova.yaml"}, 7},
		"a NovaCompute":      {compute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			object := tc.object(t, "metadata: {namespace: null}").Object
			// The cluster has no such class, and `validate` looks nothing up.
			unstructured.RemoveNestedField(object, "spec", "api", "deployment", "priorityClassName")
			var documents [][]byte
			count := 0
			for variant := range variants(object) {
				count++
				if count%tc.step != 0 {
					continue
				}
				raw, err := json.Marshal(variant)
				if err != nil {
					t.Fatal(err)
				}
				documents = append(documents, raw)
			}
			url := h.config.Host + "/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/" + h.namespace + "/" + tc.resource + "?dryRun=All&fieldValidation=Strict"
			offline := judged(t, binary, h.namespace, documents)
			refused := 0
			for i, document := range documents {
				response, err := client.Post(url, "application/json", bytes.NewReader(document))
				if err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(response.Body)
				if err := errors.Join(err, response.Body.Close()); err != nil {
					t.Fatal(err)
				}
				admitted := response.StatusCode == http.StatusCreated
				if !admitted {
					refused++
				}
				if admitted != (len(offline[i+1]) == 0) {
					t.Errorf("%s\nthe API server: %d %s\nvalidate: %q", document, response.StatusCode, answer[:min(len(answer), 700)], offline[i+1])
				}
				for _, cause := range causes(t, answer) {
					if !slices.ContainsFunc(offline[i+1], func(finding string) bool { return strings.HasPrefix(finding, cause+": ") }) {
						t.Errorf("%s\nthe API server complains of %s: %s\nvalidate: %q", document, cause, answer[:min(len(answer), 700)], offline[i+1])
					}
				}
			}
			t.Logf("%d of %d are refused", refused, len(documents))
			if refused < 100 || refused == len(documents) {
				t.Errorf("%d of %d are refused", refused, len(documents))
			}
		})
	}
}

// causes are the fields an answer complains of.
func causes(t *testing.T, answer []byte) []string {
	t.Helper()
	// An object that is admitted has none.
	var status struct {
		Details metav1.StatusDetails `json:"details"`
	}
	if err := json.Unmarshal(answer, &status); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, cause := range status.Details.Causes {
		// Numbers out of range have no field here; validate finds it. And a default is
		// missed where the mutating webhook can't decode the rest: nobody has to set it.
		if cause.Field != "<nil>" && cause.Field != "spec.cache.backend" {
			out = append(out, cause.Field)
		}
	}
	return out
}

// judged are the errors of `validate` about each document of a stream, from 1.
func judged(t *testing.T, binary, namespace string, documents [][]byte) map[int][]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, "validate", "-n", namespace, "-o", "json", "-f", "-")
	command.Stdin = bytes.NewReader(bytes.Join(documents, []byte("\n---\n")))
	raw, err := command.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2) {
		t.Fatal(err)
	}
	var report struct {
		Findings []struct {
			Severity, Rule, Path, Message string
			Document                      int
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		t.Fatal(err)
	}
	out := map[int][]string{}
	for _, f := range report.Findings {
		// The variants share names and schemas.
		if f.Severity == "error" && f.Rule != "duplicate" && f.Rule != "schema-in-use" {
			out[f.Document] = append(out[f.Document], f.Path+": "+f.Message)
		}
	}
	return out
}

// variants yields a document with one odd value after the other in the place of each of
// its fields, but for those that say which kind it is or which class.
func variants(document map[string]any) iter.Seq[map[string]any] {
	values := []any{
		nil, "", "a", "A b", "1", "-", strings.Repeat("a", 70), "a\nb", "http://", int64(0), int64(-1), int64(1 << 40), 1.5, true,
		[]any{},
		[]any{nil},
		[]any{"a"},
		map[string]any{},
		map[string]any{"a": "b"},
		map[string]any{"name": ""},
	}
	return func(yield func(map[string]any) bool) {
		var visit func(at map[string]any) bool
		visit = func(at map[string]any) bool {
			for _, key := range slices.Sorted(maps.Keys(at)) {
				if slices.Contains([]string{"apiVersion", "kind", "priorityClassName"}, key) {
					continue
				}
				before := at[key]
				for _, value := range values {
					at[key] = value
					if !yield(runtime.DeepCopyJSON(document)) {
						return false
					}
				}
				at[key] = before
				for _, inner := range append(items(before), before) {
					if inner, ok := inner.(map[string]any); ok && !visit(inner) {
						return false
					}
				}
			}
			return true
		}
		visit(document)
	}
}

// items are those of a list.
func items(value any) []any {
	list, _ := value.([]any)
	return slices.Clone(list)
}
