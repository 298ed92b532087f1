package apply

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// Execute carries a plan out: the waves in order, then absent objects, then prune.
// A wave that is not done (something failed, was refused, or waits) holds the waves
// after it and the absent objects, because both may be what running workloads still
// need; failures of the last wave do not keep absent objects. Prune runs only when
// everything before it succeeded.
//
// The error is Report.Err: every object's error, joined. A stale plan is safe: each
// write names the object it was planned against.
func (a *Applier) Execute(ctx context.Context, plan Plan) (diff.Report, error) {
	return a.run(ctx, plan, false)
}

// Preview asks the API server what Execute would do: the same calls with dry run.
// Nothing is written or memoised, and no wave is held, so one report shows every
// refusal. What it cannot show: fields that only a takeover of legacy managers would
// drop, and objects that need one an earlier wave creates (a namespace).
func (a *Applier) Preview(ctx context.Context, plan Plan) (diff.Report, error) {
	return a.run(ctx, plan, true)
}

// run is one execution.
type run struct {
	*Applier
	owner Owner
	dry   bool

	mu     sync.Mutex
	report diff.Report
}

// task couples what is planned for one object with its result.
type task struct {
	*Planned
	res diff.Result
}

func (a *Applier) run(ctx context.Context, plan Plan, dry bool) (diff.Report, error) {
	r := &run{Applier: a, owner: plan.Owner, dry: dry}
	tasks := make([]task, len(plan.Objects))
	for i := range plan.Objects {
		p := plan.Objects[i] // a copy: deciding again must not write to the plan
		tasks[i] = task{Planned: &p, res: diff.Result{
			Key: p.Key, Stage: p.Stage, Action: p.Action, Prune: p.Prune, Reason: p.Reason,
			Before: p.Live, Live: p.Live, Err: p.Err,
		}}
	}
	done, attempted := true, true // every object so far; every wave was started
	for lo := 0; lo < len(tasks); {
		hi := lo
		for hi < len(tasks) && tasks[hi].phase == tasks[lo].phase && tasks[hi].Stage == tasks[lo].Stage {
			hi++
		}
		part := tasks[lo:hi]
		switch part[0].phase {
		case inWave:
			attempted = attempted && done || dry
			r.each(len(part), func(i int) { r.desired(ctx, &part[i], attempted) })
		case inAbsent:
			r.each(len(part), func(i int) { r.remove(ctx, &part[i], attempted) })
		case inPrune:
			r.each(len(part), func(i int) { r.remove(ctx, &part[i], done || dry) })
		case inHeld:
		}
		for i := range part {
			switch part[i].res.Action {
			case diff.ActionFailed, diff.ActionRefused, diff.ActionWait, diff.ActionSkipped:
				done = false
			default:
			}
		}
		lo = hi
	}
	r.report.Results = make([]diff.Result, len(tasks))
	for i := range tasks {
		r.report.Results[i] = tasks[i].res
		r.report.Counts.Add(tasks[i].res.Action)
	}
	return r.report, r.report.Err()
}

// desired carries out what is planned for a desired object. The plan's verdict stands where
// it needs no call.
func (r *run) desired(ctx context.Context, t *task, ok bool) {
	switch t.Action {
	case diff.ActionCreate, diff.ActionUpdate:
	default:
		return
	}
	if !ok {
		t.res.Action, t.res.Reason = diff.ActionSkipped, "an earlier wave is not done"
		return
	}
	start := r.now()
	err := r.write(ctx, t)
	t.res.Took = r.now().Sub(start)
	if err != nil {
		t.fail("apply", err)
	}
}

// remove deletes an absent or pruned object. Only this very incarnation: another
// object of the name is for the next pass to judge.
func (r *run) remove(ctx context.Context, t *task, ok bool) {
	if t.Action != diff.ActionDelete {
		return
	}
	if !ok {
		t.res.Action, t.res.Reason = diff.ActionSkipped, "not everything is applied"
		return
	}
	op := "delete"
	if t.Prune {
		op = "prune"
	}
	r.memo.drop(r.owner, t.Key)
	start := r.now()
	err := r.delete(ctx, t.Key, preconditions{uid: t.Live.GetUID()})
	t.res.Took = r.now().Sub(start)
	if err != nil {
		t.fail(op, err)
		return
	}
	t.res.Live = nil
}

func (t *task) fail(op string, err error) {
	e := diff.NewError(op, t.Key, err)
	t.res.Action, t.res.Err = diff.ActionFailed, e
	if e.Cause == diff.CauseForeign {
		t.res.Action = diff.ActionRefused
	}
}

// settle records the answer of the API server to a write.
func (r *run) settle(t *task, before, after *unstructured.Unstructured) {
	t.res.Live = after
	if !r.dry {
		r.memo.put(r.owner, t.Key, entryOf(t.sum, after))
	}
	known := t.before
	switch {
	case before == nil:
		t.res.Action = diff.ActionCreate
		if known != nil {
			r.drift(diff.Drift{Key: t.Key, Deleted: true})
		}
		return
	case diff.Fingerprint(before) == diff.Fingerprint(after):
		t.res.Action = diff.ActionUnchanged
		return
	}
	t.res.Action = diff.ActionUpdate
	t.res.Changes = diff.Changes(t.Key, before, after, r.mask)
	if known != nil && known.uid == before.GetUID() && len(t.res.Changes) > 0 {
		r.drift(diff.Drift{Key: t.Key, Changes: t.res.Changes})
	}
}

func (r *run) drift(d diff.Drift) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Drifts = append(r.report.Drifts, d)
}

func (r *run) conflicts(found []diff.Conflict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Conflicts = append(r.report.Conflicts, found...)
}

// called counts one request to the API server.
func (r *run) called() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Requests++
}

// preconditions limit a write or a delete to one incarnation and, where version is set,
// state.
type preconditions struct {
	uid     types.UID
	version string
}

// newName limits an apply to a name that is free: no stored object has this version, and
// where there is none at all the API server asks for none.
var newName = preconditions{version: "1"}

// keyed is a bare object that names key.
func keyed(key render.Key) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(key.GroupVersionKind)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	return u
}
