package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/nova"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// unborn stands in for the UID of a Nova that does not exist: the marks of ownership need
// one, and nothing is written.
const unborn = types.UID("00000000-0000-0000-0000-000000000000")

// Change is a manifest to compare with the cluster.
type Change struct {
	Manifest *unstructured.Unstructured
	// Secrets are those of the same input, by the key of an observation: they will be
	// there, too.
	Secrets map[string]rendernova.SecretData
}

// Preview says what applying a manifest would do. The error is about the cluster as a
// whole; what concerns the resource stands in its preview.
func (c *Cluster) Preview(ctx context.Context, change Change, settings rendernova.Settings, notes []string) (preview.Resource, error) {
	namespace, name := change.Manifest.GetNamespace(), change.Manifest.GetName()
	live, err := c.Nova(ctx, namespace, name)
	if err != nil {
		return preview.Resource{}, err
	}
	after, more, err := c.Admit(ctx, change.Manifest, live)
	notes = append(notes[:len(notes):len(notes)], more...)
	if err != nil {
		return refused(change.Manifest, live, notes, err, c.veil), nil
	}
	if live != nil {
		after.Status = live.Status
		if live.DeletionTimestamp != nil {
			notes = append(notes, "the resource is being deleted: its children follow it, whatever its spec says")
			return preview.Of(preview.Input{Before: live, After: after, Notes: notes, Veil: c.veil}), nil
		}
	}
	there, seen, err := c.observe(ctx, after, settings)
	if err != nil {
		return preview.Resource{}, err
	}
	seen = seen.With(change.Secrets)
	in := rendernova.Input{Nova: after, Observed: seen, Settings: settings}
	forecast := rendernova.Foresee(in)
	results, more, err := there.results(ctx, after, &forecast)
	if err != nil {
		return preview.Resource{}, err
	}
	if keys := refusedKeys(results); len(keys) > 0 { // then less follows
		forecast = rendernova.Foresee(in, keys...)
		if results, more, err = there.results(ctx, after, &forecast); err != nil {
			return preview.Resource{}, err
		}
	}
	for _, res := range results {
		if res.Err != nil {
			forecast.Last.ApplyFailed(after, res.Key, res.Err)
		}
	}
	follows, err := there.configMap(ctx, namespace, seen.Deployments[name].ConfigMap)
	if err != nil {
		return preview.Resource{}, err
	}
	return preview.Of(preview.Input{
		Before: live, After: after, Forecast: &forecast, Results: results, Follows: follows, Notes: append(notes, more...), Veil: c.veil,
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
func refused(manifest *unstructured.Unstructured, live *v1alpha1.Nova, notes []string, refusal error, veil diff.Veil) preview.Resource {
	asked, err := decode(manifest)
	if err != nil { // the refusal says why
		asked = &v1alpha1.Nova{ObjectMeta: metav1.ObjectMeta{Namespace: manifest.GetNamespace(), Name: manifest.GetName()}}
	}
	r := preview.Of(preview.Input{Before: live, After: asked, Notes: notes, Veil: veil})
	r.Errors = append(r.Errors, refusal.Error())
	return r
}

// results asks the API server about every object. The notes say what it could not be asked.
func (c *Cluster) results(ctx context.Context, n *v1alpha1.Nova, f *rendernova.Forecast) ([]diff.Result, []string, error) {
	owner := nova.OwnerOf(n)
	if owner.UID == "" {
		owner.UID = unborn
	}
	set := preview.Wanted(f)
	plan, err := c.applier.Plan(ctx, owner, set)
	if err != nil {
		return nil, nil, fmt.Errorf("plan Nova %s/%s: %w", n.Namespace, n.Name, err)
	}
	report, _ := c.applier.Preview(ctx, plan) // object by object, in the results
	notes := c.guess(plan, &report, set)
	results := slices.DeleteFunc(preview.Live(report, f, c.veil), func(res diff.Result) bool { return c.idle(ctx, res) })
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

// guess stands in for answers that can't be had without a write: where the namespace does
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
			res.Changes = preview.Payload(res.Before, res.Live, c.veil)
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
	return apply.Get(ctx, c.client, render.Key{GroupVersionKind: rendernova.KindConfigMap, Namespace: namespace, Name: name})
}
