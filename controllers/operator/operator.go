// Package operator puts the controllers of both kinds and the admission server into one
// manager: schemes, caches, health endpoints and what each part is built from.
package operator

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	webhookserver "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/controllers/nova"
	"github.com/c5c3/nova-operator/controllers/pass"
	"github.com/c5c3/nova-operator/controllers/webhook"
	"github.com/c5c3/nova-operator/render"
)

// LeaseName is the leader election lease.
const LeaseName = "nova.openstack.c5c3.io"

// Options are the settings of the manager; the flags of the command.
type Options struct {
	MetricsAddress, ProbeAddress string
	LeaderElect                  bool
	SyncPeriod                   time.Duration
	// Namespace limits everything to one namespace; empty watches all.
	Namespace string
	// ClustersNamespace is where target clusters are registered; empty turns them off.
	ClustersNamespace string
	// Concurrency is how many resources of a kind are reconciled at a time.
	Concurrency int
	PullPolicy  corev1.PullPolicy
	// OwnNamespace is where the operator runs; empty outside a cluster.
	OwnNamespace string
	// Webhooks is where admission is served; nil serves none.
	Webhooks *Webhooks
	// WebhooksOnly leaves the controllers out: the process serves admission, with no
	// permission but to read what the rules look up, and takes part in no election.
	WebhooksOnly bool
	// HTTP asks the API of a Nova for its health, wherever it runs. Nil means the default
	// transport at home, and the service proxy of the API server on a target cluster.
	HTTP *http.Client
	// AbandonAfter is how long a deleted Nova waits for an unregistered target cluster; 0
	// means five minutes.
	AbandonAfter time.Duration
	// Reused allows a second manager in one process, for tests.
	Reused bool
}

// Webhooks is the address and the certificate of the admission server. It does not
// start without tls.crt and tls.key in CertDir, and takes up new ones as they appear.
type Webhooks struct {
	// Host is every address when empty.
	Host    string
	Port    int
	CertDir string
}

// New returns a manager with every controller, ready to start. It asks the cluster
// which optional kinds it serves; that answer holds until the process ends.
func New(cfg *rest.Config, o Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	options := ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress: o.ProbeAddress,
		LeaderElection:         o.LeaderElect && !o.WebhooksOnly,
		LeaderElectionID:       LeaseName,
		// Empty asks the pod for its namespace.
		LeaderElectionNamespace: o.OwnNamespace,
		// The process ends with the manager, so the next one need not wait for the lease to
		// run out.
		LeaderElectionReleaseOnCancel: true,
		Cache:                         cache.Options{SyncPeriod: &o.SyncPeriod},
		Controller:                    config.Controller{SkipNameValidation: &o.Reused},
	}
	if o.Namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
		options.LeaderElectionNamespace = o.Namespace
	}
	if o.Webhooks != nil {
		options.WebhookServer = webhookserver.NewServer(webhookserver.Options{
			Host: o.Webhooks.Host, Port: o.Webhooks.Port, CertDir: o.Webhooks.CertDir,
		})
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("build manager: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return nil, fmt.Errorf("add health checks: %w", err)
	}
	if o.Webhooks != nil {
		if err := addWebhooks(mgr); err != nil {
			return nil, fmt.Errorf("add the webhooks: %w", err)
		}
	}
	if o.WebhooksOnly {
		return mgr, nil
	}
	if err := addControllers(mgr, o); err != nil {
		return nil, fmt.Errorf("add the controllers: %w", err)
	}
	return mgr, nil
}

// addWebhooks serves admission, and counts the process as ready once it is served.
func addWebhooks(mgr ctrl.Manager) error {
	server := mgr.GetWebhookServer()
	webhook.Register(server, mgr.GetAPIReader())
	return mgr.AddReadyzCheck("webhook", server.StartedChecker())
}

// kind is one row of the controllers.
type kind struct {
	// recorder is the component of the events on its resources.
	recorder string
	row      func(namespaceScoped bool) pass.Kind
}

// kinds are the kinds that this operator reconciles.
var kinds = []kind{
	{"nova-controller", nova.Kind},
}

// addControllers adds the controller of every kind. They share the operator's own cluster
// and the target clusters.
func addControllers(mgr ctrl.Manager, o Options) error {
	metrics.Register()
	home, err := pass.NewPlace(mgr, o.HTTP, true)
	if err != nil {
		return err
	}
	options := pass.Options{
		Reader: mgr.GetCache(),
		Writer: mgr.GetClient(),
		Settings: render.Settings{
			PullPolicy: o.PullPolicy, NamespaceScoped: o.Namespace != "", OperatorNamespace: o.OwnNamespace,
		},
		Home:         home,
		Target:       func(cl cluster.Cluster) (pass.Place, error) { return target(cl, o.HTTP) },
		AbandonAfter: o.AbandonAfter,
	}
	var fleet *clusters.Fleet
	if o.ClustersNamespace != "" {
		fleet = clusters.New(clusters.Options{Namespace: o.ClustersNamespace, Scheme: mgr.GetScheme(), SyncPeriod: o.SyncPeriod})
		options.Fleet = fleet
	}
	var listeners []multicluster.Aware
	for _, k := range kinds {
		options.Kind = k.row(options.Settings.NamespaceScoped)
		// Core events with a source component are the contract; the successor of this
		// recorder writes neither.
		options.Recorder = mgr.GetEventRecorderFor(k.recorder)
		reconciler := pass.New(options)
		if err := reconciler.SetupWithManager(mgr, o.Concurrency); err != nil {
			return fmt.Errorf("%s: %w", options.Kind.Kind.Kind, err)
		}
		listeners = append(listeners, reconciler)
	}
	if fleet == nil {
		return nil
	}
	return fleet.SetupWithManager(mgr, listeners...)
}

// target is a target cluster as a place. Its Services are reached through its API server:
// their names mean nothing here.
func target(cl cluster.Cluster, web *http.Client) (pass.Place, error) {
	if web == nil {
		proxy, err := clusters.ServiceProxy(cl.GetConfig())
		if err != nil {
			return pass.Place{}, err
		}
		web = &http.Client{Transport: proxy}
	}
	return pass.NewPlace(cl, web, false)
}
