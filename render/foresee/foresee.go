// Package foresee takes decisions one after the other in a world that does what is asked
// of it: what the passes over a resource of any kind will do.
//
// Input: a World, which a kind implements. Output: a Forecast. It knows no kind and asks
// nobody.
package foresee

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// MaxPasses bounds how often the assumed world answers. Each answer opens at least one
// more gate: a dozen stand in a row, and an upgrade adds its phases and five rolls.
const MaxPasses = 64

// World is a resource in surroundings where what a decision wants comes about.
type World interface {
	pipeline.Subject
	// Assume stores the status of a decision, makes what it desires come up, but for what
	// is refused, and what it removes go. Inputs are not touched: a gate that waits for one
	// stays closed.
	Assume(d pipeline.Decision, refused []render.Key)
	// AssumeInputs lets everything that the resource refers to be there and work. It returns
	// the names of the placeholders that stand in for credentials, as secret/key, sorted.
	AssumeInputs() []string
	// Clone is an independent copy.
	Clone() World
}

// Forecast is what the passes over a resource do one after the other while everything
// works: what they apply comes up, and their Jobs complete.
type Forecast struct {
	// First is the decision of the next pass.
	First pipeline.Decision
	// Last is the decision after which nothing moves any more.
	Last pipeline.Decision
	// Passes are the decisions from First to Last.
	Passes []pipeline.Decision
	// Set is what all passes do together. An object stands in it as the last pass that
	// wanted it leaves it.
	Set render.Set
	// Replaced are objects one pass deletes and a later one creates, with the reason.
	Replaced map[render.Key]string
}

// Run decides again and again, each time in a world where what the last decision wanted
// came about. It leaves the world as it is after the last pass. refused are objects that
// can't be written: as in the applier, what stands in a later wave of the same pass waits
// for them.
func Run(w World, refused ...render.Key) Forecast {
	f := Forecast{Replaced: map[render.Key]string{}}
	for range MaxPasses {
		d := w.Decide()
		d.Set = behind(d.Set, refused)
		f.Passes = append(f.Passes, d)
		f.First, f.Last = f.Passes[0], d
		if n := len(f.Passes); n > 1 && settled(f.Passes[n-2], d) {
			break
		}
		w.Assume(d, refused)
	}
	f.combine()
	return f
}

// Settle decides in a world where everything comes up: what the resource refers to is there,
// and what it applies turns ready. It is what the resource stands for, without a cluster.
// The second result is that of AssumeInputs.
func Settle(w World) (pipeline.Decision, []string) {
	placeholders := w.AssumeInputs()
	f := Run(w)
	last := f.Last
	last.Events = f.Events()
	return last, placeholders
}

// Unchanged is the forecast of a resource about which another one ended with the same
// decision: nothing runs.
func (f *Forecast) Unchanged() *Forecast {
	return &Forecast{First: f.Last, Last: f.Last, Set: f.Set}
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

// settled reports whether a pass decided what the one before it did.
func settled(before, after pipeline.Decision) bool {
	return reflect.DeepEqual(before.Conditions, after.Conditions) && reflect.DeepEqual(before.After, after.After) &&
		reflect.DeepEqual(before.Set, after.Set)
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
