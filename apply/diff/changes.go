package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/c5c3/nova-operator/render"
)

// Changes lists what an apply did to the fields we own or gave up: values before and
// after at every path of our field set then and now, in path order. Both objects are
// the API server's, so a difference is one.
func Changes(key render.Key, before, after *unstructured.Unstructured, mask Mask) []Change {
	d := &differ{others: others(before), secret: sensitive(key.GroupKind()), mask: mask}
	ours, _ := OwnedFields(before)
	theirs, _ := OwnedFields(after)
	return d.list(before.Object, after.Object, ours, theirs)
}

// Compare lists the differences between two payloads, in path order: those of two
// desired objects, or of a live one and the desired one that replaces it, of which only
// the fields that this operator owns count. Nothing is asked of a server, so a default
// that only one of them spells out is a difference.
func Compare(before, after *unstructured.Unstructured, mask Mask) []Change {
	if equalJSON(before.Object, after.Object) {
		return nil
	}
	d := &differ{others: others(before), secret: sensitive(after.GroupVersionKind().GroupKind()), mask: mask}
	return d.list(before.Object, after.Object, payloadFields(before), payloadFields(after))
}

// Owned is the part of a live object that this operator owns: what it applied, as the API
// server holds it.
func Owned(live *unstructured.Unstructured) *unstructured.Unstructured {
	fields, _ := OwnedFields(live)
	part, _ := project(live.Object, fields).(map[string]any)
	if part == nil {
		part = map[string]any{}
	}
	u := &unstructured.Unstructured{Object: part}
	u.SetGroupVersionKind(live.GroupVersionKind())
	u.SetNamespace(live.GetNamespace())
	u.SetName(live.GetName())
	return u
}

// project copies the values at the paths of a field set.
func project(v any, fields map[string]any) any {
	if len(fields) == 0 {
		return runtime.DeepCopyJSONValue(v)
	}
	switch t := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, below := range fields {
			name, isField := strings.CutPrefix(key, "f:")
			value, there := t[name]
			if m, _ := below.(map[string]any); isField && there {
				out[name] = project(value, m)
			}
		}
		return out
	case []any:
		return projectItems(t, fields)
	default:
		return v
	}
}

// projectItems keeps the owned items of a keyed list in their order, and any other list
// as a whole.
func projectItems(items []any, fields map[string]any) any {
	out := []any{}
	for _, it := range items {
		for key, below := range fields {
			raw, isKey := strings.CutPrefix(key, "k:")
			if !isKey {
				if key == "." {
					continue
				}
				return runtime.DeepCopyJSONValue(items)
			}
			var want map[string]any
			m, isMap := it.(map[string]any)
			if !isMap || utiljson.Unmarshal([]byte(raw), &want) != nil || !matches(m, want) {
				continue
			}
			f, _ := below.(map[string]any)
			out = append(out, project(m, f))
		}
	}
	return out
}

// payloadFields are the fields we own in a live object, and every field of a payload.
func payloadFields(u *unstructured.Unstructured) map[string]any {
	if fields, _ := OwnedFields(u); fields != nil {
		return fields
	}
	fields := fieldsOf("", u.Object)
	for _, identity := range []string{"f:apiVersion", "f:kind", "f:status"} {
		delete(fields, identity)
	}
	return fields
}

// fieldsOf describes a value in the form of fieldsV1: every leaf of it.
func fieldsOf(name string, v any) map[string]any {
	fields := map[string]any{}
	switch t := v.(type) {
	case map[string]any:
		for key, below := range t {
			fields["f:"+key] = fieldsOf(key, below)
		}
	case []any:
		for _, item := range t {
			m, isMap := item.(map[string]any)
			key, ok := render.ItemKey(name, m)
			if !isMap || !ok {
				return nil // an atomic list
			}
			raw, err := json.Marshal(key)
			if err != nil {
				return nil
			}
			fields["k:"+string(raw)] = fieldsOf("", m)
		}
	}
	return fields
}

func (d *differ) list(before, after map[string]any, owned ...map[string]any) []Change {
	d.found = map[string]Change{}
	for _, fields := range owned {
		d.node(nil, "", fields, before, after)
	}
	out := make([]Change, 0, len(d.found))
	for _, path := range slices.Sorted(maps.Keys(d.found)) {
		out = append(out, d.found[path])
	}
	return out
}

// others are the managers that could have written to our fields.
func others(u *unstructured.Unstructured) []Manager {
	return slices.DeleteFunc(Managers(u), func(m Manager) bool { return m.Name == render.FieldOwner })
}

type differ struct {
	found  map[string]Change
	others []Manager
	secret bool
	mask   Mask
}

// node compares the values under one node of fieldsV1. elements are the keys that
// lead to it, path is the same for readers.
func (d *differ) node(elements []string, path string, fields map[string]any, before, after any) {
	if equalJSON(before, after) {
		return
	}
	if len(fields) == 0 {
		if len(elements) > 0 {
			d.add(elements, path, before, after)
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		below, _ := fields[key].(map[string]any)
		at := append(elements[:len(elements):len(elements)], key)
		switch kind, rest, _ := strings.Cut(key, ":"); kind {
		case "f":
			d.node(at, join(path, rest), below, field(before, rest), field(after, rest))
		case "k":
			b, a := item(before, rest), item(after, rest)
			if (b == nil) != (a == nil) {
				d.add(at, path+itemLabel(rest), b, a) // comes or goes as a whole
				continue
			}
			d.node(at, path+itemLabel(rest), below, b, a)
		case ".":
			if before == nil || after == nil {
				d.add(elements, path, presence(before), presence(after))
			}
		default: // a set item or an index: show the list
			d.add(elements, path, before, after)
		}
	}
	if b, a := order(before, fields), order(after, fields); len(b) == len(a) && b != a {
		d.add(elements, path+" (order)", b, a)
	}
}

func (d *differ) add(elements []string, path string, from, to any) {
	if d.secret && !strings.HasPrefix(path, "metadata") || strings.Contains(path, corev1.LastAppliedConfigAnnotation) {
		from, to = d.mask.Digest(from), d.mask.Digest(to)
	}
	c := Change{Path: path, From: from, To: to}
	for _, m := range d.others {
		if holds(m.Fields, elements) {
			c.Manager = m.Name
		}
	}
	d.found[path] = c
}

// holds says whether a field set contains a path or something below it.
func holds(fields map[string]any, elements []string) bool {
	for _, e := range elements {
		below, ok := fields[e]
		if !ok {
			return false
		}
		fields, _ = below.(map[string]any)
	}
	return true
}

// equalJSON compares two JSON values, numbers by value.
func equalJSON(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			other, there := y[key]
			if !there || !equalJSON(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalJSON)
	case int64, float64, int:
		return DigestOf(a) == DigestOf(b)
	default:
		return a == b
	}
}

func presence(v any) any {
	if v == nil {
		return nil
	}
	return "present"
}

func join(path, name string) string {
	if strings.ContainsAny(name, "./[") {
		return path + "[" + name + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func field(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

// item finds the item of a list by its key in JSON; nil if there is none.
func item(v any, key string) any {
	items, _ := v.([]any)
	var want map[string]any
	if err := utiljson.Unmarshal([]byte(key), &want); err != nil {
		return nil
	}
	for _, it := range items {
		m, ok := it.(map[string]any)
		if ok && matches(m, want) {
			return m
		}
	}
	return nil
}

func matches(m, want map[string]any) bool {
	for k, v := range want {
		if !equalJSON(m[k], v) {
			return false
		}
	}
	return true
}

// itemLabel prints the key of an item: [name=api], [containerPort=80,protocol=TCP].
func itemLabel(key string) string {
	var k map[string]any
	if err := utiljson.Unmarshal([]byte(key), &k); err != nil {
		return "[" + key + "]"
	}
	parts := make([]string, 0, len(k))
	for _, name := range slices.Sorted(maps.Keys(k)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, k[name]))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// order lists the keys of the owned items of a keyed list as they stand; "" for
// anything else.
func order(v any, fields map[string]any) string {
	items, ok := v.([]any)
	if !ok {
		return ""
	}
	var b strings.Builder
	for _, it := range items {
		m, ok := it.(map[string]any)
		if !ok {
			return ""
		}
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			raw, isKey := strings.CutPrefix(key, "k:")
			var want map[string]any
			if isKey && utiljson.Unmarshal([]byte(raw), &want) == nil && matches(m, want) {
				b.WriteString(itemLabel(raw))
			}
		}
	}
	return b.String()
}
