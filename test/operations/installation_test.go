package operations_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/world"
)

// build makes the objects of a kustomization, in process and with kubectl where there
// is one: both must say the same.
func build(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // kubectl's order
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatalf("build %s: %v", folder, err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		other, err := exec.CommandContext(t.Context(), kubectl, "kustomize", folder).Output()
		if err != nil {
			t.Fatalf("kubectl kustomize %s: %v", folder, err)
		}
		if !bytes.Equal(text, other) {
			t.Errorf("kubectl builds %s another way", folder)
		}
	}
	var objects []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		m, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &unstructured.Unstructured{Object: m})
	}
	return objects
}

// find decodes the one object of a kind and name.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			into := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			return into
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

// installation is the operator's manifests on a cluster.
type installation struct {
	objects   []*unstructured.Unstructured
	namespace string
	manager   *appsv1.Deployment
}

// install applies a kustomization, the way `kubectl apply --server-side` does.
func install(t *testing.T, c *cluster.Cluster, folder string) *installation {
	t.Helper()
	i := &installation{objects: build(t, folder)}
	apply(t, c, i.objects)
	i.manager = find[appsv1.Deployment](t, i.objects, "Deployment", "nova-operator")
	i.namespace = i.manager.Namespace
	return i
}

func apply(t *testing.T, c *cluster.Cluster, objects []*unstructured.Unstructured) {
	t.Helper()
	if err := surroundings.Apply(t.Context(), c.Config, clientFor(t, c).RESTMapper(), "kubectl", objects); err != nil {
		t.Fatal(err)
	}
}

func clientFor(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	out, err := world.NewClient(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// args are those of the manager's container, with $(VARIABLES) put in as the kubelet
// does.
func (i *installation) args(t *testing.T) []string {
	t.Helper()
	container := i.manager.Spec.Template.Spec.Containers[0]
	var pairs []string
	for _, e := range container.Env {
		value := e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.namespace" {
			value = i.namespace
		}
		pairs = append(pairs, "$("+e.Name+")", value)
	}
	args := make([]string, len(container.Args))
	for n, arg := range container.Args {
		args[n] = strings.NewReplacer(pairs...).Replace(arg)
		if strings.Contains(args[n], "$(") {
			t.Fatalf("argument %s names an unknown variable", arg)
		}
	}
	return args
}

// kubeconfig writes one for the manager's service account.
func (i *installation) kubeconfig(t *testing.T, c *cluster.Cluster, server *apiServer) string {
	t.Helper()
	admin, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	account := i.manager.Spec.Template.Spec.ServiceAccountName
	token, err := admin.CoreV1().ServiceAccounts(i.namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: server.CA}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "operator"}
	config.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// rules lists what the installed roles allow, cluster-wide and in the namespace.
func (i *installation) rules(t *testing.T) map[access]bool {
	t.Helper()
	allowed := map[access]bool{}
	for _, o := range i.objects {
		if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
			continue
		}
		for _, rule := range find[rbacv1.ClusterRole](t, i.objects, o.GetKind(), o.GetName()).Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						allowed[access{group, resource, verb}] = true
					}
				}
			}
		}
	}
	return allowed
}

// awaitDeployment waits until the pods of the manager are up: what a simulated pod runs
// is nothing, but admission, scheduling and Pod Security are real.
func (i *installation) awaitDeployment(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	cl := clientFor(t, c)
	cluster.Eventually(t, "the manager's pods", func(ctx context.Context) (bool, error) {
		d := &appsv1.Deployment{}
		if err := cl.Get(ctx, client.ObjectKeyFromObject(i.manager), d); err != nil {
			return false, err
		}
		if d.Status.ReadyReplicas != *i.manager.Spec.Replicas {
			conditions, _ := json.Marshal(d.Status.Conditions)
			return false, fmt.Errorf("%d ready: %s", d.Status.ReadyReplicas, conditions)
		}
		return true, nil
	})
}

// withMonitoring makes a kustomization of an overlay and the monitoring component, as
// docs/install.md shows. Only a namespaced one has a namespace to name.
func withMonitoring(t *testing.T, overlay, namespace string) string {
	t.Helper()
	dir := t.TempDir()
	rel := func(folder string) string {
		path, err := filepath.Abs(filepath.Join(root, "kustomize", folder))
		if err != nil {
			t.Fatal(err)
		}
		if path, err = filepath.Rel(dir, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%s]
components: [%s]
`, rel(overlay), rel("monitoring"))
	if namespace != "" {
		text += "namespace: " + namespace + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
