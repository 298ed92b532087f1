package preview

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/render/ini"
)

// configuration compares a new generation of the configuration with the one it follows.
func (b *builder) configuration(o *Object, item Item) {
	if item.Before == nil || item.Live == nil {
		return
	}
	// The object itself is new; the generation before it is another.
	o.Replaces, o.before = item.Before.GetName(), nil
	o.Lines = b.lines(textOf(item.Before), textOf(item.Live))
}

func textOf(u *unstructured.Unstructured) map[string]string {
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	return data
}

// lines compares two sets of files option by option. A value the newest catalog calls a
// credential is veiled: the spec refuses them, but one may stand in a live file.
func (b *builder) lines(before, after map[string]string) []ConfigLine {
	var out []ConfigLine
	for _, file := range union(before, after) {
		from, to := ini.Parse(before[file]), ini.Parse(after[file])
		for _, section := range union(from, to) {
			for _, option := range union(from[section], to[section]) {
				line := ConfigLine{file, section, option, from[section][option], to[section][option]}
				if slices.Equal(line.From, line.To) {
					continue
				}
				if catalog.Credential(section, option) {
					line.From, line.To = b.hideLines(line.From), b.hideLines(line.To)
				}
				out = append(out, line)
			}
		}
	}
	return out
}

func (b *builder) hideLines(values []string) []string {
	var out []string
	for _, value := range values {
		digest, _ := b.in.Veil.Digest(value).(string)
		out = append(out, digest)
	}
	return out
}

// union is the keys of two maps, sorted.
func union[K cmp.Ordered, V any](a, b map[K]V) []K {
	var keys []K
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
