package surroundings

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Inputs are the objects a Nova refers to, with made-up credentials: what its owner has
// before the Nova comes.
func Inputs(n *v1alpha1.Nova) []*unstructured.Unstructured {
	store := Input(render.KindSecretStore, n.Namespace, rendernova.StoreRef(n).Name)
	if rendernova.StoreRef(n).Kind == v1alpha1.SecretStoreKindCluster {
		store = Input(render.KindClusterSecretStore, metav1.NamespaceNone, rendernova.StoreRef(n).Name)
	}
	objects := []*unstructured.Unstructured{store}
	servers := map[string]bool{}
	for _, db := range []*v1alpha1.DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		if db.Managed() && !servers[db.ClusterRef.Name] {
			servers[db.ClusterRef.Name] = true
			objects = append(objects, Input(render.KindMariaDB, n.Namespace, db.ClusterRef.Name))
		}
	}
	if ref := n.Spec.Messaging.ClusterRef; ref != nil {
		objects = append(objects, Input(render.KindRabbitmqCluster, n.Namespace, ref.Name))
	}
	return append(objects, secrets(n)...)
}

// Input is an object of a kind the operator only reads, with the least spec its
// definition accepts.
func Input(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(namespace)
	u.SetName(name)
	if gvk == render.KindMariaDB {
		u.Object["spec"] = map[string]any{"storage": map[string]any{"size": "1Gi"}}
	}
	return u
}

// secrets makes every Secret a Nova refers to, with the keys it needs.
func secrets(n *v1alpha1.Nova) []*unstructured.Unstructured {
	_, missing := rendernova.Settle(rendernova.Input{Nova: n})
	data := map[string]map[string]any{}
	for _, entry := range missing {
		name, key, _ := strings.Cut(entry, "/")
		if !slices.Contains(rendernova.SecretRefs(n), name) {
			continue // the broker's own
		}
		if data[name] == nil {
			data[name] = map[string]any{}
		}
		data[name][key] = "made-up"
		if strings.Contains(key, "url") {
			data[name][key] = "rabbit://user:made-up@rabbitmq:5672/"
		}
	}
	var out []*unstructured.Unstructured
	for name, values := range data {
		u := &unstructured.Unstructured{Object: map[string]any{"stringData": values}}
		u.SetGroupVersionKind(render.KindSecret)
		u.SetNamespace(n.Namespace)
		u.SetName(name)
		out = append(out, u)
	}
	return out
}
