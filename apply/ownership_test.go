package apply

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
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

	ofReference whose = "our reference only"
	ofLabels    whose = "our labels only"
	ofBackup    whose = "restored without reference"
	ofNobody    whose = "unowned"
	ofStranger  whose = "another controller"
	ofBoth      whose = "another controller, our labels"
	ofAnother   whose = "another owner's labels"
	ofOffer     whose = "unowned, annotated"
	ofMistake   whose = "unowned, annotated for another"
	ofClaimed   whose = "another owner's labels, annotated"
	ofGuarded   whose = "another controller, annotated"
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

// reached holds wherever an owner may have children, on every cluster and for every kind.
var reached = map[whose]fate{
	ofLabels: child, ofBackup: child,
	ofOffer:  adopted,
	ofNobody: refused, ofStranger: refused, ofBoth: refused, ofAnother: refused,
	ofMistake: refused, ofClaimed: refused, ofGuarded: refused,
}

var fates = map[site]map[whose]fate{
	own:   with(reached, ofReference, child),
	lent:  reached, // the garbage collector removes what refers across namespaces
	other: {ofLabels: outside, ofNobody: outside, ofStranger: outside, ofAnother: outside, ofOffer: outside},
}

func with(fates map[whose]fate, of whose, f fate) map[whose]fate {
	fates = maps.Clone(fates)
	fates[of] = f
	return fates
}

// childDocs are the least objects of every kind a child has. Nothing runs.
var childDocs = []string{
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {k: v}}`,
	`{apiVersion: v1, kind: Secret, metadata: {name: config}, data: {k: dg==}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: config}, spec: {ports: [{port: 80, protocol: TCP, targetPort: 80}]}}`,
	`{apiVersion: apps/v1, kind: Deployment, metadata: {name: config}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: ` + podDoc("{a: b}", "Always") + `}}`,
	`{apiVersion: batch/v1, kind: Job, metadata: {name: config}, spec: {suspend: true, template: ` + podDoc("{}", "Never") + `}}`,
	`{apiVersion: batch/v1, kind: CronJob, metadata: {name: config}, spec: {suspend: true, schedule: "0 0 * * *", jobTemplate: {spec: {template: ` + podDoc("{}", "Never") + `}}}}`,
	`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: config}, spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}}`,
	`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: config}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}}`,
	`{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: config}, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}}`,
	`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: config}, spec: {podSelector: {matchLabels: {a: b}}}}`,
	`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: config}, spec: {hostnames: [nova.example.com]}}`,
	`{apiVersion: k8s.mariadb.com/v1alpha1, kind: Database, metadata: {name: config}, spec: {mariaDbRef: {name: m}, name: nova}}`,
	`{apiVersion: k8s.mariadb.com/v1alpha1, kind: User, metadata: {name: config}, spec: {mariaDbRef: {name: m}, name: nova}}`,
	`{apiVersion: k8s.mariadb.com/v1alpha1, kind: Grant, metadata: {name: config}, spec: {mariaDbRef: {name: m}, privileges: [ALL], username: nova}}`,
}

func podDoc(labels, restart string) string {
	return `{metadata: {labels: ` + labels + `}, spec: {restartPolicy: ` + restart + `, containers: [{name: a, image: a}]}}`
}

func TestOwnership(t *testing.T) {
	told := table{}
	for _, where := range []place{home, target} {
		e := newEnv(t)
		if where == target {
			e.remote()
		}
		namespaces := map[site]string{own: e.ns, lent: cluster.Shared(t).Namespace(t), other: cluster.Shared(t).Namespace(t)}
		e.owner.Namespaces = []string{namespaces[lent]}
		for in, objects := range fates {
			for of, want := range objects {
				for _, doc := range childDocs {
					u := e.raw(doc)
					if in != own && u.GetKind() != "ConfigMap" {
						continue // the rule is the same; here every kind is tried once
					}
					u.SetNamespace(namespaces[in])
					t.Run(fmt.Sprintf("%s, %s, %s, %s", where, in, of, u.GetKind()), func(t *testing.T) {
						inner := *e
						inner.t = t
						told.add(where, in, of, u.GetKind(), inner.ownership(u, of, want))
					})
				}
			}
		}
	}
	t.Log("\n" + told.String())
}

func TestOwnership_TriesEveryKind(t *testing.T) {
	e := &env{t: t}
	tried := map[schemaGVK]bool{}
	for _, doc := range childDocs {
		tried[e.raw(doc).GroupVersionKind()] = true
	}
	for _, gvk := range rendernova.About().Children {
		if !tried[gvk] {
			t.Errorf("no object of %s is tried", gvk)
		}
	}
}

// table is what happened, with the kinds to which it happened.
type table map[string][]string

func (t table) add(where place, in site, of whose, kind, outcome string) {
	line := fmt.Sprintf("%-7s %-18s %-36s %s", where, in, of, outcome)
	t[line] = append(t[line], kind)
}

func (t table) String() string {
	var out strings.Builder
	for _, line := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&out, "%s  %d: %s\n", line, len(t[line]), strings.Join(t[line], " "))
	}
	return out.String()
}

// contentMark says whose content an object has.
const contentMark = "test.c5c3.io/content"

// ownership tries every operation on an object, and says what happened.
func (e *env) ownership(u *unstructured.Unstructured, of whose, want fate) string {
	e.t.Helper()
	u.SetAnnotations(map[string]string{contentMark: "wanted"})
	wanted, err := render.NewObject(render.StageConfig, render.Policy{}, u.Object)
	if err != nil {
		e.t.Fatal(err)
	}
	key := wanted.Key()
	goes := want.absent == diff.ActionDelete

	before := e.place(u, of)
	if of == ofReference && u.GetKind() == "Deployment" {
		e.quiet(key) // its own controller is writing to it, and a take-over must not meet that
	}
	r, err := e.run(desired(wanted))
	got := refusedPlan
	if len(r.Results) > 0 {
		got = r.Results[0].Action
	}
	if got != want.desired || (err != nil) != (want.desired != diff.ActionUpdate) {
		e.t.Errorf("desired: %s, want %s: %v", got, want.desired, err)
	}
	outcome := fmt.Sprintf("desired: %-13s", got)
	if want.desired == diff.ActionUpdate {
		outcome += " same UID, content ours;      "
		e.wantMine(before)
		e.remove(key)
	} else {
		outcome += " same UID, content untouched; "
		e.wantUntouched("desired", before)
	}
	operations := []struct {
		name string
		run  func()
	}{
		{"absent", func() {
			r := e.must(render.Set{Absent: []render.Absent{{Key: key}}})
			if len(r.Results) != 1 || r.Results[0].Action != want.absent {
				e.t.Errorf("absent: %q, want %s", actions(r), want.absent)
			}
		}},
		{"prune", func() { e.must(render.Set{Prunable: []schemaGVK{key.GroupVersionKind}}) }},
		{"sweep", func() {
			if err := e.applier.Sweep(e.t.Context(), e.owner, []schemaGVK{key.GroupVersionKind}); err != nil {
				e.t.Error(err)
			}
		}},
	}
	for _, op := range operations {
		if e.live(key) == nil {
			before = e.place(u, of)
		}
		op.run()
		if goes {
			outcome += " " + op.name + ": goes "
			if e.live(key) != nil {
				e.t.Errorf("%s: still there", op.name)
			}
		} else {
			outcome += " " + op.name + ": stays"
			e.wantUntouched(op.name, before)
		}
	}
	e.remove(key)
	return outcome
}

// place creates an object like this one, but somebody's.
func (e *env) place(u *unstructured.Unstructured, of whose) *unstructured.Unstructured {
	e.t.Helper()
	u = u.DeepCopy()
	manager, annotations := "stranger", map[string]string{contentMark: "theirs"}
	switch of {
	case ofReference:
		// The owner is a ConfigMap in the eyes of the garbage collector.
		u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: e.owner.UID, Controller: new(true)}})
	case ofLabels, ofBoth:
		u.SetLabels(e.owner.labels())
	case ofBackup:
		u.SetLabels(e.owner.labels())
		manager, annotations[contentMark] = "backup", "wanted"
	case ofAnother, ofClaimed:
		u.SetLabels(map[string]string{LabelOwnerKind: e.owner.Kind, LabelOwnerName: "another", LabelOwnerNamespace: e.owner.Namespace})
	case ofMistake:
		annotations[AnnotationAdopt] = e.owner.Kind + "/another"
	case ofNobody, ofStranger, ofOffer, ofGuarded:
	}
	switch of {
	case ofOffer, ofClaimed, ofGuarded:
		annotations[AnnotationAdopt] = e.owner.Kind + "/" + e.owner.Name
	default:
	}
	switch of {
	case ofStranger, ofBoth, ofGuarded:
		u.SetOwnerReferences([]metav1.OwnerReference{e.stranger(u.GetNamespace())})
	default:
	}
	u.SetAnnotations(annotations)
	if err := e.admin.Create(e.t.Context(), u, client.FieldOwner(manager)); err != nil {
		e.t.Fatal(err)
	}
	return u
}

// stranger refers to a controller that exists, so that the garbage collector leaves what
// it controls.
func (e *env) stranger(namespace string) metav1.OwnerReference {
	e.t.Helper()
	holder := e.raw(`{apiVersion: v1, kind: ConfigMap, metadata: {name: stranger}}`)
	holder.SetNamespace(namespace)
	if found := e.live(render.KeyOf(holder)); found != nil {
		holder = found
	} else if err := e.admin.Create(e.t.Context(), holder); err != nil {
		e.t.Fatal(err)
	}
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "stranger", UID: holder.GetUID(), Controller: new(true)}
}

func (e *env) remove(key render.Key) {
	e.t.Helper()
	if live := e.live(key); live != nil {
		if err := e.admin.Delete(e.t.Context(), live, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			e.t.Fatal(err)
		}
	}
}

// wantMine checks that an object became a child, marked for its place and no other, and
// that an annotation that let it be adopted is still there.
func (e *env) wantMine(before *unstructured.Unstructured) {
	e.t.Helper()
	live := e.live(render.KeyOf(before))
	if live == nil || live.GetUID() != before.GetUID() || live.GetAnnotations()[contentMark] != "wanted" {
		e.t.Fatalf("not written to: %v", live)
	}
	if live.GetAnnotations()[AnnotationAdopt] != before.GetAnnotations()[AnnotationAdopt] {
		e.t.Errorf("annotations %v", live.GetAnnotations())
	}
	e.wantMark(live, render.Policy{})
}

// wantMark checks the labels, and the reference where there must be one.
func (e *env) wantMark(live *unstructured.Unstructured, policy render.Policy) {
	e.t.Helper()
	for k, v := range map[string]string{LabelOwnerKind: e.owner.Kind, LabelOwnerName: e.owner.Name, LabelOwnerNamespace: e.owner.Namespace} {
		if live.GetLabels()[k] != v {
			e.t.Errorf("labels %v", live.GetLabels())
		}
	}
	refers := !e.owner.Remote && live.GetNamespace() == e.owner.Namespace && !policy.Unreferenced
	if ref := metav1.GetControllerOf(live); refers && (ref == nil || ref.UID != e.owner.UID) || !refers && len(live.GetOwnerReferences()) > 0 {
		e.t.Errorf("references %v", live.GetOwnerReferences())
	}
}

// wantUntouched checks that an object is as it was, whatever its own controller wrote.
func (e *env) wantUntouched(op string, before *unstructured.Unstructured) {
	e.t.Helper()
	live := e.live(render.KeyOf(before))
	if live == nil || live.GetUID() != before.GetUID() || live.GetDeletionTimestamp() != nil {
		e.t.Errorf("%s: gone: %v", op, live)
		return
	}
	for _, m := range diff.Managers(live) {
		if m.Name == render.FieldOwner {
			e.t.Errorf("%s: we manage fields of it: %v", op, m.Fields)
		}
	}
	before = before.DeepCopy()
	for _, u := range []*unstructured.Unstructured{before, live} {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	}
	if !bytes.Equal(content(before), content(live)) {
		e.t.Errorf("%s: touched: %v", op, live)
	}
}
