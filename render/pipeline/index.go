// Package pipeline takes a decision step by step, for any kind: which conditions turn,
// which children are desired, absent or held, and where a pass ends.
//
// Input: the index of a kind (its steps and its children) and the kind's own pass, which
// embeds a Pass. Output: a Decision. It knows no kind and reads nothing.
package pipeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Step is one unit of conditions, metrics and short-circuiting of a kind, whose pass is P.
type Step[P any] struct {
	// Name is the sub_reconciler label of the metrics, Condition the one it turns.
	Name, Condition string
	// Group members all run, and none of them ends the pass.
	Group bool
	// Unwritten is the reason for an object of the step that can't be written; empty for
	// ApplyError.
	Unwritten string
	Run       func(P)
}

// Child is one object that a resource of type R owns.
type Child[R v1alpha1.Resource, P any] struct {
	// ID is role/kind, unique.
	ID string
	// Step decides it: behind a step that did not run the child is held.
	Step   string
	Kind   schema.GroupVersionKind
	Stage  render.Stage
	Policy render.Policy
	Name   func(R) string
	// Named is its name where only a pass knows it, as with a hash; nil otherwise. It is
	// empty while there is none.
	Named func(P) string
	// Build makes the child. It returns a literal nil for "not wanted".
	Build func(P) (render.Resource, error)
	// Off says why the child is not wanted, for previews.
	Off string
	// Yields names a field that another manager may take; nil for none.
	Yields func(R) string
	// Data marks a child that holds data: no change of the spec removes it.
	Data bool
	// Outlives tells whether the child stays when the resource is deleted; nil for never.
	Outlives func(R) bool
	// Outside reports that a decision says nothing about it; nil for never.
	Outside func(P) bool
	// Unwritten takes back, in the second resource, what the status says because the child
	// is there; nil where it says nothing. The first is the resource before the pass.
	Unwritten func(before, after R)
}

// Key names the child as far as the resource alone tells.
func (c *Child[R, P]) Key(r R) render.Key {
	return render.Key{GroupVersionKind: c.Kind, Namespace: r.GetNamespace(), Name: c.Name(r)}
}

func (c *Child[R, P]) outlives(r R) bool { return c.Outlives != nil && c.Outlives(r) }

// Object makes the child of a pass; ok is false for one that is not wanted.
func (c *Child[R, P]) Object(p *Pass, r R, own P) (object render.Object, ok bool, err error) {
	resource, err := c.Build(own)
	if err != nil || resource == nil {
		return render.Object{}, false, err
	}
	policy := c.Policy
	policy.Unreferenced = c.outlives(r)
	if c.Yields != nil {
		policy.Yields = c.Yields(r)
	}
	object, err = p.forms.NewObject(c.Stage, policy, resource)
	return object, err == nil, err
}

// Index is what a kind consists of, in the order of a pass.
type Index[R v1alpha1.Resource, P any] struct {
	// Kind is the kind of the resource.
	Kind     schema.GroupVersionKind
	Steps    []Step[P]
	Children []Child[R, P]
	// Conditions are the sub-conditions that Ready counts, in their order.
	Conditions []string
	// Release says which release a resource is at; nil for a kind without one.
	Release func(R) Release
	// Deletion is what a reader must know before a resource is deleted; nil for nothing.
	Deletion func(R) string
}

// Find returns the row of an object, nil for one that is no child.
func (x *Index[R, P]) Find(r R, key render.Key) *Child[R, P] {
	for i := range x.Children {
		c := &x.Children[i]
		if c.Kind == key.GroupVersionKind && (c.Named != nil || c.Name(r) == key.Name) {
			return c
		}
	}
	return nil
}

// Kind is an index without its types: what shells, metrics and explanations ask about a
// kind.
type Kind struct {
	schema.GroupVersionKind
	// Conditions are the sub-conditions that Ready counts, in their order.
	Conditions []string
	Steps      []StepInfo
	// Children lists every kind of the children, for watches and the sweep of a target
	// cluster.
	Children []schema.GroupVersionKind
	// Release says which release a resource is at.
	Release func(v1alpha1.Resource) Release
	// Deletion is what a reader must know before a resource is deleted; empty for nothing.
	Deletion func(v1alpha1.Resource) string
	// Outliving lists the kinds of the children that stay when a resource is deleted.
	Outliving func(v1alpha1.Resource) []schema.GroupVersionKind
	// StepOf is the step that makes an object; "" for one that is no child.
	StepOf func(v1alpha1.Resource, render.Key) string
	// ApplyFailed turns the condition of a child's step False because the child could not
	// be written: a status that kept saying True would hide it. An error with a method
	// `NeedsPerson() bool` says whether the resource is stalled by it; any other is tried
	// again. The resource is the one of before the pass.
	ApplyFailed func(before v1alpha1.Resource, d *Decision, key render.Key, err error)
}

// Release is where a resource is between two releases. Target and Phase are empty while it
// is at rest.
type Release struct{ Installed, Target, Phase string }

// StepInfo is a step as metrics and explanations name it.
type StepInfo struct{ Name, Condition string }

// Untyped returns the index without its types. The functions of the result take
// resources of type R only.
func (x *Index[R, P]) Untyped() Kind {
	k := Kind{GroupVersionKind: x.Kind, Conditions: x.Conditions}
	for _, s := range x.Steps {
		k.Steps = append(k.Steps, StepInfo{s.Name, s.Condition})
	}
	seen := map[schema.GroupVersionKind]bool{}
	for i := range x.Children {
		if c := &x.Children[i]; !seen[c.Kind] {
			seen[c.Kind] = true
			k.Children = append(k.Children, c.Kind)
		}
	}
	k.Release = func(r v1alpha1.Resource) Release {
		if x.Release == nil {
			return Release{}
		}
		return x.Release(r.(R))
	}
	k.Deletion = func(r v1alpha1.Resource) string {
		if x.Deletion == nil {
			return ""
		}
		return x.Deletion(r.(R))
	}
	k.Outliving = func(r v1alpha1.Resource) (kinds []schema.GroupVersionKind) {
		for i := range x.Children {
			if c := &x.Children[i]; c.outlives(r.(R)) && !slices.Contains(kinds, c.Kind) {
				kinds = append(kinds, c.Kind)
			}
		}
		return kinds
	}
	k.StepOf = func(r v1alpha1.Resource, key render.Key) string {
		if c := x.Find(r.(R), key); c != nil {
			return c.Step
		}
		return ""
	}
	k.ApplyFailed = func(before v1alpha1.Resource, d *Decision, key render.Key, err error) {
		x.applyFailed(before.(R), d, key, err)
	}
	return k
}
