package pipeline

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Run takes the steps in order, each with its children: a step runs when none before it
// ended the pass. own is the kind's pass, which embeds p.
func (x *Index[R, P]) Run(p *Pass, r R, own P) {
	for _, s := range x.Steps {
		p.step = running{s.Name, s.Condition, s.Group}
		if p.gate != "" {
			x.holdStep(p, r, own)
			continue
		}
		p.Reached = append(p.Reached, s.Name)
		s.Run(own)
		x.render(p, r, own)
	}
}

// Finish adds Ready and Stalled.
func (x *Index[R, P]) Finish(p *Pass) {
	p.aggregate(x.Conditions)
	p.Conditions = append(p.Conditions, v1alpha1.Stalled(p.Conditions, x.Conditions, p.generation))
}

// render puts every child of a step that ran into one of the three lists.
func (x *Index[R, P]) render(p *Pass, r R, own P) {
	for c := range x.ofStep(p, own) {
		key := c.key(r, own)
		if gate := p.holds[c.ID]; gate != "" {
			p.Held(key, gate)
			continue
		}
		if gone, ok := p.removals[c.ID]; ok {
			gone.Key = key
			p.Set.Absent = append(p.Set.Absent, gone)
			continue
		}
		c.render(p, r, own, key)
	}
}

// holdStep leaves every child of a step that did not run as it is.
func (x *Index[R, P]) holdStep(p *Pass, r R, own P) {
	for c := range x.ofStep(p, own) {
		p.Held(c.key(r, own), p.gate)
	}
}

// ofStep yields the children of the running step that the decision is about.
func (x *Index[R, P]) ofStep(p *Pass, own P) func(func(*Child[R, P]) bool) {
	return func(yield func(*Child[R, P]) bool) {
		for i := range x.Children {
			c := &x.Children[i]
			if c.Step == p.step.name && (c.Outside == nil || !c.Outside(own)) && !yield(c) {
				return
			}
		}
	}
}

// key names the child as the pass knows it.
func (c *Child[R, P]) key(r R, own P) render.Key {
	key := c.Key(r)
	if c.Named != nil {
		key.Name = c.Named(own)
	}
	return key
}

// render makes one child. One that cannot be made is held: the live one is the better of
// the two.
func (c *Child[R, P]) render(p *Pass, r R, own P, key render.Key) {
	object, wanted, err := c.Object(p, r, own)
	switch {
	case err != nil:
		p.Refuse(fmt.Errorf("render %s: %w", c.ID, err))
		p.Held(key, "error")
	case wanted:
		p.Set.Desired = append(p.Set.Desired, object)
	default:
		c.unwanted(p, key)
	}
}

// unwanted removes a child whose feature is off. One that holds data stays.
func (c *Child[R, P]) unwanted(p *Pass, key render.Key) {
	if c.Data {
		p.Held(key, "data is never removed by a change of the spec")
		return
	}
	p.Set.Absent = append(p.Set.Absent, render.Absent{Key: key, Reason: c.Off})
}

// aggregate adds Ready: True exactly when every sub-condition is, counting those this pass
// did not reach as the last one left them.
func (p *Pass) aggregate(conditions []string) {
	status, reason, message := metav1.ConditionTrue, v1alpha1.ReasonAllReady, "All sub-conditions are ready"
	for _, name := range conditions {
		c := meta.FindStatusCondition(p.Conditions, name)
		if c == nil {
			c = p.Last(name)
		}
		if c == nil || c.Status != metav1.ConditionTrue {
			status, reason, message = metav1.ConditionFalse, v1alpha1.ReasonNotAllReady, "One or more sub-conditions are not ready"
		}
	}
	p.Say(v1alpha1.ConditionReady, status, reason, message)
}

// applyFailed is Kind.ApplyFailed.
func (x *Index[R, P]) applyFailed(before R, d *Decision, key render.Key, err error) {
	p := &Pass{Decision: *d, generation: before.GetGeneration(), last: before.GetConditions()}
	if c := x.Find(before, key); c != nil {
		for _, s := range x.Steps {
			if s.Name == c.Step {
				p.unwritten(s.Condition, cmp.Or(s.Unwritten, v1alpha1.ReasonApplyError), err)
			}
		}
		if c.Unwritten != nil {
			c.Unwritten(before, d.After.(R))
		}
	}
	p.aggregate(x.Conditions)
	d.Conditions = p.Conditions
}

// unwritten says that an object can't be written. The first one that needs a person stalls
// the resource.
func (p *Pass) unwritten(condition, reason string, err error) {
	p.Say(condition, metav1.ConditionFalse, reason, err.Error())
	var fault interface{ NeedsPerson() bool }
	if errors.As(err, &fault) && fault.NeedsPerson() && !meta.IsStatusConditionTrue(p.Conditions, v1alpha1.ConditionStalled) {
		p.Say(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, err.Error())
	}
}
