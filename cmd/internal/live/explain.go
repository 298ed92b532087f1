package live

import (
	"context"
	"fmt"
	"slices"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/explain"
	"github.com/c5c3/nova-operator/controllers/nova"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Found reads a Nova that must be there.
func (c *Cluster) Found(ctx context.Context, namespace, name string) (*v1alpha1.Nova, error) {
	n, err := c.Nova(ctx, namespace, name)
	if err == nil && n == nil {
		return nil, fmt.Errorf("there is no Nova %s in namespace %s; -n names another", name, namespace)
	}
	return n, err
}

// Explain says why a Nova is as it is.
func (c *Cluster) Explain(ctx context.Context, namespace, name string, settings rendernova.Settings, notes []string) (explain.Tree, error) {
	n, err := c.Found(ctx, namespace, name)
	if err != nil {
		return explain.Tree{}, err
	}
	there, seen, err := c.observe(ctx, n, settings)
	if err != nil {
		return explain.Tree{}, err
	}
	result := rendernova.Decide(rendernova.Input{Nova: n, Observed: seen, Settings: settings})
	plan, err := there.applier.Plan(ctx, nova.OwnerOf(n), result.Set)
	if err != nil {
		return explain.Tree{}, fmt.Errorf("plan Nova %s/%s: %w", namespace, name, err)
	}
	report, _ := there.applier.Preview(ctx, plan) // object by object, in the results
	for _, res := range report.Results {
		if res.Err != nil {
			result.ApplyFailed(n, res.Key, res.Err)
		}
	}
	report.Results = slices.DeleteFunc(report.Results, func(res diff.Result) bool { return there.idle(ctx, res) })
	return explain.Of(explain.Input{Nova: n, Result: result, Report: &report, Notes: notes}), nil
}
