package nova_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/test/world"
)

// losing makes the API server refuse the first requests of a kind as conflicts: those
// of the method whose path ends in suffix and whose body has the text.
func (w *novaWorld) losing(times int32, method, suffix, text string) func(*rest.Config, *operator.Options) {
	var left atomic.Int32
	left.Store(times)
	return func(c *rest.Config, _ *operator.Options) {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != method || !strings.HasSuffix(r.URL.Path, suffix) {
					return next.RoundTrip(r)
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, fmt.Errorf("read request: %w", err)
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if !strings.Contains(string(body), text) || left.Add(-1) < 0 {
					return next.RoundTrip(r)
				}
				answer := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`
				return &http.Response{
					StatusCode: http.StatusConflict, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
					Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)),
				}, nil
			})
		})
	}
}
