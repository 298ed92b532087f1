package live_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/test/world"
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

func (s *turnstile) wrap(next http.RoundTripper) http.RoundTripper {
	return world.RoundTripper(func(r *http.Request) (*http.Response, error) {
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
	*novaWorld
	*turnstile
}

func newStage(t *testing.T, change ...func(*rest.Config, *operator.Options)) *stage {
	t.Helper()
	s := &stage{novaWorld: newWorld(t), turnstile: &turnstile{asks: make(chan *ask)}}
	s.open.Store(true)
	s.Play(s.Namespace)
	behind := func(c *rest.Config, _ *operator.Options) { c.Wrap(s.wrap) }
	s.Run(append([]func(*rest.Config, *operator.Options){behind}, change...)...)
	t.Cleanup(s.release) // before the operator stops: it waits for its writes
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
	s.T.Helper()
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
	s.T.Fatal("the operator neither writes nor is done")
	return nil
}

// until steps through the writes up to one for which the condition holds, and returns it.
func (s *stage) until(holds func(*ask) bool) *ask {
	s.T.Helper()
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
	s.T.Helper()
	mark := fmt.Sprintf(`"observedGeneration":%d`, s.MustLive().Generation)
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
