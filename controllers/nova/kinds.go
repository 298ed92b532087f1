package nova

import (
	"context"
	"encoding/base64"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Kinds the controller reads and does not own.
var (
	kindMariaDB            = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"}
	kindRabbitmqCluster    = schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}
	kindExternalSecret     = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"}
	kindClusterSecretStore = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ClusterSecretStore"}
	kindSecretStore        = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "SecretStore"}
	kindSecret             = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

// get reads one object; nil when there is none, which includes a kind the cluster does
// not serve.
func get(ctx context.Context, r client.Reader, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := apply.Get(ctx, r, render.Key{GroupVersionKind: gvk, Namespace: namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil //nolint:nilnil // absence is an answer, not an error
	case err != nil:
		return nil, fmt.Errorf("read %s %s/%s: %w", gvk.Kind, namespace, name, err)
	}
	return u, nil
}

// typed converts an unstructured object to its Go type.
func typed[T any](u *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("decode %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	return out, nil
}

// readiness reads the Ready condition.
func readiness(u *unstructured.Unstructured) rendernova.Readiness {
	return rendernova.Readiness{Ready: hasCondition(u.Object, "Ready"), Deleting: u.GetDeletionTimestamp() != nil}
}

// hasCondition reports a True condition of the given type in status.conditions.
func hasCondition(object map[string]any, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	return conditionTrue(conditions, kind)
}

func conditionTrue(conditions []any, kind string) bool {
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if ok && m["type"] == kind && m["status"] == "True" {
			return true
		}
	}
	return false
}

// secretData decodes the data of a Secret.
func secretData(u *unstructured.Unstructured) (rendernova.SecretData, error) {
	encoded, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("decode Secret %s/%s: data is no map of strings", u.GetNamespace(), u.GetName())
	}
	data := rendernova.SecretData{}
	for key, value := range encoded {
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("decode Secret %s/%s: key %s is not base64", u.GetNamespace(), u.GetName(), key)
		}
		data[key] = render.Sensitive(raw)
	}
	return data, nil
}
