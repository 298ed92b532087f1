package nova

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Indexes of the cache.
const (
	// secretRefsIndex finds the Novas that refer to a Secret.
	secretRefsIndex = "spec.secretRefs.name"
	// userSecretIndex finds the brokers whose default user is in a Secret.
	userSecretIndex = "status.defaultUser.secretReference"
)

// Backoff of a pass that ended in an error.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Served tells which of the optional kinds the cluster serves now. A kind that is
// installed later is found by a restart.
func Served(mapper meta.RESTMapper) (Capabilities, error) {
	var c Capabilities
	for gvk, to := range map[schema.GroupVersionKind]*bool{
		rendernova.KindHTTPRoute: &c.GatewayAPI,
		rendernova.KindVPA:       &c.VPA,
	} {
		served, err := serves(mapper, gvk)
		if err != nil {
			return Capabilities{}, err
		}
		*to = served
	}
	return c, nil
}

func serves(mapper meta.RESTMapper, gvk schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for %s: %w", gvk, err)
	}
	return true, nil
}

// SetupWithManager registers the controller with every watch the cluster can serve.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if concurrency <= 0 {
		concurrency = 2
	}
	ctx := context.Background()
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Nova{}, secretRefsIndex, func(o client.Object) []string {
		return rendernova.SecretRefs(o.(*v1alpha1.Nova))
	}); err != nil {
		return fmt.Errorf("index Novas by Secret: %w", err)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nova").
		For(&v1alpha1.Nova{}, builder.WithPredicates(novaChanged)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter: workqueue.NewTypedMaxOfRateLimiter(
				workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
				&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(10, 100)},
			),
		})
	mapper := mgr.GetRESTMapper()
	brokers, err := serves(mapper, kindRabbitmqCluster)
	if err != nil {
		return err
	}
	if brokers {
		if err := mgr.GetFieldIndexer().IndexField(ctx, objectOf(kindRabbitmqCluster), userSecretIndex, userSecretOf); err != nil {
			return fmt.Errorf("index brokers by Secret: %w", err)
		}
	}
	for _, gvk := range rendernova.Kinds() {
		if served, err := serves(mapper, gvk); err != nil {
			return err
		} else if !served {
			continue
		}
		var options []builder.OwnsOption
		if gvk == rendernova.KindVPA {
			// The recommender rewrites the status every minute.
			options = append(options, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
		}
		b.Owns(objectOf(gvk), options...)
	}
	inputs := map[schema.GroupVersionKind]handler.MapFunc{
		kindSecret:          r.novasOfSecret(brokers),
		kindMariaDB:         r.novasWhere(namesMariaDB),
		kindRabbitmqCluster: r.novasWhere(namesBroker),
		kindSecretStore:     r.novasWhere(namesStore(v1alpha1.SecretStoreKindNamespaced)),
	}
	if !r.settings.NamespaceScoped {
		inputs[kindClusterSecretStore] = r.novasWhere(namesStore(v1alpha1.SecretStoreKindCluster))
	}
	for gvk, mapped := range inputs {
		if served, err := serves(mapper, gvk); err != nil {
			return err
		} else if served {
			b.Watches(objectOf(gvk), handler.EnqueueRequestsFromMapFunc(mapped))
		}
	}
	return b.Complete(r)
}

func objectOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// novaChanged drops the events of the controller's own status writes.
var novaChanged = predicate.Or(
	predicate.GenerationChangedPredicate{},
	predicate.LabelChangedPredicate{},
	predicate.AnnotationChangedPredicate{},
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
	}},
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
func (r *Reconciler) novasOfSecret(brokers bool) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		requests := r.requests(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{secretRefsIndex: o.GetName()})
		if !brokers {
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
