// Package cluster starts a real control plane for a test, through the command in
// test/devcluster, and gives it back as a client configuration. It knows no kind of
// this project and links the smallest part of client-go.
//
// One cluster serves a whole test binary:
//
//	func TestMain(m *testing.M) { cluster.Main(m, cluster.Options{CRDs: cluster.AllCRDs}) }
//
//	func TestSomething(t *testing.T) {
//		c := cluster.Shared(t)
//		ns := c.Namespace(t)
//		...
//	}
//
// A test that breaks its cluster, or needs two, calls Start. The binaries are built
// into a cache at the first start, which takes minutes; `devcluster build` does it
// ahead of a test's time limit.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// AllCRDs installs every foreign definition the operator meets.
var AllCRDs = []string{"all"}

// Options of a cluster; the zero value is three nodes and no definitions.
type Options struct {
	// Nodes is their number, three when 0 and none when negative. They are called
	// node-1, node-2, ... and lie in zone-a, zone-b, zone-c in turn.
	Nodes int
	// CRDs are sets of foreign definitions (gateway, vpa, mariadb, external-secrets,
	// rabbitmq, hypervisor, or AllCRDs) and files or folders of own ones, written with
	// a slash. Installed here they are known to the garbage collector from the start;
	// it finds later ones only within 30 s.
	CRDs []string
	// Stages are files or folders of kwok Stage documents to add.
	Stages []string
}

// Cluster is a running control plane. Its methods may be called from several tests
// at once.
type Cluster struct {
	// Config is the admin's, in group system:masters and without client-side
	// throttling. Copy it before changing it.
	Config *rest.Config
	// Kubeconfig is a file for the same admin.
	Kubeconfig string
	// Dir holds the components' logs until Stop.
	Dir string
	// PIDs of the components as they were started.
	PIDs map[string]int

	control string
	cmd     *exec.Cmd
	stdin   io.Closer
	stop    func() error
}

// Start builds what is missing, starts a cluster and returns when it is ready for
// use. It ends with Stop or with this process, whichever comes first; ctx bounds
// the start only.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	binary, err := buildCommand(ctx)
	if err != nil {
		return nil, fmt.Errorf("build devcluster: %w", err)
	}
	// The running process keeps the file; nothing is left to remove at the end.
	defer os.RemoveAll(filepath.Dir(binary))

	cmd := exec.Command(binary, o.args()...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // closed by the kernel if this process dies
	if err != nil {
		return nil, fmt.Errorf("start devcluster: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start devcluster: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start devcluster: %w", err)
	}
	c := &Cluster{cmd: cmd, stdin: stdin}
	c.stop = sync.OnceValue(c.end)
	release := context.AfterFunc(ctx, func() { stdin.Close() })
	err = c.read(stdout)
	if !release() || err != nil {
		return nil, fmt.Errorf("start cluster: %w", errors.Join(context.Cause(ctx), err, c.Stop()))
	}
	return c, nil
}

func (o Options) args() []string {
	nodes := o.Nodes
	if nodes == 0 {
		nodes = 3
	}
	crds := "none"
	if len(o.CRDs) > 0 {
		crds = strings.Join(o.CRDs, ",")
	}
	args := []string{"--exit-with-stdin", "--nodes=" + strconv.Itoa(max(nodes, 0)), "--crds=" + crds}
	for _, s := range o.Stages {
		args = append(args, "--stages="+s)
	}
	return args
}

// buildCommand compiles the devcluster command into a folder of its own. The
// repository is found from the working folder: go test runs in the package's.
func buildCommand(ctx context.Context) (string, error) {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	source := filepath.Join(filepath.Dir(strings.TrimSpace(string(gomod))), "test", "devcluster")
	dir, err := os.MkdirTemp("", "devcluster-command-*")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "devcluster")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", source, "-o", binary, "./cmd/devcluster")
	// The flags of the test run, -race or -trimpath, are not for this build.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
}

// read takes the line devcluster prints once the cluster is ready.
func (c *Cluster) read(stdout io.Reader) error {
	var report struct {
		Kubeconfig, APIServer, CA, AdminToken, Control, Dir string
		PIDs                                                map[string]int
	}
	if err := json.NewDecoder(stdout).Decode(&report); err != nil {
		return fmt.Errorf("devcluster ended before the cluster was ready: %w", err)
	}
	c.Kubeconfig, c.Dir, c.PIDs, c.control = report.Kubeconfig, report.Dir, report.PIDs, report.Control
	c.Config = &rest.Config{
		Host:            report.APIServer,
		BearerToken:     report.AdminToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(report.CA)},
		QPS:             -1,
	}
	return nil
}

// Stop ends the cluster and returns when no process and no file of it is left. It
// may be called more than once.
func (c *Cluster) Stop() error { return c.stop() }

func (c *Cluster) end() error {
	c.stdin.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("stop cluster: %w", err)
	}
	return nil
}

// StopAPIServer kills the API server, as a crash would, and returns when it is gone.
func (c *Cluster) StopAPIServer(ctx context.Context) error { return c.call(ctx, "apiserver/stop") }

// StartAPIServer starts it again, at the same address, and returns when it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error { return c.call(ctx, "apiserver/start") }

// StopComponent kills etcd, controller-manager, scheduler or kwok.
func (c *Cluster) StopComponent(ctx context.Context, name string) error {
	return c.call(ctx, name+"/stop")
}

// StartComponent starts it again.
func (c *Cluster) StartComponent(ctx context.Context, name string) error {
	return c.call(ctx, name+"/start")
}

// NodeGone makes a node vanish as when its kubelet dies: it becomes Ready=Unknown
// and is tainted unreachable, its pods turn unready, and those that are deleted stay
// Terminating. It returns when the taint is there.
func (c *Cluster) NodeGone(ctx context.Context, node string) error {
	return c.call(ctx, "nodes/"+node+"/gone")
}

// NodeBack returns the node, and its pods to ready. It returns when the node takes
// pods again; the pods follow.
func (c *Cluster) NodeBack(ctx context.Context, node string) error {
	return c.call(ctx, "nodes/"+node+"/back")
}

func (c *Cluster) call(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.control+"/"+path, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, bytes.TrimSpace(body))
	}
	return nil
}
