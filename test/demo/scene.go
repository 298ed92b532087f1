package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/world"
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
	s.client, err = world.NewClient(config)
	return s, err
}

func (s *scene) put(ctx context.Context, objects []*unstructured.Unstructured) error {
	return surroundings.Apply(ctx, s.config, s.client.RESTMapper(), "demo", objects)
}

// apply creates what the Nova refers to, with made-up credentials, and the Nova.
func (s *scene) apply(ctx context.Context) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(s.nova.Namespace)
	objects := append([]*unstructured.Unstructured{namespace}, surroundings.Inputs(s.nova)...)
	return s.put(ctx, append(objects, s.source))
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
	for _, gvk := range rendernova.About().Children {
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
