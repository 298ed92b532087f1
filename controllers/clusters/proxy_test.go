package clusters_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/test/cluster"
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

func TestServiceProxy_OnARealAPIServer(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	namespace := c.Namespace(t)
	address := ownAddress(t)
	var authorization atomic.Value
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization.Store(r.Header.Get("Authorization"))
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Auth-Token"), body)
	}))
	service.Listener.Close()
	var err error
	if service.Listener, err = net.Listen("tcp", net.JoinHostPort(address, "0")); err != nil {
		t.Fatal(err)
	}
	service.Start()
	t.Cleanup(service.Close)
	exposeService(t, c.Config, namespace, address, service.Listener.Addr().(*net.TCPAddr).Port)

	proxy, err := clusters.ServiceProxy(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Client{Transport: proxy}
	base := "http://nova-api." + namespace + ".svc:8774"
	ask := func(web *http.Client, method, url, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Auth-Token", "token")
		resp, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(answer)
	}
	cluster.Eventually(t, "the Service's answer", func(context.Context) (bool, error) {
		code, body := ask(web, http.MethodGet, base+"/", "")
		if code == http.StatusOK {
			return true, nil
		}
		return false, fmt.Errorf("%d %s", code, body)
	})
	for name, tc := range map[string]struct{ method, url, body, want string }{
		"the root":            {"GET", base, "", "GET / token "},
		"path and query":      {"GET", base + "/v2.1/a%20b/?x=1%202&y", "", "GET /v2.1/a%20b/?x=1%202&y token "},
		"a body":              {"PUT", base + "/os-services/1", "disable", "PUT /os-services/1 token disable"},
		"a followed redirect": {"GET", base + "/old", "", "GET /new token "},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := ask(web, tc.method, tc.url, tc.body); got != tc.want {
				t.Errorf("the Service answers %q, want %q", got, tc.want)
			}
			if got := authorization.Load(); got != "" {
				t.Errorf("the Service sees Authorization %q", got)
			}
		})
	}
	t.Run("the API server's refusal stays readable", func(t *testing.T) {
		nobody := rest.CopyConfig(c.Config)
		nobody.Impersonate.UserName = "nobody"
		proxy, err := clusters.ServiceProxy(nobody)
		if err != nil {
			t.Fatal(err)
		}
		code, body := ask(&http.Client{Transport: proxy}, http.MethodPut, base+"/os-services/1", "")
		if want := `User \"nobody\" cannot update resource \"services/proxy\"`; code != http.StatusForbidden || !strings.Contains(body, want) {
			t.Errorf("%d %s, want %s", code, body, want)
		}
	})
}

// ownAddress is an address of this machine that the API server proxies to: it refuses
// loopback ones.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("no address but loopback, and the API server proxies to none of those")
	return ""
}

// exposeService makes a Service nova-api with port 8774 of one address. The API server
// proxies to addresses of pods only, so one that nobody runs gets it.
func exposeService(t *testing.T, config *rest.Config, namespace, address string, port int) {
	t.Helper()
	cl, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	named := metav1.ObjectMeta{Name: "nova-api", Namespace: namespace}
	pod := &corev1.Pod{
		ObjectMeta: named,
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nova-api", Image: "nova:2026.1"}}},
	}
	// Its service account comes a moment after the namespace.
	cluster.Eventually(t, "a pod", func(ctx context.Context) (bool, error) {
		err := cl.Create(ctx, pod)
		return err == nil, err
	})
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	if err := cl.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{
		&corev1.Service{ObjectMeta: named, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "api", Port: 8774}}}},
		// The API server reads these, not EndpointSlices.
		&corev1.Endpoints{ObjectMeta: named, Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // deprecated, and read all the same
			Addresses: []corev1.EndpointAddress{{IP: address, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod.Name}}},
			Ports:     []corev1.EndpointPort{{Name: "api", Port: int32(port)}}, //nolint:gosec // a port
		}}},
	} {
		if err := cl.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}
