package workload

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

// history is how many generations of a configuration stay besides the current one, for a
// rollback by hand.
const history = 3

// Why a generation of a configuration stays.
const (
	GateHistory = "history"
	GateMounted = "a live pod or pod template mounts it"
)

// Retained tells a gate that keeps a generation of a configuration.
func Retained(gate string) bool { return gate == GateHistory || gate == GateMounted }

// ContentHash is the digest that names a generation: SHA-256 over length-prefixed pairs in
// key order, first eight hex digits.
func ContentHash(data map[string]string) string {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(h, "%d:%s=%d:%s\n", len(key), key, len(data[key]), data[key])
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

// Older are the generations to leave alone besides the current one: the newest ones before
// it, and every one that a live pod template mounts, whatever its age.
func Older(live []facts.ConfigMap, namespace, current string, mounted map[string]bool) []render.Held {
	older := slices.DeleteFunc(slices.Clone(live), func(cm facts.ConfigMap) bool { return cm.Name == current || cm.Name == "" })
	slices.SortFunc(older, func(a, b facts.ConfigMap) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Name, a.Name))
	})
	var held []render.Held
	seen := map[string]bool{}
	for _, cm := range older {
		if seen[cm.Name] {
			continue
		}
		seen[cm.Name] = true
		gate := ""
		switch {
		case mounted[cm.Name]:
			gate = GateMounted
		case len(seen) <= history:
			gate = GateHistory
		default:
			continue
		}
		held = append(held, render.Held{Key: render.Key{GroupVersionKind: render.KindConfigMap, Namespace: namespace, Name: cm.Name}, Gate: gate})
	}
	return held
}
