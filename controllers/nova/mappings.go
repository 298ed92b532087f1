package nova

import (
	"cmp"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
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
func (l *leg) novasOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	requests := l.requests(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{secretRefsIndex: o.GetName()})
	if !l.brokers.Load() {
		return requests
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindRabbitmqCluster.GroupVersion().WithKind(kindRabbitmqCluster.Kind + "List"))
	if err := l.cluster.GetCache().List(ctx, list, client.MatchingFields{userSecretIndex: o.GetNamespace() + "/" + o.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not find the brokers of a Secret")
	}
	for i := range list.Items {
		requests = append(requests, l.novasWhere(namesBroker)(ctx, &list.Items[i])...)
	}
	return requests
}

// novasWhere maps an object to the Novas that refer to it by a rule. A namespaced
// object concerns its own namespace only.
func (l *leg) novasWhere(refers func(*v1alpha1.Nova, client.Object) bool) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for _, n := range l.novas(ctx, client.InNamespace(o.GetNamespace())) {
			if refers(n, o) {
				requests = append(requests, requestFor(n))
			}
		}
		return requests
	}
}

// novaOfChild maps a child on a target cluster to its Nova by the marks of ownership. A
// child lies in the namespace of its owner; the same marks elsewhere mean nothing.
func (l *leg) novaOfChild(ctx context.Context, o client.Object) []reconcile.Request {
	labels := o.GetLabels()
	if labels[apply.LabelOwnerKind] != v1alpha1.KindNova || labels[apply.LabelOwnerNamespace] != o.GetNamespace() {
		return nil
	}
	n := &v1alpha1.Nova{}
	if err := l.reader.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: labels[apply.LabelOwnerName]}, n); err != nil {
		if !apierrors.IsNotFound(err) {
			ctrl.LoggerFrom(ctx).Error(err, "Could not find the Nova of a child", "child", client.ObjectKeyFromObject(o), "cluster", l.target)
		}
		return nil
	}
	if !l.holds(n) {
		return nil
	}
	return []reconcile.Request{requestFor(n)}
}

func (l *leg) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var requests []reconcile.Request
	for _, n := range l.novas(ctx, options...) {
		requests = append(requests, requestFor(n))
	}
	return requests
}

// novas lists the Novas on the cluster of a leg.
func (l *leg) novas(ctx context.Context, options ...client.ListOption) (found []*v1alpha1.Nova) {
	list := &v1alpha1.NovaList{}
	if err := l.reader.List(ctx, list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not find the Novas of an object")
		return nil
	}
	for i := range list.Items {
		if l.holds(&list.Items[i]) {
			found = append(found, &list.Items[i])
		}
	}
	return found
}

// holds reports whether the children of a Nova are on the cluster of a leg.
func (l *leg) holds(n *v1alpha1.Nova) bool {
	if n.Spec.TargetClusterRef == nil {
		return l.target == ""
	}
	return l.target == n.Spec.TargetClusterRef.Name
}

func requestFor(n *v1alpha1.Nova) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(n)}
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
