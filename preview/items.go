package preview

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/nova"
)

// Wanted is the set to ask an API server about: all that the passes of a forecast do. An
// object that one pass deletes and another creates may be recreated.
func Wanted(f *nova.Forecast) render.Set {
	set := f.Set
	set.Desired = slices.Clone(set.Desired)
	for i, o := range set.Desired {
		if _, replaced := f.Replaced[o.Key()]; replaced {
			set.Desired[i].Policy = render.Policy{Recreate: true}
		}
	}
	return set
}

// Live pairs what an API server answered with what was planned on.
func Live(plan apply.Plan, report diff.Report, f *nova.Forecast, veil diff.Veil) []Item {
	desired := map[render.Key]*unstructured.Unstructured{}
	for _, o := range f.Set.Desired {
		desired[o.Key()] = o.Content
	}
	items := make([]Item, len(report.Results))
	for i, res := range report.Results {
		item := Item{Result: res, Before: plan.Objects[i].Live}
		switch {
		case res.Action == diff.ActionUpdate && item.Before != nil && len(res.Live.GetManagedFields()) > 0:
			item.Changes = whole(res, item.Before, veil)
		case res.Action == diff.ActionRecreate:
			item.Live = desired[res.Key]
			item.Changes = Payload(item.Before, item.Live, veil)
			if reason := f.Replaced[res.Key]; reason != "" {
				item.Reason = firstClause(reason)
			}
		}
		if item.Live == nil && res.Action == diff.ActionCreate {
			item.Live = desired[res.Key] // the server could not be asked
		}
		items[i] = item
	}
	return items
}

// whole compares both answers of the API server as a whole: a change of a field of ours
// can move a default beside it. The managers are those the applier found.
func whole(res diff.Result, before *unstructured.Unstructured, veil diff.Veil) []diff.Change {
	managers := map[string]string{}
	for _, c := range res.Changes {
		managers[c.Path] = c.Manager
	}
	changes := diff.Compare(bare(before), bare(res.Live), veil)
	for i := range changes {
		changes[i].Manager = managers[changes[i].Path]
	}
	return changes
}

// InUse is the generation of the configuration that a forecast comes to; nil when it
// renders none.
func InUse(f *nova.Forecast) *unstructured.Unstructured {
	for _, o := range f.Set.Desired {
		if o.Key().GroupVersionKind == nova.KindConfigMap {
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
func Payload(live, payload *unstructured.Unstructured, veil diff.Veil) []diff.Change {
	return slices.DeleteFunc(diff.Compare(live, payload, veil), diff.Change.IsMark)
}

// Offline pairs the objects of two settled worlds. before is nil when the resource is
// new; f is nil when it is deleted.
func Offline(before, f *nova.Forecast, veil diff.Veil) []Item {
	old := map[render.Key]*unstructured.Unstructured{}
	if before != nil {
		for _, o := range before.Set.Desired {
			old[o.Key()] = o.Content
		}
	}
	var items []Item
	if f != nil {
		for _, o := range inWaves(f.Set.Desired) {
			items = append(items, compared(old[o.Key()], o, f.Replaced, veil))
			delete(old, o.Key())
		}
	}
	return append(items, leftOver(before, f, old)...)
}

func inWaves(objects []render.Object) []render.Object {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b render.Object) int { return int(a.Stage) - int(b.Stage) })
	return objects
}

// compared is the item of an object that should exist.
func compared(before *unstructured.Unstructured, o render.Object, replaced map[render.Key]string, veil diff.Veil) Item {
	item := Item{Result: diff.Result{Key: o.Key(), Stage: o.Stage, Action: diff.ActionUnchanged, Live: o.Content}, Before: before}
	if before == nil {
		item.Action = diff.ActionCreate
		return item
	}
	item.Changes = diff.Compare(before, o.Content, veil)
	reason, again := replaced[o.Key()]
	switch {
	case again:
		item.Action, item.Reason = diff.ActionRecreate, firstClause(reason)
	case len(item.Changes) > 0 && !o.Policy.CreateOnly:
		item.Action = diff.ActionUpdate
	}
	return item
}

// leftOver are the objects of the old world that the new one does not want: removed,
// or kept where a gate or the data in them says so. Generations of the configuration
// and the Jobs of an upgrade stay as a record.
func leftOver(before, f *nova.Forecast, old map[render.Key]*unstructured.Unstructured) []Item {
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
	var items []Item
	for _, o := range before.Set.Desired {
		key := o.Key()
		if old[key] == nil {
			continue
		}
		item := Item{Result: diff.Result{Key: key, Stage: o.Stage, Action: diff.ActionUnchanged, Live: o.Content}, Before: o.Content}
		reason, removed := gone[key]
		gate, held := kept[key]
		switch {
		case f == nil:
			item.Action, item.Live = diff.ActionDelete, nil
		case removed:
			item.Action, item.Reason, item.Live = diff.ActionDelete, reason, nil
		case held:
			item.Action, item.Reason = diff.ActionHeld, gate
		}
		items = append(items, item)
	}
	return items
}
