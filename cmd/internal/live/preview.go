package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/controllers/pass"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// noUID stands in for the UID of a resource that does not exist: the marks of ownership
// need one, and nothing is written.
const noUID = types.UID("00000000-0000-0000-0000-000000000000")

// Change is a manifest to compare with the cluster.
type Change struct {
	Manifest *unstructured.Unstructured
	Kind     kind.Kind
	// Secrets are those of the same input, by the key of an observation: they will be
	// there, too.
	Secrets map[string]facts.SecretData
}

// Preview says what applying a manifest would do. The error is about the cluster as a
// whole; what concerns the resource stands in its preview.
func (c *Cluster) Preview(ctx context.Context, change Change, settings render.Settings, notes []string) (preview.Resource, error) {
	namespace, name := change.Manifest.GetNamespace(), change.Manifest.GetName()
	k := change.Kind
	live, err := c.Get(ctx, k, namespace, name)
	if err != nil {
		return preview.Resource{}, err
	}
	after, more, err := c.Admit(ctx, change.Manifest, k, live)
	notes = append(notes[:len(notes):len(notes)], more...)
	if err != nil {
		return refused(change, live, notes, err, c.mask), nil
	}
	if live != nil {
		after.TakeStatus(live)
		if live.GetDeletionTimestamp() != nil {
			notes = append(notes, "the resource is being deleted: its children follow it, whatever its spec says")
			return preview.Of(preview.Input{Kind: k.Kind, Before: live, After: after, Notes: notes, Mask: c.mask}), nil
		}
	}
	world := k.World(after, settings)
	there, err := c.observe(ctx, k, world)
	if err != nil {
		return preview.Resource{}, err
	}
	world.AddSecrets(change.Secrets)
	forecast := foresee.Run(world.Clone())
	results, more, err := there.results(ctx, k.Kind, after, &forecast)
	if err != nil {
		return preview.Resource{}, err
	}
	if keys := refusedKeys(results); len(keys) > 0 { // then less follows
		forecast = foresee.Run(world.Clone(), keys...)
		if results, more, err = there.results(ctx, k.Kind, after, &forecast); err != nil {
			return preview.Resource{}, err
		}
	}
	for _, res := range results {
		if res.Err != nil {
			k.ApplyFailed(after, &forecast.Last, res.Key, res.Err)
		}
	}
	follows, err := there.configMap(ctx, namespace, world.InUse())
	if err != nil {
		return preview.Resource{}, err
	}
	return preview.Of(preview.Input{
		Kind: k.Kind, Before: live, After: after, Forecast: &forecast, Results: results, Follows: follows,
		Notes: append(notes, more...), Mask: c.mask,
	}), nil
}

// refusedKeys are the objects that can't be written.
func refusedKeys(results []diff.Result) (keys []render.Key) {
	for _, res := range results {
		if res.Action == diff.ActionRefused || res.Action == diff.ActionFailed {
			keys = append(keys, res.Key)
		}
	}
	return keys
}

// refused is the preview of a manifest that the API server does not take.
func refused(change Change, live v1alpha1.Resource, notes []string, refusal error, mask diff.Mask) preview.Resource {
	asked, err := decode(change.Manifest, change.Kind)
	if err != nil { // the refusal says why
		asked = change.Kind.New()
		asked.SetNamespace(change.Manifest.GetNamespace())
		asked.SetName(change.Manifest.GetName())
	}
	r := preview.Of(preview.Input{Kind: change.Kind.Kind, Before: live, After: asked, Notes: notes, Mask: mask})
	r.Errors = append(r.Errors, refusal.Error())
	return r
}

// results asks the API server about every object. The notes say what it could not be asked.
func (c *Cluster) results(ctx context.Context, k pipeline.Kind, r v1alpha1.Resource, f *foresee.Forecast) ([]diff.Result, []string, error) {
	owner := pass.OwnerOf(k, r)
	if owner.UID == "" {
		owner.UID = noUID
	}
	set := preview.Wanted(f)
	plan, err := c.applier.Plan(ctx, owner, set)
	if err != nil {
		return nil, nil, fmt.Errorf("plan %s %s/%s: %w", k.Kind, r.GetNamespace(), r.GetName(), err)
	}
	report, _ := c.applier.Preview(ctx, plan) // object by object, in the results
	notes := c.guess(plan, &report, set)
	results := slices.DeleteFunc(preview.Live(report, f, c.mask), func(res diff.Result) bool { return c.idle(ctx, res) })
	return results, notes, nil
}

// idle tells a held object that is not there: nothing is left as it is.
func (c *Cluster) idle(ctx context.Context, res diff.Result) bool {
	if res.Action != diff.ActionHeld {
		return false
	}
	u, err := apply.Get(ctx, c.client, res.Key)
	return u == nil && err == nil || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// guess stands in for answers that only a write would bring: where the namespace does
// not exist yet, or dry run is not permitted. What was planned is then compared here, and
// defaults and admission don't show.
func (c *Cluster) guess(plan apply.Plan, report *diff.Report, set render.Set) (notes []string) {
	desired := map[render.Key]*unstructured.Unstructured{}
	for _, o := range set.Desired {
		desired[o.Key()] = o.Content
	}
	forbidden := 0
	for i := range report.Results {
		res, planned := &report.Results[i], plan.Objects[i]
		var known *diff.Error
		if !errors.As(res.Err, &known) || known.Cause != diff.CauseMissingNamespace && known.Cause != diff.CauseForbidden || planned.Err != nil {
			continue
		}
		if known.Cause == diff.CauseForbidden {
			forbidden++
		}
		res.Action, res.Err, res.Live = planned.Action, nil, desired[res.Key]
		if planned.Action == diff.ActionUpdate {
			res.Changes = preview.Payload(res.Before, res.Live, c.mask)
			if len(res.Changes) == 0 {
				res.Action = diff.ActionUnchanged
			}
		}
	}
	if forbidden > 0 {
		notes = append(notes, fmt.Sprintf("dry run is not permitted for %d objects: their defaults, admission and immutable fields don't show", forbidden))
	}
	return notes
}

// configMap reads a generation of the configuration; nil if there is none.
func (c *Cluster) configMap(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // nothing is mounted yet
	}
	return apply.Get(ctx, c.client, render.Key{GroupVersionKind: render.KindConfigMap, Namespace: namespace, Name: name})
}
