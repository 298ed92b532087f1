package diff

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/c5c3/nova-operator/render"
)

// Digest identifies a value. Digests are compared, never printed: an object may be
// a Secret.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a JSON value. Numbers compare by value, maps
// regardless of order, lists in order.
func DigestOf(v any) Digest { return sha256.Sum256(appendValue(nil, v)) }

// Fingerprint is the digest of the fields our Apply manager owns in a live object
// together with their values: finalizers, owner references and labels included. It
// is a function of the live object alone, so what the server or a webhook made of a
// field needs no emulation. An object of which we own nothing has a fixed one.
func Fingerprint(live *unstructured.Unstructured) Digest {
	fields, version := OwnedFields(live)
	b := append(make([]byte, 0, 4096), version...)
	return sha256.Sum256(appendOwned(b, fields, live.Object))
}

// OwnedFields returns fieldsV1 of our Apply entry and the API version it is written
// in; nil if there is none.
func OwnedFields(live *unstructured.Unstructured) (fields map[string]any, version string) {
	for _, e := range Managers(live) {
		if e.Name == render.FieldOwner && e.Operation == "Apply" && e.Subresource == "" {
			return e.Fields, e.Version
		}
	}
	return nil, ""
}

// Manager is one entry of metadata.managedFields, without a copy: read only.
type Manager struct {
	Name, Operation, Subresource, Version string
	// Fields is fieldsV1.
	Fields map[string]any
}

// Managers lists the entries of metadata.managedFields in their order.
func Managers(live *unstructured.Unstructured) []Manager {
	raw, _, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	list, _ := raw.([]any)
	out := make([]Manager, 0, len(list))
	for _, item := range list {
		e, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var m Manager
		m.Name, _ = e["manager"].(string)
		m.Operation, _ = e["operation"].(string)
		m.Subresource, _ = e["subresource"].(string)
		m.Version, _ = e["apiVersion"].(string)
		m.Fields, _ = e["fieldsV1"].(map[string]any)
		out = append(out, m)
	}
	return out
}

// appendOwned walks fieldsV1 beside the value it describes. The format is that of
// structured-merge-diff: "f:<name>" a field, "k:<json>" a list item by key,
// "v:<json>" a set item, "." the node itself; a field without children is owned as
// a whole.
func appendOwned(b []byte, fields map[string]any, v any) []byte {
	switch t := v.(type) {
	case map[string]any:
		return appendOwnedMap(b, fields, t)
	case []any:
		return appendOwnedList(b, fields, t)
	default:
		// Owned below here once, a scalar or gone now.
		return appendValue(append(b, '!'), v)
	}
}

func appendOwnedMap(b []byte, fields, m map[string]any) []byte {
	b = append(b, '{')
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		name, isField := strings.CutPrefix(key, "f:")
		if !isField {
			b = appendString(b, key) // "." and nothing else
			continue
		}
		b = appendString(b, name)
		child, present := m[name]
		if !present {
			b = append(b, '-')
			continue
		}
		if below, _ := fields[key].(map[string]any); len(below) > 0 {
			b = appendOwned(b, below, child)
		} else {
			b = appendValue(b, child)
		}
	}
	return append(b, '}')
}

// appendOwnedList covers the items we own in the order they stand, because order has
// a meaning (environment variables, containers). Two items always encode differently:
// they differ in a key, and keys we spelled out are owned. Items of others between
// ours stay where they are under an apply, so they do not count.
func appendOwnedList(b []byte, fields map[string]any, items []any) []byte {
	owned, keyNames, ok := itemKeys(fields)
	if !ok {
		return appendValue(append(b, '*'), items)
	}
	b = append(b, '[')
	matched := 0
	for _, item := range items {
		m, isMap := item.(map[string]any)
		if !isMap {
			return appendValue(append(b, '*'), items)
		}
		identity := make([]byte, 0, 64)
		for _, k := range keyNames {
			identity = appendValue(identity, m[k])
		}
		if below, mine := owned[string(identity)]; mine {
			matched++
			if len(below) == 0 {
				b = appendValue(b, item)
			} else {
				b = appendOwnedMap(b, below, m)
			}
		}
	}
	if matched != len(owned) {
		// An item we own is not where its key says, or two carry one key: be sure.
		b = appendValue(append(b, '*'), items)
	}
	return append(b, ']')
}

// itemKeys indexes the "k:" children of a keyed list by the encoded key values. ok
// is false for a set, an index, or keys of different shapes.
func itemKeys(fields map[string]any) (owned map[string]map[string]any, names []string, ok bool) {
	owned = make(map[string]map[string]any, len(fields))
	for key, below := range fields {
		if key == "." {
			continue
		}
		raw, isKey := strings.CutPrefix(key, "k:")
		if !isKey {
			return nil, nil, false
		}
		var k map[string]any
		if err := utiljson.Unmarshal([]byte(raw), &k); err != nil {
			return nil, nil, false
		}
		n := slices.Sorted(maps.Keys(k))
		if names == nil {
			names = n
		} else if !slices.Equal(names, n) {
			return nil, nil, false
		}
		identity := make([]byte, 0, 64)
		for _, name := range names {
			identity = appendValue(identity, k[name])
		}
		children, _ := below.(map[string]any)
		owned[string(identity)] = children
	}
	return owned, names, names != nil
}

// appendValue encodes a JSON value without ambiguity: every value starts with its
// type, every text and collection with its length.
func appendValue(b []byte, v any) []byte {
	switch t := v.(type) {
	case nil:
		return append(b, 'n')
	case string:
		return appendString(append(b, 's'), t)
	case bool:
		if t {
			return append(b, 't')
		}
		return append(b, 'f')
	case int64:
		return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(t))
	case int:
		return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(t))
	case float64:
		if t == math.Trunc(t) && math.Abs(t) < 1<<53 {
			return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(int64(t)))
		}
		return binary.BigEndian.AppendUint64(append(b, 'd'), math.Float64bits(t))
	case map[string]any:
		b = binary.AppendUvarint(append(b, 'm'), uint64(len(t)))
		for _, k := range slices.Sorted(maps.Keys(t)) {
			b = appendValue(appendString(b, k), t[k])
		}
		return b
	case []any:
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(t)))
		for _, item := range t {
			b = appendValue(b, item)
		}
		return b
	default:
		return appendString(append(b, '?'), fmt.Sprintf("%T %v", v, v))
	}
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
