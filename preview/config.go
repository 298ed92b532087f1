package preview

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/ini"
)

// configuration compares the generation that is wanted with the one in use. It may be one
// of the history, so that no object changes.
func (b *builder) configuration() {
	if b.in.Forecast == nil || b.in.Follows == nil {
		return
	}
	for _, o := range b.in.Forecast.Set.Desired {
		if o.Key().GroupVersionKind == render.KindConfigMap && o.Content.GetName() != b.in.Follows.GetName() {
			b.out.Configuration = &Configuration{
				Name: o.Content.GetName(), Follows: b.in.Follows.GetName(), Lines: b.lines(textOf(b.in.Follows), textOf(o.Content)),
			}
		}
	}
}

func textOf(u *unstructured.Unstructured) map[string]string {
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	return data
}

// lines compares two sets of files option by option. A value the newest catalog calls a
// credential is masked: the spec refuses them, but one may stand in a live file.
func (b *builder) lines(before, after map[string]string) []ConfigLine {
	out := []ConfigLine{}
	for _, file := range union(before, after) {
		from, to := ini.Parse(before[file]), ini.Parse(after[file])
		for _, section := range union(from, to) {
			for _, option := range union(from[section], to[section]) {
				line := ConfigLine{file, section, option, from[section][option], to[section][option]}
				if slices.Equal(line.From, line.To) {
					continue
				}
				line.From, line.To = b.hideLines(section, option, line.From), b.hideLines(section, option, line.To)
				out = append(out, line)
			}
		}
	}
	return out
}

// hideLines hides the values of an option that are credentials.
func (b *builder) hideLines(section, option string, values []string) []string {
	out := slices.Clone(values)
	for i, value := range out {
		if hidden(section, option, value) {
			out[i], _ = b.in.Mask.Digest(value).(string)
		}
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
