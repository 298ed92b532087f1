package nova

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// readyWorld is the smallest Nova, changed by edit, in a world where everything came
// up: a decision about it is Ready and has nothing to do.
func readyWorld(t testing.TB, edit func(*v1alpha1.Nova)) Input {
	t.Helper()
	in := Input{Nova: parse(t, minimalYAML), Settings: fixtureSettings}
	in.Nova.Generation = 3
	if edit != nil {
		edit(in.Nova)
	}
	in.AssumeInputs()
	in.forms = known
	desired := 0
	for range foresee.MaxPasses {
		r := Decide(in)
		if reflect.DeepEqual(r.Conditions, in.Nova.Status.Conditions) && len(r.Set.Desired) == desired {
			break
		}
		desired = len(r.Set.Desired)
		in.Assume(r, nil)
		in.Nova.Status.Conditions = r.Conditions
	}
	in.forms = nil // what a test decides on shares nothing with other tests
	job := in.Observed.Jobs["nova-db-sync"]
	job.UID, job.Message = "sync-1", cellReport
	in.Observed.Jobs["nova-db-sync"] = job
	in.Nova.Status.Cells = cells(cellReport)
	in.Nova.Annotations = map[string]string{
		v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBSync):      "sync-1",
		v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBSyncCells): "sync-1",
	}
	return in
}

const cellReport = "cell0=00000000-0000-0000-0000-000000000000\ncell1=5f0d7bd2-6a2f-4d3e-9a53-7f8d6b1a2c3d\n"

func TestReadyWorld_IsReadyAndQuiet(t *testing.T) {
	r := Decide(readyWorld(t, nil))
	if ready := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != v1alpha1.ReasonAllReady {
		t.Errorf("Ready is %v", ready)
	}
	if len(r.Events)+len(r.Records) > 0 || r.Requeue != HealthTTL || r.Err != nil {
		t.Errorf("events %v, records %v, requeue %v, error %v", r.Events, r.Records, r.Requeue, r.Err)
	}
	if len(r.Reached) != len(index.Steps) {
		t.Errorf("only %v ran", r.Reached)
	}
	for _, c := range r.Conditions {
		if c.ObservedGeneration != 3 {
			t.Errorf("%s is about generation %d", c.Type, c.ObservedGeneration)
		}
	}
}

// stepCase is one branch of a step: a ready world, one difference, and what the
// condition of the step says about it.
type stepCase struct {
	// nova changes the resource before the world settles.
	nova func(*v1alpha1.Nova)
	// change is the difference.
	change func(*Input)
	want   outcome
}

// outcome is what a case compares.
type outcome struct {
	// Reason and Message of the condition; Ready tells whether it is True.
	Ready           bool
	Reason, Message string
	// Requeue is when to look again; 0 stands for the next probe of the API.
	Requeue time.Duration
	// Events to record, those of Jobs included, as "Type Reason: message".
	Events []string
	// Last is the step the pass ended with; "" for the last of the pipeline.
	Last string
	// Err is the error of the pass.
	Err string
	// Held and Gone are children that are left alone or removed although their step
	// ran, by id.
	Held, Gone []string
}

var equateEmpty = cmpopts.EquateEmpty()

// runCases runs a table about one condition.
func runCases(t *testing.T, condition string, cases map[string]stepCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			usual := readyWorld(t, tc.nova)
			in := copyOf(usual)
			if tc.change != nil {
				tc.change(&in)
			}
			got := outcomeOf(t, usual, Decide(in), condition)
			if diff := cmp.Diff(tc.want, got, equateEmpty); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// outcomeOf says what a decision did that the usual one, of the ready world, does not.
func outcomeOf(t testing.TB, usual Input, r pipeline.Decision, condition string) outcome {
	t.Helper()
	c := meta.FindStatusCondition(r.Conditions, condition)
	if c == nil {
		t.Fatalf("%s is not set; the pass ended at %s", condition, r.Reached[len(r.Reached)-1])
		return outcome{}
	}
	got := outcome{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
	for _, e := range r.Events {
		got.Events = append(got.Events, eventText(e))
	}
	for _, record := range r.Records {
		for _, e := range record.Events {
			got.Events = append(got.Events, eventText(e))
		}
	}
	if last := r.Reached[len(r.Reached)-1]; last != index.Steps[len(index.Steps)-1].Name {
		got.Last = last
	}
	if r.Requeue != HealthTTL || got.Last != "" {
		got.Requeue = r.Requeue
	}
	if r.Err != nil {
		got.Err = r.Err.Error()
	}
	before := Decide(usual)
	got.Held = extra(r, heldIDs(usual, r), heldIDs(usual, before))
	got.Gone = extra(r, goneIDs(usual, r), goneIDs(usual, before))
	return got
}

func eventText(e render.Event) string { return fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message) }

// extra are the children of index.Steps that ran which are in one list and not in another.
func extra(r pipeline.Decision, list, usual map[string]bool) []string {
	ran := map[string]bool{}
	for _, name := range r.Reached {
		ran[name] = true
	}
	var out []string
	for _, c := range index.Children {
		if list[c.ID] && !usual[c.ID] && ran[c.Step] {
			out = append(out, c.ID)
		}
	}
	return out
}

func heldIDs(in Input, r pipeline.Decision) map[string]bool {
	keys := map[render.Key]bool{}
	for _, h := range r.Set.Held {
		keys[h.Key] = true
	}
	return childIDs(in, keys)
}

func goneIDs(in Input, r pipeline.Decision) map[string]bool {
	keys := map[render.Key]bool{}
	for _, a := range r.Set.Absent {
		keys[a.Key] = true
	}
	return childIDs(in, keys)
}

func childIDs(in Input, keys map[render.Key]bool) map[string]bool {
	out := map[string]bool{}
	for _, c := range index.Children {
		key := render.Key{GroupVersionKind: c.Kind, Namespace: in.Nova.Namespace, Name: c.Name(in.Nova)}
		if keys[key] {
			out[c.ID] = true
		}
	}
	return out
}
