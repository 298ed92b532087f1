package facts

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

func TestJobOf(t *testing.T) {
	const at = "lastTransitionTime: '2026-03-01T02:00:00+01:00'"
	finished := time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		live string
		want Job
	}{
		"it runs": {`
metadata: {name: a, uid: u-1, creationTimestamp: '2026-03-01T01:00:00+01:00', annotations: {` + v1alpha1.AnnotationPodSpecHash + `: abc}}
spec: {template: {spec: {volumes: [{name: config, configMap: {name: nova-config-1}}]}}}
status: {active: 1}
`, Job{Name: "a", UID: "u-1", TemplateHash: "abc", Created: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), ConfigMap: "nova-config-1"}},
		"it is being deleted": {"metadata: {name: a, deletionTimestamp: '2026-03-01T00:00:00Z'}", Job{Name: "a", Deleting: true}},
		"complete":            {"status: {conditions: [{type: Complete, status: 'True', " + at + "}]}", Job{Complete: true, Finished: finished}},
		"not complete yet":    {"status: {conditions: [{type: Complete, status: 'False', " + at + "}]}", Job{}},
		"failed": {
			"status: {conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: gave up, " + at + "}]}",
			Job{Failed: true, Failure: "BackoffLimitExceeded: gave up", Finished: finished},
		},
		"failed wins, told last": {
			"status: {conditions: [{type: Complete, status: 'True'}, {type: Failed, status: 'True', reason: A, message: b, " + at + "}]}",
			Job{Failed: true, Failure: "A: b", Finished: finished},
		},
		"failed wins, told first": {
			"status: {conditions: [{type: Failed, status: 'True', reason: A, message: b}, {type: Complete, status: 'True', " + at + "}]}",
			Job{Failed: true, Failure: "A: b", Finished: finished},
		},
		"what comes before the end is none": {
			"status: {conditions: [{type: FailureTarget, status: 'True'}, {type: SuccessCriteriaMet, status: 'True'}, {type: Suspended, status: 'True'}]}",
			Job{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := JobOf(kinded(t, render.KindJob, tc.live))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if got.Ended() != (tc.want.Complete || tc.want.Failed) {
				t.Errorf("ended is %v", got.Ended())
			}
		})
	}
}

// A Job that is assumed to have run can be told from one that nobody saw.
func TestRanThrough(t *testing.T) {
	payload := kinded(t, render.KindJob, `
metadata: {name: a, annotations: {`+v1alpha1.AnnotationPodSpecHash+`: abc}}
spec: {template: {spec: {volumes: [{name: config, configMap: {name: nova-config-1}}]}}}
`)
	want := Job{Name: "a", UID: "assumed", TemplateHash: "abc", Complete: true, ConfigMap: "nova-config-1"}
	if diff := cmp.Diff(want, RanThrough(payload)); diff != "" {
		t.Error(diff)
	}
}
