package openstack

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/render/openstack"
)

var nova = types.NamespacedName{Namespace: "openstack", Name: "nova"}

// bench is an asker with a server behind it and a clock of the test's own.
type bench struct {
	*Asker
	clock atomic.Int64
	// asked counts the requests that came; answers is what the next one gets.
	asked   atomic.Int32
	answers atomic.Pointer[http.HandlerFunc]
	woken   chan types.NamespacedName
	url     string
}

func newBench(t *testing.T, first http.HandlerFunc) *bench {
	t.Helper()
	b := &bench{woken: make(chan types.NamespacedName, 100)}
	b.answers.Store(&first)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked.Add(1)
		(*b.answers.Load())(w, r)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	b.clock.Store(1000)
	b.Asker = NewAsker(func() time.Time { return time.Unix(b.clock.Load(), 0) }, func(name types.NamespacedName) { b.woken <- name })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) question(maxAge, timeout time.Duration) openstack.Question {
	return openstack.Question{Request: openstack.Request{Method: http.MethodGet, URL: b.url}, MaxAge: maxAge, Timeout: timeout}
}

// newest asks for the newest answer as a pass does.
func (b *bench) newest(q openstack.Question) (openstack.Answer, bool) {
	return b.Newest(nova, "uid", http.DefaultClient, q)
}

// wakes waits until the Nova is woken.
func (b *bench) wakes(t *testing.T) {
	t.Helper()
	select {
	case name := <-b.woken:
		if name != nova {
			t.Fatalf("%s is woken", name)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nobody is woken")
	}
}

// idle waits until nothing is asked any more.
func (b *bench) idle(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	go func() { b.asking.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a request does not end")
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// hangs answers when the client has gone.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestAsker_AnswersFromMemoryAndWakesForNews(t *testing.T) {
	b := newBench(t, status(http.StatusOK))
	q := b.question(30*time.Second, time.Second)
	if _, ok := b.newest(q); ok {
		t.Fatal("an answer before anything was asked")
	}
	b.wakes(t)
	if a, ok := b.newest(q); !ok || !a.OK() {
		t.Fatalf("%+v, %v", a, ok)
	}
	b.clock.Add(29)
	b.newest(q)
	b.idle(t)
	if n := b.asked.Load(); n != 1 {
		t.Errorf("%d requests while the answer is fresh", n)
	}
	// The same answer again is no news.
	b.clock.Add(1)
	if a, ok := b.newest(q); !ok || !a.OK() {
		t.Errorf("the old answer is lost: %+v, %v", a, ok)
	}
	b.idle(t)
	if n := b.asked.Load(); n != 2 || len(b.woken) != 0 {
		t.Errorf("%d requests, woken %d times", n, len(b.woken))
	}
	b.answers.Store(new(status(http.StatusBadGateway)))
	b.clock.Add(30)
	b.newest(q)
	b.wakes(t)
	if a, ok := b.newest(q); !ok || a.Code != http.StatusBadGateway {
		t.Errorf("%+v, %v", a, ok)
	}
}

// Who hangs holds nobody up, and is left alone for a while.
func TestAsker_LeavesASilentServiceAlone(t *testing.T) {
	b := newBench(t, hangs)
	q := b.question(10*time.Second, 50*time.Millisecond)
	start := time.Now()
	for range 100 {
		b.newest(q)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("asking took %s", took)
	}
	b.wakes(t)
	if a, ok := b.newest(q); !ok || a.Class != openstack.ClassTimeout {
		t.Fatalf("%+v, %v", a, ok)
	}
	b.clock.Add(29)
	b.newest(q)
	b.newest(openstack.Question{Request: openstack.Request{Method: http.MethodGet, URL: b.url + "/other"}, Timeout: time.Second})
	b.idle(t)
	if n := b.asked.Load(); n != 1 {
		t.Errorf("%d requests to a service that is silent", n)
	}
	b.answers.Store(new(status(http.StatusOK)))
	b.clock.Add(1)
	b.newest(q)
	b.wakes(t)
	if a, _ := b.newest(q); !a.OK() {
		t.Errorf("%+v", a)
	}
}

// An answer is about one incarnation of a Nova, and goes with it.
func TestAsker_ForgetsWhoIsGone(t *testing.T) {
	b := newBench(t, status(http.StatusOK))
	q := b.question(time.Hour, time.Second)
	b.newest(q)
	b.wakes(t)
	if _, ok := b.Newest(nova, "another", http.DefaultClient, q); ok {
		t.Error("another incarnation gets the answer of the first")
	}
	b.wakes(t)
	b.Forget(nova)
	if _, ok := b.Newest(nova, "another", http.DefaultClient, q); ok {
		t.Error("the answer outlives the Nova")
	}
}

func TestSend_TellsFailuresApart(t *testing.T) {
	gone := httptest.NewServer(status(http.StatusOK))
	gone.Close()
	slow := httptest.NewServer(http.HandlerFunc(hangs))
	defer slow.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}))
	defer cut.Close()
	for name, tc := range map[string]struct {
		url  string
		want openstack.Class
	}{
		"nothing listens":         {gone.URL, openstack.ClassRefused},
		"no such host":            {"http://nova.invalid/", openstack.ClassUnresolved},
		"no answer in time":       {slow.URL, openstack.ClassTimeout},
		"the connection is cut":   {cut.URL, openstack.ClassOther},
		"an address that is none": {"http://[", openstack.ClassOther},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			a := send(ctx, http.DefaultClient, openstack.Request{Method: http.MethodGet, URL: tc.url})
			if a.Class != tc.want || a.Error == "" || a.Code != 0 {
				t.Errorf("%+v", a)
			}
		})
	}
}
