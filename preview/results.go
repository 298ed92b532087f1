package preview

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
)

// Wanted is the set to ask an API server about: all that the passes of a forecast do. An
// object that one pass deletes and another creates may be recreated.
func Wanted(f *foresee.Forecast) render.Set {
	set := f.Set
	set.Desired = slices.Clone(set.Desired)
	for i, o := range set.Desired {
		if _, replaced := f.Replaced[o.Key()]; replaced {
			set.Desired[i].Policy = render.Policy{Recreate: true}
		}
	}
	return set
}

// Live completes what an API server answered with what a person reads about it. The
// report stays as it is.
func Live(report diff.Report, f *foresee.Forecast, mask diff.Mask) []diff.Result {
	desired := map[render.Key]*unstructured.Unstructured{}
	for _, o := range f.Set.Desired {
		desired[o.Key()] = o.Content
	}
	results := slices.Clone(report.Results)
	for i := range results {
		res := &results[i]
		switch {
		case res.Action == diff.ActionUpdate && res.Before != nil && len(res.Live.GetManagedFields()) > 0:
			res.Changes = whole(res, mask)
		case res.Action == diff.ActionRecreate:
			res.Live = desired[res.Key]
			res.Changes = Payload(res.Before, res.Live, mask)
			if reason := f.Replaced[res.Key]; reason != "" {
				res.Reason = firstClause(reason)
			}
		}
		if res.Live == nil && res.Action == diff.ActionCreate {
			res.Live = desired[res.Key] // the server could not be asked
		}
	}
	return results
}

// whole compares both answers of the API server as a whole: a change of a field of ours
// can move a default beside it. The managers are those the applier found.
func whole(res *diff.Result, mask diff.Mask) []diff.Change {
	managers := map[string]string{}
	for _, c := range res.Changes {
		managers[c.Path] = c.Manager
	}
	changes := diff.Compare(bare(res.Before), bare(res.Live), mask)
	for i := range changes {
		changes[i].Manager = managers[changes[i].Path]
	}
	return changes
}

// InUse is the generation of the configuration that a forecast comes to; nil when it
// renders none.
func InUse(f *foresee.Forecast) *unstructured.Unstructured {
	for _, o := range f.Set.Desired {
		if o.Key().GroupVersionKind == render.KindConfigMap {
			return o.Content
		}
	}
	return nil
}

// firstClause drops what a removal says about the pass after it.
func firstClause(reason string) string {
	clause, _, _ := strings.Cut(reason, ";")
	return clause
}

// Payload compares what the operator owns of a live object with a payload, but for the
// marks of ownership, which the applier puts on.
func Payload(live, payload *unstructured.Unstructured, mask diff.Mask) []diff.Change {
	return slices.DeleteFunc(diff.Compare(live, payload, mask), diff.Change.IsMark)
}

// Offline pairs the objects of two settled worlds. before is nil when the resource is
// new; f is nil when it is deleted.
func Offline(before, f *foresee.Forecast, mask diff.Mask) []diff.Result {
	old := map[render.Key]*unstructured.Unstructured{}
	if before != nil {
		for _, o := range before.Set.Desired {
			if f == nil && o.Policy.Unreferenced {
				continue // outlives the resource
			}
			old[o.Key()] = o.Content
		}
	}
	var results []diff.Result
	if f != nil {
		for _, o := range inWaves(f.Set.Desired) {
			results = append(results, compared(old[o.Key()], o, f.Replaced, mask))
			delete(old, o.Key())
		}
	}
	return append(results, leftOver(before, f, old)...)
}

func inWaves(objects []render.Object) []render.Object {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b render.Object) int { return int(a.Stage) - int(b.Stage) })
	return objects
}

// compared is the result of an object that should exist.
func compared(before *unstructured.Unstructured, o render.Object, replaced map[render.Key]string, mask diff.Mask) diff.Result {
	res := diff.Result{Key: o.Key(), Stage: o.Stage, Action: diff.ActionUnchanged, Before: before, Live: o.Content}
	if before == nil {
		res.Action = diff.ActionCreate
		return res
	}
	res.Changes = diff.Compare(before, o.Content, mask)
	reason, again := replaced[o.Key()]
	switch {
	case again:
		res.Action, res.Reason = diff.ActionRecreate, firstClause(reason)
	case len(res.Changes) > 0 && !o.Policy.CreateOnly:
		res.Action = diff.ActionUpdate
	}
	return res
}

// leftOver are the objects of the old world that the new one does not want: removed,
// or kept where a gate or the data in them says so. Generations of the configuration
// and the Jobs of an upgrade stay as a record.
func leftOver(before, f *foresee.Forecast, old map[render.Key]*unstructured.Unstructured) []diff.Result {
	if before == nil {
		return nil
	}
	gone, kept := map[render.Key]string{}, map[render.Key]string{}
	if f != nil {
		for _, a := range f.Set.Absent {
			gone[a.Key] = a.Reason
		}
		for _, h := range f.Set.Held {
			kept[h.Key] = h.Gate
		}
	}
	var results []diff.Result
	for _, o := range before.Set.Desired {
		key := o.Key()
		if old[key] == nil {
			continue
		}
		res := diff.Result{Key: key, Stage: o.Stage, Action: diff.ActionUnchanged, Before: o.Content, Live: o.Content}
		reason, removed := gone[key]
		gate, held := kept[key]
		switch {
		case f == nil:
			res.Action, res.Live = diff.ActionDelete, nil
		case removed:
			res.Action, res.Reason, res.Live = diff.ActionDelete, reason, nil
		case held:
			res.Action, res.Reason = diff.ActionHeld, gate
		}
		results = append(results, res)
	}
	return results
}
