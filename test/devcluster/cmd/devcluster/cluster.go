package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/c5c3/nova-operator/test/devcluster/stages"
)

// startTimeout bounds a start on a machine that is busy building something else.
const startTimeout = 2 * time.Minute

// options of one cluster; see the flags in main.go.
type options struct {
	kubeconfig string
	nodes      int
	crds       []string
	stages     []string
}

// cluster is a running control plane. order holds its processes in the order of
// their start; they are stopped in reverse.
type cluster struct {
	dir        string
	kubeconfig string
	written    bool // the kubeconfig is ours to remove
	apiServer  string
	caPEM      []byte
	token      string
	client     *client

	mu    sync.Mutex // one start or stop at a time
	order []*process
	died  chan error // the first component that ends without having been asked to
}

// kubeconfigMark is the first line of a kubeconfig that may be overwritten.
const kubeconfigMark = "# Written by devcluster; removed when the cluster ends."

// component names, as in the log files, the JSON line and the control paths.
const (
	etcd              = "etcd"
	apiserver         = "apiserver"
	controllerManager = "controller-manager"
	scheduler         = "scheduler"
	kwok              = "kwok"
)

// newCluster starts a cluster in dir and returns when nodes, definitions and the
// default ServiceAccount are there. On an error nothing is left running.
func newCluster(ctx context.Context, dir string, a assets, o options) (*cluster, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not there after %s", startTimeout))
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c := &cluster{dir: dir, kubeconfig: o.kubeconfig, died: make(chan error, 1)}
	report := func(err error) {
		fail(err) // a start must not wait for what can't come any more
		select {
		case c.died <- err:
		default: // keep the first; the ones after it are its consequences
		}
	}
	if err := c.start(ctx, a, o, report); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) start(ctx context.Context, a assets, o options, died func(error)) error {
	// Found before anything starts: a wrong name should not cost a start.
	docs, err := crdDocuments(ctx, o.crds)
	if err != nil {
		return err
	}
	config := filepath.Join(c.dir, "stages.yaml")
	if err := writeStages(config, a.stages(), o.stages); err != nil {
		return err
	}
	creds, err := newCredentials(c.dir)
	if err != nil {
		return err
	}
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	c.apiServer = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	c.caPEM, c.token = creds.caPEM, creds.token
	c.client = newClient(c.apiServer, creds.token, creds.caPEM)
	if c.kubeconfig == "" {
		c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	}
	if err := c.writeKubeconfig(); err != nil {
		return err
	}
	c.order = components(a, c.dir, c.kubeconfig, config, creds, ports)

	for _, p := range c.order {
		p.died = died
		if err := c.run(ctx, p); err != nil {
			return err
		}
		if p.name == apiserver {
			// Before the controller manager: its garbage collector looks for new kinds
			// only every 30 s, and would leave children of theirs that long.
			if err := c.client.installCRDs(ctx, docs); err != nil {
				return err
			}
			if err := c.client.createNodes(ctx, o.nodes); err != nil {
				return err
			}
		}
	}
	return poll(ctx, "nodes are ready", func() (bool, error) { return c.client.nodesReady(ctx) })
}

// components are the five processes of a cluster in the order of their start.
func components(a assets, dir, kubeconfig, stageFile string, creds *credentials, ports []int) []*process {
	etcdURL := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	component := func(name, path string, args ...string) *process {
		// kwok would read a configuration of the person's from HOME.
		return &process{name: name, path: path, args: args, env: []string{"HOME=" + dir},
			log: filepath.Join(dir, name+".log")}
	}
	return []*process{
		component(etcd, a.kube(), "etcd",
			"--data-dir="+filepath.Join(dir, "etcd"),
			"--listen-client-url="+etcdURL,
			fmt.Sprintf("--listen-peer-url=http://127.0.0.1:%d", ports[1])),
		component(apiserver, a.kube(), "kube-apiserver",
			"--etcd-servers="+etcdURL,
			"--bind-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", ports[2]),
			"--tls-cert-file="+creds.certFile,
			"--tls-private-key-file="+creds.keyFile,
			"--cert-dir="+dir,
			"--token-auth-file="+creds.tokenCSV,
			"--anonymous-auth=false",
			"--authorization-mode=RBAC",
			"--allow-privileged=true",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file="+creds.serviceAccountKey,
			"--service-account-signing-key-file="+creds.serviceAccountKey,
			"--service-cluster-ip-range=10.96.0.0/16",
			"--endpoint-reconciler-type=none",
			"--profiling=false"),
		component(controllerManager, a.kube(), "kube-controller-manager",
			"--kubeconfig="+kubeconfig,
			"--secure-port=0",
			"--leader-elect=false",
			"--use-service-account-credentials",
			"--service-account-private-key-file="+creds.serviceAccountKey,
			"--root-ca-file="+creds.caFile,
			// The defaults spare a shared API server; here they only make tests wait.
			"--kube-api-qps=200", "--kube-api-burst=400",
			"--node-monitor-period=1s",
			"--profiling=false"),
		component(scheduler, a.kube(), "kube-scheduler",
			"--kubeconfig="+kubeconfig,
			"--secure-port=0",
			"--leader-elect=false",
			"--profiling=false"),
		component(kwok, a.kwok(),
			"--kubeconfig="+kubeconfig,
			"--config="+stageFile,
			"--manage-nodes-with-label-selector="+goneLabel+"!=true,"+kubeletLabel+"!=true",
			"--node-ip=127.0.0.1"),
	}
}

// run starts one component and waits until it serves, where it says so.
func (c *cluster) run(ctx context.Context, p *process) error {
	if err := p.start(); err != nil {
		return err
	}
	switch p.name {
	case etcd:
		address := strings.TrimPrefix(p.args[2], "--listen-client-url=http://")
		return poll(ctx, "etcd accepts connections", func() (bool, error) {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
			}
			return err == nil, nil
		})
	case apiserver:
		return poll(ctx, "API server is ready", func() (bool, error) { return c.client.ready(ctx), nil })
	case controllerManager:
		const path = "/api/v1/namespaces/default/serviceaccounts/default"
		return poll(ctx, "controller manager makes ServiceAccounts", func() (bool, error) {
			return c.client.do(ctx, http.MethodGet, path, "", nil, nil) == nil, nil
		})
	}
	return nil
}

// stop ends all components, the last started first.
func (c *cluster) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.order) - 1; i >= 0; i-- {
		c.order[i].stop(stopGrace)
	}
	// The folder goes as a whole; a kubeconfig may lie elsewhere and names a dead
	// cluster from here on.
	if c.written {
		_ = os.Remove(c.kubeconfig)
	}
}

// component finds a process by name.
func (c *cluster) component(name string) *process {
	for _, p := range c.order {
		if p.name == name {
			return p
		}
	}
	return nil
}

// pids of the running components.
func (c *cluster) pids() map[string]int {
	pids := map[string]int{}
	for _, p := range c.order {
		pids[p.name] = p.pid()
	}
	return pids
}

func (c *cluster) writeKubeconfig() error {
	// The file goes with the cluster, so it must not be somebody's.
	old, err := os.ReadFile(c.kubeconfig)
	if err == nil && !strings.HasPrefix(string(old), kubeconfigMark) {
		return fmt.Errorf("write kubeconfig: %s exists and isn't from devcluster", c.kubeconfig)
	}
	config := fmt.Sprintf(kubeconfigMark+`
apiVersion: v1
kind: Config
clusters:
  - name: devcluster
    cluster:
      server: %s
      certificate-authority-data: %s
users:
  - name: admin
    user:
      token: %s
contexts:
  - name: devcluster
    context: {cluster: devcluster, user: admin}
current-context: devcluster
`, c.apiServer, base64.StdEncoding.EncodeToString(c.caPEM), c.token)
	if err := os.WriteFile(c.kubeconfig, []byte(config), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	c.written = true
	return nil
}

// writeStages joins kwok's stages, ours and the caller's into one file.
func writeStages(path, kwokStages string, extra []string) error {
	data, err := os.ReadFile(kwokStages)
	if err != nil {
		return fmt.Errorf("read stages: %w", err)
	}
	all := string(data) + stages.Documents()
	for _, source := range extra {
		files, err := yamlFiles(source)
		if err != nil {
			return fmt.Errorf("find stages: %w", err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("read stages: %w", err)
			}
			all += "\n---\n" + string(data)
		}
	}
	if err := os.WriteFile(path, []byte(all), 0o600); err != nil {
		return fmt.Errorf("write stages: %w", err)
	}
	return nil
}

// freePorts finds ports on loopback below the range from which the kernel takes
// the ports of outgoing connections: a port from there may be taken again between
// this check and its use, and while the API server is stopped.
func freePorts(count int) ([]int, error) {
	var ports []int
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find free port: %w", err)
		}
		defer l.Close() // all at the end, so that no port comes twice
		if ports = append(ports, port); len(ports) == count {
			return ports, nil
		}
	}
	return nil, errors.New("find free port: none between 20000 and 32000")
}
