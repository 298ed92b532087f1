package nova

import (
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
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

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
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("nova").
		For(&v1alpha1.Nova{}, builder.WithPredicates(novaChanged)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter: workqueue.NewTypedMaxOfRateLimiter(
				workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
				&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(10, 100)},
			),
		}).
		Build(r)
	if err != nil {
		return fmt.Errorf("build controller: %w", err)
	}
	var late []sourceKind
	for _, k := range r.sources(mgr) {
		switch served, err := serves(mgr.GetRESTMapper(), k.kind); {
		case err != nil:
			return err
		case served:
			if err := r.watch(mgr, c, k); err != nil {
				return err
			}
		case !k.latched:
			late = append(late, k)
		}
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return r.awaitKinds(ctx, mgr, c, late) }))
}

// sourceKind is a kind whose objects wake Novas.
type sourceKind struct {
	kind       schema.GroupVersionKind
	handler    handler.EventHandler
	predicates []predicate.Predicate
	// latched kinds are asked for at start only, like the capability they stand for.
	latched bool
}

// sources lists the kinds that wake a Nova: its children, and what it refers to.
func (r *Reconciler) sources(mgr ctrl.Manager) []sourceKind {
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.Nova{}, handler.OnlyControllerOwner())
	var out []sourceKind
	for _, gvk := range rendernova.Kinds() {
		k := sourceKind{kind: gvk, handler: owner, latched: gvk == rendernova.KindHTTPRoute || gvk == rendernova.KindVPA}
		if gvk == rendernova.KindVPA {
			// The recommender rewrites the status every minute.
			k.predicates = []predicate.Predicate{predicate.GenerationChangedPredicate{}}
		}
		out = append(out, k)
	}
	for gvk, mapped := range map[schema.GroupVersionKind]handler.MapFunc{
		kindSecret:             r.novasOfSecret,
		kindMariaDB:            r.novasWhere(namesMariaDB),
		kindRabbitmqCluster:    r.novasWhere(namesBroker),
		kindSecretStore:        r.novasWhere(namesStore(v1alpha1.SecretStoreKindNamespaced)),
		kindClusterSecretStore: r.novasWhere(namesStore(v1alpha1.SecretStoreKindCluster)),
	} {
		if gvk != kindClusterSecretStore || !r.settings.NamespaceScoped {
			out = append(out, sourceKind{kind: gvk, handler: handler.EnqueueRequestsFromMapFunc(mapped)})
		}
	}
	return out
}

// watch registers one kind, before or after the controller has started.
func (r *Reconciler) watch(mgr ctrl.Manager, c controller.Controller, k sourceKind) error {
	if k.kind == kindRabbitmqCluster {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), objectOf(k.kind), userSecretIndex, userSecretOf); err != nil {
			return fmt.Errorf("index brokers by Secret: %w", err)
		}
		r.brokers.Store(true)
	}
	if err := c.Watch(source.Kind(mgr.GetCache(), client.Object(objectOf(k.kind)), k.handler, k.predicates...)); err != nil {
		return fmt.Errorf("watch %s: %w", k.kind.Kind, err)
	}
	return nil
}

// askKinds is how often the cluster is asked for kinds it did not serve at start.
const askKinds = 15 * time.Second

// awaitKinds registers the kinds that come while the operator runs: the operators of
// databases and brokers may be installed later.
func (r *Reconciler) awaitKinds(ctx context.Context, mgr ctrl.Manager, c controller.Controller, late []sourceKind) error {
	tick := time.NewTicker(askKinds)
	defer tick.Stop()
	for len(late) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		waiting := late[:0]
		for _, k := range late {
			served, err := serves(mgr.GetRESTMapper(), k.kind)
			if err == nil && served {
				err = r.watch(mgr, c, k)
			}
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Could not watch a kind that came later", "kind", k.kind.Kind)
			}
			if err != nil || !served {
				waiting = append(waiting, k)
			}
		}
		late = waiting
	}
	return nil
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
