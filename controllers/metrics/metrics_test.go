package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// registry holds our metrics alone.
func registry(t *testing.T) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(collectors...)
	return r
}

func TestMetrics_FollowTheConventions(t *testing.T) {
	everySeries()
	problems, err := testutil.GatherAndLint(registry(t))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// nova is Nova openstack/nova, and pool one of its pools that has the same name.
var (
	nova = Series{Kind: "Nova", Namespace: "openstack", Name: "nova", Nova: "nova"}
	pool = Series{Kind: "NovaCompute", Namespace: "openstack", Name: "nova", Nova: "nova", Pool: "nova"}
)

func novaIn(namespace, name string) Series {
	return Series{Kind: "Nova", Namespace: namespace, Name: name, Nova: name}
}

func forget(s Series) { Forget(s.Kind, s.resource().NamespacedName) }

// everySeries makes each metric have one, of Nova openstack/nova.
func everySeries() {
	Track(nova)
	ReconcileDuration.WithLabelValues("Secrets").Observe(0)
	ReconcileErrors.WithLabelValues("Secrets", "SecretsReady")
	DBSyncDuration.WithLabelValues("nova", "openstack").Observe(1)
	DBArchiveDuration.WithLabelValues("nova", "openstack").Observe(1)
	FieldConflicts.WithLabelValues("Deployment", "kubectl")
	StatusWrites.WithLabelValues("Nova")
	SetConditions(nova, []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "AllReady"}})
}

// The contract: name, type, labels and buckets of what dashboards and alerts use.
func TestMetrics_AreThoseOfTheContract(t *testing.T) {
	everySeries()
	families, err := registry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		m := f.GetMetric()[0]
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName())
		}
		line := fmt.Sprintf("%s %v", strings.ToLower(f.GetType().String()), labels)
		if h := m.GetHistogram(); h != nil {
			var buckets []float64
			for _, b := range h.GetBucket() {
				buckets = append(buckets, b.GetUpperBound())
			}
			line += fmt.Sprint(" ", buckets)
		}
		got[f.GetName()] = line
	}
	want := map[string]string{
		"nova_operator_reconcile_duration_seconds":  "histogram [sub_reconciler] [0.01 0.05 0.1 0.25 0.5 1 2.5 5 10 30]",
		"nova_operator_reconcile_errors_total":      "counter [condition_type sub_reconciler]",
		"nova_operator_db_sync_total":               "counter [namespace nova result]",
		"nova_operator_db_sync_duration_seconds":    "histogram [namespace nova] [1 5 10 30 60 120 300 600]",
		"nova_operator_db_archive_total":            "counter [namespace nova result]",
		"nova_operator_db_archive_duration_seconds": "histogram [namespace nova] [1 5 10 30 60 120 300 600 1200 1800 2700 3600]",
		"nova_operator_apply_requests_total":        "counter []",
		"nova_operator_field_conflicts_total":       "counter [kind manager]",
		"nova_operator_status_writes_total":         "counter [kind]",
		"nova_operator_condition":                   "gauge [condition_type namespace nova pool reason]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestForget_DropsEverySeriesOfThatNovaOnly(t *testing.T) {
	everySeries()
	other := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NotAllReady"}}
	for _, r := range []Series{novaIn("openstack", "nova-2"), novaIn("staging", "nova"), pool} {
		Track(r)
		SetConditions(r, other)
	}
	before := owners(t)
	forget(novaIn("openstack", "nova"))
	after := owners(t)
	before["openstack/nova"] = 1 // the condition of the pool of that name
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if got := slices.Sorted(maps.Keys(after)); !slices.Contains(got, "staging/nova") || !slices.Contains(got, "openstack/nova-2") {
		t.Errorf("series of %v are left", got)
	}
}

// owners counts the series of each Nova.
func owners(t *testing.T) map[string]int {
	t.Helper()
	families, err := registry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["nova"] != "" {
				count[labels["namespace"]+"/"+labels["nova"]]++
			}
		}
	}
	return count
}

func TestSetConditions_KeepsOneSeriesACondition(t *testing.T) {
	defer forget(novaIn("openstack", "nova"))
	SetConditions(nova, []metav1.Condition{
		{Type: "SecretsReady", Status: metav1.ConditionFalse, Reason: "WaitingForDBCredentials"},
		{Type: "HPAReady", Status: metav1.ConditionTrue, Reason: "HPANotRequired"},
	})
	SetConditions(nova, []metav1.Condition{
		{Type: "SecretsReady", Status: metav1.ConditionTrue, Reason: "SecretsAvailable"},
		{Type: "HPAReady", Status: metav1.ConditionUnknown, Reason: "HPANotRequired"},
	})
	want := `# HELP nova_operator_condition State of a condition: 1 while it is True, 0 otherwise. The reason is the one of now.
# TYPE nova_operator_condition gauge
nova_operator_condition{condition_type="HPAReady",namespace="openstack",nova="nova",pool="",reason="HPANotRequired"} 0
nova_operator_condition{condition_type="SecretsReady",namespace="openstack",nova="nova",pool="",reason="SecretsAvailable"} 1
`
	forget(novaIn("openstack", "nova-2"))
	forget(novaIn("staging", "nova"))
	forget(pool)
	if err := testutil.CollectAndCompare(conditions, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestTrack_StartsResultsAtZero(t *testing.T) {
	defer forget(novaIn("fresh", "nova"))
	Track(novaIn("fresh", "nova"))
	DBSync.WithLabelValues("nova", "fresh", Succeeded).Inc()
	Track(novaIn("fresh", "nova"))
	want := `# HELP nova_operator_db_sync_total Finished schema Jobs, by result.
# TYPE nova_operator_db_sync_total counter
nova_operator_db_sync_total{namespace="fresh",nova="nova",result="failed"} 0
nova_operator_db_sync_total{namespace="fresh",nova="nova",result="succeeded"} 1
`
	for _, r := range []Series{nova, novaIn("openstack", "nova-2"), novaIn("staging", "nova")} {
		forget(r)
	}
	if err := testutil.CollectAndCompare(DBSync, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// A pool that is named like its Nova has series of its own.
func TestSetConditions_TellsAPoolFromItsNova(t *testing.T) {
	for _, s := range []Series{nova, pool} {
		defer forget(s)
		SetConditions(s, []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "AllReady"}})
	}
	Track(pool)
	want := `# HELP nova_operator_condition State of a condition: 1 while it is True, 0 otherwise. The reason is the one of now.
# TYPE nova_operator_condition gauge
nova_operator_condition{condition_type="Ready",namespace="openstack",nova="nova",pool="",reason="AllReady"} 1
nova_operator_condition{condition_type="Ready",namespace="openstack",nova="nova",pool="nova",reason="AllReady"} 1
`
	for _, r := range []Series{novaIn("openstack", "nova-2"), novaIn("staging", "nova")} {
		forget(r)
	}
	if err := testutil.CollectAndCompare(conditions, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
