package live_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// A placed Nova is previewed and explained on the cluster of its children: here one that
// is registered under another name.
func TestStates_APlacedNova(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(_ *rest.Config, o *operator.Options) { o.ClustersNamespace = o.Namespace })
	s.findsRegistrations()
	placed := map[string]any{"targetClusterRef": map[string]any{"name": "edge"}}
	manifest := s.manifest(placed)

	lost := s.preview(manifest)
	if diff := cmp.Diff([]string{v1alpha1.ReasonTargetClusterUnavailable}, reasons(lost)); diff != "" || len(lost.Objects) > 0 {
		t.Errorf("unregistered: %s, objects %+v", diff, lost.Objects)
	}
	s.register("edge")
	s.played()
	first := s.preview(manifest)
	if len(first.NotReady) > 0 || len(first.Objects) < 20 {
		t.Errorf("registered: %s", textOf(t, first))
	}
	s.comesUp(manifest)
	after := s.snapshot()
	for key, o := range after {
		if o.fields["metadata.labels["+apply.LabelOwnerName+"]"] == nil && key != "Nova/nova" {
			t.Errorf("%s is not marked", key)
		}
	}
	s.judge([]point{{"the installation", written(first), map[string]object{}}}, after)

	for name, edit := range map[string]map[string]any{
		"an image":        tag("2026.1-next"),
		"the console off": {"consoleProxy": map[string]any{"enabled": false}},
	} {
		manifest = patched(t, manifest, edit)
		p := s.look(name, manifest)
		if p.printed.Summary == (preview.Summary{}) {
			t.Errorf("%s: nothing is printed", name)
		}
		s.apply(manifest)
		s.settle(manifest)
		s.still()
		s.judge([]point{p}, s.snapshot())
	}
	if tree := s.explain(); !tree.Ready || tree.Blocker != nil {
		t.Errorf("explained as %+v", tree)
	}
}

// findsRegistrations lets the preview find out where the operator looks for them.
func (s *stage) findsRegistrations() {
	s.T.Helper()
	labels := map[string]string{"app.kubernetes.io/name": "nova-operator", "app.kubernetes.io/component": "manager"}
	manager := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "manager", Namespace: s.Namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "manager", Args: []string{"manager", "--clusters-namespace=" + s.Namespace}}}},
			},
		},
	}
	s.Create(manager)
	if _, notes := s.live.Settings(s.T.Context(), render.Settings{}); len(notes) > 0 {
		s.T.Fatal(notes)
	}
}

// register makes the cluster of the tests a target cluster.
func (s *stage) register(name string) {
	s.T.Helper()
	raw, err := os.ReadFile(cluster.Shared(s.T).Kubeconfig)
	if err != nil {
		s.T.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace, Labels: map[string]string{clusters.Label: "true"}},
		Data:       map[string][]byte{"kubeconfig": raw, "namespaces": []byte(s.Namespace)},
	}
	s.Create(secret)
}
