package operations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// everything turns on what makes children of every kind; nothing turns it off again.
const (
	everything = `{"spec": {
	"autoscaling": {"minReplicas": 1, "maxReplicas": 3, "targetCPUUtilization": 70},
	"networkPolicy": {"ingress": [{"namespaceSelector": {}}]},
	"gateway": {"parentRef": {"name": "public"}, "hostname": "compute.example.com"},
	"messaging": {"tls": {"caBundleSecretRef": {"name": "bus-ca"}}},
	"remoteCompute": {"keystoneEndpoint": "https://identity.example.com/v3", "transportURLSecretRef": {"name": "nova-outer"}},
	"conductor": {"deployment": {"verticalAutoscaling": {"updateMode": "Off"}}}
}}`
	nothing = `{"spec": {
	"autoscaling": null, "networkPolicy": null, "gateway": null, "remoteCompute": null,
	"conductor": {"deployment": {"verticalAutoscaling": null}}, "consoleProxy": {"enabled": false}
}}`
)

// liveOn makes the operator do everything it may: wait for a credential, install,
// upgrade, archive, take every feature on and off, correct drift, fight over a field.
func (w *novaWorld) liveOn() {
	w.T.Helper()
	w.Foreign(render.KindExternalSecret, "nova-api-db")
	w.Foreign(render.KindSecretStore, "store")
	n := w.Minimal()
	n.Spec.OpenStackRelease, n.Spec.Image.Tag = "2025.2", "2025.2"
	w.Create(n)
	w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonWaitingForDBCredentials)
	w.inputs()
	w.AwaitReady()
	w.patch(`{"spec": {"openStackRelease": "2026.1", "image": {"tag": "2026.1"}}}`)
	cluster.Eventually(w.T, "the upgrade", func(ctx context.Context) (bool, error) {
		n, err := w.Live(ctx)
		return err == nil && n.Status.InstalledRelease == "2026.1", err
	})
	w.AwaitReady()

	w.patch(everything)
	w.AwaitReady()
	optional := []string{
		"HorizontalPodAutoscaler/nova", "VerticalPodAutoscaler/nova-conductor", "NetworkPolicy/nova", "HTTPRoute/nova",
		"Secret/nova-remote-compute-config",
	}
	for _, name := range optional {
		w.awaitChild(name, true)
	}
	w.archive("run-1", false)
	w.archive("run-2", true)
	w.AwaitReason(v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveJobFailed)
	w.archive("run-3", false)
	w.AwaitReady()

	w.drift()
	w.patch(nothing)
	w.AwaitReady()
	for _, name := range append(optional, "Deployment/nova-novncproxy", "Service/nova-novncproxy") {
		w.awaitChild(name, false)
	}
	// More generations of the configuration than are kept.
	for region := range 6 {
		w.patch(fmt.Sprintf(`{"spec": {"region": "r%d"}}`, region))
		w.AwaitReady()
	}
	w.failedSync()
}

// patch is `kubectl patch --type merge` on the Nova.
func (w *novaWorld) patch(text string) {
	w.T.Helper()
	n := &v1alpha1.Nova{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "nova"}}
	if err := w.Client.Patch(w.T.Context(), n, client.RawPatch(types.MergePatchType, []byte(text)), client.FieldOwner("kubectl-patch")); err != nil {
		w.T.Fatal(err)
	}
}

// archive is `kubectl create job --from=cronjob/nova-db-archive`.
func (w *novaWorld) archive(name string, fail bool) {
	w.T.Helper()
	cron := &batchv1.CronJob{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "nova-db-archive"}, cron); err != nil {
		w.T.Fatal(err)
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, Labels: cron.Spec.JobTemplate.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: cron.Spec.JobTemplate.Spec,
	}
	if fail {
		job.Spec.BackoffLimit = new(int32(0))
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, "devcluster.c5c3.io/fail", "true")
	}
	if err := w.Client.Create(w.T.Context(), job); err != nil {
		w.T.Fatal(err)
	}
	// The next run is newer only in another second.
	cluster.Eventually(w.T, name+" to end", func(ctx context.Context) (bool, error) {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err
		}
		n, err := w.Live(ctx)
		return err == nil && n.Annotations[v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBArchive)] == string(job.UID), err
	})
}

// drift deletes a child twice and has another manager claim a field.
func (w *novaWorld) drift() {
	w.T.Helper()
	for range 2 {
		for _, s := range w.List(render.KindService) {
			if s.GetName() == "nova-metadata" {
				if err := w.Client.Delete(w.T.Context(), &s); err != nil {
					w.T.Fatal(err)
				}
			}
		}
		w.AwaitEvent(v1alpha1.EventDriftCorrected, "nova-metadata")
		w.awaitChild("Service/nova-metadata", true)
	}
	claim := w.Object(render.KindDeployment, "nova-scheduler")
	claim.Object["spec"] = map[string]any{"replicas": int64(7)}
	if err := w.Client.Apply(w.T.Context(), client.ApplyConfigurationFromUnstructured(claim), client.FieldOwner("argocd-controller"), client.ForceOwnership); err != nil {
		w.T.Fatal(err)
	}
	w.AwaitEvent(v1alpha1.EventFieldConflict, "argocd-controller")
}

// failedSync changes to an image whose db-sync fails, and back.
func (w *novaWorld) failedSync() {
	w.T.Helper()
	const tag = "2026.1-fail-db-sync"
	w.patch(`{"spec": {"image": {"tag": "` + tag + `"}}}`)
	// The Job would try again for minutes.
	cluster.Eventually(w.T, "the failing Job", func(ctx context.Context) (bool, error) {
		job := &batchv1.Job{}
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "nova-db-sync"}, job); err != nil {
			return false, err
		}
		if !strings.HasSuffix(job.Spec.Template.Spec.Containers[0].Image, tag) {
			return false, nil
		}
		return true, w.Client.Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"backoffLimit": 0}}`)))
	})
	w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDBSyncFailed)
	w.patch(`{"spec": {"image": {"tag": "2026.1"}}}`)
	w.AwaitReady()
}

// mustNotLeak looks for a credential where none belongs.
func mustNotLeak(t *testing.T, where, text string) {
	t.Helper()
	for _, leak := range world.Leaks(text) {
		t.Errorf("%s has a credential: %s", where, leak)
	}
}

// wantedSeries are some of those a life leaves while the Nova is there.
var wantedSeries = []string{
	`nova_operator_db_sync_total{namespace="openstack",nova="nova",result="failed"} 1`,
	`nova_operator_db_archive_total{namespace="openstack",nova="nova",result="failed"} 1`,
	`nova_operator_db_archive_total{namespace="openstack",nova="nova",result="succeeded"} 2`,
	`nova_operator_db_archive_duration_seconds_count{namespace="openstack",nova="nova"} 3`,
	`nova_operator_condition{condition_type="Ready",namespace="openstack",nova="nova",pool="",reason="AllReady"} 1`,
	`nova_operator_condition{condition_type="ConsoleProxyReady",namespace="openstack",nova="nova",pool="",reason="ConsoleProxyDisabled"} 1`,
	`nova_operator_reconcile_errors_total{condition_type="SecretsReady",sub_reconciler="Config"} 0`,
	`nova_operator_reconcile_duration_seconds_bucket{sub_reconciler="Database",le="0.01"}`,
	"nova_operator_reconcile_duration_seconds_sum{sub_reconciler=\"Secrets\"} 0\n", // it makes nothing
}

// A whole life under the roles of the namespaced installation, and what it leaves:
// requests, metrics, log, events.
func TestLife(t *testing.T) {
	c := cluster.Shared(t)
	i := install(t, c, namespaced(t, c))
	w := newWorld(t, c, own)
	o := i.start(t, c, w.Surroundings.Network, "--zap-log-level=7")
	o.awaitReady(t)
	i.awaitLeader(t, c, "")
	stop := o.follow(t, own)
	w.liveOn()
	// The metrics follow the status, a moment behind.
	var alive string
	for _, want := range wantedSeries {
		cluster.Eventually(t, want, func(context.Context) (bool, error) {
			alive = o.scrape(t)
			return strings.Contains(alive, want), nil
		})
	}
	mustNotLeak(t, "an object", w.everyObject())
	w.remove()
	scrapes := stop()
	// The series go with the finalizer, a moment after the Nova itself is gone.
	cluster.Eventually(t, "the series of the Nova to go", func(context.Context) (bool, error) {
		return !strings.Contains(o.scrape(t), `nova="nova"`), nil
	})

	t.Run("a Nova without our finalizer is counted while it is there", func(t *testing.T) {
		n := w.Minimal()
		n.Name, n.Spec.TargetClusterRef = "placed", &v1alpha1.TargetClusterRefSpec{Name: "elsewhere"}
		w.Create(n)
		series := `nova_operator_condition{condition_type="SecretsReady",namespace="openstack",nova="placed",pool="",reason="TargetClusterUnavailable"} 0`
		cluster.Eventually(t, series, func(context.Context) (bool, error) { return strings.Contains(o.scrape(t), series), nil })
		if err := w.Client.Delete(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "its series to go", func(context.Context) (bool, error) { return !strings.Contains(o.scrape(t), `nova="placed"`), nil })
	})
	t.Run("nothing is forbidden, asked for elsewhere, or allowed for nothing", func(t *testing.T) {
		o.api.mustAllow(t)
		for a, namespaces := range o.api.used() {
			if !slices.Equal(namespaces, []string{own}) {
				t.Errorf("%s in %v", a, namespaces)
			}
		}
		i.mustUse(t, o.api.used(), namespacedOnly, func(access) bool { return true })
	})
	t.Run("a step that wrote has taken its time", func(t *testing.T) {
		for _, step := range []string{"Database", "Conductor", "HPA"} {
			if strings.Contains(alive, fmt.Sprintf("nova_operator_reconcile_duration_seconds_sum{sub_reconciler=%q} 0\n", step)) {
				t.Errorf("%s took no time", step)
			}
		}
	})
	t.Run("a condition has one series", func(t *testing.T) {
		if got := strings.Count(alive, `nova_operator_condition{`); got != len(v1alpha1.NovaConditions())+3 { // Ready, Stalled, ExtraConfigHealthy
			t.Errorf("%d series of conditions", got)
		}
	})
	t.Run("every query of the dashboard has an answer", func(t *testing.T) { mustAnswer(t, scrapes) })
	t.Run("every alert selects series that exist", func(t *testing.T) { mustSelect(t, scrapes) })
	t.Run("no credential is in log, metrics and events", func(t *testing.T) {
		o.mustLog(t)
		mustNotLeak(t, "the metrics", alive)
		for _, e := range w.Events() {
			mustNotLeak(t, "an event", e.Message)
		}
	})
}

// everyObject is all the namespace holds but Secrets, as JSON lines.
func (w *novaWorld) everyObject() string {
	w.T.Helper()
	disco, err := discovery.NewDiscoveryClientForConfig(w.Cluster.Config)
	if err != nil {
		w.T.Fatal(err)
	}
	lists, err := disco.ServerPreferredNamespacedResources()
	if err != nil {
		w.T.Fatal(err)
	}
	var text strings.Builder
	for _, l := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		for _, r := range l.APIResources {
			if r.Kind == "Secret" {
				continue
			}
			for _, u := range w.List(schema.FromAPIVersionAndKind(l.GroupVersion, r.Kind)) {
				raw, err := u.MarshalJSON()
				if err != nil {
					w.T.Fatal(err)
				}
				text.Write(raw)
			}
		}
	}
	if !strings.Contains(text.String(), `"kind":"Nova"`) || !strings.Contains(text.String(), `"kind":"Pod"`) {
		w.T.Fatal("looked at no Nova and no Pod")
	}
	return text.String()
}
