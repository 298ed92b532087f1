package nova_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// marks are in every credential of these tests, and nowhere else.
var marks = []string{"s3cret", "made-by-the-surroundings"}

// needles are the marks and what base64 makes of them: three each, because that
// depends on how much stands before.
var needles = func() []string {
	found := slices.Clone(marks)
	for _, mark := range marks {
		for shift := range 3 {
			encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + mark))
			found = append(found, encoded[(shift*8+5)/6:(shift+len(mark))*8/6])
		}
	}
	return found
}()

// betrays tells whether a text has a credential in it.
func betrays(text string) bool {
	return slices.ContainsFunc(needles, func(needle string) bool { return strings.Contains(text, needle) })
}

// endsWell looks for credentials in everything that can be read without reading
// Secrets: events, the Nova, its other children, and the logs of all managers.
func (w *world) endsWell() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if leaks := logs.leaked(); len(leaks) > 0 {
		w.t.Errorf("%d log lines have a credential, first: %s", len(leaks), leaks[0])
	}
	if both := logs.mentioning(w.namespace, "Reconciler returned both"); len(both) > 0 {
		w.t.Errorf("%d passes ended in an error and a wish for the next one", len(both))
	}
	events := &corev1.EventList{}
	if err := w.client.List(ctx, events, client.InNamespace(w.namespace)); err != nil {
		w.t.Error(err)
	}
	for _, e := range events.Items {
		if betrays(e.Message) {
			w.t.Errorf("event %s has a credential: %s", e.Reason, e.Message)
		}
	}
	for _, gvk := range append(rendernova.About().Children, novaKind) {
		if gvk == render.KindSecret {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := w.client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) { // a test took the definition away
				w.t.Error(err)
			}
			continue
		}
		for i := range list.Items {
			if raw, err := json.Marshal(list.Items[i].Object); err != nil || betrays(string(raw)) {
				w.t.Errorf("%s %s has a credential (%v)", gvk.Kind, list.Items[i].GetName(), err)
			}
		}
	}
}
