package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// wantError checks that the only failing object is of cause and that its text names
// what a person needs.
func wantError(t *testing.T, err error, cause diff.Cause, mentions ...string) {
	t.Helper()
	var e *diff.Error
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

func wantActions(t *testing.T, r diff.Report, want string) {
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
	if r.Requests != 4 || r.Counts.Created != 2 || !r.Done() { // a read before each
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
	cluster.Eventually(t, "ready", func(contextT) (bool, error) {
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
		"spec.template.spec.containers[name=api].env[name=B]: map[name:B value:2] > <nil>",
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
	want := diff.Change{Path: "spec.template.spec.containers[name=api].image", From: "evil", To: "nova:2026.1", Manager: "kubectl-edit"}
	if r.Drifts[0].Changes[0] != want {
		t.Errorf("change %+v", r.Drifts[0].Changes[0])
	}
	wantConflict := diff.Conflict{Key: key, Path: `spec.template.spec.containers[name="api"].image`, Manager: "kubectl-edit"}
	if len(r.Conflicts) != 1 || r.Conflicts[0] != wantConflict {
		t.Errorf("conflicts %+v", r.Conflicts)
	}
	wantActions(t, e.must(set), "api:unchanged")
	e.wantCalls("")
}

// A field the policy yields goes to whoever claims it, while the rest of the object is
// put right: an autoscaler may act between the observation and the apply.
func TestApply_YieldsAFieldToAnotherManager(t *testing.T) {
	e := newEnv(t)
	policy := render.Policy{Yields: "spec.replicas"}
	set := desired(e.obj(render.StageWorkloads, policy, deploymentDoc))
	key := set.Desired[0].Key()
	e.must(set)
	e.patch(key, "kube-controller-manager", types.MergePatchType, `{spec: {replicas: 4}}`)
	e.calls.take()
	changed := set.Desired[0].DeepCopy()
	changed.Content.SetAnnotations(map[string]string{"changed": "yes"})
	r := e.must(desired(changed))
	e.wantCalls("PATCH,PATCH")
	live := r.Live(key)
	if got, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas"); got != 4 {
		t.Errorf("%d replicas, want the other manager's 4", got)
	}
	if live.GetAnnotations()["changed"] != "yes" || len(r.Conflicts) != 0 {
		t.Errorf("annotations %v, conflicts %+v", live.GetAnnotations(), r.Conflicts)
	}
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
	wantError(t, err, diff.CauseInvalid, "bad", "data[not a key]", "correct the named fields")
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
	wantError(t, err, diff.CauseInvalid, "bad")
	wantActions(t, r, "config:unchanged api:create bad:failed old:delete gone:skipped")
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
