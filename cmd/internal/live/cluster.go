// Package live looks at a cluster for the commands that preview and explain: it reads,
// and asks with dry run. It writes nothing.
package live

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/render"
)

// Access says which cluster, as kubectl's flags of these names do.
type Access struct {
	Kubeconfig, Context string
}

// Cluster is a cluster that is only looked at.
type Cluster struct {
	client  client.Client
	applier *apply.Applier
	mask    diff.Mask
	// clustersNamespace is where target clusters are registered, and targets are those
	// that are in use.
	clustersNamespace string
	targets           map[string]*Cluster
}

// Requests per second and their burst: previews of a hundred resources must not wait for
// themselves.
const (
	requestRate  = 100
	requestBurst = 200
)

// Connect reads the kubeconfig and finds out what the cluster serves.
func Connect(access Access, mask diff.Mask) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = access.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: access.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w", err)
	}
	return Of(config, mask)
}

// Of looks at the cluster of a client configuration.
func Of(config *rest.Config, mask diff.Mask) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestRate, requestBurst
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &Cluster{
		client: c, mask: mask, clustersNamespace: clusters.DefaultNamespace, targets: map[string]*Cluster{},
		applier: apply.New(apply.Options{Client: c, Reader: c, OpenAPI: disco.OpenAPIV3(), Mask: mask}),
	}, nil
}

// Get reads one resource; nil if there is none.
func (c *Cluster) Get(ctx context.Context, k kind.Kind, namespace, name string) (v1alpha1.Resource, error) {
	r := k.New()
	err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, r)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("the cluster does not know the kind %s: install its definition first (kustomize/crd)", k.Kind.Kind)
	case err != nil:
		return nil, fmt.Errorf("read %s %s/%s: %w", k.Kind.Kind, namespace, name, err)
	}
	return r, nil
}

// Found reads a resource that must be there.
func (c *Cluster) Found(ctx context.Context, k kind.Kind, namespace, name string) (v1alpha1.Resource, error) {
	r, err := c.Get(ctx, k, namespace, name)
	if err == nil && r == nil {
		return nil, fmt.Errorf("there is no %s %s in namespace %s; -n names another", k.Kind.Kind, name, namespace)
	}
	return r, err
}

// Operator labels of the Deployment of the manager, as kustomize/manager sets them.
var managerLabels = client.MatchingLabels{"app.kubernetes.io/name": "nova-operator", "app.kubernetes.io/component": "manager"}

// Settings finds out what the operator of the cluster was started with: its namespace,
// and its flags. What can't be found out is a note. Set values of the given settings win.
func (c *Cluster) Settings(ctx context.Context, given render.Settings) (render.Settings, []string) {
	list := &appsv1.DeploymentList{}
	err := c.client.List(ctx, list, managerLabels)
	switch {
	case err == nil && len(list.Items) == 1:
	case given.OperatorNamespace != "":
		return given, nil
	case err != nil:
		return given, []string{"the operator's own flags and namespace can't be read, give --operator-namespace: " + err.Error()}
	default:
		return given, []string{fmt.Sprintf("found %d Deployments of the operator, so its flags and namespace are unknown; give --operator-namespace", len(list.Items))}
	}
	manager := list.Items[0]
	if given.OperatorNamespace == "" {
		given.OperatorNamespace = manager.Namespace
	}
	for _, container := range manager.Spec.Template.Spec.Containers {
		for _, arg := range container.Args {
			name, value, _ := strings.Cut(arg, "=")
			switch {
			case name == "--default-image-pull-policy" && given.PullPolicy == "":
				given.PullPolicy = corev1.PullPolicy(value)
			case name == "--namespace" && value != "":
				given.NamespaceScoped = true
				c.clustersNamespace = ""
			case name == "--clusters-namespace" && !given.NamespaceScoped:
				c.clustersNamespace = value
			}
		}
	}
	return given, nil
}
