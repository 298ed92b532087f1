package nova

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

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

// Served tells which of the optional kinds a cluster serves now.
func Served(mapper meta.RESTMapper) Capabilities {
	return Capabilities{GatewayAPI: capability(mapper, rendernova.KindHTTPRoute), VPA: capability(mapper, rendernova.KindVPA)}
}

func capability(mapper meta.RESTMapper, gvk schema.GroupVersionKind) rendernova.Capability {
	served, err := serves(mapper, gvk)
	if err != nil {
		return rendernova.Capability{Error: err.Error()}
	}
	return rendernova.Capability{Served: served}
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
	if err := c.Watch(source.Func(r.takeQueue)); err != nil {
		return fmt.Errorf("take the queue: %w", err)
	}
	home := &leg{Reconciler: r, cluster: mgr}
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.Nova{}, handler.OnlyControllerOwner())
	var late []sourceKind
	for _, k := range home.sources(owner) {
		switch served, err := serves(mgr.GetRESTMapper(), k.kind); {
		case err != nil:
			return err
		case served:
			if err := home.watch(c, k); err != nil {
				return err
			}
		case !k.latched:
			late = append(late, k)
		}
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return home.awaitKinds(ctx, c, late) }))
}

// takeQueue keeps the queue of the controller: what happens on a target cluster goes
// into the same one, so that a Nova has one key, whichever cluster an event came from.
func (r *Reconciler) takeQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.queue = queue
	close(r.started)
	return nil
}

// sourceKind is a kind whose objects wake Novas.
type sourceKind struct {
	kind       schema.GroupVersionKind
	handler    handler.EventHandler
	predicates []predicate.Predicate
	// latched kinds are asked for at start only, like the capability they stand for.
	latched bool
}

// leg is what wakes Novas on one cluster.
type leg struct {
	*Reconciler
	cluster cluster.Cluster
	// target is the name of a target cluster; empty at home.
	target string
	// brokers is true once RabbitmqClusters are watched.
	brokers atomic.Bool
}

// sources lists the kinds that wake a Nova: its children, and what it refers to.
func (l *leg) sources(owner handler.EventHandler) []sourceKind {
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
		kindSecret:             l.novasOfSecret,
		kindMariaDB:            l.novasWhere(namesMariaDB),
		kindRabbitmqCluster:    l.novasWhere(namesBroker),
		kindSecretStore:        l.novasWhere(namesStore(v1alpha1.SecretStoreKindNamespaced)),
		kindClusterSecretStore: l.novasWhere(namesStore(v1alpha1.SecretStoreKindCluster)),
	} {
		if gvk != kindClusterSecretStore || !l.settings.NamespaceScoped {
			out = append(out, sourceKind{kind: gvk, handler: handler.EnqueueRequestsFromMapFunc(mapped)})
		}
	}
	return out
}

// source is one kind, ready to be watched.
func (l *leg) source(k sourceKind) (source.SyncingSource, error) {
	if k.kind == kindRabbitmqCluster {
		if err := l.cluster.GetFieldIndexer().IndexField(context.Background(), objectOf(k.kind), userSecretIndex, userSecretOf); err != nil {
			return nil, fmt.Errorf("index brokers by Secret: %w", err)
		}
		l.brokers.Store(true)
	}
	return source.Kind(l.cluster.GetCache(), client.Object(objectOf(k.kind)), k.handler, k.predicates...), nil
}

// watch registers one kind, before or after the controller has started.
func (l *leg) watch(c controller.Controller, k sourceKind) error {
	src, err := l.source(k)
	if err != nil {
		return err
	}
	if err := c.Watch(src); err != nil {
		return fmt.Errorf("watch %s: %w", k.kind.Kind, err)
	}
	return nil
}

// Engage watches a target cluster until ctx ends, and wakes the Novas that are placed on
// it, then and now. Which kinds it watches is decided here, once.
func (r *Reconciler) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	select {
	case <-r.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	target, err := r.target(cl)
	if err != nil {
		return err
	}
	l := &leg{Reconciler: r, cluster: cl, target: name.String()}
	var sources []source.SyncingSource
	for _, k := range l.sources(handler.EnqueueRequestsFromMapFunc(l.novaOfChild)) {
		served, err := serves(cl.GetRESTMapper(), k.kind)
		if err != nil {
			return err
		}
		if !served {
			continue
		}
		src, err := l.source(k)
		if err == nil {
			err = src.Start(ctx, r.queue)
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", k.kind.Kind, err)
		}
		sources = append(sources, src)
	}
	synced, cancel := context.WithTimeout(ctx, engageLimit)
	defer cancel()
	for _, src := range sources {
		if err := src.WaitForSync(synced); err != nil {
			return fmt.Errorf("fill the cache: %w", err)
		}
	}
	place := r.use(target)
	place.cluster = cl
	r.places.engage(ctx, l.target, place)
	l.wake(ctx)
	context.AfterFunc(ctx, func() { l.wake(context.Background()) })
	return nil
}

// engageLimit is how long the cache of a target cluster may take to fill.
const engageLimit = 2 * time.Minute

// wake looks at every Nova on the cluster.
func (l *leg) wake(ctx context.Context) {
	for _, request := range l.requests(ctx) {
		l.queue.Add(request)
	}
}

// askKinds is how often the cluster is asked for kinds it did not serve at start.
const askKinds = 15 * time.Second

// awaitKinds registers the kinds that come while the operator runs: the operators of
// databases and brokers may be installed later.
func (l *leg) awaitKinds(ctx context.Context, c controller.Controller, late []sourceKind) error {
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
			served, err := serves(l.cluster.GetRESTMapper(), k.kind)
			if err == nil && served {
				err = l.watch(c, k)
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
