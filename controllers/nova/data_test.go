package nova_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// databases are the UIDs of the live Database objects of the namespace.
func (w *novaWorld) databases() map[string]types.UID {
	w.T.Helper()
	uids := map[string]types.UID{}
	for _, u := range w.List(render.KindDatabase) {
		if u.GetDeletionTimestamp() == nil {
			uids[u.GetName()] = u.GetUID()
		}
	}
	return uids
}

// A Nova that goes, in whatever way, leaves its Databases; one made anew goes on with them
// from their release.
func TestData_OutlivesItsNova(t *testing.T) {
	for name, deleted := range map[string]client.DeleteOption{
		"in the background": client.PropagationPolicy(metav1.DeletePropagationBackground),
		"in the foreground": client.PropagationPolicy(metav1.DeletePropagationForeground),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ready(t)
			before := w.databases()
			if err := w.Client.Delete(t.Context(), w.MustLive(), deleted); err != nil {
				t.Fatal(err)
			}
			w.AwaitGone()
			cluster.Eventually(t, "its Deployments and logins to go", func(context.Context) (bool, error) {
				return len(w.List(render.KindDeployment))+len(w.List(render.KindUser))+len(w.List(render.KindGrant)) == 0, nil
			})
			if after := w.databases(); len(before) != 3 || fmt.Sprint(after) != fmt.Sprint(before) {
				t.Fatalf("of %v there are %v", before, after)
			}
			for _, u := range w.List(render.KindDatabase) {
				policy, _, _ := unstructured.NestedString(u.Object, "spec", "cleanupPolicy")
				if len(u.GetOwnerReferences()) > 0 || policy != "Skip" || u.GetAnnotations()[v1alpha1.AnnotationSchemaRelease] != "2026.1" {
					t.Errorf("%s: references %v, policy %q, annotations %v", u.GetName(), u.GetOwnerReferences(), policy, u.GetAnnotations())
				}
			}

			w.Create(w.Minimal())
			w.AwaitEvent(v1alpha1.EventReleaseAdopted, "2026.1")
			w.AwaitReady()
			if after := w.databases(); fmt.Sprint(after) != fmt.Sprint(before) || w.MustLive().Status.InstalledRelease != "2026.1" {
				t.Errorf("made anew: %v, release %s", after, w.MustLive().Status.InstalledRelease)
			}
			if w.Get(render.KindJob, "nova-db-inspect") != nil {
				t.Error("schemas of a known release were looked at")
			}
		})
	}
}

// An older release than that of the Databases is refused before anything is written.
func TestData_GoesOnByTheRulesOfAnUpgrade(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.Delete()
	w.AwaitGone()
	n := w.Minimal()
	n.Spec.OpenStackRelease, n.Spec.Image.Tag = "2025.2", "2025.2"
	w.Create(n)
	w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDowngradeNotSupported)
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.OpenStackRelease, n.Spec.Image.Tag = "2026.1", "2026.1" })
	w.AwaitReady()
}

func TestData_AProtectedNovaIsNotFinalized(t *testing.T) {
	t.Parallel()
	w := ready(t, func(n *v1alpha1.Nova) { n.Spec.DeletionProtection = true })
	w.Delete()
	w.AwaitEvent(v1alpha1.EventDeletionProtected)
	w.AwaitReason(v1alpha1.ConditionStalled, v1alpha1.ReasonDeletionProtected)
	if got := len(w.deployments()); got != 5 || len(w.databases()) != 3 {
		t.Errorf("%d Deployments, Databases %v", got, w.databases())
	}
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.DeletionProtection = false })
	w.AwaitGone()
	if len(w.databases()) != 3 {
		t.Errorf("Databases %v", w.databases())
	}
}

// A schema that came back empty is filled again, and the Nova does not say Ready before.
func TestData_ADatabaseMadeAnewIsSynced(t *testing.T) {
	t.Parallel()
	w := ready(t)
	job := w.dbSync()
	w.Remove(render.KindDatabase, "nova-api")
	cluster.Eventually(t, "db-sync to run again", func(context.Context) (bool, error) {
		now := w.dbSync()
		return now != "" && now != job, nil
	})
	w.AwaitReady()
	databases := w.Get(render.KindJob, "nova-db-sync").GetAnnotations()[v1alpha1.AnnotationDatabases]
	if uid := string(w.databases()["nova-api"]); !strings.Contains(databases, "nova-api="+uid) {
		t.Errorf("the Job was made for %s, the Database is %s", databases, uid)
	}
	if after := w.dbSync(); func() bool { w.pass(); w.pass(); return w.dbSync() != after }() {
		t.Error("db-sync runs over and over")
	}
}

// Tables of a release that nobody knows stop a new Nova before it writes; a person who
// knows lets it go on.
func TestData_FoundTablesStopANewNova(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.run()
	n := w.Minimal()
	n.Spec.Image.Tag = "holds-tables"
	w.Create(n)
	c := w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonSchemaReleaseUnknown)
	if !strings.Contains(c.Message, "api_db at revision b30f573d3377, db at revision 960aac0e09ea") {
		t.Errorf("message %q", c.Message)
	}
	w.AwaitReason(v1alpha1.ConditionStalled, v1alpha1.ReasonSchemaReleaseUnknown)
	w.pass()
	if w.Get(render.KindJob, "nova-db-sync") != nil || w.deployments() != nil {
		t.Error("it went on")
	}
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.AdoptRelease = "2026.1" })
	w.AwaitReady()
}

// Of two Novas on one schema the younger stops, and takes nothing of the other with it.
func TestData_OneSchemaOneNova(t *testing.T) {
	t.Parallel()
	w := ready(t)
	before := w.databases()
	second := w.Minimal()
	second.Name = "second"
	w.Create(second)
	key := client.ObjectKeyFromObject(second)
	cluster.Eventually(t, "the second to stop", func(ctx context.Context) (bool, error) {
		err := w.Client.Get(ctx, key, second)
		i := slices.IndexFunc(second.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionStalled })
		return i >= 0 && second.Status.Conditions[i].Reason == v1alpha1.ReasonSchemaInUse, err
	})
	w.pass()
	w.AwaitReady()
	if err := w.Client.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the second to go", func(ctx context.Context) (bool, error) {
		err := w.Client.Get(ctx, key, second)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	w.AwaitReady()
	if after := w.databases(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("of %v there are %v", before, after)
	}
}

// What serving pods mount stays, however many edits a stuck rollout has seen.
func TestData_AStuckRolloutKeepsItsConfiguration(t *testing.T) {
	t.Parallel()
	w := ready(t)
	serving := w.mounted("nova-scheduler")
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Image.Tag = "2026.1-never-ready-scheduler" })
	for i := range 7 {
		region := fmt.Sprintf("Region%d", i)
		w.Edit(func(n *v1alpha1.Nova) { n.Spec.Region = region })
		cluster.Eventually(t, "the scheduler to be told", func(context.Context) (bool, error) {
			w.pass()
			return strings.Contains(w.configuration(w.mounted("nova-scheduler")), region), nil
		})
	}
	pods := &corev1.PodList{}
	if err := w.Client.List(t.Context(), pods, client.InNamespace(w.Namespace), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentScheduler}); err != nil {
		t.Fatal(err)
	}
	serves := slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool {
		return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == serving })
	})
	if !serves || !slices.Contains(w.configs(), serving) {
		t.Errorf("a pod serves with %s: %t; there are %v", serving, serves, w.configs())
	}
}

// configuration is the nova.conf of a generation.
func (w *novaWorld) configuration(name string) string {
	w.T.Helper()
	u := w.Get(render.KindConfigMap, name)
	if u == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(u.Object, "data", "nova.conf")
	return text
}

// A Job that never started makes way for the one that can.
func TestData_AJobThatNeverStartedIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.run()
	n := w.Minimal()
	n.Spec.Jobs = &v1alpha1.JobSpec{NodeSelector: map[string]string{"no": "node"}}
	w.Create(n)
	cluster.Eventually(t, "a pod that nobody schedules", func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := w.Client.List(ctx, pods, client.InNamespace(w.Namespace))
		return len(pods.Items) == 1, err
	})
	first := w.Get(render.KindJob, "nova-db-inspect").GetUID()
	w.pass()
	if w.Get(render.KindJob, "nova-db-inspect").GetUID() != first {
		t.Error("a Job that may still start was replaced")
	}
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Jobs = nil })
	w.AwaitReady()
}
