// Package explain says why a resource is as it is: its children by step with the state of
// each, what holds it, and the next step to take.
//
// Input: a decision and, from a cluster, what the API server would do about it. Output: a
// tree to print. It asks nobody and holds no value of a Secret.
package explain

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/docs"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/workload"
)

// State is the state of one child.
type State string

// The states.
const (
	// Current: it is as it should be.
	Current State = "current"
	// Missing: it is created next.
	Missing State = "missing"
	// Changing: the next pass changes it.
	Changing State = "changing"
	// Drifted: somebody else holds a field of ours; the next pass takes it back.
	Drifted State = "drifted"
	// Replaced: it is deleted and created anew.
	Replaced State = "replaced"
	// Pruned: the next pass deletes it.
	Pruned State = "pruned next"
	// Leaving: it is being deleted.
	Leaving State = "leaving"
	// HeldBack: a closed gate leaves it as it is.
	HeldBack State = "held"
	// Kept: a generation of the configuration that stays as history.
	Kept State = "kept"
	// Refused: it can't be written.
	Refused State = "refused"
	// Foreign: it should not be there, but is somebody else's.
	Foreign State = "somebody else's"
	// Wanted: an observation does not tell whether it is there.
	Wanted State = "wanted"
)

// Tree is the explanation of one resource. Its JSON form is documented in docs/explain.md.
type Tree struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready is the aggregate the decision comes to.
	Ready bool `json:"ready"`
	// Stale: the operator has not seen this generation of the spec yet.
	Stale     bool   `json:"stale"`
	Deleting  bool   `json:"deleting"`
	Installed string `json:"installedRelease,omitempty"`
	Target    string `json:"targetRelease,omitempty"`
	Phase     string `json:"upgradePhase,omitempty"`
	// Blocker is the first condition that is not as it should be; nil when all are.
	Blocker *Blocker `json:"blocker"`
	Steps   []Step   `json:"steps"`
	Notes   []string `json:"notes"`
}

// Blocker is the condition to start at.
type Blocker struct {
	Condition string `json:"condition"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	// Since is when the condition turned, RFC 3339; empty when only this decision says so.
	Since string `json:"since,omitempty"`
	// NeedsPerson: nothing under way clears it.
	NeedsPerson bool `json:"needsPerson"`
	// Next is the next step to take.
	Next string `json:"next"`
}

// Step is a step of the pipeline with its children.
type Step struct {
	Name      string `json:"name"`
	Condition string `json:"condition"`
	// Status and Reason are those of the condition; empty when it was never set.
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Reached: this decision got to the step.
	Reached  bool    `json:"reached"`
	Children []Child `json:"children"`
}

// Child is one object.
type Child struct {
	Object string `json:"object"`
	State  State  `json:"state"`
	// Detail says why, or which fields.
	Detail string `json:"detail,omitempty"`
}

// Input is what is known.
type Input struct {
	Kind     pipeline.Kind
	Resource v1alpha1.Resource
	Decision pipeline.Decision
	// Report is the API server's answer; nil for an observation.
	Report *diff.Report
	Notes  []string
}

// Of explains one resource.
func Of(in Input) Tree {
	r, release := in.Resource, in.Kind.Release(in.Decision.After)
	conditions := merged(r.GetConditions(), in.Decision.Conditions)
	t := Tree{
		Kind: in.Kind.Kind, Namespace: r.GetNamespace(), Name: r.GetName(),
		Ready:     meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady),
		Stale:     r.GetObservedGeneration() != r.GetGeneration(),
		Deleting:  r.GetDeletionTimestamp() != nil,
		Installed: release.Installed, Target: release.Target, Phase: release.Phase,
		Blocker: blocker(in.Kind.Conditions, conditions), Notes: append([]string{}, in.Notes...),
	}
	byStep := map[string][]Child{}
	for _, c := range children(in) {
		byStep[c.step] = append(byStep[c.step], c.Child)
	}
	for _, step := range in.Kind.Steps {
		s := Step{
			Name: step.Name, Condition: step.Condition, Reached: slices.Contains(in.Decision.Reached, step.Name),
			Children: append([]Child{}, byStep[step.Name]...),
		}
		if c := meta.FindStatusCondition(conditions, step.Condition); c != nil {
			s.Status, s.Reason = string(c.Status), c.Reason
		}
		t.Steps = append(t.Steps, s)
	}
	return t
}

// merged lays the conditions of a decision over the stored ones, which keep their time
// where they did not turn.
func merged(stored, decided []metav1.Condition) []metav1.Condition {
	out := slices.Clone(stored)
	for _, c := range decided {
		last := meta.FindStatusCondition(stored, c.Type)
		if last != nil && last.Status == c.Status {
			c.LastTransitionTime = last.LastTransitionTime
		}
		out = slices.DeleteFunc(out, func(o metav1.Condition) bool { return o.Type == c.Type })
		out = append(out, c)
	}
	return out
}

// blocker is the first condition, in the order of a pass, that is not True. The roll of an
// upgrade is held by what comes behind it, which is the role that rolls, when one says so.
func blocker(order []string, conditions []metav1.Condition) *Blocker {
	var first *Blocker
	for _, name := range order {
		c := meta.FindStatusCondition(conditions, name)
		if c == nil || c.Status == metav1.ConditionTrue {
			continue
		}
		b := &Blocker{
			Condition: name, Reason: c.Reason, Message: c.Message, NeedsPerson: v1alpha1.NeedsPerson(c.Reason),
			Next: cmp.Or(docs.Remedy(name, c.Reason), "the message says what is wrong"),
		}
		if !c.LastTransitionTime.IsZero() {
			b.Since = c.LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z")
		}
		if c.Reason != v1alpha1.ReasonUpgradeRollingUpdate {
			return b
		}
		first = b
	}
	return first
}

// title names an object as kubectl does: the namespace is that of the resource.
func title(key render.Key) string { return key.Kind + "/" + key.Name }

type stepChild struct {
	step string
	Child
}

func children(in Input) []stepChild {
	if in.Report == nil {
		return fromSet(in)
	}
	var out []stepChild
	for _, res := range in.Report.Results {
		c := Child{Object: title(res.Key), State: states[res.Action], Detail: res.Reason}
		switch {
		case res.Err != nil:
			c.Detail = res.Err.Error()
		case res.Action == diff.ActionUpdate:
			c.State, c.Detail = changing(res.Changes)
		case res.Action == diff.ActionHeld && workload.Retained(res.Reason):
			c.State = Kept
		case res.Action == diff.ActionUnchanged && res.Live != nil && res.Live.GetDeletionTimestamp() != nil:
			c.State = Leaving
		}
		out = append(out, stepChild{in.Kind.StepOf(in.Resource, res.Key), c})
	}
	return out
}

// states translate the answers of the API server.
var states = map[diff.Action]State{
	diff.ActionCreate: Missing, diff.ActionUpdate: Changing, diff.ActionUnchanged: Current, diff.ActionRecreate: Replaced,
	diff.ActionDelete: Pruned, diff.ActionWait: Leaving, diff.ActionHeld: HeldBack, diff.ActionRefused: Refused,
	diff.ActionForeign: Foreign, diff.ActionSkipped: Missing, diff.ActionFailed: Refused,
}

// changing names the fields of a change, the first few, and who holds them.
func changing(changes []diff.Change) (State, string) {
	const shown = 4
	state := Changing
	if slices.ContainsFunc(changes, func(c diff.Change) bool { return c.Manager != "" }) {
		state = Drifted
	}
	return state, diff.Fields(changes, shown, "held by")
}

// fromSet says what a decision alone knows.
func fromSet(in Input) []stepChild {
	var out []stepChild
	add := func(key render.Key, state State, detail string) {
		out = append(out, stepChild{in.Kind.StepOf(in.Resource, key), Child{title(key), state, detail}})
	}
	for _, o := range in.Decision.Set.Desired {
		add(o.Key(), Wanted, "")
	}
	for _, a := range in.Decision.Set.Absent {
		if a.UID != "" { // else an observation does not tell whether it is there
			add(a.Key, Pruned, a.Reason)
		}
	}
	for _, h := range in.Decision.Set.Held {
		state := HeldBack
		if workload.Retained(h.Gate) {
			state = Kept
		}
		add(h.Key, state, h.Gate)
	}
	return out
}
