package apply

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/render"
)

// benchObjects is the size of every benchmarked set: 200 ConfigMaps, 100 Secrets,
// 100 Services, 100 Deployments.
const benchObjects = 500

var benchKinds = []schemaGVK{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
}

// contender applies a set; the three are compared in one run.
type contender interface {
	// apply brings the objects to the cluster and returns how many it calls changed.
	apply(ctx context.Context, objects []render.Object) (int, error)
}

// BenchmarkApply compares this package (ours), fluxcd/pkg/ssa ApplyAll (flux) and one
// Apply patch per object (raw) on a real API server. Per run it reports the requests
// that left the client and those the API server counted (verbs APPLY and GET on the
// four kinds). All work eight objects at a time, where they can.
//
//	go test ./apply -run '^$' -bench Apply -benchtime 5x
func BenchmarkApply(b *testing.B) {
	for _, who := range []string{"ours", "flux", "raw"} {
		b.Run(who+"/new", func(b *testing.B) {
			b.ReportAllocs()
			m := meter{}
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				e := newBench(b)
				c, objects := e.contender(b, who, &m), e.objects("1")
				m.start(e)
				b.StartTimer()
				e.must(c, objects, benchObjects)
				b.StopTimer()
				m.stop(e)
				b.StartTimer()
			}
			m.report(b)
		})
		b.Run(who+"/unchanged", func(b *testing.B) {
			b.ReportAllocs()
			m := meter{}
			e := newBench(b)
			c, objects := e.contender(b, who, &m), e.objects("1")
			e.settle(c, objects)
			m.start(e)
			for b.Loop() {
				e.must(c, objects, 0)
			}
			m.stop(e)
			m.report(b)
		})
		b.Run(who+"/one changed", func(b *testing.B) {
			b.ReportAllocs()
			m := meter{}
			e := newBench(b)
			c, objects := e.contender(b, who, &m), e.objects("1")
			e.settle(c, objects)
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				objects[7] = e.objects(strconv.Itoa(i + 2))[7]
				m.start(e)
				b.StartTimer()
				e.must(c, objects, 1)
				b.StopTimer()
				m.stop(e)
				b.StartTimer()
			}
			m.report(b)
		})
		if who != "ours" {
			continue // the others remember nothing: a restart is "unchanged"
		}
		b.Run(who+"/unchanged after a restart", func(b *testing.B) {
			b.ReportAllocs()
			m := meter{}
			e := newBench(b)
			objects := e.objects("1")
			e.settle(e.contender(b, who, &m), objects)
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				c := e.contender(b, who, &m)
				m.start(e)
				b.StartTimer()
				e.must(c, objects, 0)
				b.StopTimer()
				m.stop(e)
				b.StartTimer()
			}
			m.report(b)
		})
	}
}

// bench is one namespace with a synced cache over it.
type bench struct {
	*env
	reader client.Reader
}

func newBench(b *testing.B) *bench {
	b.Helper()
	e := &bench{env: newEnv(b)}
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	c, err := cache.New(e.config, cache.Options{DefaultNamespaces: map[string]cache.Config{e.ns: {}}})
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = c.Start(ctx) }()
	for _, kind := range benchKinds {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		if _, err := c.GetInformer(ctx, u); err != nil {
			b.Fatal(err)
		}
	}
	c.WaitForCacheSync(ctx)
	e.reader = c
	return e
}

func (e *bench) contender(b *testing.B, who string, m *meter) contender {
	b.Helper()
	config := rest.CopyConfig(e.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &tally{m: m, next: next} })
	c := newClient(b, config)
	switch who {
	case "ours":
		e.as(config)
		return ours{New(Options{Client: c, Reader: e.reader, OpenAPI: e.applier.schemas.source}), e.owner}
	case "flux":
		manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: render.FieldOwner, Group: "test.c5c3.io"})
		manager.SetConcurrency(defaultConcurrency)
		return flux{manager, e.owner}
	default:
		return raw{c, e.owner}
	}
}

type ours struct {
	applier *Applier
	owner   Owner
}

func (c ours) apply(ctx context.Context, objects []render.Object) (int, error) {
	r, err := c.applier.Apply(ctx, c.owner, render.Set{Desired: objects, Prunable: benchKinds})
	return r.Counts.Created + r.Counts.Updated, err
}

type flux struct {
	manager *ssa.ResourceManager
	owner   Owner
}

func (c flux) apply(ctx context.Context, objects []render.Object) (int, error) {
	payloads := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		payloads[i] = c.owner.stamp(o.Content, o.Policy).DeepCopy()
	}
	set, err := c.manager.ApplyAll(ctx, payloads, ssa.DefaultApplyOptions())
	if err != nil {
		return 0, err
	}
	changed := 0
	for _, entry := range set.Entries {
		if entry.Action != ssa.UnchangedAction {
			changed++
		}
	}
	return changed, nil
}

type raw struct {
	client client.Client
	owner  Owner
}

// apply cannot tell what it changed, so it answers -1.
func (c raw) apply(ctx context.Context, objects []render.Object) (int, error) {
	var failed atomic.Pointer[error]
	(&Applier{concurrency: defaultConcurrency}).each(len(objects), func(i int) {
		u := c.owner.stamp(objects[i].Content, objects[i].Policy)
		err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(render.FieldOwner), client.ForceOwnership)
		if err != nil {
			failed.Store(&err)
		}
	})
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return -1, nil
}

func (e *bench) must(c contender, objects []render.Object, changed int) {
	e.t.Helper()
	got, err := c.apply(e.t.Context(), objects)
	if err != nil {
		e.t.Fatal(err)
	}
	if got != changed && got != -1 {
		e.t.Fatalf("%d changed, want %d", got, changed)
	}
}

// settle applies until nothing changes any more and the cluster's controllers have
// written their status.
func (e *bench) settle(c contender, objects []render.Object) {
	e.t.Helper()
	quiet := 0
	for range 100 {
		n, err := c.apply(e.t.Context(), objects)
		if err != nil {
			e.t.Fatal(err)
		}
		if n <= 0 {
			quiet++
		}
		if quiet == 10 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	e.t.Fatal("not at rest")
}

func (e *bench) objects(version string) []render.Object {
	e.t.Helper()
	out := make([]render.Object, benchObjects)
	for i := range out {
		name := fmt.Sprintf("o%03d", i)
		var doc string
		switch i % 5 {
		case 0, 1:
			doc = `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {app: NAME}}, data: {nova.conf: "[DEFAULT]\nversion = VERSION\n", a: b, c: d}}`
		case 2:
			doc = `{apiVersion: v1, kind: Secret, metadata: {name: NAME, labels: {app: NAME}}, stringData: {connection: "mysql://VERSION"}}`
		case 3:
			doc = `{apiVersion: v1, kind: Service, metadata: {name: NAME, labels: {app: NAME, v: vVERSION}}, spec: {selector: {app: NAME}, ports: [{name: http, port: 8774, targetPort: http}]}}`
		case 4:
			doc = strings.ReplaceAll(depDoc, "nova:1", "nova:VERSION")
		}
		out[i] = e.obj(render.StageConfig, render.Policy{}, strings.NewReplacer("NAME", name, "VERSION", version).Replace(doc))
	}
	return out
}

// meter counts requests on both ends.
type meter struct {
	client atomic.Int64
	server int64

	mu            sync.Mutex
	before, wrote int64
	clientBefore  int64
}

func (m *meter) start(e *bench) { m.clientBefore, m.before = m.client.Load(), e.served(true) }

func (m *meter) stop(e *bench) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrote += m.client.Load() - m.clientBefore
	m.server += e.served(false) - m.before
}

func (m *meter) report(b *testing.B) {
	b.ReportMetric(float64(m.wrote)/float64(b.N), "requests/op")
	b.ReportMetric(float64(m.server)/float64(b.N), "served/op")
}

// tally counts what leaves the client for an object.
type tally struct {
	m    *meter
	next http.RoundTripper
}

func (c *tally) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.Contains(req.URL.Path, "/namespaces/") {
		c.m.client.Add(1)
	}
	return c.next.RoundTrip(req)
}

var servedLine = regexp.MustCompile(`^apiserver_request_total\{.*resource="(configmaps|secrets|services|deployments)".*subresource="".*verb="(APPLY|GET)".*\} (\S+)$`)

// served reads the API server's own count. Before a measurement it waits until the
// controllers of the cluster have stopped asking.
func (e *bench) served(settle bool) int64 {
	e.t.Helper()
	last := int64(-1)
	for {
		n := e.metric()
		if !settle || n == last {
			return n
		}
		last = n
		time.Sleep(300 * time.Millisecond)
	}
}

func (e *bench) metric() int64 {
	e.t.Helper()
	hc, err := rest.HTTPClientFor(e.config)
	if err != nil {
		e.t.Fatal(err)
	}
	resp, err := hc.Get(e.config.Host + "/metrics")
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	var sum float64
	for line := range strings.Lines(string(raw)) {
		if match := servedLine.FindStringSubmatch(strings.TrimSpace(line)); match != nil {
			v, err := strconv.ParseFloat(match[3], 64)
			if err != nil {
				e.t.Fatal(err)
			}
			sum += v
		}
	}
	return int64(sum)
}
