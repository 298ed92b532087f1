package preview

import (
	"maps"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/ini"
)

// serverFields are what the API server writes: no change of a manifest shows in them.
var serverFields = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion",
	"selfLink", "uid", "ownerReferences",
}

// masked is a copy to print: without what the server adds, and with digests in place of
// credentials. It is nil for nil.
func (b *builder) masked(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	object := bare(u).Object
	if u.GroupVersionKind() == render.KindSecret {
		for _, field := range []string{"data", "stringData"} {
			b.hideValues(object[field])
		}
	}
	if u.GroupVersionKind() == render.KindConfigMap {
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

// hidden tells an option whose value is a credential. The one that stands in place of a
// database URL is none.
func hidden(section, option, value string) bool {
	return value != "" && value != catalog.PlaceholderConnection && catalog.Credential(section, option)
}

// hideOptions hides credentials in configuration files. Admission refuses them in the
// spec, but a resource may have come past it.
func (b *builder) hideOptions(v any) {
	data, _ := v.(map[string]any)
	for name, text := range data {
		raw, _ := text.(string)
		file, found := ini.Parse(raw), false
		for section, options := range file {
			for option, values := range options {
				for i, value := range values {
					if hidden(section, option, value) {
						values[i], _ = b.in.Mask.Digest(value).(string)
						found = true
					}
				}
			}
		}
		if found {
			data[name] = file.String()
		}
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
		data[key] = b.in.Mask.Digest(data[key])
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
					annotations[name] = b.in.Mask.Digest(value)
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
