package foresee_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// script is a world that decides what stands in it, one decision a pass, and the last one
// from then on.
type script struct {
	decisions []pipeline.Decision
	// inputs tells whether the inputs were assumed before the first decision.
	inputs bool
	// assumed are the decisions that came about, refused what did not of each.
	assumed []pipeline.Decision
	refused [][]render.Key
}

func (s *script) Resource() v1alpha1.Resource { return &v1alpha1.Nova{} }

func (s *script) Decide() pipeline.Decision {
	return s.decisions[min(len(s.assumed), len(s.decisions)-1)]
}

func (s *script) Assume(d pipeline.Decision, refused []render.Key) {
	s.assumed, s.refused = append(s.assumed, d), append(s.refused, refused)
}

func (s *script) AssumeInputs() []string {
	s.inputs = len(s.assumed) == 0
	return []string{"nova-db/password"}
}

func (s *script) Clone() foresee.World { return new(*s) }

// reason makes a decision that differs from others in a condition.
func reason(text string) pipeline.Decision {
	return pipeline.Decision{Conditions: []metav1.Condition{{Type: "Ready", Reason: text}}}
}

func key(name string) render.Key {
	return render.Key{GroupVersionKind: render.KindSecret, Namespace: "openstack", Name: name}
}

// object is a desired one; text tells two of a name apart.
func object(stage render.Stage, name, text string) render.Object {
	u := &unstructured.Unstructured{Object: map[string]any{"text": text}}
	u.SetGroupVersionKind(render.KindSecret)
	u.SetNamespace("openstack")
	u.SetName(name)
	return render.Object{Stage: stage, Content: u}
}

func absent(name, reason string) render.Absent { return render.Absent{Key: key(name), Reason: reason} }

func held(name, gate string) render.Held { return render.Held{Key: key(name), Gate: gate} }

// setOf is a set in short, each list in its order.
type setOf struct {
	Desired, Absent, Held []string
	Prunable              []string
}

func short(set render.Set) (out setOf) {
	for _, o := range set.Desired {
		out.Desired = append(out.Desired, fmt.Sprintf("%s %v", o.Content.GetName(), o.Content.Object["text"]))
	}
	for _, a := range set.Absent {
		out.Absent = append(out.Absent, a.Name+": "+a.Reason)
	}
	for _, h := range set.Held {
		out.Held = append(out.Held, h.Name+": "+h.Gate)
	}
	for _, kind := range set.Prunable {
		out.Prunable = append(out.Prunable, kind.Kind)
	}
	return out
}

func TestRun_EndsWhereNothingMoves(t *testing.T) {
	named := func(name string) pipeline.Decision {
		return pipeline.Decision{After: &v1alpha1.Nova{Status: v1alpha1.NovaStatus{TargetRelease: name}}}
	}
	wants := func(text string) pipeline.Decision {
		return pipeline.Decision{Set: render.Set{Desired: []render.Object{object(render.StageConfig, "a", text)}}}
	}
	for name, tc := range map[string]struct {
		decisions []pipeline.Decision
		want      int
	}{
		"the same from the start on":       {[]pipeline.Decision{reason("a")}, 2},
		"another condition":                {[]pipeline.Decision{reason("a"), reason("b")}, 3},
		"another status":                   {[]pipeline.Decision{named("2025.2"), named("2026.1")}, 3},
		"another object":                   {[]pipeline.Decision{wants("1"), wants("2")}, 3},
		"an event moves nothing":           {[]pipeline.Decision{{Events: []render.Event{{Reason: "A"}}}, {}}, 2},
		"what comes back moves once more":  {[]pipeline.Decision{reason("a"), reason("b"), reason("a")}, 4},
		"a second look is after the first": {[]pipeline.Decision{reason("a"), reason("b"), reason("b"), reason("c")}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := &script{decisions: tc.decisions}
			f := foresee.Run(w)
			if len(f.Passes) != tc.want {
				t.Errorf("%d passes, want %d", len(f.Passes), tc.want)
			}
			if len(w.assumed) != len(f.Passes)-1 {
				t.Errorf("the world answered %d times in %d passes", len(w.assumed), len(f.Passes))
			}
			if diff := cmp.Diff(tc.decisions[0], f.First); diff != "" {
				t.Errorf("the first:\n%s", diff)
			}
			if diff := cmp.Diff(f.Passes[len(f.Passes)-1], f.Last); diff != "" {
				t.Errorf("the last:\n%s", diff)
			}
		})
	}
}

// A world that never settles ends at the bound, with the decision it got to.
func TestRun_EndsAtTheBound(t *testing.T) {
	w := &script{}
	for i := range 2 * foresee.MaxPasses {
		w.decisions = append(w.decisions, reason(fmt.Sprint(i)))
	}
	f := foresee.Run(w)
	if got := f.Last.Conditions[0].Reason; len(f.Passes) != foresee.MaxPasses || got != fmt.Sprint(foresee.MaxPasses-1) {
		t.Errorf("%d passes, the last is %s", len(f.Passes), got)
	}
}

func TestRun_HoldsWhatStandsBehindARefusal(t *testing.T) {
	set := render.Set{
		Desired: []render.Object{
			object(render.StageConfig, "config", ""), object(render.StageDatabase, "database", ""), object(render.StageDatabase, "user", ""),
			object(render.StageWorkloads, "api", ""), object(render.StageNetwork, "service", ""),
		},
		Absent:   []render.Absent{absent("route", "off")},
		Held:     []render.Held{held("job", "running")},
		Prunable: []schema.GroupVersionKind{render.KindConfigMap},
	}
	for name, tc := range map[string]struct {
		refused []string
		want    setOf
	}{
		"nothing is refused": {nil, setOf{
			Desired: []string{"config ", "database ", "user ", "api ", "service "}, Absent: []string{"route: off"},
			Held: []string{"job: running"}, Prunable: []string{"ConfigMap"},
		}},
		"a stranger is refused": {[]string{"stranger"}, setOf{
			Desired: []string{"config ", "database ", "user ", "api ", "service "}, Absent: []string{"route: off"},
			Held: []string{"job: running"}, Prunable: []string{"ConfigMap"},
		}},
		"later waves wait, the same and earlier ones do not": {[]string{"user"}, setOf{
			Desired: []string{"config ", "database ", "user "},
			Held:    []string{"job: running", "api: Secret/user can't be written", "service: Secret/user can't be written", "route: Secret/user can't be written"},
		}},
		"the earliest of two is the gate": {[]string{"api", "config"}, setOf{
			Desired: []string{"config "},
			Held: []string{
				"job: running", "database: Secret/config can't be written", "user: Secret/config can't be written",
				"api: Secret/config can't be written", "service: Secret/config can't be written", "route: Secret/config can't be written",
			},
		}},
		"behind the last wave there is prune alone": {[]string{"service"}, setOf{
			Desired: []string{"config ", "database ", "user ", "api ", "service "}, Absent: []string{"route: off"}, Held: []string{"job: running"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []render.Key
			for _, name := range tc.refused {
				refused = append(refused, key(name))
			}
			w := &script{decisions: []pipeline.Decision{{Set: set}}}
			f := foresee.Run(w, refused...)
			if diff := cmp.Diff(tc.want, short(f.First.Set)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.want, short(w.assumed[0].Set)); diff != "" {
				t.Errorf("what came about:\n%s", diff)
			}
			if !slices.Equal(refused, w.refused[0]) {
				t.Errorf("the world is told that %v is refused", w.refused[0])
			}
			if len(set.Held) != 1 {
				t.Error("the set of the decision is changed")
			}
		})
	}
}

func TestRun_LaysThePassesOverOneAnother(t *testing.T) {
	object := func(name, text string) render.Object { return object(render.StageConfig, name, text) }
	for name, tc := range map[string]struct {
		passes   []render.Set
		want     setOf
		replaced map[render.Key]string
	}{
		"an object stands as the last pass leaves it, where it came first": {
			passes: []render.Set{{Desired: []render.Object{object("a", "1"), object("b", "1")}}, {Desired: []render.Object{object("b", "2"), object("c", "1")}}},
			want:   setOf{Desired: []string{"a 1", "b 2", "c 1"}},
		},
		"what one pass deletes and another creates is replaced": {
			passes:   []render.Set{{Absent: []render.Absent{absent("job", "its template changed")}}, {Desired: []render.Object{object("job", "2")}}},
			want:     setOf{Desired: []string{"job 2"}},
			replaced: map[render.Key]string{key("job"): "its template changed"},
		},
		"what comes and goes is gone": {
			passes: []render.Set{{Desired: []render.Object{object("job", "1")}}, {Absent: []render.Absent{absent("job", "done")}}},
			want:   setOf{Absent: []string{"job: done"}},
		},
		"the last reason to go counts": {
			passes: []render.Set{{Absent: []render.Absent{absent("a", "first")}}, {Absent: []render.Absent{absent("a", "second")}}},
			want:   setOf{Absent: []string{"a: second"}},
		},
		"the last pass holds what no pass touched": {
			passes: []render.Set{
				{Desired: []render.Object{object("written", "1")}, Absent: []render.Absent{absent("gone", "off")}, Held: []render.Held{held("early", "gate")}},
				{Held: []render.Held{held("written", "gate"), held("gone", "gate"), held("late", "gate")}},
			},
			want: setOf{Desired: []string{"written 1"}, Absent: []string{"gone: off"}, Held: []string{"late: gate"}},
		},
		"the last pass says what may be pruned": {
			passes: []render.Set{{Prunable: []schema.GroupVersionKind{render.KindConfigMap}}, {Prunable: []schema.GroupVersionKind{render.KindJob}}},
			want:   setOf{Prunable: []string{"Job"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &script{}
			for _, set := range tc.passes {
				w.decisions = append(w.decisions, pipeline.Decision{Set: set})
			}
			f := foresee.Run(w)
			if diff := cmp.Diff(tc.want, short(f.Set)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.replaced, f.Replaced, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("replaced:\n%s", diff)
			}
		})
	}
}

func TestForecast_TellsEachEventOnce(t *testing.T) {
	a, b, c := render.Event{Reason: "A"}, render.Event{Reason: "B"}, render.Event{Reason: "B", Message: "again"}
	w := &script{decisions: []pipeline.Decision{{Events: []render.Event{b, a}}, {Events: []render.Event{a, c, b}}}}
	w.decisions[0].Conditions = reason("other").Conditions
	f := foresee.Run(w)
	if diff := cmp.Diff([]render.Event{b, a, c}, f.Events()); diff != "" {
		t.Error(diff)
	}
}

// What a resource stands for is the last decision of a world whose inputs are there, with
// the events of all passes.
func TestSettle_AssumesTheInputsFirst(t *testing.T) {
	first, last := reason("first"), reason("last")
	first.Events, last.Events = []render.Event{{Reason: "A"}}, []render.Event{{Reason: "B"}}
	w := &script{decisions: []pipeline.Decision{first, last}}
	d, placeholders := foresee.Settle(w)
	if !w.inputs || !slices.Equal(placeholders, []string{"nova-db/password"}) {
		t.Errorf("inputs %v, placeholders %v", w.inputs, placeholders)
	}
	last.Events = []render.Event{{Reason: "A"}, {Reason: "B"}}
	if diff := cmp.Diff(last, d); diff != "" {
		t.Error(diff)
	}
}

func TestForecast_UnchangedRunsNothing(t *testing.T) {
	first, last := reason("first"), reason("last")
	first.Set.Desired, first.Events = []render.Object{object(render.StageConfig, "a", "1")}, []render.Event{{Reason: "A"}}
	f := foresee.Run(&script{decisions: []pipeline.Decision{first, last}})
	still := f.Unchanged()
	if diff := cmp.Diff(&foresee.Forecast{First: last, Last: last, Set: f.Set}, still); diff != "" {
		t.Error(diff)
	}
	if len(still.Set.Desired) != 1 || len(still.Events()) != 0 {
		t.Errorf("it writes %d objects and tells %v", len(still.Set.Desired), still.Events())
	}
}
