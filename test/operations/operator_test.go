package operations_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/webhookcert"
)

// lease is the one of leader election.
const lease = "nova.openstack.c5c3.io"

// operator is a running process of an installation.
type operator struct {
	api             *apiServer
	metrics, probes string
	log             string
	admission       *webhookcert.Server

	cmd    *exec.Cmd
	exited chan struct{}
	err    error
}

// start runs the manager as the installation's Deployment says, on ports of this
// machine, and ends it with the test.
func (i *installation) start(t *testing.T, c *cluster.Cluster, network *surroundings.Network, more ...string) *operator {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := &operator{
		api: newAPIServer(t, c.Config), metrics: freeAddress(t), probes: freeAddress(t),
		log: filepath.Join(dir, "log"), exited: make(chan struct{}),
	}
	args := append(i.args(t), "--metrics-bind-address="+o.metrics, "--health-probe-bind-address="+o.probes)
	if !slices.Contains(args, "--enable-webhooks=false") {
		if o.admission, err = webhookcert.NewServer(filepath.Join(dir, "certificate")); err != nil {
			t.Fatal(err)
		}
		args = append(args, o.admission.Flags()...)
	}
	log, err := os.Create(o.log)
	if err != nil {
		t.Fatal(err)
	}
	o.cmd = exec.Command(path, append(args, more...)...)
	for _, e := range i.manager.Spec.Template.Spec.Containers[0].Env {
		if e.Value != "" {
			o.cmd.Env = append(o.cmd.Env, e.Name+"="+e.Value)
		}
	}
	o.cmd.Env = append(append(o.cmd.Env, os.Environ()...), "KUBECONFIG="+i.kubeconfig(t, c, o.api), "POD_NAMESPACE="+i.namespace,
		"HTTP_PROXY="+network.URL.String(), "http_proxy=", "NO_PROXY=", "no_proxy=")
	o.cmd.Stdout, o.cmd.Stderr = log, log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		o.err = errors.Join(o.cmd.Wait(), log.Close())
		close(o.exited)
	}()
	t.Cleanup(func() {
		o.kill()
		if t.Failed() {
			t.Logf("log of the manager:\n%s", o.tail(t, 60))
		}
	})
	return o
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// kill ends the process as a crash would.
func (o *operator) kill() {
	_ = o.cmd.Process.Kill()
	<-o.exited
}

// stop ends it as the kubelet would, and returns how long it took and how it exited.
func (o *operator) stop(t *testing.T, grace time.Duration) (time.Duration, error) {
	t.Helper()
	start := time.Now()
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-o.exited:
		return time.Since(start), o.err
	case <-time.After(grace):
		t.Fatalf("still running %s after SIGTERM", grace)
		return 0, nil
	}
}

// running reports whether the process is there.
func (o *operator) running() bool {
	select {
	case <-o.exited:
		return false
	default:
		return true
	}
}

// get asks one of the endpoints.
func (o *operator) get(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// awaitReady waits for /readyz.
func (o *operator) awaitReady(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, "/readyz", func(ctx context.Context) (bool, error) {
		if !o.running() {
			t.Fatalf("the manager ended: %v", o.err)
		}
		code, body, err := o.get(ctx, "http://"+o.probes+"/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err == nil, err
	})
}

// register has the API server ask this process for admission.
func (o *operator) register(t *testing.T, c *cluster.Cluster, namespace string) {
	t.Helper()
	err := errors.Join(
		o.admission.AwaitServing(t.Context()),
		o.admission.Register(t.Context(), c.Config, webhookcert.Limits{}),
		o.admission.AwaitInForce(t.Context(), c.Config, namespace),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// scrape reads the metrics.
func (o *operator) scrape(t *testing.T) string {
	t.Helper()
	var text string
	cluster.Eventually(t, "/metrics", func(ctx context.Context) (bool, error) {
		code, body, err := o.get(ctx, "http://"+o.metrics+"/metrics")
		text = body
		return code == http.StatusOK, err
	})
	return text
}

// lines are the entries of the log; each must be a JSON object.
func (o *operator) lines(t *testing.T) []map[string]any {
	t.Helper()
	raw, err := os.ReadFile(o.log)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	scanner := bufio.NewScanner(strings.NewReader(string(raw)))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		entry := map[string]any{}
		if err := json.Unmarshal(scanner.Bytes(), &entry); err != nil {
			t.Errorf("a line of the log is no JSON object: %s", scanner.Text())
			continue
		}
		out = append(out, entry)
	}
	return out
}

// mustLog checks that the log is structured, complains of no permission and gives no
// credential away.
func (o *operator) mustLog(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(o.log)
	if err != nil {
		t.Fatal(err)
	}
	mustNotLeak(t, "the log", string(raw))
	if strings.Contains(strings.ToLower(string(raw)), "forbidden") {
		t.Error("the log speaks of something forbidden")
	}
	about := 0
	for _, entry := range o.lines(t) {
		if entry["level"] == nil || entry["ts"] == nil || entry["msg"] == nil {
			t.Errorf("an entry without level, time or message: %v", entry)
		}
		if nova, ok := entry["Nova"].(map[string]any); ok && nova["name"] == "nova" && entry["reconcileID"] != nil {
			about++
		}
	}
	if about == 0 {
		t.Error("no entry is about the Nova")
	}
}

// tail is the end of the log.
func (o *operator) tail(t *testing.T, n int) string {
	t.Helper()
	raw, err := os.ReadFile(o.log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// freeLease lets the next manager lead at once: one that was killed left its lease.
func (i *installation) freeLease(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: lease}}
	if err := client.IgnoreNotFound(clientFor(t, c).Delete(t.Context(), l)); err != nil {
		t.Fatal(err)
	}
}

// awaitLeader waits until a process holds the lease and returns its identity.
func (i *installation) awaitLeader(t *testing.T, c *cluster.Cluster, not string) string {
	t.Helper()
	holder := ""
	cl := clientFor(t, c)
	cluster.Eventually(t, "a leader", func(ctx context.Context) (bool, error) {
		l := &coordinationv1.Lease{}
		if err := cl.Get(ctx, client.ObjectKey{Namespace: i.namespace, Name: lease}, l); err != nil {
			return false, err
		}
		if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" || *l.Spec.HolderIdentity == not {
			return false, nil
		}
		holder = *l.Spec.HolderIdentity
		return true, nil
	})
	return holder
}
