package nova

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

const (
	// healthTimeout bounds one probe.
	healthTimeout = 10 * time.Second
	// healthBody is how much of an answer is read, in bytes.
	healthBody = 512
)

// healthProbe asks the API of a Nova for its version document. A healthy answer is
// remembered for a while, so that a pass caused by something else costs no request.
type healthProbe struct {
	client *http.Client
	now    func() time.Time

	mu   sync.Mutex
	seen map[types.NamespacedName]healthEntry
}

type healthEntry struct {
	uid   types.UID
	url   string
	until time.Time
}

func newHealthProbe(client *http.Client, now func() time.Time) *healthProbe {
	return &healthProbe{client: client, now: now, seen: map[types.NamespacedName]healthEntry{}}
}

// ask returns the answer of the API, from memory while NovaAPIReady is True and the
// answer is fresh. It returns an error only when the pass itself is cancelled.
func (h *healthProbe) ask(ctx context.Context, n *v1alpha1.Nova) (*rendernova.Health, error) {
	key, url := types.NamespacedName{Namespace: n.Namespace, Name: n.Name}, rendernova.HealthURL(n)
	if meta.IsStatusConditionTrue(n.Status.Conditions, v1alpha1.ConditionNovaAPIReady) && h.fresh(key, n.UID, url) {
		return &rendernova.Health{Code: http.StatusOK}, nil
	}
	answer := h.get(ctx, url)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if answer.Code >= 200 && answer.Code < 300 {
		h.seen[key] = healthEntry{uid: n.UID, url: url, until: h.now().Add(rendernova.HealthTTL)}
	} else {
		delete(h.seen, key)
	}
	return answer, nil
}

func (h *healthProbe) fresh(key types.NamespacedName, uid types.UID, url string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.seen[key]
	return ok && e.uid == uid && e.url == url && h.now().Before(e.until)
}

// forget drops what is remembered about a Nova that is gone.
func (h *healthProbe) forget(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.seen, key)
}

func (h *healthProbe) get(ctx context.Context, url string) *rendernova.Health {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return failed(err)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, healthBody))
	if err != nil {
		return failed(err)
	}
	answer := &rendernova.Health{Code: resp.StatusCode}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		answer.Body = string(body)
	}
	return answer
}

// failed classifies a probe without an answer.
func failed(err error) *rendernova.Health {
	var dns *net.DNSError
	reason := v1alpha1.ReasonHealthCheckFailed
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		reason = v1alpha1.ReasonHealthCheckTimeout
	case errors.As(err, &dns):
		reason = v1alpha1.ReasonEndpointNotReady
	case strings.Contains(err.Error(), "connection refused"):
		reason = v1alpha1.ReasonConnectionFailed
	}
	return &rendernova.Health{Failure: reason, Error: err.Error()}
}
