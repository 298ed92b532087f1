package webhookcert

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// limit bounds the start of a server, and of an API server to follow a registration.
const limit = time.Minute

// AwaitServing waits until the server answers, as /readyz does.
func (s *Server) AwaitServing(ctx context.Context) error {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}
	return poll(ctx, "the admission server", func(ctx context.Context) error {
		connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(s.Host, fmt.Sprint(s.Port)))
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// AwaitInForce waits until the API server asks the webhooks about a Nova in a namespace.
// It tries one that needs a default to pass the schema and that only the webhook refuses;
// nothing is stored.
func (s *Server) AwaitInForce(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	probe := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(smallest), &probe.Object); err != nil {
		return err
	}
	probe.SetName("probe-console")
	novas := client.Resource(v1alpha1.GroupVersion.WithResource("novas")).Namespace(namespace)
	return poll(ctx, "the webhooks to be in force", func(ctx context.Context) error {
		_, err := novas.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("the API server asked no webhook")
		}
		if !strings.Contains(err.Error(), `admission webhook "vnova.kb.io" denied the request`) {
			return err
		}
		return nil
	})
}

func poll(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// smallest is the smallest Nova of the contract: without the backend of the cache, which
// the schema requires and the mutating webhook stores.
const smallest = `
apiVersion: nova.openstack.c5c3.io/v1alpha1
kind: Nova
metadata: {name: nova}
spec:
  openStackRelease: "2026.1"
  image: {repository: nova, tag: "2026.1"}
  apiDatabase: {clusterRef: {name: db}, database: nova_api, secretRef: {name: a}}
  database: {clusterRef: {name: db}, database: nova, secretRef: {name: b}}
  cache: {clusterRef: {name: memcached}}
  messaging: {clusterRef: {name: rabbitmq}}
  keystoneEndpoint: http://keystone.example.com
  serviceUser: {secretRef: {name: c}}
  metadata: {sharedSecretRef: {name: d}}
`
