package render

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serverMetadata is what the API server alone writes under metadata. Sending one
// of these makes an apply differ from what is stored, or fail.
var serverMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp",
	"generation", "managedFields", "resourceVersion", "selfLink", "uid",
}

// meaningfulEmpty names the fields whose empty value says something that leaving
// them out does not: a volume of that type, or a selector that matches everything.
// Every other empty map or list is dropped; the API server stores some of those as
// absent and then counts a write (and a generation) on every identical apply.
var meaningfulEmpty = map[string]bool{
	"emptyDir":            true,
	"podSelector":         true, // NetworkPolicy: every pod
	"namespaceSelector":   true, // NetworkPolicy peers: every namespace
	"labelSelector":       true, // affinity terms and spread constraints: nil matches none
	"objectSelector":      true, // webhook configurations
	"selector":            true, // PodDisruptionBudget: nil matches none; see emptyIsAbsent
	"controlledResources": true, // VPA: nil means cpu and memory, empty means none
}

// emptyIsAbsent lists the exceptions from meaningfulEmpty: a Service's selector is
// a plain map, so empty and absent are one state.
var emptyIsAbsent = map[schema.GroupKind]string{
	{Kind: "Service"}: "spec/selector",
}

// quantityPaths are the places of a quantity, as path suffixes; * is any key.
// Only these are rewritten: "limits" of a foreign kind may hold plain numbers.
var quantityPaths = [][]string{
	{"resources", "limits", "*"},
	{"resources", "requests", "*"},
	{"minAllowed", "*"},
	{"maxAllowed", "*"}, // VPA container policies
	{"emptyDir", "sizeLimit"},
	{"resourceFieldRef", "divisor"},
	{"target", "averageValue"},
	{"target", "value"}, // HPA metrics
}

// listKeys are the fields that identify an item of a list the API server merges by
// key. An item without all of them is not checked for duplicates.
var listKeys = map[string][]string{
	"containers":                {"name"},
	"initContainers":            {"name"},
	"ephemeralContainers":       {"name"},
	"env":                       {"name"},
	"volumes":                   {"name"},
	"volumeMounts":              {"mountPath"},
	"volumeDevices":             {"devicePath"},
	"volumeClaimTemplates":      {"apiVersion", "kind", "metadata/name"},
	"imagePullSecrets":          {"name"},
	"hostAliases":               {"ip"},
	"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"ownerReferences":           {"uid"},
}

// Canonical brings an apply payload, in place, into the one form the API server
// stores unchanged, so that applying it twice writes once:
//
//   - no null, no status, nothing the API server writes under metadata;
//   - no empty map or list, except where empty means something;
//   - quantities in canonical form ("0.5" becomes "500m");
//   - a Secret's stringData folded into data, base64 without line breaks;
//   - container, Service and NetworkPolicy ports with their protocol;
//   - whole numbers as integers.
//
// It is idempotent. It returns an error, with the path, for what the API server
// would refuse or silently drop: two items with one key in a keyed list, a null in
// a list, a quantity that does not parse, stringData that is not text.
func Canonical(u *unstructured.Unstructured) error {
	c := &former{kind: u.GroupVersionKind().GroupKind()}
	delete(u.Object, "status")
	if m, ok := u.Object["metadata"].(map[string]any); ok {
		for _, f := range serverMetadata {
			delete(m, f)
		}
	}
	if c.kind == KindSecret.GroupKind() {
		c.foldStringData(u.Object)
	}
	for _, k := range slices.Sorted(maps.Keys(u.Object)) {
		v, keep := c.value([]string{k}, u.Object[k])
		// A kind may demand a spec even when all its fields are optional.
		if !keep && k != "spec" || v == nil {
			delete(u.Object, k)
			continue
		}
		u.Object[k] = v
	}
	return errors.Join(c.errs...)
}

// former is one walk over one payload.
type former struct {
	kind schema.GroupKind
	errs []error
}

func (c *former) failf(path []string, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %w", dotted(path), fmt.Errorf(format, args...)))
}

// value returns the canonical form of v and whether to keep the field that holds it.
func (c *former) value(path []string, v any) (any, bool) {
	switch t := v.(type) {
	case nil:
		return nil, false
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(t)) {
			child, keep := c.value(append(path[:len(path):len(path)], k), t[k])
			if !keep {
				delete(t, k)
				continue
			}
			t[k] = child
		}
		return t, len(t) > 0 || c.emptyMatters(path)
	case []any:
		c.list(path, t)
		return t, len(t) > 0 || c.emptyMatters(path)
	case float64:
		return c.scalar(path, whole(t)), true
	default:
		return c.scalar(path, v), true
	}
}

// list walks the items of a list. An empty map stays an item: `egress: [{}]` allows
// everything, `egress: []` nothing.
func (c *former) list(path []string, items []any) {
	for i, item := range items {
		at := append(path[:len(path):len(path)], fmt.Sprintf("[%d]", i))
		if item == nil {
			c.failf(at, "null in a list")
			continue
		}
		v, _ := c.value(at, item)
		items[i] = v
		if port, ok := v.(map[string]any); ok && c.wantsProtocol(path, port) {
			port["protocol"] = "TCP"
		}
	}
	c.duplicates(path, items)
}

// scalar canonicalises quantities and the base64 of binary data.
func (c *former) scalar(path []string, v any) any {
	switch {
	case matchesAny(path, quantityPaths):
		return c.quantity(path, v)
	case c.kind == KindSecret.GroupKind() && len(path) == 2 && path[0] == "data",
		c.kind == KindConfigMap.GroupKind() && len(path) == 2 && path[0] == "binaryData":
		s, ok := v.(string)
		if !ok {
			c.failf(path, "not base64 text")
			return v
		}
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			c.failf(path, "not base64") // the decoder's error could quote a credential
			return v
		}
		return base64.StdEncoding.EncodeToString(raw)
	}
	return v
}

func (c *former) quantity(path []string, v any) any {
	switch v.(type) {
	case string, int64, int, float64:
	default:
		c.failf(path, "%T is not a quantity", v)
		return v
	}
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	if err != nil {
		c.failf(path, "%v is not a quantity", v)
		return v
	}
	return q.String()
}

// foldStringData does what the API server does on a write: stringData wins over
// data and is never stored.
func (c *former) foldStringData(obj map[string]any) {
	raw, ok := obj["stringData"]
	if !ok {
		return
	}
	delete(obj, "stringData")
	text, ok := raw.(map[string]any)
	if !ok {
		if raw != nil {
			c.failf([]string{"stringData"}, "not a map")
		}
		return
	}
	data, ok := obj["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		obj["data"] = data
	}
	for k, v := range text {
		s, ok := v.(string)
		if !ok {
			c.failf([]string{"stringData", k}, "not text")
			continue
		}
		data[k] = base64.StdEncoding.EncodeToString([]byte(s))
	}
}

func (c *former) emptyMatters(path []string) bool {
	last := path[len(path)-1]
	if strings.HasPrefix(last, "[") {
		return true
	}
	return meaningfulEmpty[last] && emptyIsAbsent[c.kind] != strings.Join(path, "/")
}

// wantsProtocol says whether a port item lacks the protocol the API server would
// add. Lists called ports of other kinds have no such field.
func (c *former) wantsProtocol(path []string, port map[string]any) bool {
	if path[len(path)-1] != "ports" {
		return false
	}
	if _, set := port["protocol"]; set {
		return false
	}
	if _, container := port["containerPort"]; container {
		return true
	}
	return c.kind == KindService.GroupKind() ||
		c.kind == KindNetworkPolicy.GroupKind()
}

// duplicates refuses two items with one key: the API server would refuse the apply,
// or keep one of them.
func (c *former) duplicates(path []string, items []any) {
	field := path[len(path)-1]
	seen := map[string]bool{}
	for i, item := range items {
		var key string
		switch t := item.(type) {
		case string:
			if dotted(path) != "metadata.finalizers" {
				return
			}
			key = t
		case map[string]any:
			k, ok := identity(t, keysOf(field, c.kind != KindService.GroupKind()))
			if !ok {
				continue
			}
			key = k
		}
		if seen[key] && key != "" {
			c.failf(append(path[:len(path):len(path)], fmt.Sprintf("[%d]", i)), "second item with %s", key)
		}
		seen[key] = true
	}
}

// keysOf are the fields that identify an item of a list. Ports are those of containers or
// of Services.
func keysOf(field string, container bool) []string {
	switch {
	case field != "ports":
		return listKeys[field]
	case container:
		return []string{"containerPort", "protocol"}
	}
	return []string{"port", "protocol"}
}

// ItemKey returns the fields that identify an item of a list the API server merges by
// key, name → value. ok is false for a list without keys, or an item that lacks one.
func ItemKey(field string, item map[string]any) (key map[string]any, ok bool) {
	_, container := item["containerPort"]
	key = map[string]any{}
	for _, name := range keysOf(field, container) {
		value, found := item[name]
		if !found {
			return nil, false
		}
		key[name] = value
	}
	return key, len(key) > 0
}

// identity spells out the key fields of an item ("name=api"). ok is false when the
// list has no key or the item lacks a part of it.
func identity(item map[string]any, keys []string) (key string, ok bool) {
	parts := make([]string, 0, len(keys))
	for _, k := range keys {
		v, found, err := unstructured.NestedFieldNoCopy(item, strings.Split(k, "/")...)
		if !found || err != nil {
			return "", false
		}
		parts = append(parts, fmt.Sprintf("%s=%v", k, v))
	}
	return strings.Join(parts, " "), len(parts) > 0
}

func whole(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

func matchesAny(path []string, tails [][]string) bool {
	for _, want := range tails {
		if len(path) < len(want) {
			continue
		}
		tail := path[len(path)-len(want):]
		if slices.EqualFunc(tail, want, func(a, b string) bool { return b == "*" || a == b }) {
			return true
		}
	}
	return false
}

// dotted prints a path as users write it: spec.containers[0].env[2].name.
func dotted(path []string) string {
	var b strings.Builder
	for i, p := range path {
		if i > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}
