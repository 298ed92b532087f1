package operations_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/test/surroundings"
)

// access is one thing a role allows.
type access struct{ group, resource, verb string }

func (a access) String() string {
	resource := a.resource
	if a.group != "" {
		resource += "." + a.group
	}
	return a.verb + " " + resource
}

// apiServer is the way of one operator to the API server. It notes every request, and
// can hold some up.
type apiServer struct {
	URL string
	CA  []byte

	mu        sync.Mutex
	asked     map[access]map[string]bool
	forbidden []string
	delay     func(*request.RequestInfo) time.Duration
	held      int
	// network answers for the service proxy, whose pods are simulated; nil asks the server.
	network *surroundings.Network
}

var parse = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// newAPIServer stands before the API server until the test ends.
func newAPIServer(t *testing.T, config *rest.Config) *apiServer {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	s := &apiServer{asked: map[access]map[string]bool{}}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
		FlushInterval: -1, // watches
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusForbidden {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.forbidden = append(s.forbidden, r.Request.Method+" "+r.Request.URL.Path)
			}
			return nil
		},
		// A client that goes away is no news.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := parse.NewRequestInfo(r); err == nil && info.IsResourceRequest {
			select {
			case <-time.After(s.note(info)):
			case <-r.Context().Done():
				return
			}
			if s.network != nil && info.Resource == "services" && info.Subresource == "proxy" {
				s.serviceProxy(w, r, config, info)
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	// A client that is killed breaks handshakes off.
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL
	s.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return s
}

// note remembers a request and says how long to hold it up.
func (s *apiServer) note(info *request.RequestInfo) time.Duration {
	a := access{info.APIGroup, info.Resource, info.Verb}
	if info.Subresource != "" {
		a.resource += "/" + info.Subresource
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[a] == nil {
		s.asked[a] = map[string]bool{}
	}
	s.asked[a][info.Namespace] = true
	if s.delay == nil {
		return 0
	}
	held := s.delay(info)
	if held > 0 {
		s.held++
	}
	return held
}

// serviceProxy answers as the API server does where pods are real: it asks whether the
// caller may, then the Service.
func (s *apiServer) serviceProxy(w http.ResponseWriter, r *http.Request, config *rest.Config, info *request.RequestInfo) {
	as := rest.AnonymousClientConfig(config)
	as.BearerToken = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	caller, err := kubernetes.NewForConfig(as)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	review, err := caller.AuthorizationV1().SelfSubjectAccessReviews().Create(r.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: info.Namespace, Verb: info.Verb, Resource: info.Resource, Subresource: info.Subresource, Name: info.Name,
		}},
	}, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		s.mu.Lock()
		s.forbidden = append(s.forbidden, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		http.Error(w, fmt.Sprint("forbidden: ", err), http.StatusForbidden)
		return
	}
	// scheme:name:port, as in the path.
	part := strings.Split(info.Name, ":")
	if len(part) != 3 {
		http.Error(w, "no Service is called "+info.Name, http.StatusBadRequest)
		return
	}
	out := r.Clone(r.Context())
	out.URL = &url.URL{Scheme: part[0], Host: part[1] + "." + info.Namespace + ".svc.cluster.local:" + part[2], Path: "/"}
	s.network.ServeHTTP(w, out)
}

// holding reports whether a request has been held up.
func (s *apiServer) holding(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held > 0, nil
}

// slow holds requests up; nil lets them pass again.
func (s *apiServer) slow(delay func(*request.RequestInfo) time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = delay
}

// used lists what was asked for, with the namespaces it was asked for in.
func (s *apiServer) used() map[access][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := map[access][]string{}
	for a, namespaces := range s.asked {
		used[a] = slices.Sorted(maps.Keys(namespaces))
	}
	return used
}

// mustAllow fails the test for requests that a role did not allow.
func (s *apiServer) mustAllow(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.forbidden {
		t.Error(fmt.Sprint("forbidden: ", request))
	}
}
