// Package surroundings plays, for demos and tests, what a real cloud has around a
// Nova and a bare control plane lacks: the MariaDB operator, the secret store, the
// RabbitMQ operator, the Gateway's controller, and the network path to a Service.
//
// It is small on purpose: it reports readiness in the status fields the operator
// reads, and nothing behind it exists. It never touches what the operator owns but
// the status that a foreign controller would write.
package surroundings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// played maps the kinds to the status their controller would report.
var played = map[string]struct {
	resource schema.GroupVersionResource
	status   func(*unstructured.Unstructured) map[string]any
}{
	"MariaDB":            {resource("k8s.mariadb.com", "v1alpha1", "mariadbs"), ready},
	"Database":           {resource("k8s.mariadb.com", "v1alpha1", "databases"), ready},
	"User":               {resource("k8s.mariadb.com", "v1alpha1", "users"), ready},
	"Grant":              {resource("k8s.mariadb.com", "v1alpha1", "grants"), ready},
	"ClusterSecretStore": {resource("external-secrets.io", "v1", "clustersecretstores"), ready},
	"SecretStore":        {resource("external-secrets.io", "v1", "secretstores"), ready},
	"RabbitmqCluster":    {resource("rabbitmq.com", "v1beta1", "rabbitmqclusters"), broker},
	"HTTPRoute":          {resource("gateway.networking.k8s.io", "v1", "httproutes"), accepted},
}

// fieldManager is who writes these states.
const fieldManager = "surroundings"

// Password is the one that is made for every broker.
const Password = "made-by-the-surroundings"

func resource(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

// Surroundings are being played until their context ends.
type Surroundings struct {
	// Network is the path to Services.
	Network *Network

	client dynamic.Interface
	// namespace limits the play to one; empty is all, and what has no namespace.
	namespace string
	mu        sync.Mutex
	paused    map[string]bool
}

// Start begins to play every kind the cluster serves, in every namespace.
func Start(ctx context.Context, config *rest.Config) (*Surroundings, error) {
	return StartIn(ctx, config, metav1.NamespaceAll)
}

// StartIn plays in one namespace only, and nothing that has none: several can then
// share a cluster and pause what they like.
func StartIn(ctx context.Context, config *rest.Config, namespace string) (*Surroundings, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("start surroundings: %w", err)
	}
	network, err := startNetwork(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start surroundings: %w", err)
	}
	s := &Surroundings{Network: network, client: client, namespace: namespace, paused: map[string]bool{}}
	for _, kind := range slices.Sorted(maps.Keys(played)) {
		if kind == "ClusterSecretStore" && namespace != metav1.NamespaceAll {
			continue
		}
		list, err := s.objects(kind).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		go s.play(ctx, kind, list.GetResourceVersion())
		for i := range list.Items {
			s.touch(ctx, kind, &list.Items[i])
		}
	}
	return s, nil
}

// objects are those of a kind that are played.
func (s *Surroundings) objects(kind string) dynamic.ResourceInterface {
	if s.namespace == metav1.NamespaceAll {
		return s.client.Resource(played[kind].resource)
	}
	return s.client.Resource(played[kind].resource).Namespace(s.namespace)
}

// Pause stops playing a kind: objects that appear stay without a status, like those
// of a controller that is down.
func (s *Surroundings) Pause(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[kind] = true
}

// Resume plays a kind again and catches up.
func (s *Surroundings) Resume(ctx context.Context, kind string) error {
	s.mu.Lock()
	delete(s.paused, kind)
	s.mu.Unlock()
	list, err := s.objects(kind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", kind, err)
	}
	for i := range list.Items {
		s.touch(ctx, kind, &list.Items[i])
	}
	return nil
}

// Play reports the status of one object, although its kind is paused.
func (s *Surroundings) Play(ctx context.Context, kind, namespace, name string) error {
	o, err := s.client.Resource(played[kind].resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("play %s %s: %w", kind, name, err)
	}
	return s.report(ctx, kind, o)
}

// play follows a kind until the context ends, and starts over when a watch breaks.
func (s *Surroundings) play(ctx context.Context, kind, version string) {
	for ctx.Err() == nil {
		w, err := s.objects(kind).Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err == nil {
			for e := range w.ResultChan() {
				if o, ok := e.Object.(*unstructured.Unstructured); ok && (e.Type == watch.Added || e.Type == watch.Modified) {
					s.touch(ctx, kind, o)
				}
			}
		}
		version = ""
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond): // the API server is away: ask again soon
		}
	}
}

// touch writes the status of one object when it differs from the one to report.
func (s *Surroundings) touch(ctx context.Context, kind string, o *unstructured.Unstructured) {
	s.mu.Lock()
	paused := s.paused[kind]
	s.mu.Unlock()
	if paused || o.GetDeletionTimestamp() != nil {
		return
	}
	if _, reported, _ := unstructured.NestedMap(o.Object, "status"); reported {
		return
	}
	_ = s.report(ctx, kind, o) // the object is gone, or the server away: it comes by again
}

// report writes the status of one object.
func (s *Surroundings) report(ctx context.Context, kind string, o *unstructured.Unstructured) error {
	if kind == "RabbitmqCluster" {
		if err := s.defaultUser(ctx, o); err != nil {
			return err
		}
	}
	patch, err := json.Marshal(map[string]any{"status": played[kind].status(o)})
	if err != nil {
		return fmt.Errorf("report %s %s: %w", kind, o.GetName(), err)
	}
	if _, err := s.client.Resource(played[kind].resource).Namespace(o.GetNamespace()).
		Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status"); err != nil {
		return fmt.Errorf("report %s %s: %w", kind, o.GetName(), err)
	}
	return nil
}

func ready(o *unstructured.Unstructured) map[string]any {
	return map[string]any{"conditions": []any{condition(o, "Ready")}}
}

func condition(o *unstructured.Unstructured, kind string) map[string]any {
	return map[string]any{
		"type": kind, "status": "True", "reason": "Played", "message": "played by the test surroundings",
		"lastTransitionTime": o.GetCreationTimestamp().UTC().Format(time.RFC3339),
	}
}

func accepted(o *unstructured.Unstructured) map[string]any {
	refs, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
	var parents []any
	for _, ref := range refs {
		parents = append(parents, map[string]any{
			"parentRef": ref, "controllerName": "example.com/surroundings", "conditions": []any{condition(o, "Accepted")},
		})
	}
	return map[string]any{"parents": parents}
}

func broker(o *unstructured.Unstructured) map[string]any {
	return map[string]any{"defaultUser": map[string]any{"secretReference": map[string]any{
		"name": o.GetName() + "-default-user", "namespace": o.GetNamespace(),
		"keys": map[string]any{"username": "username", "password": "password"},
	}}}
}

// defaultUser makes the Secret of a broker's default user.
func (s *Surroundings) defaultUser(ctx context.Context, o *unstructured.Unstructured) error {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"name": o.GetName() + "-default-user", "namespace": o.GetNamespace(),
			"ownerReferences": []any{map[string]any{
				"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID()), "controller": true,
			}},
		},
		"stringData": map[string]any{
			"username": "default_user", "password": Password, "host": o.GetName() + "." + o.GetNamespace() + ".svc", "port": "5672",
		},
	}}
	_, err := s.client.Resource(resource("", "v1", "secrets")).Namespace(o.GetNamespace()).
		Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create default-user Secret: %w", err)
	}
	return nil
}

// Apply creates or updates objects as a person would with kubectl apply.
func Apply(ctx context.Context, config *rest.Config, mapper meta.RESTMapper, manager string, objects []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	var errs []error
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			errs = append(errs, fmt.Errorf("apply %s %s: %w", gvk.Kind, o.GetName(), err))
			continue
		}
		var target dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			target = client.Resource(mapping.Resource).Namespace(o.GetNamespace())
		}
		if _, err := target.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: manager, Force: true}); err != nil {
			errs = append(errs, fmt.Errorf("apply %s %s: %w", gvk.Kind, o.GetName(), err))
		}
	}
	return errors.Join(errs...)
}
