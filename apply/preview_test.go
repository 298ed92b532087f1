package apply

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

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
		wantError(t, err, diff.CauseInvalid, "bad")
		wantActions(t, r, "config:update bad:failed db-sync:recreate api:create old:delete")
		if c := r.Results[0].Changes; len(c) != 1 || c[0].Path != "data.k" || c[0].From != "v" || c[0].To != "w" {
			t.Errorf("changes %+v", c)
		}
		for i, want := range []*unstructured.Unstructured{e.live(config.Key()), nil, e.live(job.Key()), nil, e.live(old.Key())} {
			if got := r.Results[i].Before; (got == nil) != (want == nil) || got != nil && got.GetUID() != want.GetUID() {
				t.Errorf("%s was planned on %v", r.Results[i].Key, got)
			}
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
	wantError(t, err, diff.CauseInvalid)
	wantActions(t, r, "config:update bad:failed db-sync:skipped api:skipped old:skipped")
	if len(r.Drifts) != 0 {
		t.Errorf("what was previewed is taken for applied: %+v", r.Drifts)
	}
}

// A Job that is running changes its status while it is looked at, again and again.
func TestPreview_OfAReplacementThatMovesOn(t *testing.T) {
	e := newEnv(t)
	policy := render.Policy{Recreate: true}
	job := e.obj(render.StageJobs, policy, jobDoc)
	e.must(desired(job))
	e.quiet(job.Key())
	moving := rest.CopyConfig(e.config)
	moved := 0
	moving.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodDelete {
				moved++
				live := e.live(job.Key())
				live.SetAnnotations(map[string]string{"moved": strconv.Itoa(moved)})
				if err := e.admin.Update(t.Context(), live); err != nil {
					t.Error(err)
				}
			}
			return next.RoundTrip(req)
		})
	})
	e.as(moving)
	plan, err := e.applier.Plan(t.Context(), e.owner, desired(e.obj(render.StageJobs, policy, strings.Replace(jobDoc, "2026.1", "2026.2", 1))))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.applier.Preview(t.Context(), plan)
	if err != nil || moved == 0 {
		t.Errorf("moved on %d times: %v", moved, err)
	}
	wantActions(t, r, "db-sync:recreate")
}
