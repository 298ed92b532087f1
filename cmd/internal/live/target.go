package live

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/pass"
)

// childrenOn is the cluster of children by the name of a target cluster; "" is this one. lost
// says why it does not resolve: the operator would say it in a condition. The error is about
// reading the registration.
func (c *Cluster) childrenOn(ctx context.Context, target string) (there *Cluster, lost string, err error) {
	if target == "" {
		return c, "", nil
	}
	if there, known := c.targets[target]; known {
		return there, "", nil
	}
	if c.clustersNamespace == "" {
		return c, pass.ErrNoFleet.Error(), nil
	}
	registration, err := clusters.Find(ctx, c.client, c.clustersNamespace, target)
	switch {
	case errors.Is(err, multicluster.ErrClusterNotFound):
		return c, err.Error(), nil
	case err != nil:
		return nil, "", fmt.Errorf("reach target cluster %s: %w", target, err)
	}
	if there, err = Of(registration.Config, c.mask); err != nil {
		return c, err.Error(), nil //nolint:nilerr // it is the answer
	}
	c.targets[target] = there
	return there, "", nil
}

// Observe reads what the controller would decide from.
func (c *Cluster) Observe(ctx context.Context, k kind.Kind, w kind.World) error {
	_, err := c.observe(ctx, k, w)
	return err
}

// observe returns the cluster of the children as well.
func (c *Cluster) observe(ctx context.Context, k kind.Kind, w kind.World) (*Cluster, error) {
	target := w.Resource().TargetCluster()
	there, lost, err := c.childrenOn(ctx, target)
	if err != nil {
		return there, err
	}
	if lost == "" {
		err = k.Look(ctx, there.client, there.client.RESTMapper(), w)
		if err == nil || target == "" {
			return there, err
		}
		lost = err.Error()
	}
	w.LoseTarget(lost)
	return there, nil
}
