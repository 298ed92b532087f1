package world

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/test/surroundings"
)

// Object is the head of an object in the namespace.
func (w *World) Object(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(w.Namespace)
	u.SetName(name)
	return u
}

// Get reads any object; nil when there is none.
func (w *World) Get(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	w.T.Helper()
	u := w.Object(gvk, name)
	err := w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(u), u)
	if client.IgnoreNotFound(err) != nil {
		w.T.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return u
}

// List reads every object of a kind in the namespace.
func (w *World) List(gvk schema.GroupVersionKind) []unstructured.Unstructured {
	w.T.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := w.Client.List(w.T.Context(), list, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// Create creates an object.
func (w *World) Create(o client.Object) {
	w.T.Helper()
	if err := w.Client.Create(w.T.Context(), o); err != nil {
		w.T.Fatal(err)
	}
}

// Remove deletes one object, and does not wait: the operator may make it again at once.
func (w *World) Remove(gvk schema.GroupVersionKind, name string, options ...client.DeleteOption) {
	w.T.Helper()
	if err := w.Client.Delete(w.T.Context(), w.Object(gvk, name), options...); err != nil {
		w.T.Fatal(err)
	}
}

// Secret creates or replaces a Secret.
func (w *World) Secret(name string, data map[string]string) {
	w.T.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	err := w.Client.Create(w.T.Context(), s)
	if apierrors.IsAlreadyExists(err) {
		err = w.Client.Update(w.T.Context(), s)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// Foreign makes sure that an object of a kind we only read exists. A new one has the least
// spec and no status.
func (w *World) Foreign(gvk schema.GroupVersionKind, name string) {
	w.T.Helper()
	u := surroundings.Input(gvk, w.Namespace, name)
	namespaced, err := w.Client.IsObjectNamespaced(u)
	if err != nil {
		w.T.Fatal(err)
	}
	if !namespaced {
		u.SetNamespace(metav1.NamespaceNone)
	}
	if err := w.Client.Create(w.T.Context(), u); client.IgnoreAlreadyExists(err) != nil {
		w.T.Fatal(err)
	}
}

// Report writes the status of somebody else's object.
func (w *World) Report(gvk schema.GroupVersionKind, name, status string) {
	w.T.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	if err := w.Client.Status().Patch(w.T.Context(), w.Object(gvk, name), patch); err != nil {
		w.T.Fatal(err)
	}
}

// ReadyIs is the status of an object whose Ready condition is True or False.
func ReadyIs(status metav1.ConditionStatus) string {
	return `{"conditions":[{"type":"Ready","status":"` + string(status) + `","reason":"Told","message":"by the test","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`
}

// Theirs creates an object that ConfigMap theirs controls, and that ConfigMap with it.
func (w *World) Theirs(o client.Object) {
	w.T.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: w.Namespace}}
	w.Create(owner)
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
	w.Create(o)
}
