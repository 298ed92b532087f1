package pipeline_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

func pool() *v1alpha1.NovaCompute {
	return &v1alpha1.NovaCompute{ObjectMeta: metav1.ObjectMeta{Name: "kvm", Namespace: "openstack", Generation: 7}}
}

// outcome is what a decision says, in short.
type outcome struct {
	Desired, Absent, Held map[string]string
	Conditions            map[string]string
	Reached               []string
	Requeue               time.Duration
}

func outcomeOf(d pipeline.Decision) outcome {
	out := outcome{Desired: map[string]string{}, Absent: map[string]string{}, Held: map[string]string{}, Conditions: map[string]string{}}
	for _, o := range d.Set.Desired {
		out.Desired[o.Key().Name] = o.Stage.String()
	}
	for _, a := range d.Set.Absent {
		out.Absent[a.Name] = a.Reason
	}
	for _, h := range d.Set.Held {
		out.Held[h.Name] = h.Gate
	}
	for _, c := range d.Conditions {
		out.Conditions[c.Type] = string(c.Status) + " " + c.Reason
	}
	out.Reached, out.Requeue = d.Reached, d.Requeue
	return out
}

func TestIndex_DecidesStepByStep(t *testing.T) {
	whole := pool()
	whole.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {}}
	regional := &v1alpha1.Nova{Spec: v1alpha1.NovaSpec{Region: "north"}}
	for name, tc := range map[string]struct {
		subject subject
		want    outcome
	}{
		"a closed gate holds what is behind it": {subject{pool: whole}, outcome{
			Held:    map[string]string{"kvm-account": "NovaNotFound", "kvm-compute": "NovaNotFound", "kvm-config": "NovaNotFound"},
			Reached: []string{"NovaRef"}, Requeue: 15 * time.Second,
			Conditions: map[string]string{"NovaReady": "False NovaNotFound", "Ready": "False NotAllReady", "Stalled": "False NotStalled"},
		}},
		"an open one lets everything be made": {subject{whole, regional}, outcome{
			Desired:    map[string]string{"kvm-account": "config", "kvm-compute": "workloads", "kvm-config": "config"},
			Conditions: map[string]string{"NovaReady": "True NovaResolved", "DaemonSetReady": "True DaemonSetReady", "Ready": "True AllReady", "Stalled": "False NotStalled"},
			Reached:    []string{"NovaRef", "DaemonSet"},
		}},
		"what is off goes, and data stays": {subject{pool(), &v1alpha1.Nova{}}, outcome{
			Desired: map[string]string{"kvm-compute": "workloads"}, Absent: map[string]string{"kvm-config": "no options"},
			Held:       map[string]string{"kvm-account": "data is never removed by a change of the spec"},
			Conditions: map[string]string{"NovaReady": "True NovaResolved", "DaemonSetReady": "True DaemonSetReady", "Ready": "True AllReady", "Stalled": "False NotStalled"},
			Reached:    []string{"NovaRef", "DaemonSet"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, outcomeOf(tc.subject.Decide()), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is not reached counts for Ready as the last pass left it.
func TestIndex_CountsWhatItDidNotReach(t *testing.T) {
	s := subject{pool: pool()}
	for _, last := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
		s.pool.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDaemonSetReady, Status: last, Reason: "Last"}}
		if meta.IsStatusConditionTrue(s.Decide().Conditions, v1alpha1.ConditionReady) {
			t.Error("Ready although a step waits")
		}
	}
}

// person is an error that needs one.
type person struct{ error }

func (person) NeedsPerson() bool { return true }

func TestKind_TellsWhatCannotBeWritten(t *testing.T) {
	s := subject{pool(), &v1alpha1.Nova{}}
	kind := index.Untyped()
	for name, tc := range map[string]struct {
		err     error
		stalled string
	}{
		"one that is tried again":  {errors.New("away"), "False NotStalled"},
		"one that needs a person":  {person{errors.New("forbidden")}, "True ApplyError"},
		"a wrapped one as well":    {errors.Join(person{errors.New("forbidden")}), "True ApplyError"},
		"what is no child at all":  {errors.New("stranger"), "False NotStalled"},
		"a stranger with a person": {person{errors.New("stranger")}, "False NotStalled"},
	} {
		t.Run(name, func(t *testing.T) {
			d := s.Decide()
			key := render.Key{GroupVersionKind: render.KindDaemonSet, Namespace: "openstack", Name: "kvm-compute"}
			stranger := tc.err.Error() == "stranger"
			if stranger {
				key.Name = "other"
			}
			kind.ApplyFailed(s.pool, &d, key, tc.err)
			got := outcomeOf(d).Conditions
			want := map[string]string{"NovaReady": "True NovaResolved", "DaemonSetReady": "False ApplyError", "Ready": "False NotAllReady", "Stalled": tc.stalled}
			if stranger {
				want["DaemonSetReady"], want["Ready"] = "True DaemonSetReady", "True AllReady"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if step := kind.StepOf(s.pool, key); (step == "DaemonSet") == stranger {
				t.Errorf("made by %q", step)
			}
		})
	}
}
