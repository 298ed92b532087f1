package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/test/surroundings"
)

// scene is one Nova and what it refers to, on the demo cluster.
type scene struct {
	config *rest.Config
	client client.Client
	source *unstructured.Unstructured
	nova   *v1alpha1.Nova
}

func newScene(config *rest.Config, fixture string) (*scene, error) {
	raw, err := os.ReadFile(fixture)
	if err != nil {
		return nil, err
	}
	s := &scene{config: config, source: &unstructured.Unstructured{}, nova: &v1alpha1.Nova{}}
	if err := errors.Join(yaml.Unmarshal(raw, &s.source.Object), yaml.UnmarshalStrict(raw, s.nova)); err != nil {
		return nil, fmt.Errorf("%s: %w", fixture, err)
	}
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), v1alpha1.AddToScheme(types)); err != nil {
		return nil, err
	}
	s.client, err = client.New(config, client.Options{Scheme: types})
	return s, err
}

func (s *scene) put(ctx context.Context, objects []*unstructured.Unstructured) error {
	return surroundings.Apply(ctx, s.config, s.client.RESTMapper(), "demo", objects)
}

func object(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	if spec != nil {
		u.Object["spec"] = spec
	}
	return u
}

// apply creates what the Nova refers to, with made-up credentials, and the Nova.
func (s *scene) apply(ctx context.Context) error {
	n := s.nova
	objects := []*unstructured.Unstructured{object("v1", "Namespace", "", n.Namespace, nil)}
	store := rendernova.StoreRef(n)
	if store.Kind == v1alpha1.SecretStoreKindCluster {
		objects = append(objects, object("external-secrets.io/v1", store.Kind, "", store.Name, map[string]any{}))
	} else {
		objects = append(objects, object("external-secrets.io/v1", store.Kind, n.Namespace, store.Name, map[string]any{}))
	}
	servers := map[string]bool{}
	for _, db := range []*v1alpha1.DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		if db.Managed() && !servers[db.ClusterRef.Name] {
			servers[db.ClusterRef.Name] = true
			objects = append(objects, object("k8s.mariadb.com/v1alpha1", "MariaDB", n.Namespace, db.ClusterRef.Name,
				map[string]any{"storage": map[string]any{"size": "1Gi"}}))
		}
	}
	if ref := n.Spec.Messaging.ClusterRef; ref != nil {
		objects = append(objects, object("rabbitmq.com/v1beta1", "RabbitmqCluster", n.Namespace, ref.Name, map[string]any{}))
	}
	objects = append(objects, s.secrets()...)
	return s.put(ctx, append(objects, s.source))
}

// secrets makes every Secret the Nova refers to, with the keys it needs.
func (s *scene) secrets() []*unstructured.Unstructured {
	_, missing := rendernova.Settle(rendernova.Input{Nova: s.nova})
	data := map[string]map[string]any{}
	for _, entry := range missing {
		name, key, _ := strings.Cut(entry, "/")
		if !slices.Contains(rendernova.SecretRefs(s.nova), name) {
			continue // the broker's own
		}
		if data[name] == nil {
			data[name] = map[string]any{}
		}
		data[name][key] = "made-up-for-the-demo"
		if key == v1alpha1.DefaultTransportURLKey {
			data[name][key] = "rabbit://demo:made-up@rabbitmq:5672/"
		}
	}
	var out []*unstructured.Unstructured
	for name, values := range data {
		u := object("v1", "Secret", s.nova.Namespace, name, nil)
		u.Object["stringData"] = values
		out = append(out, u)
	}
	return out
}

// follow prints each condition as it turns, until Ready.
func (s *scene) follow(ctx context.Context, c clock, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not Ready after %s; %s says why", limit, managerLog))
	defer cancel()
	shown := map[string]string{}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		n := &v1alpha1.Nova{}
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(s.nova), n); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			return err
		}
		for _, condition := range n.Status.Conditions {
			line := fmt.Sprintf("%-22s %-5s %s", condition.Type, condition.Status, condition.Reason)
			if condition.Type != v1alpha1.ConditionReady && shown[condition.Type] != line {
				shown[condition.Type] = line
				c.say("%s  %s", line, cut(condition.Message, 70))
			}
		}
		if meta.IsStatusConditionTrue(n.Status.Conditions, v1alpha1.ConditionReady) {
			c.say("%-22s True  %s", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
			s.nova = n
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// table lists the conditions and the children.
func (s *scene) table(ctx context.Context, w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(tw, "\nCONDITION\tSTATUS\tREASON\tMESSAGE\n")
	for _, name := range append([]string{v1alpha1.ConditionReady}, v1alpha1.NovaConditions()...) {
		if c := meta.FindStatusCondition(s.nova.Status.Conditions, name); c != nil {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", c.Type, c.Status, c.Reason, cut(c.Message, 72))
		}
	}
	fmt.Fprintf(tw, "\nCHILD\tNAME\n")
	for _, gvk := range rendernova.Kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := s.client.List(ctx, list, client.InNamespace(s.nova.Namespace))
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			fmt.Fprintf(tw, "%s\t(%v)\n", gvk.Kind, err)
			continue
		}
		for i := range list.Items {
			if ref := metav1.GetControllerOf(&list.Items[i]); ref != nil && ref.UID == s.nova.UID {
				fmt.Fprintf(tw, "%s\t%s\n", gvk.Kind, list.Items[i].GetName())
			}
		}
	}
	_ = tw.Flush()
}
