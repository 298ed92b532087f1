// Package webhookcert puts up the operator's admission server beside a test's control
// plane, where no cert-manager runs: it makes a certificate for this machine and
// registers the generated webhooks under the server's address.
//
// The registration is the one of kustomize/webhook, so that names, paths, operations and
// policies are what an installation gets; only the address and the CA differ.
package webhookcert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	manifests "github.com/c5c3/nova-operator/kustomize/webhook"
)

// Server is where an admission server of this machine is to be served.
type Server struct {
	Host string
	Port int
	// CertDir holds tls.crt and tls.key; CA signed the first.
	CertDir string
	CA      []byte
}

// NewServer makes a certificate in a folder and finds a port nobody uses.
func NewServer(dir string) (*Server, error) {
	s := &Server{Host: "127.0.0.1", CertDir: dir}
	listener, err := net.Listen("tcp", net.JoinHostPort(s.Host, "0"))
	if err != nil {
		return nil, fmt.Errorf("find a port: %w", err)
	}
	s.Port = listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return nil, fmt.Errorf("find a port: %w", err)
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(s.Host, []net.IP{net.ParseIP(s.Host)}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	s.CA = chain
	return s, errors.Join(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tls.crt"), chain, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600),
	)
}

// Flags are those of a manager that serves here.
func (s *Server) Flags() []string {
	return []string{fmt.Sprintf("--webhook-port=%d", s.Port), "--webhook-cert-dir=" + s.CertDir}
}

// Limits narrow a registration; the zero value is an installation's.
type Limits struct {
	// Name replaces the one of the two configurations, so that several stand side by side.
	Name string
	// Namespaces and Objects are selected by label.
	Namespaces, Objects *metav1.LabelSelector
	// ValidatingOnly leaves the mutating webhooks out.
	ValidatingOnly bool
}

// Register applies the webhook configurations, over those of an earlier server. The API
// server takes a moment to follow them; see AwaitInForce.
func (s *Server) Register(ctx context.Context, config *rest.Config, limits Limits) error {
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	for _, document := range bytes.Split(manifests.Manifests, []byte("\n---\n")) {
		into := any(&mutating)
		if bytes.Contains(document, []byte("kind: Validating")) {
			into = &validating
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			return fmt.Errorf("read the generated webhooks: %w", err)
		}
	}
	for i := range mutating.Webhooks {
		w := &mutating.Webhooks[i]
		s.redirect(&w.ClientConfig)
		w.NamespaceSelector, w.ObjectSelector = limits.Namespaces, limits.Objects
	}
	for i := range validating.Webhooks {
		w := &validating.Webhooks[i]
		s.redirect(&w.ClientConfig)
		w.NamespaceSelector, w.ObjectSelector = limits.Namespaces, limits.Objects
	}
	if limits.Name != "" {
		mutating.Name, validating.Name = limits.Name, limits.Name
	}
	registered := map[string]any{"validatingwebhookconfigurations": &validating}
	if !limits.ValidatingOnly {
		registered["mutatingwebhookconfigurations"] = &mutating
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for resource, object := range registered {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("register %s: %w", resource, err)
		}
		_, err = client.Resource(admissionregistrationv1.SchemeGroupVersion.WithResource(resource)).
			Apply(ctx, mutating.Name, &unstructured.Unstructured{Object: fields}, metav1.ApplyOptions{FieldManager: "webhookcert", Force: true})
		if err != nil {
			return fmt.Errorf("register %s: %w", resource, err)
		}
	}
	return nil
}

// redirect points a webhook at this machine in place of the Service.
func (s *Server) redirect(c *admissionregistrationv1.WebhookClientConfig) {
	url := fmt.Sprintf("https://%s%s", net.JoinHostPort(s.Host, fmt.Sprint(s.Port)), *c.Service.Path)
	c.Service, c.URL, c.CABundle = nil, &url, s.CA
}
