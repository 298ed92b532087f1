package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// wantError checks that the only failing object is of cause and that its text names
// what a person needs.
func wantError(t *testing.T, err error, cause Cause, mentions ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is not typed", err)
	}
	if e.Cause != cause {
		t.Errorf("cause %s, want %s: %v", e.Cause, cause, err)
	}
	if e.Remedy == "" {
		t.Errorf("no remedy in %v", err)
	}
	for _, m := range mentions {
		if !strings.Contains(err.Error(), m) {
			t.Errorf("%q is not in %v", m, err)
		}
	}
}

func wantActions(t *testing.T, r Report, want string) {
	t.Helper()
	if got := actions(r); got != want {
		t.Errorf("actions %q, want %q", got, want)
	}
}

func TestApply_UnchangedCostsNoRequest(t *testing.T) {
	e := newEnv(t)
	set := desired(
		e.obj(render.StageConfig, render.Policy{}, configMapDoc),
		e.obj(render.StageWorkloads, render.Policy{}, deploymentDoc),
	)
	r := e.must(set)
	wantActions(t, r, "config:create api:create")
	e.wantCalls("PATCH,PATCH")
	if r.Requests != 2 || r.Counts.Created != 2 || !r.Done() {
		t.Errorf("report %+v", r)
	}
	if got := r.Live(set.Desired[1].Key()).GetResourceVersion(); got == "" {
		t.Error("the report lacks the live Deployment")
	}

	wantActions(t, e.must(set), "config:unchanged api:unchanged")
	e.wantCalls("")

	e.restart()
	r = e.must(set)
	wantActions(t, r, "config:unchanged api:unchanged")
	e.wantCalls("")
	if len(r.Drifts) != 0 || r.Requests != 0 {
		t.Errorf("report %+v", r)
	}
}

// TestApply_StatusChurnCostsNoRequest lets the built-in controllers write to the
// Deployment until it is ready.
func TestApply_StatusChurnCostsNoRequest(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageWorkloads, render.Policy{}, deploymentDoc))
	e.must(set)
	e.calls.take()
	cluster.Eventually(t, "ready", func(ctx contextT) (bool, error) {
		n, _, err := unstructured.NestedInt64(e.live(set.Desired[0].Key()).Object, "status", "readyReplicas")
		return n == 1, err
	})
	wantActions(t, e.must(set), "api:unchanged")
	e.wantCalls("")
}

func TestApply_OneChangeIsOneRequest(t *testing.T) {
	e := newEnv(t)
	config := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	e.must(desired(config, e.obj(render.StageWorkloads, render.Policy{}, deploymentDoc)))
	e.calls.take()

	changed := e.obj(render.StageWorkloads, render.Policy{}, strings.NewReplacer("2026.1", "2026.2", ", {name: B, value: \"2\"}", "").Replace(deploymentDoc))
	r := e.must(desired(config, changed))
	wantActions(t, r, "config:unchanged api:update")
	e.wantCalls("PATCH")
	var got []string
	for _, c := range r.Results[1].Changes {
		got = append(got, fmt.Sprintf("%s: %v > %v", c.Path, c.From, c.To))
	}
	want := []string{
		"spec.template.spec.containers[name=api].env[name=B]: present > <nil>",
		"spec.template.spec.containers[name=api].env[name=B].name: B > <nil>",
		"spec.template.spec.containers[name=api].env[name=B].value: 2 > <nil>",
		"spec.template.spec.containers[name=api].image: nova:2026.1 > nova:2026.2",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("changes\n%s", strings.Join(got, "\n"))
	}
	if len(r.Drifts) != 0 {
		t.Errorf("a wanted change is no drift: %+v", r.Drifts)
	}
}

func TestApply_DriftIsPutRightAndReported(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageWorkloads, render.Policy{}, deploymentDoc))
	key := set.Desired[0].Key()
	e.must(set)
	e.calls.take()

	e.patch(key, "kubectl-edit", types.StrategicMergePatchType, `{spec: {template: {spec: {containers: [{name: api, image: evil}]}}}}`)
	r := e.must(set)
	e.wantCalls("PATCH,PATCH force")
	if len(r.Drifts) != 1 || len(r.Drifts[0].Changes) != 1 {
		t.Fatalf("drifts %+v", r.Drifts)
	}
	want := Change{Path: "spec.template.spec.containers[name=api].image", From: "evil", To: "nova:2026.1", Manager: "kubectl-edit"}
	if r.Drifts[0].Changes[0] != want {
		t.Errorf("change %+v", r.Drifts[0].Changes[0])
	}
	wantConflict := Conflict{Key: key, Path: `spec.template.spec.containers[name="api"].image`, Manager: "kubectl-edit"}
	if len(r.Conflicts) != 1 || r.Conflicts[0] != wantConflict {
		t.Errorf("conflicts %+v", r.Conflicts)
	}
	wantActions(t, e.must(set), "api:unchanged")
	e.wantCalls("")
}

func TestApply_DeletedByHandComesBack(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	e.must(set)
	if err := e.admin.Delete(t.Context(), keyed(set.Desired[0].Key())); err != nil {
		t.Fatal(err)
	}
	r := e.must(set)
	wantActions(t, r, "config:create")
	if len(r.Drifts) != 1 || !r.Drifts[0].Deleted {
		t.Errorf("drifts %+v", r.Drifts)
	}
}

func TestApply_ForeignFieldSurvives(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	key := set.Desired[0].Key()
	e.must(set)
	e.calls.take()
	e.patch(key, "somebody", types.MergePatchType, `{metadata: {annotations: {note: kept}}, data: {other: kept}}`)
	wantActions(t, e.must(set), "config:unchanged")
	e.wantCalls("")
	e.must(desired(e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "k: v", "k: w", 1))))
	live := e.live(key)
	if data, _, _ := unstructured.NestedStringMap(live.Object, "data"); data["other"] != "kept" || data["k"] != "w" {
		t.Errorf("data %v", data)
	}
	if live.GetAnnotations()["note"] != "kept" {
		t.Error("the annotation is gone")
	}
}

func TestApply_WavesInOrder(t *testing.T) {
	e := newEnv(t)
	// Handed over in reverse: the stage decides.
	set := desired(
		e.obj(render.StageNetwork, render.Policy{}, `{apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {ports: [{port: 80}]}}`),
		e.obj(render.StageWorkloads, render.Policy{}, deploymentDoc),
		e.obj(render.StageConfig, render.Policy{}, configMapDoc),
	)
	r := e.must(set)
	wantActions(t, r, "config:create api:create svc:create")
	var last int64
	for _, res := range r.Results {
		var version int64
		if _, err := fmt.Sscan(res.Live.GetResourceVersion(), &version); err != nil || version <= last {
			t.Errorf("%s was written out of order: %d after %d (%v)", res.Key, version, last, err)
		}
		last = version
	}
}

func TestApply_OneBadObject(t *testing.T) {
	e := newEnv(t)
	absent := e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: old}, data: {k: dg==}}`)
	e.must(desired(absent))
	bad := e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {"not a key": v}}`)
	set := desired(bad, e.obj(render.StageConfig, render.Policy{}, configMapDoc), e.obj(render.StageWorkloads, render.Policy{}, deploymentDoc))
	set.Absent = []render.Absent{{Key: absent.Key()}}
	set.Prunable = []schemaGVK{configMapKind}
	r, err := e.run(set)
	wantError(t, err, CauseInvalid, "bad", "data[not a key]", "correct the named fields")
	wantActions(t, r, "bad:failed config:create api:skipped old:skipped")
	if r.Done() || r.Counts.Failed != 1 || r.Counts.Skipped != 2 {
		t.Errorf("counts %+v", r.Counts)
	}

	// In the last wave a bad object does not keep absent ones, but it keeps prune.
	gone := e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: ConfigMap, metadata: {name: gone}, data: {k: v}}`)
	e.must(desired(gone))
	bad.Stage = render.StageNetwork
	set.Desired[0] = bad
	r, err = e.run(set)
	wantError(t, err, CauseInvalid, "bad")
	wantActions(t, r, "config:unchanged api:create bad:failed old:delete gone:skipped")
}

func TestApply_JobIsRecreated(t *testing.T) {
	e := newEnv(t)
	job := e.obj(render.StageJobs, render.Policy{Recreate: true}, jobDoc)
	e.must(desired(job))
	e.quiet(job.Key())
	old := e.live(job.Key()).GetUID()
	e.calls.take()

	changed := e.obj(render.StageJobs, render.Policy{Recreate: true}, strings.Replace(jobDoc, "2026.1", "2026.2", 1))
	r := e.must(desired(changed))
	wantActions(t, r, "db-sync:recreate")
	e.wantCalls("PATCH,POST dry,DELETE,PATCH")
	if live := e.live(job.Key()); live == nil || live.GetUID() == old || r.Live(job.Key()).GetUID() != live.GetUID() {
		t.Error("the Job was not replaced")
	}
	if len(r.Drifts) != 0 {
		t.Errorf("drifts %+v", r.Drifts)
	}
	wantActions(t, e.must(desired(changed)), "db-sync:unchanged")
	e.wantCalls("")
}

func TestApply_ImmutableWithoutPolicyIsAnError(t *testing.T) {
	e := newEnv(t)
	e.must(desired(e.obj(render.StageJobs, render.Policy{}, jobDoc)))
	r, err := e.run(desired(e.obj(render.StageJobs, render.Policy{}, strings.Replace(jobDoc, "2026.1", "2026.2", 1))))
	wantActions(t, r, "db-sync:failed")
	wantError(t, err, CauseImmutable, "spec.template", "field is immutable")
	if len(err.Error()) > 500 {
		t.Errorf("the message quotes the object: %d characters", len(err.Error()))
	}
}

func TestApply_RefusedReplacementLeavesTheOldOne(t *testing.T) {
	e := newEnv(t)
	job := e.obj(render.StageJobs, render.Policy{Recreate: true}, jobDoc)
	e.must(desired(job))
	old := e.live(job.Key()).GetUID()
	bad := e.obj(render.StageJobs, render.Policy{Recreate: true}, strings.Replace(jobDoc, "restartPolicy: Never", "restartPolicy: Always", 1))
	_, err := e.run(desired(bad))
	wantError(t, err, CauseInvalid, "replace", "the live object stays", "restartPolicy")
	if live := e.live(job.Key()); live == nil || live.GetUID() != old {
		t.Error("the live Job is gone")
	}
}

func TestApply_ChangedSelectorIsCreatedByTheNextPass(t *testing.T) {
	e := newEnv(t)
	policy := render.Policy{Recreate: true}
	old := e.obj(render.StageWorkloads, policy, deploymentDoc)
	e.must(desired(old))
	e.quiet(old.Key())
	changed := e.obj(render.StageWorkloads, policy, strings.ReplaceAll(deploymentDoc, "{app: api}", "{app: other}"))
	later := e.obj(render.StageNetwork, render.Policy{}, `{apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {ports: [{port: 80}]}}`)
	r := e.must(desired(changed, later))
	wantActions(t, r, "api:wait svc:skipped")
	if !r.Pending() || r.Done() {
		t.Errorf("report %+v", r.Counts)
	}
	r = e.must(desired(changed, later))
	wantActions(t, r, "api:create svc:create")
	if len(r.Drifts) != 0 {
		t.Errorf("drifts %+v", r.Drifts)
	}
}

func TestApply_WaitsForATerminatingPredecessor(t *testing.T) {
	e := newEnv(t)
	policy := render.Policy{Recreate: true}
	held := strings.Replace(jobDoc, "name: db-sync}", "name: db-sync, finalizers: [test.c5c3.io/hold]}", 1)
	job := e.obj(render.StageJobs, policy, held)
	e.must(desired(job))
	changed := e.obj(render.StageJobs, policy, strings.Replace(held, "2026.1", "2026.2", 1))
	e.quiet(job.Key())
	wantActions(t, e.must(desired(changed)), "db-sync:wait") // deletes; the old one stays
	e.calls.take()
	r := e.must(desired(changed))
	wantActions(t, r, "db-sync:wait")
	e.wantCalls("")
	if !r.Pending() {
		t.Error("not pending")
	}
	e.patch(job.Key(), "test", types.MergePatchType, `{metadata: {finalizers: null}}`)
	wantActions(t, e.must(desired(changed)), "db-sync:create")
}

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
	wantError(t, err, CauseForeign, "controlled by ReplicaSet other")
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
	wantError(t, err, CauseForeign, "config", "rename or remove")
	r = e.must(render.Set{Absent: []render.Absent{{Key: o.Key()}}, Prunable: []schemaGVK{configMapKind}})
	wantActions(t, r, "config:foreign")
	if !r.Done() {
		t.Error("a foreign object that should be absent is no failure")
	}
	e.wantCalls("")
}

func TestApply_AdoptsUnownedOnce(t *testing.T) {
	e := newEnv(t)
	o := e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {k: dg==}}`)
	u := e.raw(`{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2, keep: me}}, data: {k: dg==, stale: dg==}}`)
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
	if a := live.GetAnnotations(); len(a) != 0 {
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
	if data, _, _ := unstructured.NestedStringMap(e.live(o.Key()).Object, "data"); data["mine"] != "dg==" || data["k"] != "dnY=" {
		t.Errorf("data %v", data)
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
	wantError(t, err, CauseForeign)
	r, err = e.applier.Execute(t.Context(), drop)
	wantActions(t, r, "config:failed")
	wantError(t, err, CauseChanged)
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
	wantError(t, err, CauseForeign)
}

func TestApply_AbsentAndPrune(t *testing.T) {
	e := newEnv(t)
	cm := func(name string) render.Object {
		return e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "name: config", "name: "+name, 1))
	}
	secret := e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: data}, data: {k: dg==}}`)
	e.must(desired(cm("keep"), cm("dropped"), cm("held"), cm("stale"), secret))
	if err := e.admin.Create(t.Context(), e.raw(strings.Replace(configMapDoc, "name: config", "name: bystander", 1))); err != nil {
		t.Fatal(err)
	}
	e.calls.take()
	set := render.Set{
		Desired: []render.Object{cm("keep")},
		Absent: []render.Absent{
			{Key: cm("dropped").Key(), Reason: "spec.consoleProxy.enabled is false"},
			{Key: cm("never").Key()},
			{Key: cm("bystander").Key()},
			{Key: render.Key{GroupVersionKind: schemaGVK{Group: "not.served", Version: "v1", Kind: "Thing"}, Namespace: e.ns, Name: "x"}},
		},
		Held:     []render.Held{{Key: cm("held").Key(), Gate: "WaitingForDBCredentials"}},
		Prunable: []schemaGVK{configMapKind, {Group: "not.served", Version: "v1", Kind: "Thing"}},
	}
	r := e.must(set)
	wantActions(t, r, "keep:unchanged dropped:delete bystander:foreign stale:delete held:held")
	e.wantCalls("DELETE,DELETE")
	if !r.Results[3].Prune || r.Results[1].Prune || r.Results[4].Reason != "WaitingForDBCredentials" {
		t.Errorf("results %+v", r.Results)
	}
	for name, want := range map[string]bool{"keep": true, "dropped": false, "held": true, "stale": false, "bystander": true} {
		if got := e.live(cm(name).Key()) != nil; got != want {
			t.Errorf("%s exists: %v", name, got)
		}
	}
	if e.live(secret.Key()) == nil {
		t.Error("a kind that is not prunable was pruned")
	}
	wantActions(t, e.must(set), "keep:unchanged bystander:foreign held:held")
	e.wantCalls("")
}

func TestApply_AbsentNamesOneIncarnation(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	e.must(set)
	key := set.Desired[0].Key()
	wantActions(t, e.must(render.Set{Absent: []render.Absent{{Key: key, UID: "another"}}}), "")
	uid := string(e.live(key).GetUID())
	wantActions(t, e.must(render.Set{Absent: []render.Absent{{Key: key, UID: uid}}}), "config:delete")
}

func TestApply_ExactDataRemovesForeignKeys(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageConfig, render.Policy{ExactData: true}, `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {connection: dsn}}`))
	key := set.Desired[0].Key()
	e.must(set)
	e.wantCalls("PATCH")
	e.patch(key, "kubectl-edit", types.MergePatchType, `{data: {extra: dg==}}`)
	r := e.must(set)
	e.wantCalls("PATCH")
	wantActions(t, r, "s:update")
	if data, _, _ := unstructured.NestedStringMap(e.live(key).Object, "data"); len(data) != 1 || data["connection"] != "ZHNu" {
		t.Errorf("data %v", data)
	}
	// Our key changed as well: the apply puts it back, then the key goes.
	e.patch(key, "kubectl-edit", types.MergePatchType, `{data: {extra: dg==, connection: dg==}}`)
	e.must(set)
	e.wantCalls("PATCH,PATCH force,PATCH")
	if data, _, _ := unstructured.NestedStringMap(e.live(key).Object, "data"); len(data) != 1 || data["connection"] != "ZHNu" {
		t.Errorf("data %v", data)
	}
	wantActions(t, e.must(set), "s:unchanged")
	e.wantCalls("")
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

	// Without its labels it is nobody's, and on a target that is foreign.
	e.patch(o.Key(), "kubectl-label", types.MergePatchType, `{metadata: {labels: {`+LabelOwnerName+`: null}}}`)
	r, err := e.run(desired(o))
	wantActions(t, r, "config:refused")
	wantError(t, err, CauseForeign, "refusing to adopt pre-existing")

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

func TestApply_Refusals(t *testing.T) {
	e := newEnv(t)
	t.Run("missing kind", func(t *testing.T) {
		r, err := e.run(desired(
			e.obj(render.StageNetwork, render.Policy{}, `{apiVersion: not.served/v1, kind: Thing, metadata: {name: thing}}`),
			e.obj(render.StageNetwork, render.Policy{}, configMapDoc),
		))
		wantActions(t, r, "thing:failed config:create")
		wantError(t, err, CauseMissingKind, "Thing.not.served", "install the definition")
	})
	t.Run("quota", func(t *testing.T) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "q"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("0")}},
		}
		if err := e.admin.Create(t.Context(), quota); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.admin.Delete(t.Context(), quota) }()
		cluster.Eventually(t, "quota in force", func(ctx contextT) (bool, error) {
			err := e.admin.Get(ctx, client.ObjectKeyFromObject(quota), quota)
			return len(quota.Status.Hard) > 0, err
		})
		_, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: quota}, stringData: {k: hunter2}}`)))
		wantError(t, err, CauseQuota, "raise the quota")
	})
	t.Run("Secret values stay out of errors", func(t *testing.T) {
		_, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: tls}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: hunter2}}`)))
		wantError(t, err, CauseInvalid, "data[.dockerconfigjson]")
		text := fmt.Sprintf("%v %+v %#v", err, err, errors.Unwrap(err))
		if strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") {
			t.Errorf("a value shows in %s", text)
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		e.as(&rest.Config{
			Host: e.config.Host, BearerToken: e.config.BearerToken, TLSClientConfig: e.config.TLSClientConfig, QPS: -1,
			Impersonate: rest.ImpersonationConfig{UserName: "nobody"},
		})
		defer e.restart()
		_, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "name: config", "name: forbidden", 1))))
		wantError(t, err, CauseForbidden, "nobody", "grant the permission")
	})
	t.Run("missing namespace", func(t *testing.T) {
		o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
		o.Content.SetNamespace("nowhere")
		owner := e.owner
		owner.Namespace = "nowhere"
		_, err := e.applier.Apply(t.Context(), owner, desired(o))
		wantError(t, err, CauseMissingNamespace, "create the namespace")
	})
	t.Run("terminating namespace", func(t *testing.T) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.ns + "-going"}, Spec: corev1.NamespaceSpec{}}
		if err := e.admin.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		hold := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "hold", Finalizers: []string{"test.c5c3.io/hold"}}}
		if err := e.admin.Create(t.Context(), hold); err != nil {
			t.Fatal(err)
		}
		if err := e.admin.Delete(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
		o.Content.SetNamespace(ns.Name)
		owner := e.owner
		owner.Namespace = ns.Name
		_, err := e.applier.Apply(t.Context(), owner, desired(o))
		wantError(t, err, CauseTerminatingNamespace, "wait until the namespace is gone")
		if err := e.admin.Patch(t.Context(), hold, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Fatal(err)
		}
	})
}

// TestApply_RefusedDeleteStaysKnown takes the right to delete away.
func TestApply_RefusedDeleteStaysKnown(t *testing.T) {
	e := newEnv(t)
	o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	e.must(desired(o))
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "no-delete"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "patch", "create"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "no-delete"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "no-delete"},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: "keeper", APIGroup: rbacv1.GroupName}},
	}
	for _, x := range []client.Object{role, binding} {
		if err := e.admin.Create(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	config := rest.CopyConfig(e.config)
	config.Impersonate.UserName = "keeper"
	e.as(config)
	for range 2 {
		r, err := e.run(render.Set{Prunable: []schemaGVK{configMapKind}})
		wantActions(t, r, "config:failed")
		wantError(t, err, CauseForbidden, "prune", "config")
	}
	e.restart()
	wantActions(t, e.must(render.Set{Prunable: []schemaGVK{configMapKind}}), "config:delete")
}

func TestPreview_WritesNothing(t *testing.T) {
	e := newEnv(t)
	config := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	job := e.obj(render.StageJobs, render.Policy{Recreate: true}, jobDoc)
	old := e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "name: config", "name: old", 1))
	e.must(desired(config, job, old))
	e.quiet(job.Key())
	before := e.live(config.Key()).GetResourceVersion()
	e.calls.take()

	set := desired(
		e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "k: v", "k: w", 1)),
		e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {"not a key": v}}`),
		e.obj(render.StageJobs, render.Policy{Recreate: true}, strings.Replace(jobDoc, "2026.1", "2026.2", 1)),
		e.obj(render.StageWorkloads, render.Policy{}, deploymentDoc),
	)
	set.Prunable = []schemaGVK{configMapKind}
	plan, err := e.applier.Plan(t.Context(), e.owner, set)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a preview leaves no trace in the memo either
		r, err := e.applier.Preview(t.Context(), plan)
		wantError(t, err, CauseInvalid, "bad")
		wantActions(t, r, "config:update bad:failed db-sync:recreate api:create old:delete")
		if c := r.Results[0].Changes; len(c) != 1 || c[0].Path != "data.k" || c[0].From != "v" || c[0].To != "w" {
			t.Errorf("changes %+v", c)
		}
	}
	for _, call := range strings.Split(e.calls.take(), ",") {
		if !strings.HasSuffix(call, "dry") && call != "DELETE" { // a delete carries its dry run in the body
			t.Errorf("%s without dry run", call)
		}
	}
	if e.live(config.Key()).GetResourceVersion() != before || e.live(old.Key()) == nil || e.live(job.Key()) == nil {
		t.Error("the preview wrote")
	}
	r, err := e.run(set)
	wantError(t, err, CauseInvalid)
	wantActions(t, r, "config:update bad:failed db-sync:skipped api:skipped old:skipped")
	if len(r.Drifts) != 0 {
		t.Errorf("what was previewed is taken for applied: %+v", r.Drifts)
	}
}

// quiet waits until the cluster's controllers have stopped writing to an object.
func (e *env) quiet(key render.Key) {
	e.t.Helper()
	last, since := "", time.Now()
	cluster.Eventually(e.t, key.Name+" quiet", func(contextT) (bool, error) {
		if v := e.live(key).GetResourceVersion(); v != last {
			last, since = v, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond, nil
	})
}

func TestPlan_RefusesAContradiction(t *testing.T) {
	e := newEnv(t)
	o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	outside := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	outside.Content.SetNamespace("default")
	set := render.Set{Desired: []render.Object{o, outside}, Held: []render.Held{{Key: o.Key(), Gate: "g"}}}
	_, err := e.applier.Plan(t.Context(), e.owner, set)
	for _, want := range []string{"twice: desired and held", "outside the namespace"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
