package live

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/controllers/nova"
	"github.com/c5c3/nova-operator/preview"
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
		r := preview.Of(preview.Input{Before: live, After: live, Notes: notes, Veil: c.veil})
		r.Kind, r.Namespace, r.Name = v1alpha1.KindNova, namespace, name
		r.Errors = append(r.Errors, err.Error())
		return r, nil
	}
	if live != nil {
		after.Status = live.Status
		if live.DeletionTimestamp != nil {
			notes = append(notes, "the resource is being deleted: nothing of this happens")
		}
	}
	seen, err := c.Observe(ctx, after, settings)
	if err != nil {
		return preview.Resource{}, err
	}
	seen = seen.With(change.Secrets)
	forecast := rendernova.Foresee(rendernova.Input{Nova: after, Observed: seen, Settings: settings})
	items, err := c.items(ctx, after, seen, &forecast)
	if err != nil {
		return preview.Resource{}, err
	}
	return preview.Of(preview.Input{Before: live, After: after, Forecast: &forecast, Items: items, Notes: notes, Veil: c.veil}), nil
}

// items asks the API server about every object.
func (c *Cluster) items(ctx context.Context, n *v1alpha1.Nova, seen rendernova.Observed, f *rendernova.Forecast) ([]preview.Item, error) {
	owner := nova.OwnerOf(n)
	if owner.UID == "" {
		owner.UID = unborn
	}
	plan, err := c.applier.Plan(ctx, owner, preview.Wanted(f))
	if err != nil {
		return nil, fmt.Errorf("plan Nova %s/%s: %w", n.Namespace, n.Name, err)
	}
	report, _ := c.applier.Preview(ctx, plan) // object by object, in the results
	forgive(&report)
	previous, err := c.configMap(ctx, n.Namespace, seen.Deployments[n.Name].ConfigMap)
	if err != nil {
		return nil, err
	}
	return preview.Live(plan, report, f, previous, c.veil), nil
}

// forgive turns an object that can't be asked for, because its namespace does not exist
// yet, into one that will be created.
func forgive(report *apply.Report) {
	for i := range report.Results {
		res := &report.Results[i]
		var known *apply.Error
		if errors.As(res.Err, &known) && known.Cause == apply.CauseMissingNamespace && res.Live == nil {
			res.Action, res.Err = apply.ActionCreate, nil
		}
	}
}

// configMap reads a generation of the configuration; nil if there is none.
func (c *Cluster) configMap(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // nothing is mounted yet
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(rendernova.KindConfigMap)
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return u, nil
}
