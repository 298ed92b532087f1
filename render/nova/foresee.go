package nova

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// maxSettle bounds how often the assumed world answers. Each answer opens at least one
// more gate: a dozen stand in a row, and an upgrade adds its phases and five rolls.
const maxSettle = 64

// Forecast is what the passes over a Nova do one after the other while everything
// works: what they apply comes up, and their Jobs complete.
type Forecast struct {
	// First is the decision of the next pass.
	First Result
	// Last is the decision after which nothing moves any more.
	Last Result
	// Passes are the decisions from First to Last.
	Passes []Result
	// Phases are the phases of an upgrade in the order they come, by pass; a finished
	// upgrade ends with the empty one.
	Phases []PhaseChange
	// Set is what all passes do together. An object stands in it as the last pass that
	// wanted it leaves it.
	Set render.Set
	// End is the resource and the world after the last pass.
	End Input
	// Replaced are objects one pass deletes and a later one creates, with the reason.
	Replaced map[render.Key]string
}

// PhaseChange is the turn of an upgrade into another phase.
type PhaseChange struct {
	// Pass is the index of the pass that turned it.
	Pass     int
	From, To v1alpha1.UpgradePhase
	// Aborted: the upgrade ends without its release.
	Aborted bool
}

// Foresee decides again and again, each time in a world where what the last decision
// wanted came about. Inputs of the observation are not touched: a gate that waits for
// one stays closed. refused are objects that can't be written: as in the applier, what
// stands in a later wave of the same pass waits for them.
func Foresee(in Input, refused ...render.Key) Forecast {
	in.Observed = in.Observed.clone()
	in.Nova = in.Nova.DeepCopy()
	if in.canon == nil {
		in.canon = render.Canon{}
	}
	f := Forecast{Replaced: map[render.Key]string{}}
	for range maxSettle {
		pass := Decide(in)
		pass.Set = behind(pass.Set, refused)
		f.add(&in.Nova.Status, pass)
		if n := len(f.Passes); n > 1 && settled(f.Passes[n-2], f.Last) {
			break
		}
		in.assumeStatus(f.Last)
		in.assumeOutcome(f.Last, refused...)
	}
	f.End = in
	f.combine()
	return f
}

func (f *Forecast) add(before *v1alpha1.NovaStatus, r Result) {
	if len(f.Passes) == 0 {
		f.First = r
	}
	if from, to := before.UpgradePhase, r.Status.UpgradePhase; from != to {
		f.Phases = append(f.Phases, PhaseChange{
			Pass: len(f.Passes), From: from, To: to, Aborted: to == idle && r.Status.InstalledRelease == before.InstalledRelease,
		})
	}
	f.Last = r
	f.Passes = append(f.Passes, r)
}

// behind holds what an applier does not get to because objects before it can't be
// written: later waves, what is absent unless only the last wave suffers, and prune.
func behind(set render.Set, refused []render.Key) render.Set {
	first, last, gate := render.Stage(-1), render.Stage(-1), ""
	for _, o := range set.Desired {
		last = max(last, o.Stage)
		if slices.Contains(refused, o.Key()) && (first < 0 || o.Stage < first) {
			first, gate = o.Stage, fmt.Sprintf("%s/%s can't be written", o.Key().Kind, o.Key().Name)
		}
	}
	if first < 0 {
		return set
	}
	out := render.Set{Held: slices.Clone(set.Held)}
	for _, o := range set.Desired {
		if o.Stage <= first {
			out.Desired = append(out.Desired, o)
		} else {
			out.Held = append(out.Held, render.Held{Key: o.Key(), Gate: gate})
		}
	}
	for _, a := range set.Absent {
		if first == last {
			out.Absent = append(out.Absent, a)
		} else {
			out.Held = append(out.Held, render.Held{Key: a.Key, Gate: gate})
		}
	}
	return out
}

// Events are the events of all passes, in order, each once.
func (f *Forecast) Events() []render.Event {
	var all []render.Event
	for _, pass := range f.Passes {
		for _, e := range pass.Events {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// settled reports whether a pass decided what the one before it did.
func settled(before, after Result) bool {
	return reflect.DeepEqual(before.Conditions, after.Conditions) && reflect.DeepEqual(before.Status, after.Status) &&
		reflect.DeepEqual(before.Set, after.Set)
}

// assumeStatus stores the status a pass would write.
func (in *Input) assumeStatus(r Result) {
	conditions := in.Nova.Status.Conditions
	in.Nova.Status = *r.Status.DeepCopy()
	for _, c := range r.Conditions {
		conditions = replaceCondition(conditions, c)
	}
	in.Nova.Status.Conditions = conditions
}

// combine lays the sets of the passes over one another. What the last pass holds and an
// earlier one wrote counts as written.
func (f *Forecast) combine() {
	desired := map[render.Key]render.Object{}
	absent := map[render.Key]render.Absent{}
	var order []render.Key
	for _, pass := range f.Passes {
		for _, o := range pass.Set.Desired {
			key := o.Key()
			if gone, ok := absent[key]; ok {
				f.Replaced[key] = gone.Reason
				delete(absent, key)
			}
			desired[key] = o
			order = append(order, key)
		}
		for _, a := range pass.Set.Absent {
			delete(desired, a.Key)
			absent[a.Key] = a
			order = append(order, a.Key)
		}
	}
	f.Set.Prunable = f.Last.Set.Prunable
	wanted := map[render.Key]bool{}
	for _, key := range order {
		wanted[key] = true
		if o, ok := desired[key]; ok {
			f.Set.Desired = append(f.Set.Desired, o)
			delete(desired, key)
		}
		if a, ok := absent[key]; ok {
			f.Set.Absent = append(f.Set.Absent, a)
			delete(absent, key)
		}
	}
	for _, h := range f.Last.Set.Held {
		if !wanted[h.Key] {
			f.Set.Held = append(f.Set.Held, h)
		}
	}
}
