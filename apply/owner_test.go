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

func TestApply_CreateOnlyLeavesItsOwnAlone(t *testing.T) {
	e := newEnv(t)
	policy := render.Policy{CreateOnly: true}
	set := desired(e.obj(render.StageConfig, policy, configMapDoc))
	key := set.Desired[0].Key()
	e.must(set)
	e.patch(key, "kubectl-edit", types.MergePatchType, `{data: {k: edited}}`)
	e.calls.take()
	wantActions(t, e.must(set), "config:unchanged")
	e.wantCalls("")
	e.must(render.Set{Absent: []render.Absent{{Key: key}}})
	e.foreignConfigMap()
	r, err := e.run(set)
	wantActions(t, r, "config:refused")
	wantError(t, err, diff.CauseForeign, "controlled by ReplicaSet other")
}

// foreignConfigMap creates the ConfigMap of configMapDoc for another controller,
// a real one, so that the garbage collector leaves it.
func (e *env) foreignConfigMap() {
	e.t.Helper()
	rs := e.raw(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: other}, spec: {replicas: 0, selector: {matchLabels: {o: o}}, template: {metadata: {labels: {o: o}}, spec: {containers: [{name: a, image: a}]}}}}`)
	if err := e.admin.Create(e.t.Context(), rs); err != nil {
		e.t.Fatal(err)
	}
	u := e.raw(configMapDoc)
	u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: rs.GetUID(), Controller: new(true)}})
	if err := e.admin.Create(e.t.Context(), u); err != nil {
		e.t.Fatal(err)
	}
}

func TestApply_ForeignIsRefusedAndNeverDeleted(t *testing.T) {
	e := newEnv(t)
	e.foreignConfigMap()
	o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	r, err := e.run(desired(o))
	wantActions(t, r, "config:refused")
	wantError(t, err, diff.CauseForeign, "config", "rename this resource or delete the object")
	r = e.must(render.Set{Absent: []render.Absent{{Key: o.Key()}}, Prunable: []schemaGVK{configMapKind}})
	wantActions(t, r, "config:foreign")
	if !r.Done() {
		t.Error("a foreign object that should be absent is no failure")
	}
	e.wantCalls("")
}

func TestApply_AdoptsWhatAPersonOffersOnce(t *testing.T) {
	e := newEnv(t)
	o := e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {k: dg==}}`)
	offer := e.owner.Kind + "/" + e.owner.Name
	u := e.raw(`{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2, note: gone, ` +
		AnnotationAdopt + `: ` + offer + `}}, data: {k: dg==, stale: dg==}}`)
	if err := e.admin.Create(t.Context(), u, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		t.Fatal(err)
	}
	r := e.must(desired(o))
	wantActions(t, r, "s:update")
	e.wantCalls("PATCH,PATCH")
	live := e.live(o.Key())
	if data, _, _ := unstructured.NestedStringMap(live.Object, "data"); len(data) != 1 {
		t.Errorf("the predecessor's key stayed: %v", data)
	}
	if a := live.GetAnnotations(); len(a) != 1 || a[AnnotationAdopt] != offer {
		t.Errorf("annotations %v", a)
	}
	if e.owner.relationTo(live) != mine {
		t.Error("not marked")
	}
	var changed []string
	for _, c := range r.Results[0].Changes {
		changed = append(changed, c.Path)
		if strings.Contains(fmt.Sprint(c), "dg==") || strings.Contains(fmt.Sprint(c), "hunter2") {
			t.Errorf("a value shows in %v", c)
		}
	}
	if !slices.Contains(changed, "data.stale") {
		t.Errorf("changes %v", changed)
	}
	// Once: what kubectl writes later is a second manager's.
	e.patch(o.Key(), "kubectl-client-side-apply", types.MergePatchType, `{data: {mine: dg==}}`)
	wantActions(t, e.must(desired(o)), "s:unchanged")
	e.wantCalls("")
	e.must(desired(e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {k: dnY=}}`)))
	e.wantCalls("PATCH")
	live = e.live(o.Key())
	if data, _, _ := unstructured.NestedStringMap(live.Object, "data"); data["mine"] != "dg==" || data["k"] != "dnY=" {
		t.Errorf("data %v", data)
	}
	if live.GetAnnotations()[AnnotationAdopt] != offer {
		t.Errorf("annotations %v", live.GetAnnotations())
	}
}

func TestApply_RacesAreLostSafely(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	key := set.Desired[0].Key()
	e.must(set)
	changed := desired(e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "k: v", "k: w", 1)))
	stale, err := e.applier.Plan(t.Context(), e.owner, changed)
	if err != nil {
		t.Fatal(err)
	}
	drop, err := e.applier.Plan(t.Context(), e.owner, render.Set{Absent: []render.Absent{{Key: key}}})
	if err != nil {
		t.Fatal(err)
	}
	// Between plan and execution somebody else's object takes the name.
	if err := e.admin.Delete(t.Context(), keyed(key)); err != nil {
		t.Fatal(err)
	}
	e.foreignConfigMap()
	r, err := e.applier.Execute(t.Context(), stale)
	wantActions(t, r, "config:refused")
	wantError(t, err, diff.CauseForeign)
	if got := r.Results[0].Before.GetUID(); got != e.live(key).GetUID() {
		t.Errorf("decided on %s", got)
	}
	r, err = e.applier.Execute(t.Context(), drop)
	wantActions(t, r, "config:failed")
	wantError(t, err, diff.CauseChanged)
	if e.live(key) == nil {
		t.Error("the foreign object was deleted")
	}

	// Or nobody's: it is created all the same.
	if err := e.admin.Delete(t.Context(), keyed(key)); err != nil {
		t.Fatal(err)
	}
	if r, err = e.applier.Execute(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	wantActions(t, r, "config:create")

	// A plan that believed in absence must not take a foreign object either.
	if err := e.admin.Delete(t.Context(), keyed(key)); err != nil {
		t.Fatal(err)
	}
	stale, err = e.applier.Plan(t.Context(), e.owner, set)
	if err != nil {
		t.Fatal(err)
	}
	u := e.raw(configMapDoc)
	rs := e.live(render.Key{GroupVersionKind: schemaGVK{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, Namespace: e.ns, Name: "other"})
	u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: rs.GetUID(), Controller: new(true)}})
	if err := e.admin.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	r, err = e.applier.Execute(t.Context(), stale)
	wantActions(t, r, "config:refused")
	wantError(t, err, diff.CauseForeign)
}

func TestApply_RemoteLabels(t *testing.T) {
	e := newEnv(t)
	e.remote()
	o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	e.must(desired(o))
	live := e.live(o.Key())
	if len(live.GetOwnerReferences()) != 0 {
		t.Error("an owner reference on a target cluster")
	}
	want := map[string]string{
		"a": "b", LabelOwnerKind: "Nova", LabelOwnerName: "owner", LabelOwnerNamespace: e.ns,
	}
	if fmt.Sprint(live.GetLabels()) != fmt.Sprint(want) {
		t.Errorf("labels %v", live.GetLabels())
	}
	e.calls.take()
	wantActions(t, e.must(desired(o)), "config:unchanged")
	e.wantCalls("")

	// Without its labels it is nobody's.
	e.patch(o.Key(), "kubectl-label", types.MergePatchType, `{metadata: {labels: {`+LabelOwnerName+`: null}}}`)
	r, err := e.run(desired(o))
	wantActions(t, r, "config:refused")
	wantError(t, err, diff.CauseForeign, "it is not ours")

	// A reference an older operator left counts, and goes.
	e.patch(o.Key(), "nova-operator", types.MergePatchType, fmt.Sprintf(
		`{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %q, controller: true}]}}`, e.owner.UID))
	wantActions(t, e.must(desired(o)), "config:update")
	live = e.live(o.Key())
	if len(live.GetOwnerReferences()) != 0 || live.GetLabels()[LabelOwnerName] != "owner" {
		t.Errorf("references %v, labels %v", live.GetOwnerReferences(), live.GetLabels())
	}

	e.owner.Name = strings.Repeat("n", 64)
	if _, err := e.run(desired(o)); err == nil || !strings.Contains(err.Error(), "63") {
		t.Errorf("long name: %v", err)
	}
	if _, err := e.run(render.Set{Prunable: []schemaGVK{configMapKind}}); err != nil {
		t.Errorf("cleaning up under a long name: %v", err)
	}
}
