// Package stream prints a decision: the desired objects as YAML, wave by wave, or the
// whole decision as one document.
//
// Input: a pipeline.Decision. Output: text, byte-equal for equal input. Values of Secrets
// are replaced by a placeholder that no API server accepts, unless their Secret is
// named: what is printed by default can neither leak a credential nor overwrite one.
package stream

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Options decide what of a Secret is printed.
type Options struct {
	// Reveal tells for the name of a Secret whether its values are printed; nil
	// reveals none.
	Reveal func(name string) bool
}

// Objects writes the desired set as a YAML stream. A comment names each wave before
// its first object.
func Objects(w io.Writer, set render.Set, o Options) error {
	for _, stage := range render.Stages {
		first := true
		for _, object := range set.Desired {
			if object.Stage != stage {
				continue
			}
			raw, err := yaml.Marshal(o.printable(object.Content).Object)
			if err != nil {
				return fmt.Errorf("print %s: %w", object.Key(), err)
			}
			head := "---\n"
			if first {
				head += fmt.Sprintf("# wave: %s\n", stage)
				first = false
			}
			if _, err := fmt.Fprintf(w, "%s%s", head, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// Comments writes what a YAML stream of objects can't say, as comments: conditions
// that are not as wanted, objects that go, and objects that stay as they are.
func Comments(w io.Writer, r Outline) error {
	var b strings.Builder
	for _, c := range r.Conditions {
		if v1alpha1.Abnormal(c.Type, metav1.ConditionStatus(c.Status)) {
			fmt.Fprintf(&b, "# condition: %s is %s (%s): %s\n", c.Type, c.Status, c.Reason, OneLine(c.Message))
		}
	}
	for _, a := range r.Absent {
		fmt.Fprintf(&b, "# absent: %s: %s\n", a.Object, a.Reason)
	}
	for _, h := range r.Held {
		fmt.Fprintf(&b, "# held: %s: %s\n", h.Object, h.Gate)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// OneLine makes of a text one that can do no more to a terminal, or to the line it stands
// in, than be read.
func OneLine(s string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	return strings.Join(strings.Fields(printable), " ")
}

// Secrets lists the names of the Secrets of a set, sorted.
func Secrets(set render.Set) []string {
	var names []string
	for _, object := range set.Desired {
		if isSecret(object.Content) {
			names = append(names, object.Content.GetName())
		}
	}
	return slices.Sorted(slices.Values(names))
}

func isSecret(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind() == render.KindSecret
}

// printable is the object, or a copy of a Secret without its values. A revealed value
// that is text moves to stringData, which the API server folds into the same bytes.
func (o Options) printable(u *unstructured.Unstructured) *unstructured.Unstructured {
	if !isSecret(u) {
		return u
	}
	u = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(u.Object)}
	data, ok := u.Object["data"].(map[string]any)
	if !ok {
		return u
	}
	if o.Reveal == nil || !o.Reveal(u.GetName()) {
		for key := range data {
			data[key] = render.Placeholder
		}
		return u
	}
	text := map[string]any{}
	for key, value := range data {
		encoded, _ := value.(string)
		if raw, err := base64.StdEncoding.DecodeString(encoded); err == nil && utf8.Valid(raw) {
			text[key] = string(raw)
			delete(data, key)
		}
	}
	if len(data) == 0 {
		delete(u.Object, "data")
	}
	if len(text) > 0 {
		u.Object["stringData"] = text
	}
	return u
}
