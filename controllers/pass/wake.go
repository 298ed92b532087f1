package pass

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/render"
)

// Backoff of a pass that ended in an error.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// SetupWithManager registers the controller with every watch the cluster can serve.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if concurrency <= 0 {
		concurrency = 2
	}
	prepare(r.kind.Kind)
	for field, index := range r.kind.Indexes {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.kind.New(), field, index); err != nil {
			return fmt.Errorf("index %s by %s: %w", r.kind.Kind.Kind, field, err)
		}
	}
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(r.kind.Name).
		For(r.kind.New(), builder.WithPredicates(specChanged)).
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
	if err := mgr.Add(r.asker); err != nil {
		return fmt.Errorf("add the asker: %w", err)
	}
	home := &Feed{Cluster: mgr, reconciler: r}
	var late []Source
	for _, s := range home.sources() {
		switch served, err := serves(mgr.GetRESTMapper(), s.Kind); {
		case err != nil:
			return err
		case served:
			if err := home.watch(c, s); err != nil {
				return err
			}
		case !optional[s.Kind]: // the answer about those is kept, see NewPlace
			late = append(late, s)
		}
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return home.awaitKinds(ctx, c, late) }))
}

// takeQueue keeps the queue of the controller: what happens on a target cluster goes
// into the same one, so that a resource has one key, whichever cluster an event came from.
func (r *Reconciler) takeQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.queue = queue
	close(r.started)
	return nil
}

// Source is a kind whose objects wake resources.
type Source struct {
	Kind       schema.GroupVersionKind
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
	// Field and Index are an index of the cache over the kind; empty for none.
	Field string
	Index client.IndexerFunc
}

// Feed wakes the resources of a kind whose children are on one cluster.
type Feed struct {
	Cluster    cluster.Cluster
	reconciler *Reconciler
	// target is the name of a target cluster; empty at home.
	target string
	// watched are the kinds that are watched.
	watched sync.Map
}

// Watches reports whether the objects of a kind are watched, and indexed.
func (f *Feed) Watches(kind schema.GroupVersionKind) bool {
	_, ok := f.watched.Load(kind)
	return ok
}

// sources lists the kinds that wake a resource: its children, and what it refers to.
func (f *Feed) sources() []Source {
	var out []Source
	for _, gvk := range f.reconciler.kind.Children {
		s := Source{Kind: gvk, Handler: handler.EnqueueRequestsFromMapFunc(f.ownerOfChild)}
		if gvk == render.KindVPA {
			// The recommender rewrites the status every minute.
			s.Predicates = []predicate.Predicate{predicate.GenerationChangedPredicate{}}
		}
		out = append(out, s)
	}
	return append(out, f.reconciler.kind.Sources(f)...)
}

// source is one kind, ready to be watched.
func (f *Feed) source(s Source) (source.SyncingSource, error) {
	if s.Field != "" {
		if err := f.Cluster.GetFieldIndexer().IndexField(context.Background(), objectOf(s.Kind), s.Field, s.Index); err != nil {
			return nil, fmt.Errorf("index %s by %s: %w", s.Kind.Kind, s.Field, err)
		}
	}
	f.watched.Store(s.Kind, true)
	return source.Kind(f.Cluster.GetCache(), client.Object(objectOf(s.Kind)), s.Handler, s.Predicates...), nil
}

// watch registers one kind, before or after the controller has started.
func (f *Feed) watch(c controller.Controller, s Source) error {
	src, err := f.source(s)
	if err != nil {
		return err
	}
	if err := c.Watch(src); err != nil {
		return fmt.Errorf("watch %s: %w", s.Kind.Kind, err)
	}
	return nil
}

// Engage watches a target cluster until ctx ends, and wakes the resources that are placed
// on it, then and now. Which kinds it watches is decided here, once.
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
	f := &Feed{Cluster: cl, reconciler: r, target: name.String()}
	var sources []source.SyncingSource
	for _, s := range f.sources() {
		served, err := serves(cl.GetRESTMapper(), s.Kind)
		if err != nil {
			return err
		}
		if !served {
			continue
		}
		src, err := f.source(s)
		if err == nil {
			err = src.Start(ctx, r.queue)
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", s.Kind.Kind, err)
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
	target.cluster = cl
	r.places.engage(ctx, f.target, &target)
	f.wake(ctx)
	context.AfterFunc(ctx, func() { f.wake(context.Background()) })
	return nil
}

// engageLimit is how long the cache of a target cluster may take to fill.
const engageLimit = 2 * time.Minute

// wake looks at every resource on the cluster.
func (f *Feed) wake(ctx context.Context) {
	for _, request := range f.Requests(ctx) {
		f.reconciler.queue.Add(request)
	}
}

// askKinds is how often the cluster is asked for kinds it did not serve at start.
const askKinds = 15 * time.Second

// awaitKinds registers the kinds that come while the operator runs: the operators of
// databases and brokers may be installed later.
func (f *Feed) awaitKinds(ctx context.Context, c controller.Controller, late []Source) error {
	tick := time.NewTicker(askKinds)
	defer tick.Stop()
	for len(late) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		waiting := late[:0]
		for _, s := range late {
			served, err := serves(f.Cluster.GetRESTMapper(), s.Kind)
			if err == nil && served {
				err = f.watch(c, s)
			}
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Could not watch a kind that came later", "kind", s.Kind.Kind)
			}
			if err != nil || !served {
				waiting = append(waiting, s)
			}
		}
		late = waiting
	}
	return nil
}

// ownerOfChild maps a child to its resource: by its controller, or by the labels of ownership
// where it has none. A child lies in the namespace of its owner; the same labels elsewhere
// mean nothing, nor does a reference on a target cluster.
func (f *Feed) ownerOfChild(ctx context.Context, o client.Object) []reconcile.Request {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil && f.target == "" {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil || gv.WithKind(ref.Kind).GroupKind() != f.reconciler.kind.GroupKind() {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}}}
	}
	labels := o.GetLabels()
	if labels[apply.LabelOwnerKind] != f.reconciler.kind.Kind.Kind || labels[apply.LabelOwnerNamespace] != o.GetNamespace() {
		return nil
	}
	owner := f.reconciler.kind.New()
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: labels[apply.LabelOwnerName]}
	if err := f.reconciler.reader.Get(ctx, key, owner); err != nil {
		if !apierrors.IsNotFound(err) {
			ctrl.LoggerFrom(ctx).Error(err, "Could not find the owner of a child", "child", client.ObjectKeyFromObject(o), "cluster", f.target)
		}
		return nil
	}
	if !f.holds(owner) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(owner)}}
}

// Requests are for the resources on the cluster that options select.
func (f *Feed) Requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	return f.RequestsWhere(ctx, func(v1alpha1.Resource) bool { return true }, options...)
}

// RequestsWhere are for the resources on the cluster that options select and a rule picks.
func (f *Feed) RequestsWhere(
	ctx context.Context, picks func(v1alpha1.Resource) bool, options ...client.ListOption,
) (requests []reconcile.Request) {
	list := f.reconciler.kind.NewList()
	if err := f.reconciler.reader.List(ctx, list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not find the resources of an object", "kind", f.reconciler.kind.Kind.Kind)
		return nil
	}
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if o, ok := item.(v1alpha1.Resource); ok && f.holds(o) && picks(o) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		return nil
	})
	return requests
}

// holds reports whether the children of a resource are on the cluster.
func (f *Feed) holds(o v1alpha1.Resource) bool { return o.TargetCluster() == f.target }

func objectOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// specChanged drops the events of the controller's own status writes.
var specChanged = predicate.Or(
	predicate.GenerationChangedPredicate{},
	predicate.LabelChangedPredicate{},
	predicate.AnnotationChangedPredicate{},
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
	}},
)
