package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// write brings one object to its desired state: one request in the common case, and
// two for a new one.
func (r *run) write(ctx context.Context, t *task) error {
	if t.Live == nil {
		// A cache that lags behind, or that does not hold the object, shows none.
		if goesOn, err := r.look(ctx, t); !goesOn || err != nil {
			return err
		}
	}
	err := r.try(ctx, t)
	if err == nil || diff.NewError("", t.Key, err).Cause != diff.CauseChanged {
		return err
	}
	// The object that was planned on is not the live one.
	if goesOn, err := r.look(ctx, t); !goesOn || err != nil {
		return err
	}
	return r.try(ctx, t)
}

// look decides once more, on the live object, and says whether there is something to write.
func (r *run) look(ctx context.Context, t *task) (bool, error) {
	r.called()
	live, err := read(ctx, r.uncached, t.Key)
	if err != nil {
		return false, err
	}
	r.decide(r.owner, t.Planned, live)
	t.res.Action, t.res.Reason, t.res.Before, t.res.Live, t.res.Err = t.Action, t.Reason, live, live, t.Err
	return t.Action == diff.ActionCreate || t.Action == diff.ActionUpdate, nil
}

// try makes the requests. Each names what it was decided on: a free name, or one
// incarnation.
func (r *run) try(ctx context.Context, t *task) error {
	before, limits := t.Live, newName
	switch {
	case t.trimOnly:
		return r.trim(ctx, t, before, before)
	case t.markOnly:
		return r.mark(ctx, t)
	case before != nil:
		limits = preconditions{uid: before.GetUID()}
	}
	if t.takeOver && !r.dry {
		var err error
		if before, err = r.takeOver(ctx, t.policy, before); err != nil {
			return err
		}
	}
	after, err := r.patch(ctx, t, limits)
	if err != nil {
		if e := diff.NewError("apply", t.Key, err); e.Cause == diff.CauseImmutable && t.policy.Recreate && before != nil {
			return r.recreate(ctx, t, e)
		}
		return err
	}
	if t.policy.ExactData && len(extraData(t.desired, after)) > 0 {
		return r.trim(ctx, t, before, after)
	}
	r.settle(t, before, after)
	if before != t.Live && t.res.Action == diff.ActionUnchanged {
		t.res.Action = diff.ActionUpdate // the take-over was all there was to do
	}
	return nil
}

// patch applies a payload and returns the server's answer. The first try does not
// force, so that a field another manager holds is reported before it is taken. The
// one the policy yields is left to that manager.
func (r *run) patch(ctx context.Context, t *task, limits preconditions) (*unstructured.Unstructured, error) {
	desired := t.desired
	after, err := r.send(ctx, desired, limits)
	if limits == newName {
		return after, err // a conflict is with an object that came meanwhile
	}
	found := conflictsOf(t.Key, err)
	kept := slices.DeleteFunc(slices.Clone(found), func(c diff.Conflict) bool { return c.Path == t.policy.Yields })
	if len(kept) < len(found) {
		found, desired = kept, desired.DeepCopy()
		unstructured.RemoveNestedField(desired.Object, strings.Split(t.policy.Yields, ".")...)
		if len(found) == 0 {
			return r.send(ctx, desired, limits)
		}
	}
	if len(found) == 0 {
		return after, err
	}
	after, err = r.send(ctx, desired, limits, client.ForceOwnership)
	if err == nil {
		r.conflicts(found)
	}
	return after, err
}

// send makes the one call. The API server refuses it where the limits are not met.
func (r *run) send(
	ctx context.Context, desired *unstructured.Unstructured, limits preconditions, opts ...client.ApplyOption,
) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: maps.Clone(desired.Object)}
	meta, _ := u.Object["metadata"].(map[string]any)
	u.Object["metadata"] = maps.Clone(meta)
	u.SetUID(limits.uid)
	u.SetResourceVersion(limits.version)
	opts = append(opts, client.FieldOwner(render.FieldOwner))
	if r.dry {
		opts = append(opts, client.DryRunAll)
	}
	r.called()
	if err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...); err != nil {
		return nil, err
	}
	return u, nil
}

// takeOver migrates the traces of a predecessor on a live object and returns it as
// it is then.
func (r *run) takeOver(
	ctx context.Context, policy render.Policy, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	patch, err := takeoverPatch(r.owner, policy, live)
	if err != nil || patch == nil {
		return live, err
	}
	r.called()
	u := keyed(render.KeyOf(live))
	if err := r.client.Patch(ctx, u, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(render.FieldOwner)); err != nil {
		return nil, err
	}
	return u, nil
}

// conflictsOf reads manager and path from a 409 of a server-side apply; nil for any
// other answer.
func conflictsOf(key render.Key, err error) []diff.Conflict {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var out []diff.Conflict
	for _, c := range status.Status().Details.Causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		// `conflict with "kubectl" using apps/v1`: the one place the name stands.
		name := c.Message
		if _, rest, ok := strings.Cut(c.Message, `"`); ok {
			name, _, _ = strings.Cut(rest, `"`)
		}
		out = append(out, diff.Conflict{Key: key, Path: strings.TrimPrefix(c.Field, "."), Manager: name})
	}
	return out
}

// dataFields hold user data by key, in ConfigMaps and Secrets.
var dataFields = []string{"data", "binaryData"}

// extraData lists, per data field, the live keys that are not desired.
func extraData(desired, live *unstructured.Unstructured) map[string][]string {
	var out map[string][]string
	for _, field := range dataFields {
		want, _ := desired.Object[field].(map[string]any)
		have, _ := live.Object[field].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(have)) {
			if _, ok := want[k]; ok {
				continue
			}
			if out == nil {
				out = map[string][]string{}
			}
			out[field] = append(out[field], k)
		}
	}
	return out
}

// trim removes the data keys other managers added: an apply leaves them alone.
func (r *run) trim(ctx context.Context, t *task, before, after *unstructured.Unstructured) error {
	patch := map[string]any{"metadata": map[string]any{"uid": string(after.GetUID())}}
	var gone []string
	for field, keys := range extraData(t.desired, after) {
		nulls := map[string]any{}
		for _, k := range keys {
			nulls[k] = nil
			gone = append(gone, field+"["+k+"]")
		}
		patch[field] = nulls
	}
	u, err := r.merge(ctx, t.Key, patch)
	if err != nil {
		return err
	}
	r.settle(t, before, u)
	if t.res.Action == diff.ActionUnchanged {
		t.res.Action = diff.ActionUpdate
	}
	slices.Sort(gone)
	t.res.Reason = "foreign keys removed: " + strings.Join(gone, ", ")
	return nil
}

// mark puts the mark of a child right, and touches nothing else of it.
func (r *run) mark(ctx context.Context, t *task) error {
	bare := keyed(t.Key)
	bare.SetUID(t.Live.GetUID())
	bare.SetResourceVersion(t.Live.GetResourceVersion()) // the list of references is written whole
	bare.SetOwnerReferences(r.owner.otherReferences(t.Live))
	u, err := r.merge(ctx, t.Key, r.owner.stamp(bare, t.policy).Object)
	if err != nil {
		return err
	}
	r.settle(t, t.Live, u)
	t.res.Action, t.res.Reason = diff.ActionUpdate, "marked as a child"
	return nil
}

// merge makes one merge patch, which names the incarnation it is for.
func (r *run) merge(ctx context.Context, key render.Key, patch map[string]any) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	u := keyed(key)
	opts := []client.PatchOption{client.FieldOwner(render.FieldOwner)}
	if r.dry {
		opts = append(opts, client.DryRunAll)
	}
	r.called()
	if err := r.client.Patch(ctx, u, client.RawPatch(types.MergePatchType, raw), opts...); err != nil {
		return nil, err
	}
	return u, nil
}
