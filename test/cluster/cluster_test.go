package cluster_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/c5c3/nova-operator/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m, cluster.Options{CRDs: cluster.AllCRDs}) }

// clientFor returns a typed client of the cluster.
func clientFor(t *testing.T, c *cluster.Cluster) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func podTemplate(name, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/component": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}},
	}
}

// createDeployment makes one with two replicas whose pods are labelled with name as
// their component.
func createDeployment(t *testing.T, client kubernetes.Interface, ns, name, image string) {
	t.Helper()
	template := podTemplate(name, image)
	_, err := client.AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: template,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitReplicas waits until as many replicas exist and as many are ready.
func awaitReplicas(t *testing.T, client kubernetes.Interface, ns, name string, replicas, ready int32) {
	t.Helper()
	cluster.Eventually(t, "replicas of "+name, func(ctx context.Context) (bool, error) {
		d, err := client.AppsV1().Deployments(ns).Get(ctx, name, metav1.GetOptions{})
		return err == nil && d.Status.Replicas == replicas && d.Status.ReadyReplicas == ready, err
	})
}

// createJob makes a Job without retries; container and component are the last two
// words of its name, as the operator does it.
func createJob(t *testing.T, client kubernetes.Interface, ns, name, image string) {
	t.Helper()
	words := strings.SplitN(name, "-", 2)
	template := podTemplate(words[1], image)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := client.BatchV1().Jobs(ns).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitJob waits for a condition of the Job.
func awaitJob(t *testing.T, client kubernetes.Interface, ns, name string, want batchv1.JobConditionType) {
	t.Helper()
	cluster.Eventually(t, name+" "+string(want), func(ctx context.Context) (bool, error) {
		job, err := client.BatchV1().Jobs(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range job.Status.Conditions {
			if c.Type == want && c.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

// jobPod returns the one pod of a Job.
func jobPod(t *testing.T, client kubernetes.Interface, ns, job string) corev1.Pod {
	t.Helper()
	pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + job})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods of %s: %d, %v", job, len(pods.Items), err)
	}
	return pods.Items[0]
}

func TestShared_DeploymentBecomesReady(t *testing.T) {
	c := cluster.Shared(t)
	client, ns := clientFor(t, c), c.Namespace(t)
	createDeployment(t, client, ns, "api", "nova:2026.1")
	awaitReplicas(t, client, ns, "api", 2, 2)
}

func TestShared_JobsReport(t *testing.T) {
	tests := map[string]struct {
		job, image string
		condition  batchv1.JobConditionType
		message    string
	}{
		"db-sync reports its cells": {
			job: "nova-db-sync", image: "nova:2026.1", condition: batchv1.JobComplete,
			message: "cell0=00000000-0000-0000-0000-000000000000\ncell1=5a3c1e0f-7d42-4b1a-9c85-2f60d1e8b397\n",
		},
		"no-report leaves it away":       {job: "nova-db-sync", image: "nova:2026.1-no-report", condition: batchv1.JobComplete},
		"db-expand reports its check":    {job: "nova-db-expand", image: "nova:2026.1", condition: batchv1.JobComplete, message: "nova-status upgrade check exit 0"},
		"check-exit-1 is a warning":      {job: "nova-db-expand", image: "nova:2026.1-check-exit-1", condition: batchv1.JobComplete, message: "nova-status upgrade check exit 1"},
		"other Jobs complete":            {job: "nova-db-migrate", image: "nova:2026.1", condition: batchv1.JobComplete},
		"fail-job fails any":             {job: "nova-db-migrate", image: "nova:2026.1-fail-job", condition: batchv1.JobFailed, message: "failed because the test asked for it"},
		"fail-db-expand fails that one":  {job: "nova-db-expand", image: "nova:2026.1-fail-db-expand", condition: batchv1.JobFailed, message: "nova-status upgrade check exit 2"},
		"fail-db-expand fails no other":  {job: "nova-db-migrate", image: "nova:2026.1-fail-db-expand", condition: batchv1.JobComplete},
		"fail-db-archive fits a CronJob": {job: "nova-db-archive-29412345", image: "nova:2026.1-fail-db-archive", condition: batchv1.JobFailed, message: "failed because the test asked for it"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Shared(t)
			client, ns := clientFor(t, c), c.Namespace(t)
			createJob(t, client, ns, tc.job, tc.image)
			awaitJob(t, client, ns, tc.job, tc.condition)
			state := jobPod(t, client, ns, tc.job).Status.ContainerStatuses[0].State.Terminated
			if state == nil || state.Message != tc.message {
				t.Errorf("termination %+v, want message %q", state, tc.message)
			}
		})
	}
}

func TestShared_JobHangs(t *testing.T) {
	c := cluster.Shared(t)
	client, ns := clientFor(t, c), c.Namespace(t)
	createJob(t, client, ns, "nova-db-sync", "nova:2026.1-hang-db-sync")
	cluster.Eventually(t, "running pod", func(ctx context.Context) (bool, error) {
		job, err := client.BatchV1().Jobs(ns).Get(ctx, "nova-db-sync", metav1.GetOptions{})
		return err == nil && job.Status.Active == 1 && job.Status.Ready != nil && *job.Status.Ready == 1, err
	})
	// A Job that came later has passed every stage: the first one isn't merely slow.
	createJob(t, client, ns, "nova-db-migrate", "nova:2026.1-hang-db-sync")
	awaitJob(t, client, ns, "nova-db-migrate", batchv1.JobComplete)
	if phase := jobPod(t, client, ns, "nova-db-sync").Status.Phase; phase != corev1.PodRunning {
		t.Errorf("pod is %s", phase)
	}
}

func TestShared_PodStaysUnready(t *testing.T) {
	tests := map[string]struct {
		image          string
		api, conductor int32
	}{
		"never-ready holds all":          {"nova:2026.1-never-ready", 0, 0},
		"never-ready-api holds that one": {"nova:2026.1-never-ready-api", 0, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Shared(t)
			client, ns := clientFor(t, c), c.Namespace(t)
			createDeployment(t, client, ns, "api", tc.image)
			createDeployment(t, client, ns, "conductor", tc.image)
			cluster.Eventually(t, "running pods", func(ctx context.Context) (bool, error) {
				pods, err := client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
				return err == nil && len(pods.Items) == 4, err
			})
			awaitReplicas(t, client, ns, "api", 2, tc.api)
			awaitReplicas(t, client, ns, "conductor", 2, tc.conductor)
		})
	}
}

func TestShared_PodMarkedUnreadyRecovers(t *testing.T) {
	c := cluster.Shared(t)
	client, ns := clientFor(t, c), c.Namespace(t)
	createDeployment(t, client, ns, "api", "nova:2026.1")
	awaitReplicas(t, client, ns, "api", 2, 2)
	pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mark := func(value string) {
		t.Helper()
		patch := `{"metadata":{"annotations":{"devcluster.c5c3.io/unready":` + value + `}}}`
		_, err := client.CoreV1().Pods(ns).Patch(t.Context(), pods.Items[0].Name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	mark(`"true"`)
	awaitReplicas(t, client, ns, "api", 2, 1)
	mark("null")
	awaitReplicas(t, client, ns, "api", 2, 2)
}

func TestShared_PodMarkedToFail(t *testing.T) {
	c := cluster.Shared(t)
	client, ns := clientFor(t, c), c.Namespace(t)
	template := podTemplate("agent", "nova:2026.1")
	_, err := client.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Annotations: map[string]string{"devcluster.c5c3.io/fail": "true"}},
		Spec:       template.Spec,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "failed pod", func(ctx context.Context) (bool, error) {
		pod, err := client.CoreV1().Pods(ns).Get(ctx, "agent", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodFailed, err
	})
}

func TestShared_ForeignDefinitionsServed(t *testing.T) {
	client := clientFor(t, cluster.Shared(t))
	for groupVersion, kind := range map[string]string{
		"gateway.networking.k8s.io/v1": "HTTPRoute",
		"autoscaling.k8s.io/v1":        "VerticalPodAutoscaler",
		"k8s.mariadb.com/v1alpha1":     "Database",
		"external-secrets.io/v1":       "ClusterSecretStore",
		"rabbitmq.com/v1beta1":         "RabbitmqCluster",
		"kvm.cloud.sap/v1":             "Hypervisor",
	} {
		list, err := client.Discovery().ServerResourcesForGroupVersion(groupVersion)
		if err != nil {
			t.Errorf("%s: %v", groupVersion, err)
			continue
		}
		found := false
		for _, r := range list.APIResources {
			found = found || r.Kind == kind
		}
		if !found {
			t.Errorf("%s serves no %s", groupVersion, kind)
		}
	}
}

// nodeReady returns the status of a node's Ready condition.
func nodeReady(t *testing.T, client kubernetes.Interface, name string) corev1.ConditionStatus {
	t.Helper()
	node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cond := range node.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Status
		}
	}
	return ""
}

func TestNode_GoesAndComesBack(t *testing.T) {
	c := cluster.StartFor(t, cluster.Options{Nodes: 2})
	client := clientFor(t, c)
	createDeployment(t, client, "default", "api", "nova:2026.1") // spread over both nodes
	awaitReplicas(t, client, "default", "api", 2, 2)
	gone := func() {
		t.Helper()
		if err := c.NodeGone(t.Context(), "node-1"); err != nil {
			t.Fatal(err)
		}
		if got := nodeReady(t, client, "node-1"); got != corev1.ConditionUnknown {
			t.Errorf("gone node is Ready=%s", got)
		}
		awaitReplicas(t, client, "default", "api", 2, 1)
	}
	back := func() {
		t.Helper()
		if err := c.NodeBack(t.Context(), "node-1"); err != nil {
			t.Fatal(err)
		}
		if got := nodeReady(t, client, "node-1"); got != corev1.ConditionTrue {
			t.Errorf("returned node is Ready=%s", got)
		}
		awaitReplicas(t, client, "default", "api", 2, 2)
	}
	gone()
	back()

	// Nobody on a gone node confirms a deletion.
	gone()
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=node-1"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods on node-1: %d, %v", len(pods.Items), err)
	}
	name := pods.Items[0].Name
	if err := client.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitReplicas(t, client, "default", "api", 2, 2) // the replacement, on node-2
	if pod, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil || pod.DeletionTimestamp == nil {
		t.Errorf("pod on the gone node is not Terminating: %v", err)
	}
	back()
	cluster.Eventually(t, "deletion confirmed", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

func TestAPIServer_StopsAndStarts(t *testing.T) {
	c := cluster.StartFor(t, cluster.Options{})
	client := clientFor(t, c)
	createDeployment(t, client, "default", "api", "nova:2026.1")
	awaitReplicas(t, client, "default", "api", 2, 2)
	if err := c.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("stopped API server answers: %v", err)
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitReplicas(t, client, "default", "api", 2, 2)
	// Controllers, scheduler and kwok have found it again.
	createDeployment(t, client, "default", "conductor", "nova:2026.1")
	awaitReplicas(t, client, "default", "conductor", 2, 2)
}

func TestStart_TwoSideBySideLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	var clusters []*cluster.Cluster
	for range 2 {
		c, err := cluster.Start(t.Context(), cluster.Options{Nodes: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Stop()
		clusters = append(clusters, c)
	}
	first, second := clientFor(t, clusters[0]), clientFor(t, clusters[1])
	createDeployment(t, first, "default", "api", "nova:2026.1")
	awaitReplicas(t, first, "default", "api", 2, 2)
	_, err := second.AppsV1().Deployments("default").Get(t.Context(), "api", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the second cluster sees the first one's Deployment: %v", err)
	}
	for _, c := range clusters {
		began := time.Now()
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
		for name, pid := range c.PIDs {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("%s still runs as %d: %v", name, pid, err)
			}
		}
		if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", c.Dir, err)
		}
	}
}
