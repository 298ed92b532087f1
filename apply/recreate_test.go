package apply

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

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
	wantError(t, err, diff.CauseImmutable, "spec.template", "field is immutable")
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
	wantError(t, err, diff.CauseInvalid, "replace", "the live object stays", "restartPolicy")
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
