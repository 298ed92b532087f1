// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/webhookcert"
)

const (
	// hookedLabel is on the namespaces whose objects the webhooks see.
	hookedLabel = "test.c5c3.io/hooked"
	// unchecked keeps one object from them. A request that takes it off is judged, so it
	// plants what an older operator let through.
	unchecked = "test.c5c3.io/unchecked"
)

// hooks are the webhooks of this binary, served by a manager without controllers that has
// the permissions of kustomize/webhook/standalone and no others.
var hooks struct {
	once   sync.Once
	err    error
	server *webhookcert.Server
	probes string
	reads  readLog
}

// readLog counts what the manager reads of the API server.
type readLog struct {
	mu    sync.Mutex
	paths []string
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip is the transport's.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (l *readLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/namespaces/") || strings.Contains(r.URL.Path, "/priorityclasses/") {
			l.mu.Lock()
			l.paths = append(l.paths, r.URL.Path)
			l.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (l *readLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	paths := l.paths
	l.paths = nil
	return paths
}

func serve(config *rest.Config, dir string) error {
	ctrl.SetLogger(logr.Discard())
	ctx := context.Background()
	admin, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	role, err := process.Kustomize("../../kustomize/webhook/standalone")
	if err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(process.Namespace)
	if err := surroundings.Apply(ctx, config, admin.RESTMapper(), "install", append([]*unstructured.Unstructured{namespace}, role...)); err != nil {
		return err
	}
	account := rest.CopyConfig(config)
	account.Impersonate.UserName = "system:serviceaccount:" + process.Namespace + ":nova-operator-webhook"
	account.Wrap(hooks.reads.wrap)
	if hooks.server, err = webhookcert.NewServer(dir); err != nil {
		return err
	}
	probes, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	hooks.probes = probes.Addr().String()
	if err := probes.Close(); err != nil {
		return err
	}
	manager, err := operator.New(account, operator.Options{
		MetricsAddress: "0", ProbeAddress: hooks.probes, WebhooksOnly: true, LeaderElect: true,
		Webhooks: &operator.Webhooks{Host: hooks.server.Host, Port: hooks.server.Port, CertDir: hooks.server.CertDir},
	})
	if err != nil {
		return err
	}
	go func() { _ = manager.Start(ctx) }()
	return errors.Join(hooks.server.AwaitServing(ctx), hooks.server.Register(ctx, config, webhookcert.Limits{
		Namespaces: &metav1.LabelSelector{MatchLabels: map[string]string{hookedLabel: ""}},
		Objects:    &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: unchecked, Operator: metav1.LabelSelectorOpDoesNotExist}}},
	}))
}

// hooked is a namespace of the test's own whose objects the webhooks see.
type hooked struct {
	t         *testing.T
	namespace string
	config    *rest.Config
	mu        sync.Mutex
	warnings  []string
}

func newHooked(t *testing.T) *hooked {
	t.Helper()
	c := cluster.Shared(t)
	hooks.once.Do(func() { hooks.err = serve(c.Config, filepath.Join(c.Dir, "webhook")) })
	if hooks.err != nil {
		t.Fatal(hooks.err)
	}
	h := &hooked{t: t, namespace: labelled(t, c, hookedLabel), config: rest.CopyConfig(c.Config)}
	h.config.WarningHandler = h
	if err := hooks.server.AwaitInForce(t.Context(), c.Config, h.namespace); err != nil {
		t.Fatal(err)
	}
	return h
}

// labelled is a namespace of the test's own with a label.
func labelled(t *testing.T, c *cluster.Cluster, label string) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespace := c.Namespace(t)
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:""}}}`, label)
	if _, err := client.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return namespace
}

// HandleWarningHeader keeps a warning.
func (h *hooked) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warnings = append(h.warnings, text)
}

// warned returns the warnings since it was asked last.
func (h *hooked) warned() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	warnings := h.warnings
	h.warnings = nil
	return warnings
}

func (h *hooked) client(k kind) dynamic.ResourceInterface {
	h.t.Helper()
	client, err := dynamic.NewForConfig(h.config)
	if err != nil {
		h.t.Fatal(err)
	}
	return client.Resource(v1alpha1.GroupVersion.WithResource(k.resource)).Namespace(h.namespace)
}

// create stores the smallest object with a merge patch laid over it.
func (h *hooked) create(k kind, change string) (*unstructured.Unstructured, error) {
	h.t.Helper()
	return h.client(k).Create(h.t.Context(), k.object(h.t, change), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
}

// plant stores an object past the webhooks, and frees it with the test.
func (h *hooked) plant(k kind, change string) *unstructured.Unstructured {
	h.t.Helper()
	object := k.object(h.t, change)
	object.SetLabels(map[string]string{unchecked: ""})
	stored, err := h.client(k).Create(h.t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		patch := fmt.Sprintf(`{"metadata":{"finalizers":null,"labels":{%q:""}}}`, unchecked)
		_, _ = h.client(k).Patch(context.WithoutCancel(h.t.Context()), stored.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	})
	return stored
}

// patch changes a stored object in a request the webhooks see.
func (h *hooked) patch(k kind, name, change string) (*unstructured.Unstructured, error) {
	h.t.Helper()
	return h.client(k).Patch(h.t.Context(), name, types.MergePatchType, []byte(change), metav1.PatchOptions{})
}

func TestHooked_ReadyOnceAdmissionIsServed(t *testing.T) {
	newHooked(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+hooks.probes+"/readyz?verbose", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), "[+]webhook ok") {
		t.Errorf("%d: %s", response.StatusCode, body)
	}
}

// down registers an operator that does not answer, for the namespace of a test.
func down(t *testing.T, h *hooked) {
	t.Helper()
	server, err := webhookcert.NewServer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	limits := webhookcert.Limits{Name: h.namespace, Namespaces: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": h.namespace}}}
	if err := server.Register(t.Context(), h.config, limits); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the webhooks that are down in force", func(ctx context.Context) (bool, error) {
		_, err := h.client(nova).Create(ctx, smallest.object(t, "metadata: {name: other}"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "failed calling webhook"), nil
	})
}
