package surroundings

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Inputs are the objects a Nova refers to, with made-up credentials: what its owner has
// before the Nova comes.
func Inputs(n *v1alpha1.Nova) []*unstructured.Unstructured {
	store := rendernova.StoreRef(n)
	where := n.Namespace
	if store.Kind == v1alpha1.SecretStoreKindCluster {
		where = ""
	}
	objects := []*unstructured.Unstructured{input("external-secrets.io/v1", store.Kind, where, store.Name, map[string]any{})}
	servers := map[string]bool{}
	for _, db := range []*v1alpha1.DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		if db.Managed() && !servers[db.ClusterRef.Name] {
			servers[db.ClusterRef.Name] = true
			objects = append(objects, input("k8s.mariadb.com/v1alpha1", "MariaDB", n.Namespace, db.ClusterRef.Name,
				map[string]any{"storage": map[string]any{"size": "1Gi"}}))
		}
	}
	if ref := n.Spec.Messaging.ClusterRef; ref != nil {
		objects = append(objects, input("rabbitmq.com/v1beta1", "RabbitmqCluster", n.Namespace, ref.Name, map[string]any{}))
	}
	return append(objects, secrets(n)...)
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
		u := input("v1", "Secret", n.Namespace, name, nil)
		u.Object["stringData"] = values
		out = append(out, u)
	}
	return out
}

func input(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	if spec != nil {
		u.Object["spec"] = spec
	}
	return u
}
