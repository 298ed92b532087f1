package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// Plan is what Execute would do, decided from the cached live state without a
// write. An Update in it means "not known to be equal"; what really changes only
// the API server can say (Preview).
type Plan struct {
	Owner Owner
	// Objects are in the order of execution: waves, absent objects, prune. Held objects
	// come last and are left alone.
	Objects []Planned
}

// phase is the part of a pass an object belongs to.
type phase int

const (
	inWave phase = iota
	inAbsent
	inPrune
	inHeld
)

// Planned is what is planned for one object.
type Planned struct {
	Key    render.Key
	Stage  render.Stage
	Action diff.Action
	// Prune says that nobody named the object: it is of a pruned kind.
	Prune bool
	// Reason says why, where the action alone does not.
	Reason string
	// Live is the cached object, nil if there is none. Read only.
	Live *unstructured.Unstructured
	// Err is set for Failed and Refused.
	Err error

	phase  phase
	policy render.Policy
	// desired is the stamped payload, sum its digest.
	desired *unstructured.Unstructured
	sum     diff.Digest
	// takeOver: the traces of a predecessor go first.
	takeOver bool
	// trimOnly: only foreign data keys must go.
	trimOnly bool
	// markOnly: only the mark must be put right.
	markOnly bool
	// before is the memo entry of the same payload, if there is one.
	before *entry
}

// Plan compares a set with the live state. It returns an error only if the set
// contradicts itself or the owner cannot mark a child; what concerns one object is
// in its Planned.
func (a *Applier) Plan(ctx context.Context, owner Owner, set render.Set) (Plan, error) {
	if err := check(owner, set); err != nil {
		return Plan{}, err
	}
	view := a.view(ctx, owner.namespaces(), set.Prunable)
	plan := Plan{Owner: owner, Objects: make([]Planned, len(set.Desired), len(set.Desired)+len(set.Absent)+len(set.Held))}

	desired := slices.Clone(set.Desired)
	slices.SortStableFunc(desired, func(x, y render.Object) int { return int(x.Stage) - int(y.Stage) })
	wanted := make(map[render.Key]bool, len(desired))
	for _, o := range desired {
		wanted[o.Key()] = true
	}
	a.memo.retain(owner, wanted)
	a.each(len(desired), func(i int) { plan.Objects[i] = a.planDesired(ctx, owner, desired[i], view) })

	absent := make([]Planned, len(set.Absent))
	a.each(len(absent), func(i int) { absent[i] = planAbsent(ctx, owner, set.Absent[i], view) })
	for _, p := range absent {
		if p.Action != "" {
			plan.Objects = append(plan.Objects, p)
		}
	}
	plan.Objects = append(plan.Objects, planPrune(owner, set, view)...)
	for _, h := range set.Held {
		plan.Objects = append(plan.Objects, Planned{Key: h.Key, Action: diff.ActionHeld, Reason: h.Gate, phase: inHeld})
	}
	return plan, nil
}

// slot names an object across API versions.
type slot struct {
	schema.GroupKind
	namespace, name string
}

func slotOf(k render.Key) slot { return slot{k.GroupKind(), k.Namespace, k.Name} }

// check refuses a set that names one object twice, or one the owner cannot own.
func check(owner Owner, set render.Set) error {
	var errs []error
	seen := map[slot]string{}
	unmarkable := map[string]bool{}
	add := func(k render.Key, list string) {
		if other, dup := seen[slotOf(k)]; dup {
			errs = append(errs, fmt.Errorf("%s is in the set twice: %s and %s", k, other, list))
		}
		seen[slotOf(k)] = list
	}
	for _, o := range set.Desired {
		k := o.Key()
		add(k, "desired")
		if !owner.reaches(k.Namespace) {
			errs = append(errs, fmt.Errorf("%s is outside the namespaces of %s", k, owner))
			continue
		}
		if err := owner.markable(k.Namespace, o.Policy); err != nil && !unmarkable[err.Error()] {
			unmarkable[err.Error()] = true
			errs = append(errs, err)
		}
	}
	for _, x := range set.Absent {
		add(x.Key, "absent")
	}
	for _, h := range set.Held {
		add(h.Key, "held")
	}
	return errors.Join(errs...)
}

func (a *Applier) planDesired(ctx context.Context, owner Owner, o render.Object, v *view) Planned {
	p := Planned{Key: o.Key(), Stage: o.Stage, phase: inWave, policy: o.Policy, desired: owner.stamp(o.Content, o.Policy)}
	p.sum = diff.DigestOf(p.desired.Object)
	live, err := v.live(ctx, p.Key)
	if err != nil {
		p.Action, p.Err = diff.ActionFailed, err
		return p
	}
	a.decide(owner, &p, live)
	return p
}

// decide fills in the action for a desired object from its live state.
func (a *Applier) decide(owner Owner, p *Planned, live *unstructured.Unstructured) {
	p.Live, p.Err, p.Reason, p.takeOver, p.trimOnly, p.markOnly = live, nil, "", false, false, false
	if e, ok := a.memo.get(owner, p.Key); ok && e.desired == p.sum {
		p.before = &e
	}
	if live == nil {
		p.Action = diff.ActionCreate
		return
	}
	if live.GetDeletionTimestamp() != nil {
		p.Action, p.Reason = diff.ActionWait, "its predecessor is being deleted"
		return
	}
	switch owner.relationTo(live) {
	case foreign:
		reason, remedy := owner.refusal(live)
		p.Action, p.Reason, p.Err = diff.ActionRefused, reason, diff.ForeignError("apply", p.Key, reason, remedy)
		return
	case leftover:
		p.Action, p.Reason = diff.ActionWait, "its predecessor belongs to a deleted "+owner.String()
		return
	case offered:
		p.Action, p.Reason, p.takeOver = diff.ActionUpdate, "adopted", true
		return
	case mine:
	}
	p.Action = diff.ActionUnchanged
	if p.policy.CreateOnly {
		if !owner.marked(live, p.policy) {
			p.Action, p.markOnly = diff.ActionUpdate, true
		}
		return
	}
	if owner.wronglyRefers(live, p.policy) {
		p.Action, p.takeOver, p.Reason = diff.ActionUpdate, true, "it must not refer to its owner"
	} else if !a.unchanged(owner, p, live) {
		p.Action, p.takeOver = diff.ActionUpdate, needsTakeover(live)
	} else if p.policy.ExactData && len(extraData(p.desired, live)) > 0 {
		p.Action, p.trimOnly = diff.ActionUpdate, true
	}
}

// unchanged says that an apply would change nothing: by the memo, else by the
// schema. Both only ever prove it.
func (a *Applier) unchanged(owner Owner, p *Planned, live *unstructured.Unstructured) bool {
	if p.before != nil {
		switch p.before.judge(p.sum, live) {
		case same:
			return true
		case lagging:
			p.Reason = "the cache has not caught up with the last apply"
			return true
		case unknown, drifted:
		}
	}
	if !a.schemas.proves(p.desired, live) {
		return false
	}
	a.memo.put(owner, p.Key, entryOf(p.sum, live))
	return true
}

func planAbsent(ctx context.Context, owner Owner, x render.Absent, v *view) Planned {
	p := Planned{Key: x.Key, phase: inAbsent, Reason: x.Reason}
	live, err := v.live(ctx, x.Key)
	var known *diff.Error
	switch {
	case errors.As(err, &known) && known.Cause == diff.CauseMissingKind:
		return Planned{} // an unserved kind has no objects
	case err != nil:
		p.Action, p.Err = diff.ActionFailed, err
	case live == nil, x.UID != "" && live.GetUID() != types.UID(x.UID):
		return Planned{}
	case owner.relationTo(live) != mine:
		p.Action, p.Live = diff.ActionForeign, live
		p.Reason, _ = owner.refusal(live)
	case live.GetDeletionTimestamp() != nil:
		p.Action, p.Live, p.Reason = diff.ActionUnchanged, live, "is being deleted"
	default:
		p.Action, p.Live = diff.ActionDelete, live
	}
	return p
}

// planPrune lists what is live, ours and of a pruned kind, and that nobody named.
func planPrune(owner Owner, set render.Set, v *view) []Planned {
	named := map[slot]bool{}
	for _, o := range set.Desired {
		named[slotOf(o.Key())] = true
	}
	for _, x := range set.Absent {
		named[slotOf(x.Key)] = true
	}
	for _, h := range set.Held {
		named[slotOf(h.Key)] = true
	}
	var out []Planned
	for _, in := range v.shelves {
		if err := v.failed[in]; err != nil {
			key := render.Key{GroupVersionKind: in.GroupVersionKind, Namespace: in.namespace}
			out = append(out, Planned{
				Key: key, phase: inPrune, Prune: true, Action: diff.ActionFailed, Err: diff.NewError("prune", key, err),
			})
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(v.listed[in])) {
			live := v.listed[in][name]
			key := render.Key{GroupVersionKind: in.GroupVersionKind, Namespace: in.namespace, Name: name}
			if named[slotOf(key)] || live.GetDeletionTimestamp() != nil || owner.relationTo(live) != mine {
				continue
			}
			out = append(out, Planned{
				Key: key, phase: inPrune, Prune: true, Action: diff.ActionDelete, Live: live, Reason: "no longer rendered",
			})
		}
	}
	return out
}

// each calls f for 0..n-1, at most concurrency at a time, and waits for all.
func (a *Applier) each(n int, f func(i int)) {
	if n == 0 {
		return
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, a.concurrency) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
