package nova

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Result is the decision about one Nova.
type Result struct {
	render.Result
	// Status is the new status without conditions: those are in Conditions, with Ready
	// among them, and keep their transition time where they did not change.
	Status v1alpha1.NovaStatus
	// Records are facts about Jobs to record once each.
	Records []Record
	// Reached lists the steps that ran, by label.
	Reached []string
	// Err is what the decision could not do; the set is complete for everything else.
	Err error
}

// Decide says what should be on the cluster for a Nova, and what its status is. It
// never panics on a resource an API server would store, and equal inputs give equal
// results.
func Decide(in Input) Result {
	p := newPass(&in)
	for i := range steps {
		p.step = &steps[i]
		if p.gate == "" {
			p.out.Reached = append(p.out.Reached, p.step.name)
			p.step.run(p)
			p.render(p.step.name)
		} else {
			p.holdStep(p.step.name)
		}
	}
	p.prunable()
	p.aggregate()
	p.out.Conditions = append(p.out.Conditions, v1alpha1.Stalled(p.out.Conditions, v1alpha1.NovaConditions(), p.nova.Generation))
	return p.out
}

// render puts every child of a step that ran into one of the three lists.
func (p *pass) render(step string) {
	for _, c := range children {
		if c.step != step || p.outside(c) {
			continue
		}
		key := p.key(c)
		if gate := p.holds[c.id]; gate != "" {
			p.held(key, gate)
			continue
		}
		if gone, ok := p.removals[c.id]; ok {
			gone.Key = key
			p.out.Set.Absent = append(p.out.Set.Absent, gone)
			continue
		}
		p.build(c, key)
	}
}

// outside reports a child this decision says nothing about: a Job of an upgrade while
// none runs. A finished one stays as the record of its upgrade.
func (p *pass) outside(c child) bool {
	return p.nova.Status.UpgradePhase == idle && slices.Contains(phaseJobs, c.id)
}

// build renders one child. A child that cannot be rendered is held: the live one is
// the better of the two.
func (p *pass) build(c child, key render.Key) {
	resource, err := c.build(p)
	if err == nil && resource == nil {
		p.unwanted(c, key)
		return
	}
	var object render.Object
	if err == nil {
		policy := c.policy
		if c.yields != nil {
			policy.Yields = c.yields(p.nova)
		}
		object, err = p.in.canon.NewObject(c.stage, policy, resource)
	}
	if err != nil {
		p.refuse(fmt.Errorf("render %s: %w", c.id, err))
		p.held(key, "error")
		return
	}
	p.out.Set.Desired = append(p.out.Set.Desired, object)
}

// unwanted removes a child whose feature is off. One that holds data stays.
func (p *pass) unwanted(c child, key render.Key) {
	if c.data {
		p.held(key, "data is never removed by a change of the spec")
		return
	}
	p.out.Set.Absent = append(p.out.Set.Absent, render.Absent{Key: key, Reason: c.off})
}

func (p *pass) holdStep(step string) {
	for _, c := range children {
		if c.step == step && !p.outside(c) {
			p.held(p.key(c), p.gate)
		}
	}
}

// held leaves an object as it is. The configuration has no name before it was ever
// rendered, and then there is nothing to leave.
func (p *pass) held(key render.Key, gate string) {
	if key.Name != "" {
		p.out.Set.Held = append(p.out.Set.Held, render.Held{Key: key, Gate: gate})
	}
}

func (p *pass) key(c child) render.Key {
	name := c.name(p.nova)
	if c.id == childConfig {
		name = p.config.name
	}
	return render.Key{GroupVersionKind: c.kind, Namespace: p.nova.Namespace, Name: name}
}

// prunable names the kinds whose leftovers may go: generations of the configuration,
// once a fresh one stands.
func (p *pass) prunable() {
	if p.config.fresh {
		p.out.Set.Held = append(p.out.Set.Held, p.retained()...)
		p.out.Set.Prunable = []schema.GroupVersionKind{KindConfigMap}
	}
}

// aggregate adds Ready: True exactly when every sub-condition is, counting those this
// pass did not reach as the last one left them.
func (p *pass) aggregate() {
	status, reason, message := metav1.ConditionTrue, v1alpha1.ReasonAllReady, "All sub-conditions are ready"
	for _, name := range v1alpha1.NovaConditions() {
		c := meta.FindStatusCondition(p.out.Conditions, name)
		if c == nil {
			c = p.condition(name)
		}
		if c == nil || c.Status != metav1.ConditionTrue {
			status, reason, message = metav1.ConditionFalse, v1alpha1.ReasonNotAllReady, "One or more sub-conditions are not ready"
		}
	}
	p.set(v1alpha1.ConditionReady, status, reason, message)
	p.out.Status.Conditions = nil
}
