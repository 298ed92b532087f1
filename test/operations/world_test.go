package operations_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
)

// mark is in every credential of these tests, so that one that gets out is found.
const mark = "marked-s3cret"

// world is a namespace with everything a Nova refers to.
type world struct {
	t         *testing.T
	cluster   *cluster.Cluster
	namespace string
	client    client.Client
	played    *surroundings.Surroundings
}

// newWorld plays the surroundings in a namespace that exists.
func newWorld(t *testing.T, c *cluster.Cluster, namespace string) *world {
	t.Helper()
	played, err := surroundings.Start(t.Context(), c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, cluster: c, namespace: namespace, client: clientFor(t, c), played: played}
}

// inputs creates what the Novas of these tests refer to.
func (w *world) inputs() {
	w.t.Helper()
	secrets := map[string]map[string]string{
		"nova-api-db":  {"username": "u", "password": mark + "-api"},
		"nova-db":      {"username": "u", "password": mark + "-cell"},
		"nova-service": {"password": mark + "-service"},
		"nova-shared":  {"shared_secret": mark + "-metadata"},
		"bus-ca":       {"ca.crt": "a trust anchor\n"},
		"nova-outer":   {"transport_url": "rabbit://outer:" + mark + "-outer@bus.example.com:5671/"},
	}
	var objects []*unstructured.Unstructured
	for name, data := range secrets {
		u := w.object("v1", "Secret", name)
		values := map[string]any{}
		for k, v := range data {
			values[k] = v
		}
		u.Object["stringData"] = values
		objects = append(objects, u)
	}
	server := w.object("k8s.mariadb.com/v1alpha1", "MariaDB", "mariadb")
	server.Object["spec"] = map[string]any{"storage": map[string]any{"size": "1Gi"}}
	for _, o := range []struct{ apiVersion, kind, name string }{
		{"external-secrets.io/v1", "SecretStore", "store"},
		{"rabbitmq.com/v1beta1", "RabbitmqCluster", "rabbitmq"},
	} {
		u := w.object(o.apiVersion, o.kind, o.name)
		u.Object["spec"] = map[string]any{}
		objects = append(objects, u)
	}
	apply(w.t, w.cluster, append(objects, server))
}

func (w *world) object(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	u.SetNamespace(w.namespace)
	u.SetName(name)
	return u
}

// nova is the smallest resource, with a store of its namespace.
func (w *world) nova() *v1alpha1.Nova {
	ref := func(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }
	secret := func(name string) v1alpha1.SecretRefSpec { return v1alpha1.SecretRefSpec{Name: name} }
	return &v1alpha1.Nova{
		ObjectMeta: metav1.ObjectMeta{Name: "nova", Namespace: w.namespace},
		Spec: v1alpha1.NovaSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.com/nova", Tag: "2026.1"},
			APIDatabase:      v1alpha1.DatabaseSpec{ClusterRef: ref("mariadb"), Database: "nova_api", SecretRef: secret("nova-api-db")},
			Database:         v1alpha1.DatabaseSpec{ClusterRef: ref("mariadb"), Database: "nova", SecretRef: secret("nova-db")},
			Cache:            v1alpha1.CacheSpec{ClusterRef: ref("memcached"), Backend: v1alpha1.DefaultCacheBackend},
			Messaging:        v1alpha1.MessagingSpec{ClusterRef: ref("rabbitmq")},
			KeystoneEndpoint: "http://keystone.example.com:5000/v3",
			ServiceUser:      v1alpha1.ServiceUserSpec{SecretRef: secret("nova-service")},
			Metadata:         v1alpha1.NovaMetadataSpec{SharedSecretRef: secret("nova-shared")},
			SecretStoreRef:   &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "store"},
		},
	}
}

func (w *world) create(n *v1alpha1.Nova) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) live(ctx context.Context) (*v1alpha1.Nova, error) {
	n := &v1alpha1.Nova{}
	return n, w.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "nova"}, n)
}

// awaitReason waits until a condition has a reason for the generation of now.
func (w *world) awaitReason(condition, reason string) {
	w.t.Helper()
	last := "nothing"
	cluster.Eventually(w.t, fmt.Sprintf("%s to say %s", condition, reason), func(ctx context.Context) (bool, error) {
		n, err := w.live(ctx)
		if err != nil {
			return false, fmt.Errorf("%w; before: %s", err, last)
		}
		c := meta.FindStatusCondition(n.Status.Conditions, condition)
		if c != nil && c.Reason == reason && c.ObservedGeneration == n.Generation {
			return true, nil
		}
		last = fmt.Sprintf("generation %d", n.Generation)
		for _, c := range n.Status.Conditions {
			if c.Status != metav1.ConditionTrue || c.Type == condition {
				last += fmt.Sprintf("; %s of %d is %s: %s", c.Type, c.ObservedGeneration, c.Reason, c.Message)
			}
		}
		return false, errors.New(last)
	})
}

func (w *world) awaitReady() {
	w.t.Helper()
	w.awaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
}

// children lists what the Nova controls, as kind/name with the UID.
func (w *world) children() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, gvk := range rendernova.About().Children {
		for _, u := range w.list(gvk) {
			if ref := metav1.GetControllerOf(&u); ref != nil && ref.Kind == v1alpha1.KindNova {
				out[gvk.Kind+"/"+u.GetName()] = string(u.GetUID())
			}
		}
	}
	return out
}

func (w *world) list(gvk schema.GroupVersionKind) []unstructured.Unstructured {
	w.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := w.client.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// awaitChild waits until a child exists, or is gone.
func (w *world) awaitChild(name string, there bool) {
	w.t.Helper()
	cluster.Eventually(w.t, fmt.Sprintf("%s there: %t", name, there), func(context.Context) (bool, error) {
		_, found := w.children()[name]
		return found == there, nil
	})
}

// remove deletes the Nova and waits until it is gone.
func (w *world) remove() {
	w.t.Helper()
	n, err := w.live(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Delete(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
	cluster.Eventually(w.t, "the Nova to go", func(ctx context.Context) (bool, error) {
		_, err := w.live(ctx)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// events are those about the Nova, by reason.
func (w *world) events() []corev1.Event {
	w.t.Helper()
	list := &corev1.EventList{}
	if err := w.client.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return e.InvolvedObject.Kind != v1alpha1.KindNova })
}

// awaitEvent waits for one whose message mentions a word.
func (w *world) awaitEvent(reason, mention string) {
	w.t.Helper()
	cluster.Eventually(w.t, "event "+reason, func(context.Context) (bool, error) {
		return slices.ContainsFunc(w.events(), func(e corev1.Event) bool {
			return e.Reason == reason && strings.Contains(e.Message, mention)
		}), nil
	})
}

// awaitEmpty waits until the collector has taken every child of an earlier Nova, and
// drops its events.
func (w *world) awaitEmpty() {
	w.t.Helper()
	cluster.Eventually(w.t, "the children to go", func(context.Context) (bool, error) {
		left := w.children()
		if len(left) > 0 {
			return false, fmt.Errorf("%v are left", slices.Sorted(maps.Keys(left)))
		}
		return true, nil
	})
	if err := w.client.DeleteAllOf(w.t.Context(), &corev1.Event{}, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
}
