package nova

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/test/gitops/health"
)

// witness shows every Nova it is given to kstatus and to Argo CD's script.
type witness struct {
	script health.Script
	// reasons are those that conditions were shown with.
	reasons map[string]bool
	// answers counts what kstatus said.
	answers map[string]int
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	script, err := health.Shipped("../..")
	if err != nil {
		t.Fatal(err)
	}
	return &witness{script: script, reasons: map[string]bool{}, answers: map[string]int{}}
}

// decided shows a Nova as a decision about it is recorded.
func (w *witness) decided(t *testing.T, n *v1alpha1.Nova, r pipeline.Decision) {
	t.Helper()
	after := n.DeepCopy()
	after.Status = statusOf(r)
	after.Status.Conditions = slices.Clone(n.Status.Conditions)
	for _, c := range r.Conditions {
		meta.SetStatusCondition(&after.Status.Conditions, c)
	}
	w.recorded(t, after, r.Conditions)
}

// recorded shows a Nova after a pass, a newer one that no pass saw, and one that goes.
func (w *witness) recorded(t *testing.T, n *v1alpha1.Nova, pass []metav1.Condition) {
	t.Helper()
	n = n.DeepCopy()
	n.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindNova}
	want := w.expected(n, pass)
	w.answers[want.Status]++
	w.note(n)
	w.ask(t, n, want)

	newer := n.DeepCopy()
	newer.Generation++
	w.ask(t, newer, health.Answer{Status: "InProgress", Message: "the operator has not seen this generation yet"})

	going := n.DeepCopy()
	going.DeletionTimestamp = new(metav1.Unix(1, 0))
	w.ask(t, going, health.Answer{Status: "Terminating", Message: "is being deleted"})
}

func (w *witness) note(n *v1alpha1.Nova) {
	for _, c := range n.Status.Conditions {
		w.reasons[c.Reason] = true
	}
}

// expected is what a person would say: the status in the words of kstatus, the message
// that names the condition to look at.
func (w *witness) expected(n *v1alpha1.Nova, pass []metav1.Condition) health.Answer {
	var first, stalls *metav1.Condition
	for _, name := range v1alpha1.NovaConditions() {
		c := meta.FindStatusCondition(n.Status.Conditions, name)
		if c == nil {
			c = &metav1.Condition{Type: name, Reason: "not looked at yet"}
		}
		if c.Status == metav1.ConditionTrue {
			continue
		}
		if first == nil {
			first = c
		}
		if told := meta.FindStatusCondition(pass, name); stalls == nil && told != nil && v1alpha1.NeedsPerson(told.Reason) {
			stalls = told
		}
	}
	switch {
	case first == nil:
		return health.Answer{Status: "Current", Message: "Ready"}
	case stalls != nil:
		return health.Answer{Status: "Failed", Message: told(stalls)}
	default:
		return health.Answer{Status: "InProgress", Message: told(first)}
	}
}

func told(c *metav1.Condition) string {
	if c.Message == "" {
		return c.Type + ": " + c.Reason
	}
	return c.Type + ": " + c.Reason + ": " + c.Message
}

func (w *witness) ask(t *testing.T, n *v1alpha1.Nova, want health.Answer) {
	t.Helper()
	said, err := health.KStatus(n)
	if err != nil {
		t.Fatal(err)
	}
	if said.Status != want.Status {
		t.Errorf("kstatus says %+v, want %+v", said, want)
	}
	got, err := w.script.Check(n)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(health.Answer{Status: health.InArgo(want.Status), Message: want.Message}, got); diff != "" {
		t.Errorf("Argo CD: %s", diff)
	}
}

// What a decision says of a Nova is what kstatus and Argo CD say: Current and Healthy
// when it is Ready, Failed and Degraded when a person must act, in progress otherwise.
// Every reason a condition is False for is shown to both.
func TestHealth_IsToldAlikeForEveryReason(t *testing.T) {
	w := newWitness(t)
	for _, table := range stepTables() {
		for name, tc := range table {
			t.Run(name, func(t *testing.T) {
				in := readyWorld(t, tc.nova)
				if tc.change != nil {
					tc.change(&in)
				}
				w.decided(t, in.Nova, Decide(in))
			})
		}
	}
	t.Run("upgrade", func(t *testing.T) { w.upgrade(t) })
	t.Run("an answer that stays", func(t *testing.T) { w.refused(t, refusal{errors.New("refused"), true}, "Failed") })
	t.Run("an answer that may change", func(t *testing.T) { w.refused(t, refusal{errors.New("away"), false}, "InProgress") })
	t.Run("the first pass", func(t *testing.T) {
		in := Input{Nova: parse(t, minimalYAML)}
		in.Nova.Generation = 1
		w.decided(t, in.Nova, Decide(in))
	})
	t.Run("a protected one that is deleted", func(t *testing.T) {
		in := readyWorld(t, func(n *v1alpha1.Nova) { n.Spec.DeletionProtection = true })
		in.Nova.Status.Conditions = pipeline.Replace(in.Nova.Status.Conditions, Teardown(in).Conditions[0])
		w.note(in.Nova)
	})
	for name, reason := range constants(t, "Reason") {
		if !w.reasons[reason] {
			t.Errorf("%s was shown to nobody", name)
		}
	}
	t.Logf("%d reasons; kstatus said %v", len(w.reasons), w.answers)
	if want := []string{"Current", "Failed", "InProgress"}; !slices.Equal(want, slices.Sorted(maps.Keys(w.answers))) {
		t.Errorf("kstatus said %v only", w.answers)
	}
}

// upgrade goes through every phase: its Job runs, fails, is deleted and runs again, a
// third release is asked for, and in the end the upgrade is taken back and made anew.
func (w *witness) upgrade(t *testing.T) {
	s := newSimulation(t)
	pass := func() { r := s.pass(t); w.recorded(t, s.nova, r.Conditions) }
	s.to("2026.2", "2026.2")
	for range 60 {
		pass() // begins, or lets the Job run
		if s.nova.Status.UpgradePhase == idle && s.nova.Status.InstalledRelease == "2026.2" {
			break
		}
		pass()
		s.jobs(func(j *facts.Job) { j.Failed, j.Failure = true, "BackoffLimitExceeded: no" }, false)
		pass()
		s.to("2027.1", "2027.1")
		pass()
		s.to("2026.2", "2026.2")
		s.seen.Jobs = maps.Clone(s.seen.Jobs)
		maps.DeleteFunc(s.seen.Jobs, func(_ string, j facts.Job) bool { return j.Failed })
		pass()
		s.jobs(func(*facts.Job) {}, true)
		s.roll(false)
	}
	if s.nova.Status.InstalledRelease != "2026.2" {
		t.Fatalf("the upgrade ended as %+v", s.nova.Status)
	}
	s.to("2027.1", "2027.1")
	pass()
	pass()
	s.to("2026.2", "2026.2")
	for range 5 {
		pass()
	}
}

// refused shows what becomes of a Nova one of whose children can't be written.
func (w *witness) refused(t *testing.T, err error, want string) {
	for _, c := range index.Children {
		in := readyWorld(t, nil)
		r := Decide(in)
		About().ApplyFailed(in.Nova, &r, render.Key{GroupVersionKind: c.Kind, Namespace: in.Nova.Namespace, Name: c.Name(in.Nova)}, fmt.Errorf("%s: %w", c.ID, err))
		after := recordedStatus(in.Nova, r)
		w.note(after)
		for _, condition := range v1alpha1.NovaConditions() {
			if live := meta.FindStatusCondition(r.Conditions, condition); live.Status != metav1.ConditionTrue {
				w.ask(t, after, health.Answer{Status: want, Message: told(live)})
			}
		}
	}
}

func recordedStatus(n *v1alpha1.Nova, r pipeline.Decision) *v1alpha1.Nova {
	n = n.DeepCopy()
	n.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindNova}
	n.Status = statusOf(r)
	n.Status.Conditions = r.Conditions
	return n
}
