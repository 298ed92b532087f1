package clusters_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/controllers/clusters"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// proxyTo returns a proxy whose API server is a function.
func proxyTo(t *testing.T, host string, server roundTripper) http.RoundTripper {
	t.Helper()
	config := &rest.Config{Host: host, BearerToken: "cluster"}
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return server })
	proxy, err := clusters.ServiceProxy(config)
	if err != nil {
		t.Fatal(err)
	}
	return proxy
}

// answer is an empty answer.
func answer(r *http.Request, code int, location string) *http.Response {
	resp := &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody, Request: r}
	if location != "" {
		resp.Header.Set("Location", location)
	}
	return resp
}

func TestServiceProxy_Rewrites(t *testing.T) {
	const server, nova = "https://edge:6443", "/api/v1/namespaces/openstack/services/"
	tests := map[string]struct{ server, url, want string }{
		"the default port of http":    {server, "http://nova-api.openstack.svc/v2.1/", server + nova + "http:nova-api:80/proxy/v2.1/"},
		"the default port of https":   {server, "https://nova-api.openstack.svc/", server + nova + "https:nova-api:443/proxy/"},
		"a port and the long name":    {server, "http://nova-api.openstack.svc.cluster.local:8774/", server + nova + "http:nova-api:8774/proxy/"},
		"no path":                     {server, "http://nova-api.openstack.svc:8774", server + nova + "http:nova-api:8774/proxy/"},
		"path and query, each byte":   {server, "http://nova-api.openstack.svc:8774/a%2Fb//c%20d+e/?q=a%20b&q=c+d;e", server + nova + "http:nova-api:8774/proxy/a%2Fb//c%20d+e/?q=a%20b&q=c+d;e"},
		"a question mark alone":       {server, "http://nova-api.openstack.svc:8774/a?", server + nova + "http:nova-api:8774/proxy/a?"},
		"a server with a path":        {server + "/k8s/c%2F1/", "http://nova-api.openstack.svc:8774/a", server + "/k8s/c%2F1" + nova + "http:nova-api:8774/proxy/a"},
		"dots that are part of names": {server, "http://nova-api.openstack.svc:8774/..a/b.", server + nova + "http:nova-api:8774/proxy/..a/b."},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			proxy := proxyTo(t, tc.server, func(r *http.Request) (*http.Response, error) {
				got = r
				return answer(r, http.StatusOK, ""), nil
			})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, tc.url, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Auth-Token", "token")
			before := req.Clone(t.Context())
			resp, err := proxy.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if diff := cmp.Diff(tc.want, got.URL.String()); diff != "" {
				t.Error(diff)
			}
			body, err := io.ReadAll(got.Body)
			if err != nil {
				t.Fatal(err)
			}
			seen := []string{got.Method, got.Host, got.Header.Get("X-Auth-Token"), got.Header.Get("Authorization"), string(body)}
			if diff := cmp.Diff([]string{"PUT", "", "token", "Bearer cluster", "body"}, seen); diff != "" {
				t.Error(diff)
			}
			if req.URL.String() != before.URL.String() || req.Host != before.Host || !cmp.Equal(req.Header, before.Header) {
				t.Errorf("the caller's request changed: %s %s %v", req.URL, req.Host, req.Header)
			}
			if resp.Request != req {
				t.Errorf("the answer is to %s", resp.Request.URL)
			}
		})
	}
}

func TestServiceProxy_Refuses(t *testing.T) {
	tests := map[string]struct{ url, header, want string }{
		"a public host":           {url: "https://nova.example.com/", want: `host "nova.example.com": only <service>.<namespace>.svc`},
		"an address":              {url: "http://192.0.2.1:8774/", want: `host "192.0.2.1"`},
		"an IPv6 address":         {url: "http://[2001:db8::1]/", want: `host "2001:db8::1"`},
		"a Service's short name":  {url: "http://nova-api.openstack/", want: `host "nova-api.openstack"`},
		"a pod of a Service":      {url: "http://pod-0.nova-api.openstack.svc/", want: `host "pod-0.nova-api.openstack.svc"`},
		"another domain":          {url: "http://nova-api.openstack.svc.example.com/", want: `host "nova-api.openstack.svc.example.com"`},
		"a look-alike":            {url: "http://nova-api.openstack.svcx.cluster.local/", want: `host "nova-api.openstack.svcx.cluster.local"`},
		"a dot at the end":        {url: "http://nova-api.openstack.svc./", want: `host "nova-api.openstack.svc."`},
		"an empty label":          {url: "http://.openstack.svc/", want: `host ".openstack.svc"`},
		"no host":                 {url: "http:///v2.1", want: `host ""`},
		"another scheme":          {url: "ftp://nova-api.openstack.svc/", want: `scheme "ftp" of host "nova-api.openstack.svc"`},
		"another scheme, a port":  {url: "ftp://nova-api.openstack.svc:21/", want: `scheme "ftp" of host "nova-api.openstack.svc"`},
		"port 0":                  {url: "http://nova-api.openstack.svc:0/", want: `port "0" of host`},
		"a port that is too high": {url: "http://nova-api.openstack.svc:65536/", want: `port "65536" of host`},
		"a path that climbs":      {url: "http://nova-api.openstack.svc/../../../secrets", want: "the path must have no . or .. in it"},
		"a path that climbs, escaped": {
			url: "http://nova-api.openstack.svc/a%2F%2e%2E%5c..", want: "the path must have no . or .. in it",
		},
		"a credential of its own": {
			url: "http://nova-api.openstack.svc/", header: "authorization", want: "the header Authorization is for the API server; use one of the Service's own, like X-Auth-Token",
		},
		"another identity": {url: "http://nova-api.openstack.svc/", header: "impersonate-user", want: "the header Impersonate-User is for the API server"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			proxy := proxyTo(t, "https://edge:6443", func(r *http.Request) (*http.Response, error) {
				t.Errorf("sent to %s", r.URL)
				return answer(r, http.StatusOK, ""), nil
			})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tc.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			body := &closed{}
			req.Body = body
			if tc.header != "" {
				req.Header[tc.header] = []string{marked}
			}
			resp, err := proxy.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
				t.Fatal("not refused")
			}
			if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), marked) {
				t.Errorf("error %q, want %q", err, tc.want)
			}
			if !body.is {
				t.Error("the request's body stays open")
			}
		})
	}
}

// closed is an empty body that knows whether it was closed.
type closed struct{ is bool }

func (*closed) Read([]byte) (int, error) { return 0, io.EOF }

func (c *closed) Close() error {
	c.is = true
	return nil
}

// The API server rewrites the redirects of a Service within itself.
func TestServiceProxy_Redirects(t *testing.T) {
	const path = "/api/v1/namespaces/openstack/services/http:nova-api:8774/proxy"
	tests := map[string]struct{ location, want string }{
		"a path":                       {path + "/v2.1/?a=b%20c", "http://nova-api.openstack.svc:8774/v2.1/?a=b%20c"},
		"an escaped path":              {path + "/a%2Fb", "http://nova-api.openstack.svc:8774/a%2Fb"},
		"below the server's own path":  {"/base" + path + "/v2.1/", "http://nova-api.openstack.svc:8774/v2.1/"},
		"the whole address":            {"https://edge:6443/base" + path + "/v2.1/", "http://nova-api.openstack.svc:8774/v2.1/"},
		"to another Service's name":    {"http://keystone.openstack.svc:5000/", "http://keystone.openstack.svc:5000/"},
		"to another host":              {"https://evil.example.com" + path + "/", "https://evil.example.com" + path + "/"},
		"relative to the page":         {"v2.1/", "v2.1/"},
		"to another Service's path":    {strings.Replace(path, "nova-api", "keystone", 1) + "/", strings.Replace(path, "nova-api", "keystone", 1) + "/"},
		"no URL":                       {"http://%zz", "http://%zz"},
		"none":                         {"", ""},
		"to the API server's own path": {"https://edge:6443/api/v1/secrets", "https://edge:6443/api/v1/secrets"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			proxy := proxyTo(t, "https://edge:6443/base", func(r *http.Request) (*http.Response, error) {
				return answer(r, http.StatusFound, tc.location), nil
			})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://nova-api.openstack.svc:8774/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := proxy.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if diff := cmp.Diff(tc.want, resp.Header.Get("Location")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServiceProxy_FollowsNobodyAway(t *testing.T) {
	var asked []string
	proxy := proxyTo(t, "https://edge:6443", func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		return answer(r, http.StatusFound, "https://evil.example.com/"), nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://nova-api.openstack.svc:8774/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: proxy}).Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), `host "evil.example.com": only <service>.<namespace>.svc`) || len(asked) != 1 {
		t.Errorf("asked %v, error %v", asked, err)
	}
}
