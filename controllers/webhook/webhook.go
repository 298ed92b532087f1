package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// The paths the API server calls; the markers of this package repeat them.
const (
	mutateNovaPath      = "/mutate-nova-openstack-c5c3-io-v1alpha1-nova"
	validateNovaPath    = "/validate-nova-openstack-c5c3-io-v1alpha1-nova"
	mutateComputePath   = "/mutate-nova-openstack-c5c3-io-v1alpha1-novacompute"
	validateComputePath = "/validate-nova-openstack-c5c3-io-v1alpha1-novacompute"
)

// rules find what is wrong with a resource, and what to warn its author of. Old is nil
// on create. The error says why the rules could not be applied.
type rules[T any] func(ctx context.Context, object, old *T) (field.ErrorList, []string, error)

// Register serves the webhooks of both kinds. The reader looks past the cache, so that
// what was created a moment ago counts. Without one nothing is looked up: every priority
// class is taken to exist, and no option of a node pool is compared with a catalog.
func Register(server webhook.Server, reader client.Reader) {
	for path, handler := range map[string]admission.Handler{
		mutateNovaPath:      unlessReleasing[v1alpha1.NovaSpec](mutating[v1alpha1.Nova]{(*v1alpha1.Nova).Default}),
		validateNovaPath:    unlessReleasing[v1alpha1.NovaSpec](validating[v1alpha1.Nova]{v1alpha1.KindNova, novaRules(reader)}),
		mutateComputePath:   admission.HandlerFunc(admitUnchanged),
		validateComputePath: unlessReleasing[v1alpha1.NovaComputeSpec](validating[v1alpha1.NovaCompute]{v1alpha1.KindNovaCompute, computeRules(reader)}),
	} {
		server.Register(path, &admission.Webhook{Handler: handler})
	}
}

// admitUnchanged is the mutating webhook of a NovaCompute: the schema holds its only
// defaults. It is registered so that a later one needs no new registration.
func admitUnchanged(context.Context, admission.Request) admission.Response {
	return admission.Allowed("")
}
