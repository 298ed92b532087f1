// Package metrics holds the vectors that the controllers of both kinds share. Names
// and labels are what dashboards and alerts use; docs/operations.md lists them.
//
// Inputs are what a pass found, by step or by resource. Series of a resource exist
// from its first recorded pass until Forget. Nothing here reads a cluster.
package metrics

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// Unknown is the condition_type of a step without a condition.
const Unknown = "UNKNOWN"

// The values of the result label.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
)

// jobBuckets are durations of Jobs, in seconds.
var jobBuckets = []float64{1, 5, 10, 30, 60, 120, 300, 600}

// The vectors. Durations are in seconds.
var (
	// ReconcileDuration is how long a pass waited for the calls of a step.
	ReconcileDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "nova_operator_reconcile_duration_seconds",
		Help:    "Time a pass waited for the calls of a step it reached: for its objects.",
		Buckets: []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
	}, []string{"sub_reconciler"})
	// ReconcileErrors counts passes in which a step failed.
	ReconcileErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nova_operator_reconcile_errors_total",
		Help: "Passes in which a step failed, by step and by the condition it turns.",
	}, []string{"sub_reconciler", "condition_type"})
	// DBSync counts the db-sync Job and the Jobs of an upgrade, by result.
	DBSync = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nova_operator_db_sync_total",
		Help: "Finished schema Jobs, by result.",
	}, []string{"nova", "namespace", "result"})
	// DBSyncDuration is how long such a Job took.
	DBSyncDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "nova_operator_db_sync_duration_seconds",
		Help:    "Time from the creation of a schema Job to its end.",
		Buckets: jobBuckets,
	}, []string{"nova", "namespace"})
	// DBArchive counts the runs of the archive, by result.
	DBArchive = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nova_operator_db_archive_total",
		Help: "Finished archive runs, by result.",
	}, []string{"nova", "namespace", "result"})
	// DBArchiveDuration is how long a run took; it may last 50 minutes.
	DBArchiveDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "nova_operator_db_archive_duration_seconds",
		Help:    "Time from the creation of an archive run to its end.",
		Buckets: slices.Concat(jobBuckets, []float64{1200, 1800, 2700, 3600}),
	}, []string{"nova", "namespace"})
	// ApplyRequests counts calls to the API server for children, reads through the
	// cache excepted. A steady pass adds none.
	ApplyRequests = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "nova_operator_apply_requests_total",
		Help: "Calls to the API server made to apply or remove children.",
	})
	// FieldConflicts counts fields of ours that another manager claimed.
	FieldConflicts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nova_operator_field_conflicts_total",
		Help: "Owned fields claimed by another field manager and taken back.",
	}, []string{"kind", "manager"})
	// StatusWrites counts writes of the status of a resource.
	StatusWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nova_operator_status_writes_total",
		Help: "Status writes, by kind.",
	}, []string{"kind"})
)

// collectors are all of them.
var collectors = []prometheus.Collector{
	ReconcileDuration, ReconcileErrors, DBSync, DBSyncDuration, DBArchive, DBArchiveDuration,
	ApplyRequests, FieldConflicts, StatusWrites, conditions,
}

// Register registers all of them with the registry that the manager serves, once for the
// process: only the manager has metrics.
var Register = sync.OnceFunc(func() { ctrlmetrics.Registry.MustRegister(collectors...) })

// Track makes the results of a Nova start at 0: Prometheus sees no increase in a
// counter that appears with its first failure. A pool runs no schema Jobs.
func Track(s Series) {
	if s.Pool != "" {
		return
	}
	for _, v := range []*prometheus.CounterVec{DBSync, DBArchive} {
		v.WithLabelValues(s.Nova, s.Namespace, Succeeded)
		v.WithLabelValues(s.Nova, s.Namespace, Failed)
	}
}

// Forget drops the series of a resource that is gone.
func Forget(kind string, name types.NamespacedName) {
	conditions.forget(resource{kind, name})
	if kind != v1alpha1.KindNova {
		return
	}
	labels := prometheus.Labels{"nova": name.Name, "namespace": name.Namespace}
	for _, v := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{DBSync, DBSyncDuration, DBArchive, DBArchiveDuration} {
		v.DeletePartialMatch(labels)
	}
}
