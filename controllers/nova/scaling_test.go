package nova_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// scale does what the HPA's controller does to a Deployment.
func (w *novaWorld) scale(name string, replicas int32) {
	w.T.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	err := w.Client.SubResource("scale").Update(w.T.Context(), w.deployment(name),
		client.WithSubResourceBody(scale), client.FieldOwner("kube-controller-manager"))
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *novaWorld) awaitReplicas(name string, replicas int32) {
	w.T.Helper()
	cluster.Eventually(w.T, fmt.Sprintf("%s to have %d replicas", name, replicas), func(context.Context) (bool, error) {
		if got := *w.deployment(name).Spec.Replicas; got != replicas {
			return false, fmt.Errorf("it has %d", got)
		}
		return true, nil
	})
}

func TestHPA_OwnsTheReplicasWhileItIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	stop := w.run()
	n := w.Minimal()
	n.Spec.API.Deployment.Replicas = 2
	w.Create(n)
	w.AwaitReady()
	w.awaitReplicas("nova", 2)
	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MinReplicas: new(int32(1)), MaxReplicas: 6, TargetCPUUtilization: new(int32(80))}
	})
	w.AwaitReason(v1alpha1.ConditionHPAReady, v1alpha1.ReasonHPAReady)
	w.AwaitReady()
	w.region("RegionOne")
	if got := *w.deployment("nova").Spec.Replicas; got != 2 {
		t.Errorf("%d replicas before the autoscaler acts, want the 2 that ran", got)
	}

	// The autoscaler takes the field; what else changes rolls past it.
	w.scale("nova", 4)
	w.region("RegionTwo")
	w.pass()
	w.AwaitReady()
	if got := *w.deployment("nova").Spec.Replicas; got != 4 {
		t.Errorf("%d replicas after a pass, want the autoscaler's 4", got)
	}
	w.scale("nova", 3)
	w.pass()
	w.AwaitReady()
	if got := *w.deployment("nova").Spec.Replicas; got != 3 {
		t.Errorf("%d replicas after a pass, want the autoscaler's 3", got)
	}

	// A manager that starts knows nothing of what was applied before.
	stop()
	w.run()
	w.region("RegionThree")
	if got := *w.deployment("nova").Spec.Replicas; got != 3 {
		t.Errorf("%d replicas after a restart, want the autoscaler's 3", got)
	}

	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Autoscaling = nil })
	w.AwaitSays(v1alpha1.ConditionHPAReady, v1alpha1.ReasonHPANotRequired, "Autoscaling is not configured")
	w.awaitReplicas("nova", 2)
	cluster.Eventually(t, "the autoscaler to go", func(context.Context) (bool, error) {
		return w.Get(render.KindHPA, "nova") == nil, nil
	})
	w.AwaitReady()
	if events := w.said(v1alpha1.EventFieldConflict); events != 0 {
		t.Errorf("handing the replicas over made %d conflicts: %s", events, w.AwaitEvent(v1alpha1.EventFieldConflict))
	}
}

func TestVPA_FollowsTheOptIns(t *testing.T) {
	t.Parallel()
	vertical := &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Initial", MinReplicas: new(int32(2))}
	w := ready(t, func(n *v1alpha1.Nova) {
		n.Spec.API.Deployment = v1alpha1.DeploymentSpec{Replicas: 1, VerticalAutoscaling: vertical}
		n.Spec.Scheduler.Deployment = v1alpha1.DeploymentSpec{Replicas: 1, VerticalAutoscaling: vertical}
	})
	w.AwaitSays(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPAReady, "VerticalPodAutoscalers are configured: nova-scheduler, nova")
	spec, _, _ := unstructured.NestedMap(w.Get(render.KindVPA, "nova-scheduler").Object, "spec")
	want := map[string]any{
		"targetRef":    map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nova-scheduler"},
		"updatePolicy": map[string]any{"updateMode": "Initial", "minReplicas": int64(2)},
		"resourcePolicy": map[string]any{"containerPolicies": []any{map[string]any{
			"containerName": "*", "controlledValues": "RequestsOnly", "controlledResources": []any{"cpu", "memory"},
		}}},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error(diff)
	}
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.API.Deployment.VerticalAutoscaling = nil })
	w.AwaitSays(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPAReady, "VerticalPodAutoscalers are configured: nova-scheduler")
	cluster.Eventually(t, "the API's autoscaler to go", func(context.Context) (bool, error) {
		return w.Get(render.KindVPA, "nova") == nil, nil
	})
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Scheduler.Deployment.VerticalAutoscaling = nil })
	w.AwaitSays(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPANotRequired, "no workload opts into vertical autoscaling")
	cluster.Eventually(t, "the scheduler's autoscaler to go", func(context.Context) (bool, error) {
		return w.Get(render.KindVPA, "nova-scheduler") == nil, nil
	})
	w.AwaitReady()
}
