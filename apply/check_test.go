package apply

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/render"
)

func configMapIn(namespace string) render.Object {
	return render.Object{Content: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": namespace, "name": "config"},
	}}}
}

func unreferenced(o render.Object) render.Object {
	o.Policy.Unreferenced = true
	return o
}

func TestCheck(t *testing.T) {
	home := Owner{Namespace: "own", Name: "nova", UID: "u", Namespaces: []string{"lent"}}
	with := func(change func(*Owner)) Owner {
		o := home
		change(&o)
		return o
	}
	long := strings.Repeat("n", 64)
	for name, tc := range map[string]struct {
		owner Owner
		set   render.Set
		want  []string // parts of the error; none for no error
	}{
		"children in every namespace of the owner": {owner: home, set: desired(configMapIn("own"), configMapIn("lent"))},
		"a child outside of them": {
			owner: home, set: desired(configMapIn("own"), configMapIn("other")), want: []string{"ConfigMap other/config is outside the namespaces"},
		},
		"a child of the cluster": {owner: home, set: desired(configMapIn("")), want: []string{"outside the namespaces"}},
		"an object that is wanted and held": {
			owner: home, set: render.Set{Desired: []render.Object{configMapIn("own")}, Held: []render.Held{{Key: configMapIn("own").Key()}}},
			want: []string{"twice: desired and held"},
		},
		"one name in two namespaces is two objects": {
			owner: home, set: render.Set{Desired: []render.Object{configMapIn("own")}, Absent: []render.Absent{{Key: configMapIn("lent").Key()}}},
		},
		"a name too long for a label, at home":              {owner: with(func(o *Owner) { o.Name = long }), set: desired(configMapIn("own"))},
		"a name too long for a label, in another namespace": {owner: with(func(o *Owner) { o.Name = long }), set: desired(configMapIn("lent")), want: []string{"64", "in another namespace", "63"}},
		"a name too long for a label, on a target": {
			owner: with(func(o *Owner) { o.Name, o.Remote = long, true }), set: desired(configMapIn("own")), want: []string{"64", "on a target cluster", "63"},
		},
		"a name too long for a label, with nothing to mark": {owner: with(func(o *Owner) { o.Name = long }), set: render.Set{Prunable: []schemaGVK{configMapKind}}},
		"no UID for a reference":                            {owner: with(func(o *Owner) { o.UID = "" }), set: desired(configMapIn("own")), want: []string{"needs its UID"}},
		"no UID, and no reference":                          {owner: with(func(o *Owner) { o.UID = "" }), set: desired(unreferenced(configMapIn("own")))},
		"no UID, and labels only":                           {owner: with(func(o *Owner) { o.UID = "" }), set: desired(configMapIn("lent"))},
	} {
		t.Run(name, func(t *testing.T) {
			err := check(tc.owner, tc.set)
			if (err != nil) != (tc.want != nil) {
				t.Fatalf("error %v", err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
		})
	}
}

// Check lets through what is in reach and can be marked, and nothing else. Only its own
// owner takes it for a child.
func TestCheck_WhatPassesIsMarked(t *testing.T) {
	namespace := rapid.SampledFrom([]string{"", "a", "b", "c"})
	owners := rapid.Custom(func(t *rapid.T) Owner {
		return Owner{
			GroupVersionKind: configMapKind,
			Namespace:        rapid.SampledFrom([]string{"a", "b"}).Draw(t, "own"),
			Name:             rapid.SampledFrom([]string{"x", "y", strings.Repeat("n", 64)}).Draw(t, "name"),
			UID:              rapid.SampledFrom([]types.UID{"", "u", "v"}).Draw(t, "uid"),
			Remote:           rapid.Bool().Draw(t, "remote"),
			Namespaces:       rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2).Draw(t, "namespaces"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		owner, object := owners.Draw(t, "owner"), configMapIn(namespace.Draw(t, "in"))
		object.Policy.Unreferenced = rapid.Bool().Draw(t, "unreferenced")
		child := object.Content
		own := child.GetNamespace() == owner.Namespace
		reached := own || slices.Contains(owner.Namespaces, child.GetNamespace())
		fits := len(owner.Name) <= 63
		refers := own && !owner.Remote && (!object.Policy.Unreferenced || !fits)
		marked := fits
		if refers {
			marked = owner.UID != ""
		}
		if err := check(owner, desired(object)); (err == nil) != (reached && marked) {
			t.Fatalf("in reach: %v, with a mark: %v, but: %v", reached, marked, err)
		}
		if !reached || !marked {
			return
		}
		child = owner.stamp(child, object.Policy)
		if !owner.Owns(child) || !owner.marked(child, object.Policy) {
			t.Fatalf("not its own: %v", child)
		}
		if refers != (len(child.GetOwnerReferences()) > 0) || fits != (child.GetLabels()[LabelOwnerName] == owner.Name) {
			t.Fatalf("reference: %v, labels: %v, but: %v", refers, fits, child)
		}
		other := owners.Draw(t, "other")
		same := other.Namespace == owner.Namespace && other.Name == owner.Name
		if !same && (other.UID == "" || other.UID != owner.UID) && other.Owns(child) {
			t.Fatalf("another's, too: %v", child)
		}
		if !other.reaches(child.GetNamespace()) && other.Owns(child) {
			t.Fatalf("owned from outside: %v", child)
		}
	})
}
