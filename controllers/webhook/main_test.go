package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/webhookcert"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	cluster.Main(m, cluster.Options{Nodes: -1, CRDs: []string{"./testdata/open.yaml"}})
}

// namespace is the one of the smallest resources.
const namespace = "openstack"

// unchecked is a label that keeps an object from the webhooks. An update that takes it
// off is judged, so it plants what an older operator, or none, let through.
const unchecked = "test.c5c3.io/unchecked"

// serve puts the validating webhooks up, once for all tests: the mutating ones would
// repair some of what is to be refused.
var serve = sync.OnceValue(func() error {
	config := planted.Config
	server, err := webhookcert.NewServer(filepath.Join(planted.Dir, "webhook"))
	if err != nil {
		return err
	}
	manager, err := operator.New(config, operator.Options{
		MetricsAddress: "0", ProbeAddress: "0", WebhooksOnly: true,
		Webhooks: &operator.Webhooks{Host: server.Host, Port: server.Port, CertDir: server.CertDir},
	})
	if err != nil {
		return err
	}
	ctx := context.Background()
	go func() { _ = manager.Start(ctx) }()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	return errors.Join(
		server.AwaitServing(ctx),
		server.Register(ctx, config, webhookcert.Limits{
			ValidatingOnly: true,
			Objects:        &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: unchecked, Operator: metav1.LabelSelectorOpDoesNotExist}}},
		}),
		server.AwaitInForce(ctx, config, namespace),
	)
})

// planted is the cluster serve uses.
var planted *cluster.Cluster

// client is one resource of the API server, with the warnings of its last answers.
type client struct {
	dynamic.ResourceInterface
	mu       sync.Mutex
	warnings []string
}

func newClient(t *testing.T, resource string) *client {
	t.Helper()
	planted = cluster.Shared(t)
	if err := serve(); err != nil {
		t.Fatal(err)
	}
	c := &client{}
	config := rest.CopyConfig(planted.Config)
	config.WarningHandler = c
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c.ResourceInterface = d.Resource(v1alpha1.GroupVersion.WithResource(resource)).Namespace(namespace)
	return c
}

// HandleWarningHeader keeps a warning.
func (c *client) HandleWarningHeader(_ int, _, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings = append(c.warnings, text)
}

// take returns the warnings since the last take.
func (c *client) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	warnings := c.warnings
	c.warnings = nil
	return warnings
}

// object is a typed resource as it is sent.
func object(t *testing.T, kind string, typed any) *unstructured.Unstructured {
	t.Helper()
	raw, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	fields := map[string]any{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	u.Object = fields
	u.SetAPIVersion(v1alpha1.GroupVersion.String())
	u.SetKind(kind)
	unstructured.RemoveNestedField(u.Object, "status")
	u.SetDeletionTimestamp(nil)
	return u
}

// answer is what an error says about each field; nil for none.
func answer(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Reason != metav1.StatusReasonInvalid || status.ErrStatus.Code != 422 {
		t.Fatalf("not an Invalid answer: %v", err)
	}
	var lines []string
	for _, cause := range status.ErrStatus.Details.Causes {
		lines = append(lines, cause.Field+": "+cause.Message)
	}
	return lines
}
