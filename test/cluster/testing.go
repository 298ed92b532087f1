package cluster

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// waitLimit bounds Eventually. A state that comes at all comes within seconds; the
// rest is for a machine that is busy with other packages.
const waitLimit = 3 * time.Minute

// Eventually asks again after firstPoll, and less and less often up to lastPoll: what
// is awaited for long is not held up further by the asking.
const (
	firstPoll = 20 * time.Millisecond
	lastPoll  = 250 * time.Millisecond
)

// shared is the cluster of this test binary, started by the first test that asks.
var shared struct {
	options *Options
	once    sync.Once
	cluster *Cluster
	err     error
}

// Main runs the tests of a package and ends the shared cluster after them. It is
// all of a TestMain and doesn't return.
func Main(m *testing.M, o Options) {
	shared.options = &o
	debug.SetGCPercent(400) // the processors are for the cluster
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// Shared returns the one cluster of this test binary, with the options given to
// Main. With -short the test is skipped.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	if shared.options == nil {
		t.Fatal("cluster.Shared needs a TestMain that calls cluster.Main")
	}
	shared.once.Do(func() {
		shared.cluster, shared.err = Start(context.Background(), *shared.options)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// StartFor starts a cluster that one test has to itself and ends with it.
func StartFor(t testing.TB, o Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// namespaces counts those made for each test name: -count=2 makes two.
var namespaces = struct {
	sync.Mutex
	made map[string]int
}{made: map[string]int{}}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace creates a namespace named after the test and deletes it at the end,
// without waiting until it is empty. The name is the same in every run.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	name := namespaceName(t.Name())
	client, err := corev1client.NewForConfig(c.Config)
	if err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := client.Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Logf("delete namespace %s: %v", name, err)
		}
	})
	return name
}

// namespaceName turns a test's name into one the API server accepts, of at most 50
// characters so that names made of it by appending stay within 63.
func namespaceName(test string) string {
	name := strings.ToLower(strings.TrimPrefix(test, "Test"))
	name = strings.Trim(notInName.ReplaceAllString(name, "-"), "-")
	name = strings.Trim(name[:min(len(name), 46)], "-")
	namespaces.Lock()
	defer namespaces.Unlock()
	namespaces.made[name]++
	return fmt.Sprintf("%s-%d", name, namespaces.made[name])
}

// Eventually polls until the condition holds and fails the test after waitLimit,
// with the last error or with what was awaited. An error is tried again: most are a
// server that isn't back yet.
func Eventually(t testing.TB, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for poll := firstPoll; ; poll = min(poll*5/4, lastPoll) {
		ok, err := condition(ctx)
		if ok && err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s for %s; last error: %v", waitLimit, what, err)
		case <-time.After(poll):
		}
	}
}
