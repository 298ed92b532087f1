package nova_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/test/cluster"
)

var (
	novaKind           = v1alpha1.GroupVersion.WithKind("Nova")
	clusterStoreKind   = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ClusterSecretStore"}
	storeKind          = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "SecretStore"}
	externalSecretKind = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"}
	serverKind         = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"}
	brokerKind         = schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}
)

// nova is the smallest resource, in the test's namespace.
func (w *world) nova() *v1alpha1.Nova {
	ref := func(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }
	return &v1alpha1.Nova{
		ObjectMeta: metav1.ObjectMeta{Name: "nova", Namespace: w.namespace},
		Spec: v1alpha1.NovaSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.com/nova", Tag: "2026.1"},
			APIDatabase:      v1alpha1.DatabaseSpec{ClusterRef: ref("mariadb"), Database: "nova_api", SecretRef: v1alpha1.SecretRefSpec{Name: "nova-api-db"}},
			Database:         v1alpha1.DatabaseSpec{ClusterRef: ref("mariadb"), Database: "nova", SecretRef: v1alpha1.SecretRefSpec{Name: "nova-db"}},
			Cache:            v1alpha1.CacheSpec{ClusterRef: ref("memcached"), Backend: v1alpha1.DefaultCacheBackend},
			Messaging:        v1alpha1.MessagingSpec{ClusterRef: ref("rabbitmq")},
			KeystoneEndpoint: "http://keystone.example.com:5000/v3",
			ServiceUser:      v1alpha1.ServiceUserSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "nova-service"}},
			Metadata:         v1alpha1.NovaMetadataSpec{SharedSecretRef: v1alpha1.SecretRefSpec{Name: "nova-shared"}},
			SecretStoreRef:   &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "store"},
		},
	}
}

// secrets are the credentials of that resource.
var secrets = map[string]map[string]string{
	"nova-api-db":  {"username": "u", "password": "marked-s3cret-api$db"},
	"nova-db":      {"username": "u", "password": "marked-s3cret-cell,db"},
	"nova-service": {"password": "marked-s3cret-service\n"},
	"nova-shared":  {"shared_secret": "marked-s3cret-metadata"},
}

// inputs creates what the resource refers to, but for the named Secrets.
func (w *world) inputs(without ...string) {
	w.t.Helper()
	for name := range secrets {
		if !slices.Contains(without, name) {
			w.secret(name, secrets[name])
		}
	}
	w.foreign(storeKind, "store")
	w.foreign(serverKind, "mariadb")
	w.foreign(brokerKind, "rabbitmq")
}

// secret creates or replaces a Secret.
func (w *world) secret(name string, data map[string]string) {
	w.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	err := w.client.Create(w.t.Context(), s)
	if err != nil && strings.Contains(err.Error(), "already exists") {
		err = w.client.Update(w.t.Context(), s)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// foreign creates an empty object of somebody else's kind.
func (w *world) foreign(gvk schema.GroupVersionKind, name string) {
	w.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": w.namespace},
		"spec":     map[string]any{},
	}}
	u.SetGroupVersionKind(gvk)
	if gvk == serverKind {
		u.Object["spec"] = map[string]any{"storage": map[string]any{"size": "1Gi"}}
	}
	if err := w.client.Create(w.t.Context(), u); err != nil {
		w.t.Fatal(err)
	}
}

// clusterStore creates a store of the whole cluster.
func (w *world) clusterStore(name string) {
	w.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
	u.SetGroupVersionKind(clusterStoreKind)
	if err := w.client.Create(w.t.Context(), u); err != nil {
		w.t.Fatal(err)
	}
}

// play lets the controller of one object report, although its kind is paused.
func (w *world) play(gvk schema.GroupVersionKind, name string) {
	w.t.Helper()
	if err := w.surroundings.Play(w.t.Context(), gvk.Kind, w.namespace, name); err != nil {
		w.t.Fatal(err)
	}
}

// report writes the status of somebody else's object.
func (w *world) report(gvk schema.GroupVersionKind, name, status string) {
	w.t.Helper()
	u := w.get(gvk, name)
	if err := w.client.Status().Patch(w.t.Context(), u, client.RawPatch("application/merge-patch+json", []byte(`{"status":`+status+`}`))); err != nil {
		w.t.Fatal(err)
	}
}

// readyIs is the status of an object whose Ready condition is True or False.
func readyIs(status string) string {
	return `{"conditions":[{"type":"Ready","status":"` + status + `","reason":"Told","message":"by the test","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`
}

// remove deletes one object.
func (w *world) remove(gvk schema.GroupVersionKind, name string) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.get(gvk, name)); err != nil {
		w.t.Fatal(err)
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
	err := w.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "nova"}, n)
	return n, err
}

// edit changes the live resource.
func (w *world) edit(change func(*v1alpha1.Nova)) {
	w.t.Helper()
	cluster.Eventually(w.t, "an edit of the Nova", func(ctx context.Context) (bool, error) {
		n, err := w.live(ctx)
		if err != nil {
			return false, err
		}
		change(n)
		return true, w.client.Update(ctx, n)
	})
}

// awaitReason waits until a condition of the live generation has a reason, and
// returns it.
func (w *world) awaitReason(condition, reason string) metav1.Condition {
	w.t.Helper()
	return w.awaitSays(condition, reason, "")
}

// awaitSays waits for a message as well; an empty one is any.
func (w *world) awaitSays(condition, reason, message string) metav1.Condition {
	w.t.Helper()
	var last metav1.Condition
	cluster.Eventually(w.t, fmt.Sprintf("%s to say %s: %s", condition, reason, message), func(ctx context.Context) (bool, error) {
		n, err := w.live(ctx)
		if err != nil {
			return false, fmt.Errorf("%w; it said %s: %s", err, last.Reason, last.Message)
		}
		c := meta.FindStatusCondition(n.Status.Conditions, condition)
		if c == nil {
			return false, fmt.Errorf("no condition yet")
		}
		last = *c
		if c.Reason != reason || c.ObservedGeneration != n.Generation || message != "" && c.Message != message {
			return false, fmt.Errorf("it says %s: %s", c.Reason, c.Message)
		}
		return true, nil
	})
	return last
}

// promptly runs a step and fails when it took so long that a poll may have done what
// a watch should: the shortest is 15 s at a gate.
func (w *world) promptly(step func()) {
	w.t.Helper()
	start := time.Now()
	step()
	if took := time.Since(start); took > 12*time.Second {
		w.t.Errorf("it took %s: no watch woke the Nova", took)
	}
}

// pass makes the manager look again, by an edit that matters to the archive only, and
// waits until it has.
func (w *world) pass() {
	w.t.Helper()
	w.edit(func(n *v1alpha1.Nova) {
		n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{MaxRows: new(int32(1000 + n.Generation))}
	})
	cluster.Eventually(w.t, "a pass", func(ctx context.Context) (bool, error) {
		n, err := w.live(ctx)
		return err == nil && n.Status.ObservedGeneration == n.Generation, err
	})
}

func (w *world) awaitReady() {
	w.t.Helper()
	w.awaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
}

// get reads any object; nil when there is none.
func (w *world) get(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, u)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return u
}

// awaitEvent waits for an event about the Nova and returns its message.
func (w *world) awaitEvent(reason string, mentions ...string) string {
	w.t.Helper()
	message := ""
	cluster.Eventually(w.t, "event "+reason, func(ctx context.Context) (bool, error) {
		list := &corev1.EventList{}
		if err := w.client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return false, err
		}
	next:
		for _, e := range list.Items {
			if e.Reason != reason || e.InvolvedObject.Kind != "Nova" || e.Source.Component != "nova-controller" {
				continue
			}
			for _, m := range mentions {
				if !strings.Contains(e.Message, m) {
					continue next
				}
			}
			message = e.Message
			return true, nil
		}
		return false, nil
	})
	return message
}

// inventory lists what the Nova controls, as kind/name.
func (w *world) inventory() []string {
	w.t.Helper()
	n, err := w.live(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	w.eachChild(func(u *unstructured.Unstructured) {
		if ref := metav1.GetControllerOf(u); ref != nil && ref.UID == n.UID {
			out = append(out, u.GetKind()+"/"+u.GetName())
		}
	})
	slices.Sort(out)
	return out
}

// eachChild visits every object of a child's kind.
func (w *world) eachChild(visit func(*unstructured.Unstructured)) {
	w.t.Helper()
	for _, gvk := range rendernova.About().Children {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := w.client.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.t.Fatal(err)
		}
		for i := range list.Items {
			visit(&list.Items[i])
		}
	}
}

// settled waits until the manager has asked nothing of the API server for a while,
// and forgets what it asked before.
func (w *world) settled() {
	w.t.Helper()
	w.requests.take()
	quiet := time.Now()
	cluster.Eventually(w.t, "a quiet manager", func(context.Context) (bool, error) {
		if calls := w.requests.take(); len(calls) > 0 {
			quiet = time.Now()
		}
		return time.Since(quiet) > 2*time.Second, nil
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
