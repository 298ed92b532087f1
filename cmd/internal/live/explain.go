package live

import (
	"context"
	"fmt"
	"slices"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/controllers/pass"
	"github.com/c5c3/nova-operator/explain"
	"github.com/c5c3/nova-operator/render"
)

// Explain says why a resource is as it is.
func (c *Cluster) Explain(
	ctx context.Context, k kind.Kind, namespace, name string, settings render.Settings, notes []string,
) (explain.Tree, error) {
	r, err := c.Found(ctx, k, namespace, name)
	if err != nil {
		return explain.Tree{}, err
	}
	world := k.World(r, settings)
	there, err := c.observe(ctx, k, world)
	if err != nil {
		return explain.Tree{}, err
	}
	decision := world.Decide()
	plan, err := there.applier.Plan(ctx, pass.OwnerOf(k.Kind, r), decision.Set)
	if err != nil {
		return explain.Tree{}, fmt.Errorf("plan %s %s/%s: %w", k.Kind.Kind, namespace, name, err)
	}
	report, _ := there.applier.Preview(ctx, plan) // object by object, in the results
	for _, res := range report.Results {
		if res.Err != nil {
			k.ApplyFailed(r, &decision, res.Key, res.Err)
		}
	}
	report.Results = slices.DeleteFunc(report.Results, func(res diff.Result) bool { return there.idle(ctx, res) })
	return explain.Of(explain.Input{Kind: k.Kind, Resource: r, Decision: decision, Report: &report, Notes: notes}), nil
}
