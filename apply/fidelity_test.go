package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/ssa"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// TestFidelity compares "unchanged", with a memory and after a restart, with two
// oracles: fluxcd/pkg/ssa's GET plus dry run, and our own dry run compared whole,
// because flux looks at no finalizer and no owner reference. Neither may say
// "changed" where we say "unchanged". How often we are sure is counted as well.
func TestFidelity(t *testing.T) {
	e := newEnv(t)
	e.webhook()
	e.installWidget()
	names := slices.Sorted(maps.Keys(fidelity))
	var total, equal, warm, cold int
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			f := fidelity[name]
			inner := *e
			inner.t = t
			got := inner.fidelity(f, fmt.Sprintf("c%03d", i))
			total++
			if got.oracle {
				equal++
				if got.warm {
					warm++
				}
				if got.cold {
					cold++
				}
			}
			t.Logf("oracle unchanged=%v, warm=%v, cold=%v", got.oracle, got.warm, got.cold)
			if f.want != got.String() {
				t.Errorf("verdicts %s, want %s", got, f.want)
			}
		})
	}
	t.Logf("%d inputs; the oracle calls %d unchanged; of these we know %d from the memo and %d after a restart", total, equal, warm, cold)
}

// verdicts say "unchanged" three times.
type verdicts struct{ oracle, warm, cold bool }

func (v verdicts) String() string {
	var out []string
	for name, yes := range map[string]bool{"oracle": v.oracle, "warm": v.warm, "cold": v.cold} {
		if yes {
			out = append(out, name)
		}
	}
	if out == nil {
		return none
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (e *env) fidelity(f fidelityCase, name string) verdicts {
	e.t.Helper()
	build := func(doc string) render.Object {
		doc = strings.ReplaceAll(doc, "NAME", name)
		if f.raw {
			return render.Object{Content: e.raw(doc)}
		}
		return e.obj(render.StageConfig, render.Policy{}, doc)
	}
	first := build(f.doc)
	e.restart()
	if _, err := e.run(desired(first)); err != nil {
		e.t.Fatal(err)
	}
	for _, x := range f.edits {
		e.edit(first.Key(), x, name)
	}
	now := first
	if f.then != "" {
		now = build(f.then)
	}
	unchanged := func() bool {
		plan, err := e.applier.Plan(e.t.Context(), e.owner, desired(now))
		if err != nil {
			e.t.Fatal(err)
		}
		e.wantNoCalls()
		return plan.Objects[0].Action == diff.ActionUnchanged
	}
	e.calls.take()
	v := verdicts{warm: unchanged(), oracle: e.oracle(now)}
	kept := e.applier
	e.restart()
	v.cold = unchanged()
	if v.warm && !v.oracle {
		e.t.Error("false unchanged from the memo")
	}
	if v.cold && !v.oracle {
		e.t.Error("false unchanged after a restart")
	}
	// And it comes to rest: applied once more, the memo is sure, and rightly so.
	e.applier = kept
	if _, err := e.run(desired(now)); err != nil {
		e.t.Fatal(err)
	}
	e.calls.take()
	if !unchanged() {
		e.t.Error("not at rest after an apply")
	}
	if !e.oracle(now) {
		e.t.Error("the memo rests where the oracle does not")
	}
	return v
}

func (e *env) wantNoCalls() {
	e.t.Helper()
	if got := e.calls.take(); got != "" {
		e.t.Errorf("a plan called the API server: %s", got)
	}
}

// oracle says whether applying an object would change nothing. It asks again when a
// controller wrote to the object meanwhile.
func (e *env) oracle(o render.Object) bool {
	e.t.Helper()
	for {
		version := e.live(o.Key()).GetResourceVersion()
		equal := e.ask(o)
		if e.live(o.Key()).GetResourceVersion() == version {
			return equal
		}
	}
}

func (e *env) ask(o render.Object) bool {
	e.t.Helper()
	payload := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(e.owner.stamp(o.Content, o.Policy).Object)}
	manager := ssa.NewResourceManager(e.admin, nil, ssa.Owner{Field: render.FieldOwner, Group: "test.c5c3.io"})
	entry, _, _, err := manager.Diff(e.t.Context(), payload.DeepCopy(), ssa.DefaultDiffOptions())
	if err != nil {
		e.t.Fatal(err)
	}
	before := e.live(o.Key())
	after := payload.DeepCopy()
	opts := []client.ApplyOption{client.DryRunAll, client.ForceOwnership, client.FieldOwner(render.FieldOwner)}
	if err := e.admin.Apply(e.t.Context(), client.ApplyConfigurationFromUnstructured(after), opts...); err != nil {
		e.t.Fatal(err)
	}
	return entry.Action == ssa.UnchangedAction && bytes.Equal(content(before), content(after))
}

// content is an object without what changes by itself.
func content(u *unstructured.Unstructured) []byte {
	u = u.DeepCopy()
	for _, f := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", f)
	}
	unstructured.RemoveNestedField(u.Object, "status")
	raw, _ := json.Marshal(u.Object)
	return raw
}

func (e *env) edit(key render.Key, x edit, name string) {
	e.t.Helper()
	if x.as == "" {
		x.as = "kubectl-edit"
	}
	if x.how == "" {
		x.how = types.MergePatchType
	}
	doc := strings.ReplaceAll(x.doc, "NAME", name)
	if x.sub == "" {
		e.patch(key, x.as, x.how, doc)
		return
	}
	u := e.live(key)
	patch := e.raw(doc)
	delete(patch.Object, "metadata")
	raw, err := json.Marshal(patch.Object)
	if err != nil {
		e.t.Fatal(err)
	}
	err = e.admin.SubResource(x.sub).Patch(e.t.Context(), u, client.RawPatch(x.how, raw), client.FieldOwner(x.as))
	if err != nil {
		e.t.Fatal(err)
	}
}

// installWidget serves a kind with every kind of list, map and default.
func (e *env) installWidget() {
	e.t.Helper()
	const doc = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.c5c3.io}
spec:
  group: test.c5c3.io
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            default: {}
            properties:
              size: {type: string, default: small}
              nested:
                type: object
                default: {}
                properties: {depth: {type: integer, default: 3}, ratio: {type: number}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              args: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
              plain: {type: array, items: {type: object, properties: {a: {type: string}, b: {type: string, default: z}}}}
              rules:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, proto]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, proto: {type: string, default: tcp}, value: {type: string}}
              opaque: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
              open: {type: object, additionalProperties: {type: string}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              port: {x-kubernetes-int-or-string: true}
              maybe: {type: string, nullable: true}`
	u := e.raw(doc)
	u.SetNamespace("")
	if err := e.admin.Create(e.t.Context(), u); err != nil {
		e.t.Fatal(err)
	}
	cluster.Eventually(e.t, "widgets served", func(ctx contextT) (bool, error) {
		if err := e.admin.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return false, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &crd); err != nil {
			return false, err
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return e.served(), nil
			}
		}
		return false, nil
	})
}

// served says whether the cluster's schemas know widgets yet.
func (e *env) served() bool {
	e.restart()
	_, err := e.applier.schemas.converter(schemaGVK{Group: "test.c5c3.io", Version: "v1"}.GroupVersion())
	return err == nil
}

// TestFidelity_Compares guards the comparison itself: content must see what flux
// leaves out.
func TestFidelity_Compares(t *testing.T) {
	a := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"finalizers": []any{"a"}}}}
	b := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"finalizers": []any{"b"}}}}
	if cmp.Equal(content(a), content(b)) {
		t.Error("finalizers are not compared")
	}
}
