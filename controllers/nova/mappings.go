package nova

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// userSecretOf is the index of a broker: namespace/name of its default user's Secret,
// which a broker with a secret backend does not own.
func userSecretOf(o client.Object) []string {
	cluster := rabbitmqCluster(o.(*unstructured.Unstructured))
	if cluster.UserSecret == "" {
		return nil
	}
	return []string{cmp.Or(cluster.UserSecretNamespace, o.GetNamespace()) + "/" + cluster.UserSecret}
}

// novasOfSecret maps a Secret to the Novas that refer to it, and the default-user
// Secret of a broker to those on that broker.
func (r *Reconciler) novasOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	requests := r.requests(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{secretRefsIndex: o.GetName()})
	if !r.brokers.Load() {
		return requests
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindRabbitmqCluster.GroupVersion().WithKind(kindRabbitmqCluster.Kind + "List"))
	if err := r.reader.List(ctx, list, client.MatchingFields{userSecretIndex: o.GetNamespace() + "/" + o.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not find the brokers of a Secret")
	}
	for i := range list.Items {
		requests = append(requests, r.novasWhere(namesBroker)(ctx, &list.Items[i])...)
	}
	return requests
}

// novasWhere maps an object to the Novas that refer to it by a rule. A namespaced
// object concerns its own namespace only.
func (r *Reconciler) novasWhere(refers func(*v1alpha1.Nova, client.Object) bool) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &v1alpha1.NovaList{}
		if err := r.reader.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Could not find the Novas of an object", "object", client.ObjectKeyFromObject(o))
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			if refers(&list.Items[i], o) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return requests
	}
}

func (r *Reconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	list := &v1alpha1.NovaList{}
	if err := r.reader.List(ctx, list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not find the Novas of a Secret")
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i] = reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}
	}
	return requests
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
