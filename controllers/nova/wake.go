package nova

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/pass"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Indexes of the cache.
const (
	// secretRefsIndex finds the Novas that refer to a Secret.
	secretRefsIndex = "spec.secretRefs.name"
	// userSecretIndex finds the brokers whose default user is in a Secret.
	userSecretIndex = "status.defaultUser.secretReference"
)

func secretRefs(o client.Object) []string { return rendernova.SecretRefs(o.(*v1alpha1.Nova)) }

// sources are what wakes a Nova besides its children: what it refers to.
func sources(f *pass.Feed, namespaceScoped bool) []pass.Source {
	out := []pass.Source{
		{Kind: render.KindSecret, Handler: handler.EnqueueRequestsFromMapFunc(novasOfSecret(f))},
		{Kind: render.KindMariaDB, Handler: novasWhere(f, namesMariaDB)},
		{Kind: render.KindRabbitmqCluster, Handler: novasWhere(f, namesBroker), Field: userSecretIndex, Index: userSecretOf},
		{Kind: render.KindSecretStore, Handler: novasWhere(f, namesStore(v1alpha1.SecretStoreKindNamespaced))},
	}
	if !namespaceScoped {
		out = append(out, pass.Source{Kind: render.KindClusterSecretStore, Handler: novasWhere(f, namesStore(v1alpha1.SecretStoreKindCluster))})
	}
	return out
}

// userSecretOf is the index of a broker: namespace/name of its default user's Secret,
// which a broker with a secret backend does not own.
func userSecretOf(o client.Object) []string {
	broker := facts.RabbitmqClusterOf(o.(*unstructured.Unstructured))
	if broker.UserSecret == "" {
		return nil
	}
	return []string{cmp.Or(broker.UserSecretNamespace, o.GetNamespace()) + "/" + broker.UserSecret}
}

// novasOfSecret maps a Secret to the Novas that refer to it, and the default-user
// Secret of a broker to those on that broker.
func novasOfSecret(f *pass.Feed) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		requests := f.Requests(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{secretRefsIndex: o.GetName()})
		if !f.Watches(render.KindRabbitmqCluster) {
			return requests
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listOf(render.KindRabbitmqCluster))
		if err := f.Cluster.GetCache().List(ctx, list, client.MatchingFields{userSecretIndex: o.GetNamespace() + "/" + o.GetName()}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Could not find the brokers of a Secret")
		}
		for i := range list.Items {
			requests = append(requests, requestsWhere(ctx, f, namesBroker, &list.Items[i])...)
		}
		return requests
	}
}

func listOf(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	return gvk.GroupVersion().WithKind(gvk.Kind + "List")
}

// novasWhere maps an object to the Novas that refer to it by a rule.
func novasWhere(f *pass.Feed, refers func(*v1alpha1.Nova, client.Object) bool) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return requestsWhere(ctx, f, refers, o)
	})
}

// requestsWhere are for the Novas that refer to an object by a rule. A namespaced object
// concerns its own namespace only.
func requestsWhere(
	ctx context.Context, f *pass.Feed, refers func(*v1alpha1.Nova, client.Object) bool, o client.Object,
) []reconcile.Request {
	picks := func(r v1alpha1.Resource) bool { return refers(r.(*v1alpha1.Nova), o) }
	return f.RequestsWhere(ctx, picks, client.InNamespace(o.GetNamespace()))
}

func namesMariaDB(n *v1alpha1.Nova, o client.Object) bool {
	for _, db := range []*v1alpha1.DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		if db.Managed() && db.ClusterRef.Name == o.GetName() {
			return true
		}
	}
	return false
}

func namesBroker(n *v1alpha1.Nova, o client.Object) bool {
	return n.Spec.Messaging.ClusterRef != nil && n.Spec.Messaging.ClusterRef.Name == o.GetName()
}

func namesStore(kind string) func(*v1alpha1.Nova, client.Object) bool {
	return func(n *v1alpha1.Nova, o client.Object) bool {
		ref := rendernova.StoreRef(n)
		return ref.Kind == kind && ref.Name == o.GetName()
	}
}
