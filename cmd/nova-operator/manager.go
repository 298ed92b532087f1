package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/operator"
)

const nameManager = "manager"

// managerOptions are the flags of the manager.
type managerOptions struct {
	metricsAddress, probeAddress string
	leaderElect                  bool
	syncPeriod                   time.Duration
	namespace, clustersNamespace string
	webhooks, controllers        bool
	webhookPort                  int
	webhookCertDir               string
	concurrency                  int
	pullPolicy                   string
	zap                          zap.Options
	zapLevel, zapEncoder         string
}

func newManagerCommand() *cobra.Command {
	var o managerOptions
	cmd := &cobra.Command{
		Use:   nameManager,
		Short: "Run the controllers and the admission server against the current cluster",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "address the metrics are served on; 0 turns them off")
	f.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 turns them off")
	f.BoolVar(&o.leaderElect, "leader-elect", false, "run only while holding the lease "+operator.LeaseName)
	f.DurationVar(&o.syncPeriod, "sync-period", 10*time.Minute, "how often every resource is looked at without an event")
	f.StringVar(&o.namespace, "namespace", "", "watch this namespace only and read no cluster-wide object; empty watches all")
	f.StringVar(&o.clustersNamespace, "clusters-namespace", clusters.DefaultNamespace, "namespace of the Secrets that register target clusters; empty turns them off, and so does --namespace")
	f.BoolVar(&o.webhooks, "enable-webhooks", true, "serve admission; needs a certificate, and no --namespace")
	f.BoolVar(&o.controllers, "enable-controllers", true, "run the controllers; without them the process serves admission alone")
	f.IntVar(&o.webhookPort, "webhook-port", 9443, "port admission is served on")
	f.StringVar(&o.webhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs", "folder with the tls.crt and tls.key of admission")
	f.IntVar(&o.concurrency, "max-concurrent-reconciles", 2, "resources of one kind reconciled at a time; below 1 means 2")
	f.StringVar(&o.pullPolicy, "default-image-pull-policy", "", "Always, IfNotPresent or Never for images that name none; empty decides by tag or digest")
	f.BoolVar(&o.zap.Development, "zap-devel", false, "log for a person: console encoding, debug level")
	f.StringVar(&o.zapLevel, "zap-log-level", "", "debug, info, error or a number up to 7; the higher the more")
	f.StringVar(&o.zapEncoder, "zap-encoder", "", "json or console")
	return cmd
}

// validate refuses flags the manager would misunderstand.
func (o *managerOptions) validate() error {
	if !slices.Contains(pullPolicies, o.pullPolicy) {
		return fmt.Errorf("--default-image-pull-policy %q: must be Always, IfNotPresent or Never", o.pullPolicy)
	}
	if !o.webhooks && !o.controllers {
		return errors.New("--enable-webhooks=false and --enable-controllers=false: nothing is left to run")
	}
	// Webhooks are asked about every namespace, and the rules read cluster-wide objects.
	if o.webhooks && o.namespace != "" {
		return fmt.Errorf("--namespace %s: needs --enable-webhooks=false", o.namespace)
	}
	return nil
}

func (o *managerOptions) run(cmd *cobra.Command) error {
	if err := o.validate(); err != nil {
		return err
	}
	if err := o.logging(cmd); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find a cluster: %w", err)
	}
	options := operator.Options{
		MetricsAddress: o.metricsAddress, ProbeAddress: o.probeAddress, LeaderElect: o.leaderElect,
		SyncPeriod: o.syncPeriod, Namespace: o.namespace, Concurrency: o.concurrency,
		PullPolicy: corev1.PullPolicy(o.pullPolicy), OwnNamespace: ownNamespace(), WebhooksOnly: !o.controllers,
	}
	if o.namespace == "" {
		options.ClustersNamespace = o.clustersNamespace
	}
	if o.webhooks {
		options.Webhooks = &operator.Webhooks{Port: o.webhookPort, CertDir: o.webhookCertDir}
	}
	mgr, err := operator.New(config, options)
	if err != nil {
		return err
	}
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// maxVerbosity is the highest log level: from 8 on client-go logs the bodies of requests,
// and those of Secrets are credentials.
const maxVerbosity = 7

// logging installs the logger of every controller.
func (o *managerOptions) logging(cmd *cobra.Command) error {
	o.zap.DestWriter = cmd.ErrOrStderr()
	if o.zapLevel != "" {
		var level zapcore.Level
		if err := level.UnmarshalText([]byte(strings.ToLower(o.zapLevel))); err != nil {
			var verbosity int8
			if _, scanErr := fmt.Sscanf(o.zapLevel, "%d", &verbosity); scanErr != nil || verbosity < 0 || verbosity > maxVerbosity {
				return fmt.Errorf("--zap-log-level %q: must be debug, info, error or a number up to %d", o.zapLevel, maxVerbosity)
			}
			level = zapcore.Level(-verbosity)
		}
		o.zap.Level = level
	}
	switch o.zapEncoder {
	case "":
	case "json":
		zap.JSONEncoder()(&o.zap)
	case "console":
		zap.ConsoleEncoder()(&o.zap)
	default:
		return fmt.Errorf("--zap-encoder %q: must be json or console", o.zapEncoder)
	}
	log := zap.New(zap.UseFlagOptions(&o.zap))
	ctrl.SetLogger(log)
	// client-go writes its lines, those of leader election among them, through klog.
	klog.SetLogger(log)
	return nil
}

// ownNamespace is where this process runs; empty outside a cluster.
func ownNamespace() string {
	raw, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return os.Getenv("POD_NAMESPACE")
	}
	return strings.TrimSpace(string(raw))
}
