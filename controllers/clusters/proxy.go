package clusters

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// defaultPorts are those of a URL without one, by scheme.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// ServiceProxy returns a transport that reaches the Services of a cluster through its API
// server, with the credential of config: the name of a Service resolves on its own
// cluster only. It takes http and https URLs of <service>.<namespace>.svc, with or
// without .cluster.local. It refuses every other, and dials nothing but the API server.
func ServiceProxy(config *rest.Config) (http.RoundTripper, error) {
	server, err := url.Parse(config.Host)
	if err != nil || server.Host == "" {
		return nil, errors.New("build service proxy: the address of the API server must be a URL with a scheme")
	}
	base, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("build service proxy: %w", err)
	}
	return &serviceProxy{server: server, base: base}, nil
}

// serviceProxy rewrites requests to Services; base sends them with the credential.
type serviceProxy struct {
	server *url.URL
	base   http.RoundTripper
}

// RoundTrip sends a request to a Service. The answer is the Service's, or that of an API
// server that refused.
func (p *serviceProxy) RoundTrip(req *http.Request) (*http.Response, error) {
	prefix, err := p.check(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a transport always does; the refusal says more
		}
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Host = ""
	out.URL.Scheme, out.URL.Host = p.server.Scheme, p.server.Host
	path := req.URL.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	// Both forms, so that %2F stays what it is.
	out.URL.RawPath = strings.TrimSuffix(p.server.EscapedPath(), "/") + prefix + path
	if out.URL.Path, err = url.PathUnescape(out.URL.RawPath); err != nil {
		return nil, fmt.Errorf("service proxy: path of %s: %w", req.URL.Host, err)
	}
	resp, err := p.base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req
	p.restoreLocation(resp, prefix)
	return resp, nil
}

// check returns the path of a request's Service on the API server, or why it has none.
func (p *serviceProxy) check(req *http.Request) (string, error) {
	u := req.URL
	scheme, host, port := u.Scheme, u.Hostname(), u.Port()
	usual, reached := defaultPorts[scheme]
	if port == "" {
		port = usual
	}
	if !reached {
		return "", fmt.Errorf("service proxy: scheme %q of host %q: only http and https are reached", scheme, host)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("service proxy: port %q of host %q: must be from 1 to 65535", port, host)
	}
	labels := strings.Split(strings.TrimSuffix(host, ".cluster.local"), ".")
	if len(labels) != 3 || labels[2] != "svc" || len(validation.IsDNS1123Label(labels[0])) > 0 || len(validation.IsDNS1123Label(labels[1])) > 0 {
		return "", fmt.Errorf("service proxy: host %q: only <service>.<namespace>.svc of the target cluster is reached", host)
	}
	// The API server would take the first for its own, instead of the registration's
	// credential, and neither ever reaches the Service.
	for name := range req.Header {
		if name = http.CanonicalHeaderKey(name); name == "Authorization" || strings.HasPrefix(name, "Impersonate-") {
			return "", fmt.Errorf("service proxy: host %q: the header %s is for the API server; use one of the Service's own, like X-Auth-Token", host, name)
		}
	}
	// A path that climbs out of the proxy's would ask the API server itself.
	if climbs := slices.ContainsFunc(strings.FieldsFunc(u.Path, isSlash), func(s string) bool { return s == "." || s == ".." }); climbs || u.Opaque != "" {
		return "", fmt.Errorf("service proxy: host %q: the path must have no . or .. in it", host)
	}
	return fmt.Sprintf("/api/v1/namespaces/%s/services/%s:%s:%s/proxy", labels[1], scheme, labels[0], port), nil
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

// restoreLocation turns a redirect within the Service back into one of the Service's
// URLs: the API server writes its own.
func (p *serviceProxy) restoreLocation(resp *http.Response, prefix string) {
	location, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || location.Host != "" && location.Host != p.server.Host {
		return
	}
	path, base := location.EscapedPath(), strings.TrimSuffix(p.server.EscapedPath(), "/")
	rest, proxied := strings.CutPrefix(strings.TrimPrefix(path, base), prefix+"/")
	if !proxied {
		return
	}
	service := *resp.Request.URL
	service.Path, service.RawPath = "/"+rest, ""
	if unescaped, err := url.PathUnescape(service.Path); err == nil {
		service.Path, service.RawPath = unescaped, service.Path
	}
	service.RawQuery, service.Fragment = location.RawQuery, location.Fragment
	resp.Header.Set("Location", service.String())
}
