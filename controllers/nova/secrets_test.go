package nova_test

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/test/world"
)

// endsWell looks for credentials in everything that can be read without reading
// Secrets: events, the Nova, its other children, and the logs of all managers.
func (w *novaWorld) endsWell() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if leaks := logs.leaked(); len(leaks) > 0 {
		w.T.Errorf("%d log lines have a credential, first: %s", len(leaks), leaks[0])
	}
	if both := logs.mentioning(w.Namespace, "Reconciler returned both"); len(both) > 0 {
		w.T.Errorf("%d passes ended in an error and a wish for the next one", len(both))
	}
	events := &corev1.EventList{}
	if err := w.Client.List(ctx, events, client.InNamespace(w.Namespace)); err != nil {
		w.T.Error(err)
	}
	for _, e := range events.Items {
		if len(world.Leaks(e.Message)) > 0 {
			w.T.Errorf("event %s has a credential: %s", e.Reason, e.Message)
		}
	}
	for _, gvk := range append(rendernova.About().Children, v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova)) {
		if gvk == render.KindSecret {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := w.Client.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
			if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) { // a test took the definition away
				w.T.Error(err)
			}
			continue
		}
		for i := range list.Items {
			if raw, err := json.Marshal(list.Items[i].Object); err != nil || len(world.Leaks(string(raw))) > 0 {
				w.T.Errorf("%s %s has a credential (%v)", gvk.Kind, list.Items[i].GetName(), err)
			}
		}
	}
}
