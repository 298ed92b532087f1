package surroundings

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Network stands in for cluster DNS and pod networking: an HTTP proxy that answers
// for a Service while it has a ready endpoint, with nova's version document.
type Network struct {
	// URL of the proxy, for HTTP_PROXY or a transport.
	URL *url.URL

	client kubernetes.Interface
	mu     sync.Mutex
	answer func(host string) (code int, body string)
	asked  int
}

// versions is the start of what nova-api serves at its root.
const versions = `{"versions": [{"id": "v2.1", "status": "CURRENT", "version": "2.100", "min_version": "2.1"}]}`

func startNetwork(ctx context.Context, config *rest.Config) (*Network, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start network: %w", err)
	}
	n := &Network{client: client, URL: &url.URL{Scheme: "http", Host: listener.Addr().String()}}
	server := &http.Server{Handler: n, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return n, nil
}

// Client is an HTTP client on this network.
func (n *Network) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(n.URL), DisableKeepAlives: true}}
}

// Answer replaces what a Service with a ready endpoint says; nil restores it.
func (n *Network) Answer(f func(host string) (code int, body string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = f
}

// Asked is how many requests came by.
func (n *Network) Asked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// ServeHTTP answers a proxied request.
func (n *Network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.asked++
	answer := n.answer
	n.mu.Unlock()
	name, namespace, ok := service(r.URL.Hostname())
	if !ok || !n.reachable(r.Context(), namespace, name) {
		http.Error(w, "no ready endpoint behind "+r.URL.Hostname(), http.StatusServiceUnavailable)
		return
	}
	code, body := http.StatusOK, versions
	if answer != nil {
		code, body = answer(r.URL.Hostname())
	}
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// service splits <name>.<namespace>.svc.cluster.local.
func service(host string) (name, namespace string, ok bool) {
	parts := strings.SplitN(host, ".", 3)
	if len(parts) != 3 || parts[2] != "svc.cluster.local" {
		return "", "", false
	}
	return parts[0], parts[1], true
}

func (n *Network) reachable(ctx context.Context, namespace, name string) bool {
	slices, err := n.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
	if err != nil {
		return false
	}
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return true
			}
		}
	}
	return false
}
