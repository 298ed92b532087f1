package apply

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// Where an owner is, where an object lies, and whose it is.
type (
	place string
	site  string
	whose string
)

const (
	home   place = "home"
	target place = "target"

	own   site = "own namespace"
	lent  site = "allowed namespace"
	other site = "other namespace"

	ofOurs     whose = "ours"
	ofNobody   whose = "unowned"
	ofStranger whose = "controlled by somebody else"
	ofAnother  whose = "with the labels of another owner"
)

// fate is what becomes of a live object: when it is desired, and when it is absent. Prune
// and sweep remove what absent removes.
type fate struct{ desired, absent diff.Action }

// refusedPlan stands for a set that is refused as a whole.
const refusedPlan diff.Action = "refused plan"

var (
	child   = fate{diff.ActionUpdate, diff.ActionDelete}
	adopted = fate{diff.ActionUpdate, diff.ActionForeign}
	refused = fate{diff.ActionRefused, diff.ActionForeign}
	outside = fate{refusedPlan, diff.ActionForeign}
)

var fates = map[place]map[site]map[whose]fate{
	home: {
		own:   {ofOurs: child, ofNobody: adopted, ofStranger: refused, ofAnother: adopted},
		lent:  {ofOurs: child, ofNobody: refused, ofStranger: refused, ofAnother: refused},
		other: {ofOurs: outside, ofNobody: outside, ofStranger: outside, ofAnother: outside},
	},
	target: {
		own:   {ofOurs: child, ofNobody: refused, ofStranger: refused, ofAnother: refused},
		lent:  {ofOurs: child, ofNobody: refused, ofStranger: refused, ofAnother: refused},
		other: {ofOurs: outside, ofNobody: outside, ofStranger: outside, ofAnother: outside},
	},
}

func TestOwnership(t *testing.T) {
	for where, sites := range fates {
		e := newEnv(t)
		if where == target {
			e.remote()
		}
		namespaces := map[site]string{own: e.ns, lent: cluster.Shared(t).Namespace(t), other: cluster.Shared(t).Namespace(t)}
		e.owner.Namespaces = []string{namespaces[lent]}
		for in, objects := range sites {
			for of, want := range objects {
				t.Run(fmt.Sprintf("%s, %s, %s", where, in, of), func(t *testing.T) {
					inner := *e
					inner.t = t
					inner.ownership(namespaces[in], of, want)
				})
			}
		}
	}
}

// ownership tries every operation on a fresh object in a namespace.
func (e *env) ownership(namespace string, of whose, want fate) {
	e.t.Helper()
	wanted := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	wanted.Content.SetNamespace(namespace)
	unstructured.RemoveNestedField(wanted.Content.Object, "data")
	_ = unstructured.SetNestedField(wanted.Content.Object, "w", "data", "k")
	key := wanted.Key()
	goes := want.absent == diff.ActionDelete

	before := e.place(namespace, of)
	r, err := e.run(desired(wanted))
	got := refusedPlan
	if len(r.Results) > 0 {
		got = r.Results[0].Action
	}
	if got != want.desired || (err != nil) != (want.desired != diff.ActionUpdate) {
		e.t.Errorf("desired: %s, want %s: %v", got, want.desired, err)
	}
	if want.desired == diff.ActionUpdate {
		e.wantMark(e.live(key))
	} else {
		e.wantUntouched("desired", before)
	}
	e.remove(key)

	before = e.place(namespace, of)
	if r = e.must(render.Set{Absent: []render.Absent{{Key: key}}}); len(r.Results) != 1 || r.Results[0].Action != want.absent {
		e.t.Errorf("absent: %q, want %s", actions(r), want.absent)
	}
	e.wantGone("absent", before, goes)
	e.remove(key)

	before = e.place(namespace, of)
	e.must(render.Set{Prunable: []schemaGVK{configMapKind}})
	e.wantGone("prune", before, goes)
	e.remove(key)

	before = e.place(namespace, of)
	if err := e.applier.Sweep(e.t.Context(), e.owner, []schemaGVK{configMapKind}); err != nil {
		e.t.Error(err)
	}
	e.wantGone("sweep", before, goes)
	e.remove(key)
}

// place creates the ConfigMap of configMapDoc.
func (e *env) place(namespace string, of whose) *unstructured.Unstructured {
	e.t.Helper()
	u := e.raw(configMapDoc)
	u.SetNamespace(namespace)
	switch of {
	case ofOurs:
		u = e.owner.stamp(u)
		if mark, ok := e.owner.markIn(namespace); mark == Labels || !ok {
			u.SetLabels(e.owner.labels())
		}
	case ofStranger:
		holder := e.raw(`{apiVersion: v1, kind: ConfigMap, metadata: {name: stranger}}`)
		holder.SetNamespace(namespace)
		if found := e.live(render.KeyOf(holder)); found != nil {
			holder = found
		} else if err := e.admin.Create(e.t.Context(), holder); err != nil {
			e.t.Fatal(err)
		}
		u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "stranger", UID: holder.GetUID(), Controller: new(true)}})
	case ofAnother:
		u.SetLabels(map[string]string{LabelOwnerKind: e.owner.Kind, LabelOwnerName: "another", LabelOwnerNamespace: e.owner.Namespace})
	case ofNobody:
	}
	if err := e.admin.Create(e.t.Context(), u); err != nil {
		e.t.Fatal(err)
	}
	return u
}

func (e *env) remove(key render.Key) {
	e.t.Helper()
	if live := e.live(key); live != nil {
		if err := e.admin.Delete(e.t.Context(), live); err != nil {
			e.t.Fatal(err)
		}
	}
}

// wantMark checks that a child carries the mark of its namespace, and no other.
func (e *env) wantMark(live *unstructured.Unstructured) {
	e.t.Helper()
	if e.owner.Mark == OwnerReference && live.GetNamespace() == e.owner.Namespace {
		if ref := metav1.GetControllerOf(live); ref == nil || ref.UID != e.owner.UID {
			e.t.Errorf("references %v", live.GetOwnerReferences())
		}
		return
	}
	for k, v := range map[string]string{LabelOwnerKind: e.owner.Kind, LabelOwnerName: e.owner.Name, LabelOwnerNamespace: e.owner.Namespace} {
		if live.GetLabels()[k] != v {
			e.t.Errorf("labels %v", live.GetLabels())
		}
	}
	if len(live.GetOwnerReferences()) > 0 {
		e.t.Errorf("references %v", live.GetOwnerReferences())
	}
}

func (e *env) wantUntouched(op string, before *unstructured.Unstructured) {
	e.t.Helper()
	live := e.live(render.KeyOf(before))
	if live == nil || live.GetUID() != before.GetUID() || live.GetResourceVersion() != before.GetResourceVersion() {
		e.t.Errorf("%s: touched: %v", op, live)
	}
}

func (e *env) wantGone(op string, before *unstructured.Unstructured, goes bool) {
	e.t.Helper()
	if !goes {
		e.wantUntouched(op, before)
	} else if e.live(render.KeyOf(before)) != nil {
		e.t.Errorf("%s: still there", op)
	}
}

// A strict owner takes nothing at home either, and does not take a cache that is behind
// for absence.
func TestOwnership_AdoptNoneAtHome(t *testing.T) {
	e := newEnv(t)
	e.owner.Adoption = AdoptNone
	before := e.place(e.ns, ofNobody)
	e.stale().hidden["config"] = true
	r, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc)))
	wantActions(t, r, "config:refused")
	wantError(t, err, diff.CauseForeign, "not controlled by")
	e.wantUntouched("desired", before)
}

// The garbage collector would soon remove an object that refers across namespaces.
func TestTakeover_DropsAReferenceAcrossNamespaces(t *testing.T) {
	owner := Owner{GroupVersionKind: configMapKind, Namespace: "own", Name: "nova", UID: "u", Namespaces: []string{"lent"}}
	for namespace, want := range map[string]bool{"own": false, "lent": true, "other": false} {
		live := configMapIn(namespace).Content
		live.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "nova", UID: "u", Controller: new(true)}})
		patch, err := takeoverPatch(owner, live)
		if err != nil {
			t.Fatal(err)
		}
		if needsTakeover(owner, live) != want || (patch != nil) != want {
			t.Errorf("in %s: %t, patch %s", namespace, needsTakeover(owner, live), patch)
		}
	}
}
