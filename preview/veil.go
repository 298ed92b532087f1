package preview

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/render/nova"
)

// serverFields are what the API server writes: no change of a manifest shows in them.
var serverFields = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid", "ownerReferences"}

// veiled is a copy to print: without what the server adds, and with digests in place of
// credentials. It is nil for nil.
func (b *builder) veiled(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	object := bare(u).Object
	if u.GroupVersionKind() == nova.KindSecret {
		for _, field := range []string{"data", "stringData"} {
			b.hideValues(object[field])
		}
	}
	if u.GroupVersionKind() == nova.KindConfigMap {
		b.hideOptions(object["data"])
	}
	b.hideAnnotations(object)
	return object
}

// extraOption takes the path of an option of spec.extraConfig apart.
var extraOption = regexp.MustCompile(`^spec\.extraConfig(?:\.|\[)([^\]]+?)\]?(?:\.|\[)([^.\[\]]+)\]?$`)

// credentialOption tells a path of spec.extraConfig that holds a credential.
func credentialOption(path string) bool {
	m := extraOption.FindStringSubmatch(path)
	return m != nil && catalog.Credential(m[1], m[2])
}

// hidden tells an option whose value is a credential. The one that the operator writes in
// place of a database URL is none: the URL reaches the process by its environment.
func hidden(section, option, value string) bool {
	return catalog.Credential(section, option) && value != nova.PlaceholderDB
}

// hideOptions hides credentials in configuration files. Admission refuses them in the
// spec, but a resource may have come past it.
func (b *builder) hideOptions(v any) {
	data, _ := v.(map[string]any)
	for name, text := range data {
		file, _ := text.(string)
		section, out := "", ""
		for line := range strings.Lines(file) {
			option, value, assigns := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
			switch head, isHead := strings.CutPrefix(strings.TrimSpace(line), "["); {
			case isHead:
				section = strings.TrimSuffix(head, "]")
			case assigns && hidden(section, option, value):
				line = fmt.Sprintf("%s = %s\n", option, b.in.Veil.Digest(value))
			}
			out += line
		}
		data[name] = out
	}
}

// bare is a copy without what the server adds.
func bare(u *unstructured.Unstructured) *unstructured.Unstructured {
	object := runtime.DeepCopyJSON(u.Object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, name := range serverFields {
			delete(metadata, name)
		}
	}
	return &unstructured.Unstructured{Object: object}
}

func (b *builder) hideValues(v any) {
	data, _ := v.(map[string]any)
	for key := range maps.Clone(data) {
		data[key] = b.in.Veil.Digest(data[key])
	}
}

// hideAnnotations works on the metadata of an object and of every template in it.
func (b *builder) hideAnnotations(v any) {
	switch t := v.(type) {
	case map[string]any:
		if annotations, ok := t["annotations"].(map[string]any); ok {
			delete(annotations, corev1.LastAppliedConfigAnnotation)
			for name := range credentialDigests {
				if value, found := annotations[name]; found {
					annotations[name] = b.in.Veil.Digest(value)
				}
			}
		}
		for _, below := range t {
			b.hideAnnotations(below)
		}
	case []any:
		for _, below := range t {
			b.hideAnnotations(below)
		}
	}
}
