package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/c5c3/nova-operator/render"
)

// nodeSchema has every structure the API server merges by.
const nodeSchema = `
types:
- name: node
  map:
    fields:
    - {name: text, type: {scalar: string}}
    - {name: num, type: {scalar: numeric}}
    - {name: child, type: {namedType: node}}
    - {name: open, type: {map: {elementType: {scalar: string}}}}
    - {name: atom, type: {map: {elementRelationship: atomic, elementType: {scalar: string}}}}
    - {name: list, type: {list: {elementRelationship: associative, keys: [name], elementType: {namedType: item}}}}
    - {name: set, type: {list: {elementRelationship: associative, elementType: {scalar: string}}}}
    - {name: row, type: {list: {elementRelationship: atomic, elementType: {scalar: string}}}}
- name: item
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: value, type: {scalar: string}}
    - {name: child, type: {namedType: node}}`

var nodeType = func() typed.ParseableType {
	p, err := typed.NewParser(typed.YAMLObject(nodeSchema))
	if err != nil {
		panic(err)
	}
	return p.Type("node")
}()

// node draws a value of nodeSchema.
func node(depth int) *rapid.Generator[map[string]any] {
	word := rapid.SampledFrom([]string{"a", "b", "c", ""})
	anyWord := rapid.Map(word, func(s string) any { return s })
	words := rapid.Map(rapid.SliceOfNDistinct(word, 0, 3, rapid.ID), func(s []string) any {
		out := []any{}
		for _, w := range s {
			out = append(out, w)
		}
		return out
	})
	dict := rapid.Map(rapid.MapOfN(word, word, 0, 3), func(m map[string]string) any {
		out := map[string]any{}
		for k, v := range m {
			out[k] = v
		}
		return out
	})
	return rapid.Custom(func(t *rapid.T) map[string]any {
		out := map[string]any{}
		draw := func(name string, g *rapid.Generator[any]) {
			if rapid.Bool().Draw(t, "has "+name) {
				out[name] = g.Draw(t, name)
			}
		}
		draw("text", anyWord)
		draw("num", rapid.Map(rapid.Int64Range(0, 3), func(i int64) any { return i }))
		draw("open", dict)
		draw("atom", dict)
		draw("set", words)
		draw("row", words)
		if depth > 0 {
			child := rapid.Map(node(depth-1), func(m map[string]any) any { return m })
			draw("child", child)
			if rapid.Bool().Draw(t, "has list") {
				items := []any{}
				for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 3, rapid.ID).Draw(t, "names") {
					item := map[string]any{"name": name}
					if rapid.Bool().Draw(t, "has value") {
						item["value"] = word.Draw(t, "value")
					}
					if rapid.Bool().Draw(t, "has child") {
						item["child"] = child.Draw(t, "child")
					}
					items = append(items, item)
				}
				out["list"] = items
			}
		}
		return out
	})
}

// owned builds the live object of which we own exactly spec, as the API server
// would write it down.
func owned(t *rapid.T, spec map[string]any) *unstructured.Unstructured {
	value, err := nodeType.FromUnstructured(spec)
	if err != nil {
		t.Fatal(err)
	}
	set, err := value.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := set.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"managedFields": []any{map[string]any{
			"manager": render.FieldOwner, "operation": "Apply", "apiVersion": "v1", "fieldsV1": map[string]any{"f:spec": fields},
		}}},
		"spec": spec,
	}}
}

// TestFingerprint_NoticesEveryOwnedPath changes the value at one owned path.
func TestFingerprint_NoticesEveryOwnedPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := node(2).Filter(func(spec map[string]any) bool { return len(ownedPaths(spec)) > 0 }).Draw(t, "spec")
		live := owned(t, spec)
		before := Fingerprint(live)
		path := rapid.SampledFrom(ownedPaths(spec)).Draw(t, "path")
		how := rapid.SampledFrom([]string{"remove", "replace"}).Draw(t, "how")
		if !mutate(spec, path, how) {
			t.Fatalf("no %s in %v", path, spec)
		}
		if Fingerprint(live) == before {
			t.Fatalf("%s of %s goes unnoticed", how, path)
		}
	})
}

// ownedPaths lists what an owner of exactly spec owns; none when spec is not of nodeSchema.
func ownedPaths(spec map[string]any) []fieldpath.Path {
	value, err := nodeType.FromUnstructured(runtime.DeepCopyJSON(spec))
	if err != nil {
		return nil
	}
	set, err := value.ToFieldSet()
	if err != nil {
		return nil
	}
	var out []fieldpath.Path
	for p := range set.All() {
		out = append(out, p.Copy())
	}
	return out
}

// mutate removes or replaces the value at a path in place.
func mutate(in any, path fieldpath.Path, how string) bool {
	pe := path[0]
	switch t := in.(type) {
	case map[string]any:
		if pe.FieldName == nil {
			return false
		}
		child, ok := t[*pe.FieldName]
		if !ok {
			return false
		}
		if len(path) > 1 {
			if list, isList := child.([]any); isList && len(path) == 2 {
				out, done := mutateItem(list, path[1], how)
				t[*pe.FieldName] = out
				return done
			}
			return mutate(child, path[1:], how)
		}
		if how == "remove" {
			delete(t, *pe.FieldName)
		} else {
			t[*pe.FieldName] = other(child)
		}
		return true
	case []any:
		for _, item := range t {
			if matchesElement(item, pe) {
				return mutate(item, path[1:], how)
			}
		}
	}
	return false
}

func mutateItem(list []any, pe fieldpath.PathElement, how string) ([]any, bool) {
	for i, item := range list {
		if !matchesElement(item, pe) {
			continue
		}
		if how == "remove" {
			return slices.Delete(slices.Clone(list), i, i+1), true
		}
		out := slices.Clone(list)
		out[i] = other(item)
		return out, true
	}
	return list, false
}

func matchesElement(item any, pe fieldpath.PathElement) bool {
	if pe.Value != nil {
		return (*pe.Value).Unstructured() == item
	}
	m, ok := item.(map[string]any)
	return ok && pe.Key != nil && m["name"] == (*pe.Key)[0].Value.Unstructured()
}

// other is a different value of another shape.
func other(v any) any {
	switch v.(type) {
	case string, int64:
		return fmt.Sprint(v, "!")
	default:
		return "not " + fmt.Sprintf("%T", v)
	}
}

// TestFingerprint_NoticesOrder swaps two items of a keyed list.
func TestFingerprint_NoticesOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := node(1).Draw(t, "spec")
		spec["list"] = []any{map[string]any{"name": "x"}, map[string]any{"name": "y", "value": "1"}}
		live := owned(t, spec)
		before := Fingerprint(live)
		list := spec["list"].([]any)
		list[0], list[1] = list[1], list[0]
		if Fingerprint(live) == before {
			t.Fatal("a swap goes unnoticed")
		}
	})
}

// TestFingerprint_IgnoresTheRest adds what others may add: map keys, status, labels.
func TestFingerprint_IgnoresTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := node(2).Draw(t, "spec")
		spec["open"] = map[string]any{"a": "1"}
		live := owned(t, spec)
		before := Fingerprint(live)
		spec["open"].(map[string]any)["foreign"] = "x"
		spec["foreign"] = "x"
		live.Object["status"] = node(1).Draw(t, "status")
		live.SetLabels(map[string]string{"foreign": "x"})
		live.SetResourceVersion("7")
		if Fingerprint(live) != before {
			t.Fatal("a foreign field is taken for ours")
		}
	})
}

// TestFingerprint_FallsBackToTheWholeList shows an item without the key the API
// server knows by default: it cannot be found, so all of the list counts.
func TestFingerprint_FallsBackToTheWholeList(t *testing.T) {
	live := owned(nil, map[string]any{})
	Managers(live)[0].Fields["f:spec"] = map[string]any{"f:rules": map[string]any{
		`k:{"name":"r","proto":"tcp"}`: map[string]any{".": map[string]any{}, "f:name": map[string]any{}, "f:value": map[string]any{}},
	}}
	rule := map[string]any{"name": "r", "value": "1"}
	live.Object["spec"] = map[string]any{"rules": []any{rule}}
	before := Fingerprint(live)
	rule["value"] = "2"
	if Fingerprint(live) == before {
		t.Error("the change goes unnoticed")
	}
}

func TestFingerprint_NoticesLostOwnership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := owned(t, map[string]any{"text": "a", "open": map[string]any{"k": "v"}})
		before := Fingerprint(live)
		fields := Managers(live)[0].Fields["f:spec"].(map[string]any)
		delete(fields, rapid.SampledFrom(slices.Sorted(maps.Keys(fields))).Draw(t, "field"))
		if Fingerprint(live) == before {
			t.Fatal("lost ownership goes unnoticed")
		}
	})
}

func TestDigest_KeepsValuesApart(t *testing.T) {
	values := []any{
		nil, "", "n", false, true, int64(0), int64(1), 0.5, "0",
		map[string]any{},
		[]any{},
		[]any{nil},
		[]any{""},
		[]any{"a", "b"},
		[]any{"ab", ""},
		[]any{"b", "a"},
		[]any{[]any{"a"}, "b"},
		[]any{[]any{"a", "b"}},
		map[string]any{"a": nil},
		map[string]any{"a": ""},
		map[string]any{"a": map[string]any{"b": ""}},
		map[string]any{"a": "", "b": ""},
	}
	seen := map[Digest]any{}
	for _, v := range values {
		d := DigestOf(v)
		if other, dup := seen[d]; dup {
			t.Errorf("%#v and %#v have one digest", other, v)
		}
		seen[d] = v
	}
	if DigestOf(int64(3)) != DigestOf(3.0) || DigestOf(3) != DigestOf(3.0) {
		t.Error("one number has two digests")
	}
}
