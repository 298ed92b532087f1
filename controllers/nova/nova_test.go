package nova_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/test/cluster"
)

// minimalInventory is what the smallest Nova owns, but for the hash of its ConfigMap.
var minimalInventory = []string{
	"ConfigMap/nova-config-", "CronJob/nova-db-archive",
	"Database/nova", "Database/nova-api", "Database/nova-nova-cell0",
	"Deployment/nova", "Deployment/nova-conductor", "Deployment/nova-metadata", "Deployment/nova-novncproxy", "Deployment/nova-scheduler",
	"Grant/nova", "Grant/nova-api", "Grant/nova-nova-cell0", "Job/nova-db-inspect", "Job/nova-db-sync", "PodDisruptionBudget/nova",
	"Secret/nova-api-db-connection", "Secret/nova-compute-config", "Secret/nova-db-connection", "Secret/nova-metadata-secret-env",
	"Secret/nova-service-user-env", "Secret/nova-transport-url",
	"Service/nova", "Service/nova-metadata", "Service/nova-novncproxy", "User/nova", "User/nova-api",
}

func nameless(inventory []string) []string {
	out := slices.Clone(inventory)
	for i, entry := range out {
		if strings.HasPrefix(entry, "ConfigMap/nova-config-") {
			out[i] = "ConfigMap/nova-config-"
		}
	}
	return out
}

// ready brings the smallest Nova up in a world of its own.
func ready(t *testing.T, change ...func(*v1alpha1.Nova)) *novaWorld {
	t.Helper()
	w := newWorld(t)
	w.Inputs()
	w.run()
	n := w.Minimal()
	for _, c := range change {
		c(n)
	}
	w.Create(n)
	w.AwaitReady()
	return w
}

// It is not parallel: it reads counters of the whole process.
func TestNova_ComesUpAndThenCostsNothing(t *testing.T) {
	w := ready(t)
	n := w.MustLive()
	for _, name := range v1alpha1.NovaConditions() {
		if !meta.IsStatusConditionTrue(n.Status.Conditions, name) {
			t.Errorf("%s is not True", name)
		}
	}
	want := v1alpha1.NovaStatus{
		ObservedGeneration: n.Generation, InstalledRelease: "2026.1",
		Endpoint:               "http://nova." + w.Namespace + ".svc.cluster.local:8774",
		ComputeConfigSecretRef: &corev1.LocalObjectReference{Name: "nova-compute-config"},
		Cells:                  n.Status.Cells, Conditions: n.Status.Conditions,
	}
	if diff := cmp.Diff(want, n.Status); diff != "" {
		t.Error(diff)
	}
	if len(n.Status.Cells) != 2 || n.Status.Cells[0].Name != "cell0" || n.Status.Cells[1].Name != "cell1" {
		t.Errorf("cells %v, want cell0 and cell1", n.Status.Cells)
	}
	if diff := cmp.Diff(minimalInventory, nameless(w.inventory())); diff != "" {
		t.Error(diff)
	}
	w.AwaitEvent(v1alpha1.EventDatabaseSynced)
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Image.Tag = "2026.1-next" })
	for _, name := range roles {
		w.awaitImage(name, "registry.example.com/nova:2026.1-next")
	}
	w.AwaitReady()
	if complaints := logs.mentioning(w.Namespace, `"level":"error"`); len(complaints) > 0 {
		t.Errorf("nothing went wrong, and yet the log says %s", complaints)
	}

	w.settled()
	requests, writes := testutil.ToFloat64(metrics.ApplyRequests), testutil.ToFloat64(metrics.StatusWrites.WithLabelValues("Nova"))
	w.Edit(func(n *v1alpha1.Nova) { metav1.SetMetaDataLabel(&n.ObjectMeta, "example.com/touched", "yes") })
	w.settled()
	if calls := w.requests.take(); len(calls) > 0 {
		t.Errorf("a pass over an unchanged Nova asked for %v", calls)
	}
	if got := testutil.ToFloat64(metrics.ApplyRequests) - requests; got != 0 {
		t.Errorf("%v requests for children", got)
	}
	if got := testutil.ToFloat64(metrics.StatusWrites.WithLabelValues("Nova")) - writes; got != 0 {
		t.Errorf("%v status writes", got)
	}
}

func TestNova_PutsDriftRight(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.settled()

	service := w.Get(render.KindService, "nova-metadata")
	if err := w.Client.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	w.AwaitEvent(v1alpha1.EventDriftCorrected, "nova-metadata", "deleted")
	cluster.Eventually(t, "the Service to come back", func(context.Context) (bool, error) {
		u := w.Get(render.KindService, "nova-metadata")
		return u != nil && u.GetUID() != service.GetUID(), nil
	})

	w.patchDeployment("nova-conductor", `{"spec":{"template":{"spec":{"containers":[{"name":"conductor","image":"example.com/other:1"}]}}}}`)
	w.AwaitEvent(v1alpha1.EventDriftCorrected, "nova-conductor", "image")
	w.awaitImage("nova-conductor", "registry.example.com/nova:2026.1")

	// What others add stays.
	w.patchDeployment("nova-scheduler", `{"metadata":{"annotations":{"example.com/note":"kept"}},"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Region = "RegionOne" })
	w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	d := w.deployment("nova-scheduler")
	if d.Annotations["example.com/note"] != "kept" || d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "now" {
		t.Errorf("another manager's fields are gone: %v, %v", d.Annotations, d.Spec.Template.Annotations)
	}
	w.AwaitReady()
}

func TestNova_ReportsAManagerThatClaimsItsField(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.settled()
	claim := []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"nova-scheduler"},"spec":{"replicas":7}}`)
	d := w.deployment("nova-scheduler")
	if err := w.Client.Patch(t.Context(), d, client.RawPatch("application/apply-patch+yaml", claim), client.FieldOwner("argocd-controller"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	message := w.AwaitEvent(v1alpha1.EventFieldConflict, "argocd-controller")
	if !strings.Contains(message, "replicas") {
		t.Errorf("the event names no field: %s", message)
	}
	cluster.Eventually(t, "the count to be taken back", func(context.Context) (bool, error) {
		return *w.deployment("nova-scheduler").Spec.Replicas == 1, nil
	})
}

func TestNova_ConsoleProxyOffRemovesExactlyItsObjects(t *testing.T) {
	t.Parallel()
	w := ready(t, func(n *v1alpha1.Nova) {
		n.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{}}}
		n.Spec.ConsoleProxy.Gateway = &v1alpha1.GatewaySpec{ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw"}, Hostname: "console.example.com"}
	})
	before := w.inventory()
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.ConsoleProxy.Enabled = new(false) })
	w.AwaitReason(v1alpha1.ConditionConsoleProxyReady, v1alpha1.ReasonConsoleProxyDisabled)
	w.AwaitReady()
	gone := []string{"Deployment/nova-novncproxy", "HTTPRoute/nova-console", "NetworkPolicy/nova-novncproxy", "Service/nova-novncproxy"}
	want := slices.DeleteFunc(slices.Clone(before), func(s string) bool { return slices.Contains(gone, s) })
	cluster.Eventually(t, "the proxy's objects to go", func(context.Context) (bool, error) {
		// The switch enters nova.conf, so one more generation of it exists.
		diff := cmp.Diff(slices.Compact(nameless(want)), slices.Compact(nameless(w.inventory())))
		if diff != "" {
			return false, fmt.Errorf("%s", diff)
		}
		return true, nil
	})
}

func TestNova_DeletionMarksTheDatabaseFirstAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w := ready(t, func(n *v1alpha1.Nova) { n.Spec.DatabaseDeletionPolicy = v1alpha1.DatabaseDelete })
	n := w.MustLive()
	// A MariaDB operator that is slow to drop the schema holds the object.
	db := w.Get(render.KindDatabase, "nova")
	db.SetFinalizers([]string{"example.com/drop"})
	if err := w.Client.Update(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	w.AwaitEvent(v1alpha1.EventFinalizingDatabase)
	w.AwaitEvent(v1alpha1.EventDatabaseFinalized)
	cluster.Eventually(t, "the Nova to go without waiting for the schema", func(ctx context.Context) (bool, error) {
		_, err := w.Live(ctx)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if db = w.Get(render.KindDatabase, "nova"); db == nil || db.GetDeletionTimestamp() == nil {
		t.Error("the Database is not marked for deletion")
	} else {
		db.SetFinalizers(nil)
		if err := w.Client.Update(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "every child to go", func(context.Context) (bool, error) {
		for _, entry := range minimalInventory {
			kind, name, _ := strings.Cut(entry, "/")
			for _, gvk := range rendernova.About().Children {
				if gvk.Kind == kind && !strings.HasSuffix(name, "-") && w.Get(gvk, name) != nil {
					return false, fmt.Errorf("%s is still there", entry)
				}
			}
		}
		return true, nil
	})
}

func TestNova_FollowsTheHealthOfItsAPI(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.Surroundings.Network.Answer(func(string) (int, string) { return http.StatusInternalServerError, "no\ndatabase" })
	// A healthy answer is believed for 30 s; then the API is asked again.
	c := w.AwaitReason(v1alpha1.ConditionNovaAPIReady, v1alpha1.ReasonAPIUnhealthy)
	if c.Message != "Nova API returned HTTP 500: no database" {
		t.Errorf("message %q", c.Message)
	}
	w.Surroundings.Network.Answer(nil)
	w.AwaitReason(v1alpha1.ConditionNovaAPIReady, v1alpha1.ReasonAPIHealthy)
	w.AwaitReady()
}

// deployment reads one typed Deployment.
func (w *novaWorld) deployment(name string) *appsv1.Deployment {
	w.T.Helper()
	d := &appsv1.Deployment{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, d); err != nil {
		w.T.Fatal(err)
	}
	return d
}

// patchDeployment is what a person does with kubectl patch.
func (w *novaWorld) patchDeployment(name, patch string) {
	w.T.Helper()
	if err := w.Client.Patch(w.T.Context(), w.deployment(name), client.RawPatch("application/strategic-merge-patch+json", []byte(patch)), client.FieldOwner("kubectl-patch")); err != nil {
		w.T.Fatal(err)
	}
}

func (w *novaWorld) awaitImage(name, image string) {
	w.T.Helper()
	cluster.Eventually(w.T, name+" to run "+image, func(context.Context) (bool, error) {
		got := w.deployment(name).Spec.Template.Spec.Containers[0].Image
		if got != image {
			return false, fmt.Errorf("it runs %s", got)
		}
		return true, nil
	})
}
