package nova

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Intervals after which a wait looks again, whatever events bring.
const (
	pollCredentials = 15 * time.Second
	pollDatabase    = 30 * time.Second
	pollDeployment  = 10 * time.Second
	pollHealth      = 10 * time.Second
	// nextPass follows what is expected to be done in a moment.
	nextPass = time.Second
)

// pass is one decision in the making: what the steps resolved so far and what they
// said about it.
type pass struct {
	in *Input
	// nova is a copy of the resource with every stored default filled in, so that a
	// resource that bypassed admission is decided like one that did not.
	nova *v1alpha1.Nova
	seen *Observed

	credentials credentials
	config      configuration
	contract    contracts

	// step is the running step; gate the reason the pass stopped for, "" while open.
	step *step
	gate string
	// holds names why a child is left alone although its step was reached.
	holds map[string]string
	// removals are children that must go in this pass, with the UID of the live one.
	removals map[string]render.Absent

	out Result
}

func newPass(in *Input) *pass {
	n := in.Nova.DeepCopy()
	n.Default()
	p := &pass{in: in, nova: n, seen: &in.Observed, holds: map[string]string{}, removals: map[string]render.Absent{}}
	p.out.Status = *in.Nova.Status.DeepCopy()
	p.out.Status.ObservedGeneration = in.Nova.Generation
	return p
}

// set records a condition of this pass.
func (p *pass) set(condition string, status metav1.ConditionStatus, reason, message string) {
	p.out.Conditions = replaceCondition(p.out.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message,
		ObservedGeneration: p.nova.Generation,
	})
}

func replaceCondition(list []metav1.Condition, c metav1.Condition) []metav1.Condition {
	if live := meta.FindStatusCondition(list, c.Type); live != nil {
		*live = c
		return list
	}
	return append(list, c)
}

// ready turns the running step's condition True.
func (p *pass) ready(reason, message string) {
	p.set(p.step.condition, metav1.ConditionTrue, reason, message)
}

// unready turns the running step's condition False and lets the pass go on.
func (p *pass) unready(reason, message string) {
	p.set(p.step.condition, metav1.ConditionFalse, reason, message)
}

// wait turns the condition False, asks to look again and ends the pass.
func (p *pass) wait(reason, message string, again time.Duration) {
	p.unready(reason, message)
	p.requeue(again)
	p.stop(reason)
}

// fail turns the condition False and ends the pass with an error, which the
// controller retries with backoff.
func (p *pass) fail(reason string, err error) {
	p.unready(reason, err.Error())
	p.out.Err = errors.Join(p.out.Err, &render.ReasonError{Condition: p.step.condition, Reason: reason, Err: err})
	p.stop(reason)
}

// refuse ends the pass with an error that no reason of the condition covers: an object
// of the step can't be made, and a condition that kept its old True would hide it.
func (p *pass) refuse(err error) { p.fail(v1alpha1.ReasonApplyError, err) }

// stop closes the gate for everything behind the running step. Members of the
// concurrent group never close it.
func (p *pass) stop(reason string) {
	if !p.step.group {
		p.gate = reason
	}
}

// requeue asks for another pass; the shortest wish wins.
func (p *pass) requeue(after time.Duration) {
	if p.out.Requeue == 0 || after < p.out.Requeue {
		p.out.Requeue = after
	}
}

// hold leaves one child as it is.
func (p *pass) hold(id, gate string) { p.holds[id] = gate }

// holdAfter leaves every child of the running step behind the named one as it is;
// "" leaves all of them.
func (p *pass) holdAfter(id, gate string) {
	behind := id == ""
	for _, c := range children {
		if c.step != p.step.name {
			continue
		}
		if behind && p.holds[c.id] == "" {
			p.holds[c.id] = gate
		}
		behind = behind || c.id == id
	}
}

func (p *pass) event(kind, reason, message string) {
	p.out.Events = append(p.out.Events, render.Event{Type: kind, Reason: reason, Message: message})
}

func (p *pass) warn(reason, message string) { p.event(corev1.EventTypeWarning, reason, message) }

// condition returns what the last pass said, nil when it said nothing.
func (p *pass) condition(name string) *metav1.Condition {
	return meta.FindStatusCondition(p.in.Nova.Status.Conditions, name)
}
