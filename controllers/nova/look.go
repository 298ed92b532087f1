package nova

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Look observes the world of one Nova for a preview, past every cache. What it returns is
// what a pass of the controller would decide from now, but for the health of the API: the
// answer of the last probe stands in, because Services are out of reach outside a cluster.
func Look(ctx context.Context, reader client.Reader, mapper meta.RESTMapper, n *v1alpha1.Nova, namespaceScoped bool) (rendernova.Observed, error) {
	capabilities := Served(mapper)
	if err := capabilities.Err(); err != nil {
		return rendernova.Observed{}, err
	}
	o := observer{reader: reader, uncached: reader, capabilities: func() Capabilities { return capabilities }, namespaceScoped: namespaceScoped}
	seen, err := o.observe(ctx, n)
	if err != nil {
		return rendernova.Observed{}, err
	}
	seen.Health = rendernova.RecalledHealth(n)
	return seen, nil
}
