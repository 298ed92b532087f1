package live

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/nova"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// childrenOf is the cluster of the children of a Nova. lost says why it does not resolve:
// the operator would say it in a condition. The error is about reading the registration.
func (c *Cluster) childrenOf(ctx context.Context, n *v1alpha1.Nova) (there *Cluster, lost string, err error) {
	if n.Spec.TargetClusterRef == nil {
		return c, "", nil
	}
	name := n.Spec.TargetClusterRef.Name
	if there, known := c.targets[name]; known {
		return there, "", nil
	}
	if c.clustersNamespace == "" {
		return c, nova.ErrNoFleet.Error(), nil
	}
	registration, err := clusters.Find(ctx, c.client, c.clustersNamespace, name)
	switch {
	case errors.Is(err, multicluster.ErrClusterNotFound):
		return c, err.Error(), nil
	case err != nil:
		return nil, "", fmt.Errorf("reach target cluster %s: %w", name, err)
	}
	if there, err = Of(registration.Config, c.veil); err != nil {
		return c, err.Error(), nil //nolint:nilerr // it is the answer
	}
	c.targets[name] = there
	return there, "", nil
}

// Observe reads what the controller would decide from.
func (c *Cluster) Observe(ctx context.Context, n *v1alpha1.Nova, settings rendernova.Settings) (rendernova.Observed, error) {
	_, seen, err := c.observe(ctx, n, settings)
	return seen, err
}

// observe returns the cluster of the children as well.
func (c *Cluster) observe(ctx context.Context, n *v1alpha1.Nova, settings rendernova.Settings) (*Cluster, rendernova.Observed, error) {
	there, lost, err := c.childrenOf(ctx, n)
	if err != nil || lost != "" {
		return there, rendernova.Observed{TargetCluster: lost}, err
	}
	seen, err := nova.Look(ctx, there.client, there.client.RESTMapper(), n, settings.NamespaceScoped)
	if err != nil && n.Spec.TargetClusterRef != nil {
		return there, rendernova.Observed{TargetCluster: err.Error()}, nil
	}
	return there, seen, err
}
