package nova_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// service is one that somebody makes before the Nova.
func (w *novaWorld) service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace, Annotations: map[string]string{"example.com/note": "kept"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8775}}, Selector: map[string]string{"app": "theirs"}},
	}
}

// A Nova that is named like something of somebody else takes none of it, and leaves it
// there when it goes. Only a person can let it have it.
func TestOwnership_TakesWhatAPersonOffersOnly(t *testing.T) {
	t.Parallel()
	selector := map[string]string{"app.kubernetes.io/name": "nova", "app.kubernetes.io/instance": "nova", "app.kubernetes.io/component": "api"}
	for name, tc := range map[string]struct {
		kind      schema.GroupVersionKind
		object    string
		content   string // the field that holds it
		annotated string // as kubectl names it
		condition string
		reason    string
		theirs    any
	}{
		"a Deployment": {
			render.KindDeployment, "nova", "spec", "deployment.apps/nova", v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonApplyError,
			map[string]any{
				"replicas": 0, "selector": map[string]any{"matchLabels": selector},
				"template": map[string]any{
					"metadata": map[string]any{"labels": selector},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "nova-api", "image": "example.com/theirs:1"}}},
				},
			},
		},
		"a Secret": {
			render.KindSecret, "nova-transport-url", "data", "secret/nova-transport-url", v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError,
			map[string]any{"theirs": base64.StdEncoding.EncodeToString([]byte(world.Mark + "-of-theirs"))},
		},
		"a Database": {
			render.KindDatabase, "nova", "spec", "database.k8s.mariadb.com/nova", v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonApplyError,
			map[string]any{"mariaDbRef": map[string]any{"name": "theirs"}, "name": "shop"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Inputs()
			theirs := w.Object(tc.kind, tc.object)
			theirs.Object[tc.content] = tc.theirs
			theirs.SetAnnotations(map[string]string{"example.com/note": "kept"})
			raw, err := json.Marshal(theirs) // into the types of JSON
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &theirs.Object); err != nil {
				t.Fatal(err)
			}
			w.Create(theirs)
			content := fmt.Sprint(theirs.Object[tc.content])
			untouched := func(when string) {
				t.Helper()
				live := w.Get(tc.kind, tc.object)
				if live == nil || live.GetUID() != theirs.GetUID() || live.GetDeletionTimestamp() != nil {
					t.Fatalf("%s it is gone", when)
				}
				if got := fmt.Sprint(live.Object[tc.content]); got != content || len(live.GetOwnerReferences()) > 0 || len(live.GetLabels()) > 0 {
					t.Errorf("%s it was written to: %v", when, live)
				}
			}
			w.run()
			for range 2 {
				w.Create(w.Minimal())
				c := w.AwaitReason(tc.condition, tc.reason)
				want := fmt.Sprintf("it is not ours: nobody controls it, and it lacks the ownership labels of Nova %[1]s/nova "+
					"(rename this resource, delete the object, or have it adopted: kubectl annotate --overwrite -n %[1]s %[2]s %[3]s=Nova/nova)",
					w.Namespace, tc.annotated, apply.AnnotationAdopt)
				if !strings.Contains(c.Message, want) {
					t.Errorf("it says %s", c.Message)
				}
				w.AwaitReason(v1alpha1.ConditionStalled, tc.reason)
				w.pass()
				untouched("under the Nova")
				w.Delete()
				w.AwaitGone()
				untouched("after the Nova")
			}

			w.Create(w.Minimal())
			w.AwaitReason(tc.condition, tc.reason)
			note := fmt.Sprintf(`{"metadata":{"annotations":{%q:"Nova/nova"}}}`, apply.AnnotationAdopt)
			if err := w.Client.Patch(t.Context(), w.Object(tc.kind, tc.object), client.RawPatch(types.MergePatchType, []byte(note))); err != nil {
				t.Fatal(err)
			}
			w.AwaitReady()
			live := w.Get(tc.kind, tc.object)
			ref := metav1.GetControllerOf(live)
			referred := ref != nil && ref.UID == w.MustLive().UID // a Database outlives its Nova
			if live.GetUID() != theirs.GetUID() || referred == (tc.kind == render.KindDatabase) || live.GetLabels()[apply.LabelOwnerName] != "nova" {
				t.Errorf("%s is controlled by %v, with %v", live.GetUID(), ref, live.GetLabels())
			}
			if got := fmt.Sprint(live.Object[tc.content]); got == content {
				t.Error("its content is not ours")
			}
			if got := live.GetAnnotations(); got["example.com/note"] != "kept" || got[apply.AnnotationAdopt] != "Nova/nova" {
				t.Errorf("what people noted on it is gone: %v", got)
			}
		})
	}
}

// A backup brings children back without their references.
func TestOwnership_ARestoredChildIsKept(t *testing.T) {
	t.Parallel()
	w := ready(t)
	before := w.Get(render.KindService, "nova-metadata")
	w.promptly(func() {
		bare := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
		if err := w.Client.Patch(t.Context(), w.Object(render.KindService, "nova-metadata"), bare); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "the reference", func(context.Context) (bool, error) {
			live := w.Get(render.KindService, "nova-metadata")
			return live != nil && live.GetUID() == before.GetUID() && metav1.GetControllerOf(live) != nil, nil
		})
	})
}

func TestOwnership_RefusesWhatSomebodyElseControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.Theirs(w.service("nova-metadata"))
	w.run()
	w.Create(w.Minimal())
	want := fmt.Sprintf("apply Service %s/nova-metadata: it is controlled by ConfigMap theirs (rename this resource or delete the object)", w.Namespace)
	w.AwaitSays(v1alpha1.ConditionMetadataReady, v1alpha1.ReasonApplyError, want)
	w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
	if got := fmt.Sprint(w.Get(render.KindService, "nova-metadata").Object["spec"]); !strings.Contains(got, "app:theirs") {
		t.Errorf("the foreign Service was written to: %s", got)
	}
	// What stands beside it comes up all the same.
	for _, name := range []string{"nova", "nova-novncproxy"} {
		cluster.Eventually(t, "Service "+name, func(context.Context) (bool, error) { return w.Get(render.KindService, name) != nil, nil })
	}
	w.Remove(render.KindService, "nova-metadata")
	w.AwaitReason(v1alpha1.ConditionMetadataReady, v1alpha1.ReasonMetadataReady)
	w.AwaitReady()
}

func TestOwnership_StartsNothingOnAForeignSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.Theirs(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "nova-transport-url", Namespace: w.Namespace}})
	w.run()
	w.Create(w.Minimal())
	c := w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError)
	if !strings.Contains(c.Message, "apply Secret "+w.Namespace+"/nova-transport-url: it is controlled by ConfigMap theirs") {
		t.Errorf("message %q", c.Message)
	}
	// Nothing that would read it may start.
	w.pass()
	if got := append(w.provisioned(), w.deployments()...); got != nil {
		t.Errorf("%v rest on a Secret that is not ours", got)
	}
	w.Remove(render.KindSecret, "nova-transport-url")
	w.AwaitReady()
}

func TestOwnership_AForeignJobProvesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.Theirs(&batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "nova-db-sync", Namespace: w.Namespace},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "db-sync", Image: "example.com/theirs:1"}},
		}}},
	})
	cluster.Eventually(t, "their Job to complete", func(context.Context) (bool, error) {
		return strings.Contains(fmt.Sprint(w.Get(render.KindJob, "nova-db-sync").Object["status"]), "Complete"), nil
	})
	w.run()
	w.Create(w.Minimal())
	w.AwaitSays(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonApplyError, fmt.Sprintf(
		"apply Job.batch %s/nova-db-sync: it is controlled by ConfigMap theirs (rename this resource or delete the object)", w.Namespace))
	w.pass()
	if got := w.deployments(); got != nil {
		t.Errorf("%v run on schemas nobody migrated", got)
	}
	w.Remove(render.KindJob, "nova-db-sync")
	w.AwaitReady()
}
