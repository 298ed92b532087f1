package apply

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// The version before this rule marked children at home with a reference only.
func TestMarks_OlderChildrenGetTheLabelsAndNothingElse(t *testing.T) {
	e := newEnv(t)
	var set render.Set
	var before []*unstructured.Unstructured
	for _, doc := range childDocs {
		o := e.obj(render.StageConfig, render.Policy{}, doc)
		set.Desired = append(set.Desired, o)
		old := e.owner.stamp(o.Content, o.Policy)
		old.SetLabels(o.Content.GetLabels())
		if err := e.admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(old), client.FieldOwner(render.FieldOwner)); err != nil {
			t.Fatal(err)
		}
		e.quiet(o.Key())
		before = append(before, e.live(o.Key()))
	}
	r := e.must(set)
	if r.Counts.Updated != len(childDocs) || len(r.Drifts) > 0 {
		t.Errorf("%s; drifts %+v", actions(r), r.Drifts)
	}
	e.wantCalls(strings.Repeat("PATCH,", len(childDocs)-1) + "PATCH")
	for i, res := range r.Results {
		if slices.ContainsFunc(res.Changes, func(c diff.Change) bool { return !c.IsMark() }) || len(res.Changes) != 3 {
			t.Errorf("%s: changes %+v", res.Key, res.Changes)
		}
		live := e.live(res.Key)
		e.wantMark(live, render.Policy{})
		if live.GetUID() != before[i].GetUID() || live.GetGeneration() != before[i].GetGeneration() {
			t.Errorf("%s: generation %d, then %d", res.Key, before[i].GetGeneration(), live.GetGeneration())
		}
		if was, is := fmt.Sprint(before[i].Object["spec"]), fmt.Sprint(live.Object["spec"]); was != is {
			t.Errorf("%s: spec %s, then %s", res.Key, was, is)
		}
	}
	for range 2 {
		if r := e.must(set); r.Counts.Unchanged != len(childDocs) {
			t.Error(actions(r))
		}
		e.wantCalls("")
		e.restart()
	}
}

func TestMarks_AreNotOnPods(t *testing.T) {
	e := &env{t: t, owner: Owner{GroupVersionKind: configMapKind, Name: "owner", UID: "u"}}
	for _, doc := range childDocs {
		content := e.raw(doc)
		stamped := e.owner.stamp(content, render.Policy{})
		if stamped.GetLabels()[LabelOwnerName] != "owner" || fmt.Sprint(stamped.Object["spec"]) != fmt.Sprint(content.Object["spec"]) {
			t.Errorf("%v", stamped)
		}
	}
}

// An owner whose name no label holds marks with the reference alone, and nobody else's
// label makes an object its own.
func TestMarks_ALongNameAtHome(t *testing.T) {
	e := newEnv(t)
	long := e.raw(`{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + strings.Repeat("n", 64) + `}}`)
	e.create(long, "somebody")
	e.owner.Name, e.owner.UID = long.GetName(), long.GetUID()
	for _, policy := range []render.Policy{{}, {Unreferenced: true}, {CreateOnly: true}} {
		o := e.obj(render.StageConfig, policy, configMapDoc)
		wantActions(t, e.must(desired(o)), "config:create")
		live := e.live(o.Key())
		if ref := metav1.GetControllerOf(live); ref == nil || ref.UID != e.owner.UID || live.GetLabels()[LabelOwnerName] != "" {
			t.Errorf("references %v, labels %v", live.GetOwnerReferences(), live.GetLabels())
		}
		e.calls.take()
		wantActions(t, e.must(desired(o)), "config:unchanged")
		e.wantCalls("")
		e.remove(o.Key())
	}
}

// What has the name of its content is not written again, but it is marked, once.
func TestMarks_OfAnObjectThatIsCreatedOnly(t *testing.T) {
	ours := func(e *env) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: e.owner.UID, Controller: new(true)}}
	}
	for name, tc := range map[string]struct {
		remote bool
		policy render.Policy
		labels bool
		refs   func(*env) []metav1.OwnerReference
		calls  string
	}{
		"the reference only":                  {refs: ours, calls: "PATCH"},
		"the labels only":                     {labels: true, calls: "PATCH"},
		"both":                                {labels: true, refs: ours},
		"a reference on a target":             {remote: true, refs: ours, calls: "PATCH"},
		"a reference too many on a target":    {remote: true, labels: true, refs: ours, calls: "PATCH"},
		"the labels on a target":              {remote: true, labels: true},
		"a reference that must not be":        {policy: render.Policy{Unreferenced: true}, labels: true, refs: ours, calls: "PATCH"},
		"the labels, and no reference wanted": {policy: render.Policy{Unreferenced: true}, labels: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			if tc.remote {
				e.remote()
			}
			tc.policy.CreateOnly = true
			u := e.raw(`{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: config, labels: {c: d}}, data: {k: edited}}`)
			if tc.labels {
				labels := e.owner.labels()
				labels["c"] = "d"
				u.SetLabels(labels)
			}
			bystander := e.raw(`{apiVersion: v1, kind: ConfigMap, metadata: {name: bystander}}`)
			if err := e.admin.Create(t.Context(), bystander); err != nil {
				t.Fatal(err)
			}
			theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "bystander", UID: bystander.GetUID()}
			refs := []metav1.OwnerReference{theirs}
			if tc.refs != nil {
				refs = append(refs, tc.refs(e)...)
			}
			u.SetOwnerReferences(refs)
			if err := e.admin.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			set := desired(e.obj(render.StageConfig, tc.policy, configMapDoc))
			for _, calls := range []string{tc.calls, ""} {
				want := "config:unchanged"
				if calls != "" {
					want = "config:update"
				}
				plan, err := e.applier.Plan(t.Context(), e.owner, set)
				if err != nil {
					t.Fatal(err)
				}
				r, err := e.applier.Preview(t.Context(), plan)
				if err != nil {
					t.Fatal(err)
				}
				wantActions(t, r, want)
				e.calls.take()
				wantActions(t, e.must(set), want)
				e.wantCalls(calls)
			}
			live := e.live(set.Desired[0].Key())
			if live.GetUID() != u.GetUID() || live.GetLabels()["c"] != "d" || live.GetLabels()["a"] != "" || fmt.Sprint(live.Object["data"]) != "map[k:edited]" {
				t.Errorf("its content was touched: %v", live)
			}
			left := live.GetOwnerReferences()
			if len(left) == 0 || left[0] != theirs {
				t.Fatalf("references %v", left)
			}
			live.SetOwnerReferences(left[1:])
			e.wantMark(live, tc.policy)
		})
	}
}

// What must outlive its owner refers to nobody, whoever wrote the reference.
func TestMarks_Unreferenced(t *testing.T) {
	e := newEnv(t)
	doc := `{apiVersion: k8s.mariadb.com/v1alpha1, kind: Database, metadata: {name: config}, spec: {mariaDbRef: {name: m}, name: nova}}`
	referenced := e.obj(render.StageDatabase, render.Policy{}, doc)
	kept := e.obj(render.StageDatabase, render.Policy{Unreferenced: true}, doc)
	ref := fmt.Sprintf(`{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %q, controller: true}]}}`, e.owner.UID)
	rest := func(action string) {
		t.Helper()
		wantActions(t, e.must(desired(kept)), "config:"+action)
		e.wantMark(e.live(kept.Key()), kept.Policy)
		e.calls.take()
		for range 2 {
			wantActions(t, e.must(desired(kept)), "config:unchanged")
			e.wantCalls("")
			e.restart()
		}
	}
	rest("create")
	for _, manager := range []string{"nova-operator", "backup"} {
		e.patch(kept.Key(), manager, types.MergePatchType, ref)
		rest("update")
	}
	e.remove(kept.Key())

	e.must(desired(referenced)) // by this version
	e.wantMark(e.live(kept.Key()), render.Policy{})
	uid := e.live(kept.Key()).GetUID()
	rest("update")
	wantActions(t, e.must(desired(referenced)), "config:update")
	e.wantMark(e.live(kept.Key()), render.Policy{})
	rest("update")
	if e.live(kept.Key()).GetUID() != uid {
		t.Error("another object")
	}
	e.remove(kept.Key())

	u := e.raw(doc) // by one that did not apply yet
	u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: e.owner.UID, Controller: new(true)}})
	if err := e.admin.Create(t.Context(), u, client.FieldOwner("manager")); err != nil {
		t.Fatal(err)
	}
	rest("update")
}

// The garbage collector would soon remove an object that refers across namespaces.
func TestMarks_DropAReferenceAcrossNamespaces(t *testing.T) {
	owner := Owner{GroupVersionKind: configMapKind, Namespace: "own", Name: "nova", UID: "u", Namespaces: []string{"lent"}}
	for namespace, want := range map[string]bool{"own": false, "lent": true} {
		live := configMapIn(namespace).Content
		live.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "nova", UID: "u", Controller: new(true)}})
		patch, err := takeoverPatch(owner, render.Policy{}, live)
		if err != nil {
			t.Fatal(err)
		}
		if owner.wronglyRefers(live, render.Policy{}) != want || (patch != nil) != want {
			t.Errorf("in %s: patch %s", namespace, patch)
		}
	}
}
