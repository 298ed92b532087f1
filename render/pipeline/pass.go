package pipeline

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/openstack"
)

// Pass is one decision in the making: what the steps said so far. A kind embeds it in a
// pass of its own.
type Pass struct {
	Decision

	generation int64
	// last are the conditions as the pass before left them.
	last []metav1.Condition
	// forms spare repeated decisions work; nil in a single one.
	forms render.Forms
	// rows are the children in the order of the index.
	rows []row

	// step is the running one.
	step running
	// gate is the reason the pass stopped for, "" while open.
	gate string
	// holds names why a child is left alone although its step was reached.
	holds map[string]string
	// removals are children that must go in this pass.
	removals map[string]render.Absent
}

// row is a child without its types.
type row struct {
	id, step string
	kind     schema.GroupVersionKind
	name     string
}

// running is a step without its types.
type running struct {
	name, condition string
	group           bool
}

// New begins a pass over a resource that has the status of the last one. forms may be nil.
func (x *Index[R, P]) New(r R, forms render.Forms) *Pass {
	p := &Pass{
		generation: r.GetGeneration(), last: r.GetConditions(), forms: forms,
		holds: map[string]string{}, removals: map[string]render.Absent{},
	}
	for i := range x.Children {
		c := &x.Children[i]
		p.rows = append(p.rows, row{c.ID, c.Step, c.Kind, c.Name(r)})
	}
	return p
}

// Names lists the names of the children of one kind, in the order of the index.
func (p *Pass) Names(kind schema.GroupVersionKind) (names []string) {
	for _, r := range p.rows {
		if r.kind == kind {
			names = append(names, r.name)
		}
	}
	return names
}

// Say records a condition of this pass.
func (p *Pass) Say(condition string, status metav1.ConditionStatus, reason, message string) {
	p.Conditions = Replace(p.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: p.generation,
	})
}

// Replace puts a condition in the place of the one of its type.
func Replace(list []metav1.Condition, c metav1.Condition) []metav1.Condition {
	if before := meta.FindStatusCondition(list, c.Type); before != nil {
		*before = c
		return list
	}
	return append(list, c)
}

// Ready turns the running step's condition True.
func (p *Pass) Ready(reason, message string) {
	p.Say(p.step.condition, metav1.ConditionTrue, reason, message)
}

// Unready turns the running step's condition False and lets the pass go on.
func (p *Pass) Unready(reason, message string) {
	p.Say(p.step.condition, metav1.ConditionFalse, reason, message)
}

// Wait turns the condition False, asks to look again and ends the pass.
func (p *Pass) Wait(reason, message string, again time.Duration) {
	p.Unready(reason, message)
	p.Again(again)
	p.Stop(reason)
}

// Fail turns the condition False and ends the pass with an error, which the controller
// retries with backoff.
func (p *Pass) Fail(reason string, err error) {
	p.Unready(reason, err.Error())
	p.Err = errors.Join(p.Err, &render.ReasonError{Condition: p.step.condition, Reason: reason, Err: err})
	p.Stop(reason)
}

// Refuse ends the pass with an error that no reason of the condition covers: an object of
// the step can't be made, and a condition that kept its old True would hide it.
func (p *Pass) Refuse(err error) { p.Fail(v1alpha1.ReasonApplyError, err) }

// Stop closes the gate for everything behind the running step. Members of the concurrent
// group never close it.
func (p *Pass) Stop(reason string) {
	if !p.step.group {
		p.gate = reason
	}
}

// Again asks for another pass; the shortest wish wins.
func (p *Pass) Again(after time.Duration) {
	if p.Requeue == 0 || after < p.Requeue {
		p.Requeue = after
	}
}

// Ask puts a question of the running step.
func (p *Pass) Ask(q openstack.Question) {
	q.Step = p.step.name
	p.Questions = append(p.Questions, q)
}

// Call wants something done, on behalf of the running step.
func (p *Pass) Call(c openstack.Call) {
	c.Step = p.step.name
	p.Calls = append(p.Calls, c)
}

// Hold leaves one child as it is.
func (p *Pass) Hold(id, gate string) { p.holds[id] = gate }

// HoldAfter leaves every child of the running step behind the named one as it is; "" leaves
// all of them.
func (p *Pass) HoldAfter(id, gate string) {
	behind := id == ""
	for _, r := range p.rows {
		if r.step != p.step.name {
			continue
		}
		if behind && p.holds[r.id] == "" {
			p.holds[r.id] = gate
		}
		behind = behind || r.id == id
	}
}

// Remove makes a child go in this pass. The key of absent is filled in.
func (p *Pass) Remove(id string, absent render.Absent) { p.removals[id] = absent }

// Event sends an event.
func (p *Pass) Event(kind, reason, message string) {
	p.Events = append(p.Events, render.Event{Type: kind, Reason: reason, Message: message})
}

// Warn sends a warning.
func (p *Pass) Warn(reason, message string) { p.Event(corev1.EventTypeWarning, reason, message) }

// Last returns what the last pass said about a condition, nil when it said nothing.
func (p *Pass) Last(condition string) *metav1.Condition {
	return meta.FindStatusCondition(p.last, condition)
}

// Recall repeats what the last pass said about the running step's condition. It reports
// whether it said anything.
func (p *Pass) Recall() bool {
	last := p.Last(p.step.condition)
	if last == nil {
		return false
	}
	p.Say(last.Type, last.Status, last.Reason, last.Message)
	return true
}

// Held leaves an object as it is. One without a name was never made, and then there is
// nothing to leave.
func (p *Pass) Held(key render.Key, gate string) {
	if key.Name != "" {
		p.Set.Held = append(p.Set.Held, render.Held{Key: key, Gate: gate})
	}
}
