package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
)

// turnstile lets the writes of an operator through one by one.
type turnstile struct {
	open atomic.Bool
	asks chan *ask
}

// ask is a write that waits for its turn.
type ask struct {
	what, body string
	// verdict is sent once: nil lets it through. done is closed when it was answered.
	verdict chan error
	done    chan struct{}
}

var errTurnedAway = errors.New("the test turned the write away")

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *turnstile) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") || s.open.Load() {
			return next.RoundTrip(r)
		}
		a := &ask{what: r.Method + " " + r.URL.Path, verdict: make(chan error, 1), done: make(chan struct{})}
		defer close(a.done)
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, fmt.Errorf("read request: %w", err)
			}
			a.body = string(body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		var verdict error
		select {
		case s.asks <- a:
			verdict = <-a.verdict
		case <-r.Context().Done():
			verdict = r.Context().Err()
		}
		if verdict != nil {
			return nil, verdict
		}
		return next.RoundTrip(r)
	})
}

// pass lets a write through and waits until it is answered.
func (a *ask) pass() {
	a.verdict <- nil
	<-a.done
}

// stage is a world with an operator of its own behind a turnstile.
type stage struct {
	*world
	*turnstile
	surroundings *surroundings.Surroundings
}

func newStage(t *testing.T, change ...func(*operator.Options)) *stage {
	t.Helper()
	c := cluster.Shared(t)
	w := newWorld(t, c)
	ctx, cancel := context.WithCancel(context.Background())
	played, err := surroundings.StartIn(ctx, c.Config, w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{world: w, turnstile: &turnstile{asks: make(chan *ask)}, surroundings: played}
	s.open.Store(true)
	config := rest.CopyConfig(c.Config)
	config.Wrap(s.wrap)
	options := operator.Options{
		MetricsAddress: "0", ProbeAddress: "0", SyncPeriod: 10 * time.Minute, Namespace: w.namespace,
		HTTP: played.Network.Client(), Reused: true,
	}
	for _, c := range change {
		c(&options)
	}
	mgr, err := operator.New(config, options)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(sync.OnceFunc(func() {
		s.release()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("manager: %v", err)
		}
	}))
	return s
}

// release lets everything through from now on.
func (s *stage) release() {
	s.open.Store(true)
	for {
		select {
		case a := <-s.asks:
			a.verdict <- nil
		case <-time.After(100 * time.Millisecond): // a write that has just seen it closed
			return
		}
	}
}

// next is the next write; nil once quiet reports that none is to come.
func (s *stage) next(quiet func() bool) *ask {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		select {
		case a := <-s.asks:
			return a
		case <-time.After(300 * time.Millisecond):
			if quiet != nil && quiet() {
				return nil
			}
		}
	}
	s.t.Fatal("the operator neither writes nor is done")
	return nil
}

// until steps through the writes up to one for which the condition holds, and returns it.
func (s *stage) until(holds func(*ask) bool) *ask {
	s.t.Helper()
	for {
		a := s.next(nil)
		if holds(a) {
			return a
		}
		a.pass()
	}
}

// fresh turns writes away until the operator decides about the newest spec, and returns
// its first such write: of the status of that pass.
func (s *stage) fresh(held *ask) *ask {
	s.t.Helper()
	mark := fmt.Sprintf(`"observedGeneration":%d`, s.nova().Generation)
	for a := held; ; a = s.next(nil) {
		if a == nil {
			continue
		}
		if strings.HasSuffix(a.what, "/novas/nova/status") && strings.Contains(a.body, mark) {
			return a
		}
		a.verdict <- errTurnedAway
		<-a.done
	}
}
