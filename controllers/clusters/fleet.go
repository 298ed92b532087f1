// Package clusters knows the target clusters: who is registered, who is engaged, and how
// the services on them are reached. A registration is a Secret with a kubeconfig. The
// package reads those Secrets and nothing else at home, writes nothing anywhere, and
// names no credential in an error or a log line.
package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

// Limits of an engagement.
const (
	// askLimit is how long a server may take to give its version.
	askLimit = 10 * time.Second
	// syncLimit is how long a cache may take to start.
	syncLimit = 2 * time.Minute
)

// A cluster that can't be engaged is tried again after minBackoff, then ever later.
const (
	minBackoff = time.Second
	maxBackoff = time.Minute
)

// workers is how many clusters are engaged at a time: a slow one must not hold up the rest.
const workers = 4

// ErrEngaging is the answer for a cluster that is registered and about to be engaged, or
// not: nothing is known yet.
var ErrEngaging = errors.New("its engagement has not ended yet")

// Options of a Fleet.
type Options struct {
	// Namespace is where the registrations are.
	Namespace string
	// Scheme is that of every target cluster's client.
	Scheme *runtime.Scheme
	// SyncPeriod is how often the caches tell about everything they hold; 0 means never.
	SyncPeriod time.Duration
}

// Fleet are the engaged target clusters; a multicluster.Provider. Its methods may be
// called at once.
type Fleet struct {
	options Options
	reader  client.Reader
	// listeners are told about every cluster that engages, in order.
	listeners []multicluster.Aware
	// home lends rate limits and user agent to every target cluster.
	home *rest.Config

	mu          sync.RWMutex
	engagements map[multicluster.ClusterName]engagement
}

var _ multicluster.Provider = &Fleet{}

// engagement is what is known of a registered cluster: the cluster, or why there is none.
type engagement struct {
	fingerprint fingerprint
	cluster     cluster.Cluster
	err         error
	// ended is closed when the cluster stopped; end stops it. Both are nil without one.
	ended <-chan struct{}
	end   context.CancelFunc
}

func (e engagement) live() bool {
	select {
	case <-e.ended:
		return false
	default:
		return e.cluster != nil
	}
}

// New returns a Fleet without a cluster; SetupWithManager lets it find them.
func New(o Options) *Fleet {
	return &Fleet{options: o, engagements: map[multicluster.ClusterName]engagement{}}
}

// SetupWithManager registers the controller that follows the registrations. Every listener
// is told about every cluster that engages; the context it gets ends with the engagement.
func (f *Fleet) SetupWithManager(mgr ctrl.Manager, listeners ...multicluster.Aware) error {
	f.reader, f.listeners, f.home = mgr.GetCache(), listeners, mgr.GetConfig()
	here := func(o client.Object) bool { return o.GetNamespace() == f.options.Namespace && isRegistration(o) }
	changes := predicate.NewPredicateFuncs(here)
	// A Secret that lost its label is the end of a registration.
	changes.UpdateFunc = func(e event.UpdateEvent) bool { return here(e.ObjectOld) || here(e.ObjectNew) }
	err := ctrl.NewControllerManagedBy(mgr).
		Named("clusters").
		For(newSecret(), builder.WithPredicates(changes)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
		}).
		Complete(reconcile.Func(f.reconcile))
	if err != nil {
		return fmt.Errorf("build controller of target clusters: %w", err)
	}
	return nil
}

// Get returns an engaged cluster. The error is multicluster.ErrClusterNotFound where
// nothing valid is registered under the name, and says why a registration was refused.
// Any other error says why a registered cluster is not engaged; ErrEngaging is one.
func (f *Fleet) Get(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	e, known := f.engagement(name)
	if !known {
		// After a start of the operator a registration may not have had its turn yet.
		if _, err := Find(ctx, f.reader, f.options.Namespace, name.String()); err != nil {
			return nil, err
		}
	}
	switch {
	case e.err != nil:
		return nil, e.err
	case !e.live():
		return nil, fmt.Errorf("target cluster %s: %w", name, ErrEngaging)
	}
	return e.cluster, nil
}

// IndexField is refused: an index over a kind that one cluster lacks would keep that
// cluster out. Custom resources are indexed at home.
func (f *Fleet) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return fmt.Errorf("index a field on target clusters: %w", errors.ErrUnsupported)
}

func (f *Fleet) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	name := multicluster.ClusterName(req.Name)
	registration, err := Find(ctx, f.reader, f.options.Namespace, req.Name)
	if errors.Is(err, multicluster.ErrClusterNotFound) {
		f.drop(ctx, name, err)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	before, known := f.engagement(name)
	same := known && before.fingerprint == registration.fingerprint
	if same && before.live() {
		return ctrl.Result{}, nil
	}
	if before.cluster != nil {
		before.end()
		why := "registration changed"
		if same {
			why = "cluster stopped"
		}
		ctrl.LoggerFrom(ctx).Info("Disengaged target cluster", "cluster", name, "reason", why)
	}
	if !same || before.err == nil {
		// A failed engagement keeps its error while it is tried again.
		f.set(name, engagement{fingerprint: registration.fingerprint})
	}
	if err := f.engage(ctx, name, registration); err != nil {
		err = fmt.Errorf("target cluster %s: %w", name, err)
		f.set(name, engagement{fingerprint: registration.fingerprint, err: err})
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("Engaged target cluster", "cluster", name, "server", registration.Config.Host, "namespaces", registration.Namespaces)
	return ctrl.Result{}, nil
}

// drop ends the engagement of a cluster that has no valid registration, because of why.
func (f *Fleet) drop(ctx context.Context, name multicluster.ClusterName, why error) {
	log := ctrl.LoggerFrom(ctx)
	before, known := f.engagement(name)
	if before.cluster != nil {
		before.end()
		log.Info("Disengaged target cluster", "cluster", name, "reason", why.Error())
	}
	if why == multicluster.ErrClusterNotFound { //nolint:errorlint // bare, it refuses nothing: there is nothing
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.engagements, name)
		return
	}
	if !known || before.err == nil || before.err.Error() != why.Error() {
		log.Info("Refused target cluster", "cluster", name, "reason", why.Error())
	}
	f.set(name, engagement{err: why})
}

// engage starts a cluster and tells about it. It runs until the manager stops or the
// engagement ends. The library's own start of a cluster is not used: the end of an old
// engagement there removes the new one of the same name.
func (f *Fleet) engage(ctx context.Context, name multicluster.ClusterName, r Registration) (err error) {
	running, attempt := f.attempt(ctx, name, r)
	defer func() { err = attempt.over(running, err) }()
	config := rest.CopyConfig(r.Config)
	config.QPS, config.Burst, config.UserAgent = f.home.QPS, f.home.Burst, f.home.UserAgent
	log := ctrl.LoggerFrom(ctx).WithValues("cluster", name)
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	if err := ask(running, config, web); err != nil {
		return err
	}
	cl, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme, o.Logger, o.HTTPClient = f.options.Scheme, log, web
		if f.options.SyncPeriod > 0 {
			o.Cache.SyncPeriod = &f.options.SyncPeriod
		}
		if r.Namespaces != nil {
			o.Cache.DefaultNamespaces = map[string]cache.Config{}
		}
		for _, ns := range r.Namespaces {
			o.Cache.DefaultNamespaces[ns] = cache.Config{}
		}
		o.Cache.DefaultWatchErrorHandler = attempt.watchError
	})
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	go func() {
		defer attempt.end()
		if err := cl.Start(running); err != nil {
			log.Error(err, "Target cluster stopped")
		}
	}()
	syncing, cancel := context.WithTimeout(running, syncLimit)
	defer cancel()
	if !cl.GetCache().WaitForCacheSync(syncing) {
		return fmt.Errorf("its cache did not start within %s", syncLimit)
	}
	// Whoever is told asks for the cluster at once.
	f.set(name, engagement{fingerprint: r.fingerprint, cluster: cl, ended: running.Done(), end: attempt.end})
	for _, l := range f.listeners {
		if err := l.Engage(running, name, cl); err != nil {
			return err
		}
	}
	return nil
}

// ask finds out whether a server answers and takes the credential. What a server says is
// not quoted: it is not ours to trust.
func ask(ctx context.Context, config *rest.Config, web *http.Client) error {
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, web)
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	asking, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	err = disco.RESTClient().Get().AbsPath("/version").MaxRetries(0).Do(asking).Error()
	var answer apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsForbidden(err): // who may not ask for the version is known all the same
		return nil
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s rejects the credential; renew it in the registration", config.Host)
	case errors.As(err, &answer):
		return fmt.Errorf("%s answers with status %d", config.Host, answer.Status().Code)
	default:
		return fmt.Errorf("it can't be reached: %w", err)
	}
}

func (f *Fleet) engagement(name multicluster.ClusterName) (engagement, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	e, known := f.engagements[name]
	return e, known
}

func (f *Fleet) set(name multicluster.ClusterName, e engagement) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.engagements[name] = e
}
