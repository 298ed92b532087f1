package nova_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// service is one that somebody makes before the Nova.
func (w *novaWorld) service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace, Annotations: map[string]string{"example.com/note": "kept"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8775}}, Selector: map[string]string{"app": "theirs"}},
	}
}

func TestOwnership_AdoptsWhatNobodyControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.Create(w.service("nova-metadata"))
	before := w.Get(render.KindService, "nova-metadata").GetUID()
	w.run()
	w.Create(w.Minimal())
	w.AwaitReady()
	n := w.MustLive()
	s := w.Get(render.KindService, "nova-metadata")
	if ref := metav1.GetControllerOf(s); s.GetUID() != before || ref == nil || ref.UID != n.UID {
		t.Errorf("the Service is %s, controlled by %v", s.GetUID(), ref)
	}
	if got := fmt.Sprint(s.Object["spec"]); !strings.Contains(got, "app.kubernetes.io/component:metadata") {
		t.Errorf("its selector is not ours: %s", got)
	}
	if s.GetAnnotations()["example.com/note"] != "kept" {
		t.Error("what somebody noted on it is gone")
	}
}

func TestOwnership_RefusesWhatSomebodyElseControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.Theirs(w.service("nova-metadata"))
	w.run()
	w.Create(w.Minimal())
	want := fmt.Sprintf("apply Service %s/nova-metadata: it is controlled by ConfigMap theirs (rename or remove the other object, or rename this resource)", w.Namespace)
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
		"apply Job.batch %s/nova-db-sync: it is controlled by ConfigMap theirs (rename or remove the other object, or rename this resource)", w.Namespace))
	w.pass()
	if got := w.deployments(); got != nil {
		t.Errorf("%v run on schemas nobody migrated", got)
	}
	w.Remove(render.KindJob, "nova-db-sync")
	w.AwaitReady()
}
