package operations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	wiring "github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// What the contract of an installation fixes.
func TestManager_IsWhatTheContractAsksFor(t *testing.T) {
	objects := build(t, root+"/kustomize/overlays/cluster")
	d := find[appsv1.Deployment](t, objects, "Deployment", "nova-operator")
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	got := map[string]string{
		"replicas": fmt.Sprint(*d.Spec.Replicas), "namespace": d.Namespace, "user": fmt.Sprint(*pod.SecurityContext.RunAsUser),
		"image": strings.Split(c.Image, ":")[0], "elects": fmt.Sprint(slices.Contains(c.Args, "--leader-elect")),
		"requests": c.Resources.Requests.Cpu().String() + " " + c.Resources.Requests.Memory().String(),
		"limits":   c.Resources.Limits.Cpu().String() + " " + c.Resources.Limits.Memory().String(),
	}
	for _, p := range c.Ports {
		got[p.Name] = fmt.Sprint(p.ContainerPort)
	}
	for _, m := range c.VolumeMounts {
		got["mount "+m.Name] = m.MountPath
	}
	want := map[string]string{
		"replicas": "2", "namespace": "nova-operator-system", "user": "65532", "image": "ghcr.io/c5c3/nova-operator", "elects": "true",
		"requests": "10m 64Mi", "limits": "500m 128Mi", "metrics": "8080", "health": "8081", "webhook": "9443",
		"mount webhook-cert": "/tmp/k8s-webhook-server/serving-certs",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	budget := find[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget", "nova-operator")
	if budget.Spec.MinAvailable.IntValue() != 1 {
		t.Errorf("the budget keeps %s", budget.Spec.MinAvailable)
	}
	// The manager itself gives a pass 30 s.
	if *pod.TerminationGracePeriodSeconds <= 30 {
		t.Errorf("killed after %d s", *pod.TerminationGracePeriodSeconds)
	}
	for _, name := range []string{"nova-operator-metrics", "nova-operator-webhook"} {
		s := find[corev1.Service](t, objects, "Service", name)
		for k, v := range s.Spec.Selector {
			if d.Spec.Template.Labels[k] != v {
				t.Errorf("Service %s selects %s=%s, the pods have none", name, k, v)
			}
		}
	}
	if wiring.LeaseName != lease {
		t.Errorf("the lease is called %s", wiring.LeaseName)
	}
}

// Every folder builds, and the API server takes what it builds.
func TestInstall_ASecondApplyChangesNothing(t *testing.T) {
	c := cluster.Shared(t)
	cl := clientFor(t, c)
	for name, folder := range map[string]string{
		"cluster":                    root + "/kustomize/overlays/cluster",
		"cluster with monitoring":    withMonitoring(t, "overlays/cluster", ""),
		"namespaced":                 namespaced(t, c),
		"namespaced with monitoring": withMonitoring(t, "overlays/namespaced", own),
	} {
		t.Run(name, func(t *testing.T) {
			i := install(t, c, folder)
			t.Cleanup(func() { removeWebhooks(t, c) })
			i.awaitDeployment(t, c)
			state := func() map[string]string {
				out := map[string]string{}
				for _, o := range i.objects {
					live := &unstructured.Unstructured{}
					live.SetGroupVersionKind(o.GroupVersionKind())
					if err := cl.Get(t.Context(), client.ObjectKeyFromObject(o), live); err != nil {
						t.Fatal(err)
					}
					version := fmt.Sprint("generation ", live.GetGeneration())
					if live.GetGeneration() == 0 {
						version = live.GetResourceVersion()
					}
					out[o.GetKind()+" "+o.GetName()] = version
				}
				return out
			}
			before := state()
			install(t, c, folder)
			if diff := cmp.Diff(before, state()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// removeWebhooks takes the registration away: nothing answers at the Service of a
// cluster without pods, and every later Nova would be refused.
func removeWebhooks(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	cl := clientFor(t, c)
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}}
		u.SetName("nova-operator")
		if err := client.IgnoreNotFound(cl.Delete(context.Background(), u)); err != nil {
			t.Error(err)
		}
	}
}

// The namespaced Role is the ClusterRole without what no namespace contains, as the
// cluster itself says.
func TestInstall_TheNamespacedRoleLacksExactlyClusterScopedResources(t *testing.T) {
	c := cluster.Shared(t)
	disco, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := disco.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	scoped := map[string]bool{} // resource.group to namespaced
	for _, l := range lists {
		group, _, _ := strings.Cut(l.GroupVersion, "/")
		if !strings.Contains(l.GroupVersion, "/") {
			group = ""
		}
		for _, r := range l.APIResources {
			scoped[access{group: group, resource: r.Name}.String()] = r.Namespaced
		}
	}
	want := map[access]bool{}
	for a := range (&installation{objects: build(t, root+"/kustomize/overlays/cluster")}).rules(t) {
		namespaced, served := scoped[access{group: a.group, resource: a.resource}.String()]
		if !served && !strings.Contains(a.resource, "/") {
			t.Errorf("the cluster serves no %s", a)
		}
		if namespaced || strings.HasPrefix(a.resource, "novas/") {
			want[a] = true
		}
	}
	objects := build(t, root+"/kustomize/overlays/namespaced")
	if diff := cmp.Diff(want, (&installation{objects: objects}).rules(t)); diff != "" {
		t.Error(diff)
	}
	for _, o := range objects {
		if o.GetNamespace() != "openstack" {
			t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
		}
	}
}

// An apply that makes an object needs both verbs, which no request shows.
func TestRole_AnApplyThatMakesAnObjectNeedsCreate(t *testing.T) {
	c := cluster.Shared(t)
	w := newWorld(t, c, c.Namespace(t))
	role := w.Object(rbacv1.SchemeGroupVersion.WithKind("Role"), "patcher")
	binding := w.Object(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), "patcher")
	binding.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "patcher"}
	binding.Object["subjects"] = []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "patcher"}}
	write := func(verbs ...any) error {
		role.Object["rules"] = []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": verbs}}
		apply(t, c, []*unstructured.Unstructured{role.DeepCopy(), binding.DeepCopy()})
		config := *c.Config
		config.Impersonate.UserName = "patcher"
		as, err := client.New(&config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		made := client.ApplyConfigurationFromUnstructured(w.Object(render.KindConfigMap, fmt.Sprint("made-with-", len(verbs))))
		return as.Apply(t.Context(), made, client.FieldOwner("patcher"))
	}
	if err := write("patch"); !apierrors.IsForbidden(err) {
		t.Errorf("with patch alone: %v", err)
	}
	if err := write("patch", "create"); err != nil {
		t.Errorf("with both: %v", err)
	}
}

// The cluster-wide installation, with admission, reaches Ready under its own roles.
func TestInstall_ClusterWide(t *testing.T) {
	c := cluster.Shared(t)
	i := install(t, c, root+"/kustomize/overlays/cluster")
	t.Cleanup(func() { removeWebhooks(t, c) })
	o := i.start(t, c, newWorld(t, c, i.namespace).Surroundings.Network)
	o.awaitReady(t)

	worlds := []*novaWorld{newWorld(t, c, c.Namespace(t)), newWorld(t, c, c.Namespace(t))}
	removeWebhooks(t, c)
	o.register(t, c, worlds[0].Namespace)
	worlds[0].Foreign(render.KindClusterSecretStore, v1alpha1.DefaultSecretStoreName)
	class := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": int64(1000)}}
	class.SetName("openstack")
	apply(t, c, []*unstructured.Unstructured{class})
	worlds[1].Theirs(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "nova-metadata", Namespace: worlds[1].Namespace},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8775}}},
	})
	for _, w := range worlds {
		w.inputs()
		n := w.Minimal()
		n.Spec.SecretStoreRef = nil
		n.Spec.API.Deployment.PriorityClassName = new("openstack")
		w.Create(n)
	}
	worlds[1].AwaitReason(v1alpha1.ConditionMetadataReady, v1alpha1.ReasonApplyError)
	for line := range strings.SplitSeq(o.scrape(t), "\n") {
		charged := strings.HasPrefix(line, `nova_operator_reconcile_errors_total{condition_type="MetadataReady",sub_reconciler="Metadata"} `)
		if strings.HasPrefix(line, "nova_operator_reconcile_errors_total") && strings.HasSuffix(line, " 0") == charged {
			t.Errorf("a Service that cannot be written is charged wrong: %s", line)
		}
	}
	worlds[1].Remove(render.KindService, "nova-metadata")
	for _, w := range worlds {
		w.AwaitReady()
		live, err := w.Live(t.Context())
		if err != nil || !meta.IsStatusConditionTrue(live.Status.Conditions, v1alpha1.ConditionReady) {
			t.Errorf("%v", err)
		}
	}
	bad := worlds[0].Minimal()
	bad.Name, bad.Spec.API.Deployment.PriorityClassName = "bad", new("missing")
	if err := worlds[0].Client.Create(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "vnova.kb.io") {
		t.Errorf("a priority class that does not exist is admitted: %v", err)
	}
	for _, w := range worlds {
		w.remove()
	}
	o.api.mustAllow(t)
	o.mustLog(t)
	i.mustUse(t, o.api.used(), clusterOnly, func(a access) bool {
		return a.resource == "clustersecretstores" || a.resource == "priorityclasses"
	})
}

// own is the namespace of the namespaced installation.
const own = "openstack"

// namespaced makes the namespace, which exists before such an installation, and names
// the overlay.
func namespaced(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": own}}}
	apply(t, c, []*unstructured.Unstructured{namespace})
	return root + "/kustomize/overlays/namespaced"
}
