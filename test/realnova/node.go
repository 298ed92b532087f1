package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// nodeName is the node the kubelet registers.
const nodeName = "real-1"

// pauseImage holds a pod's namespaces open; containerd is told its name.
const pauseImage = "realnova.local/pause:1"

// node is a kubelet with containerd and a network for its pods.
type node struct {
	dir, tools          string
	containerd, kubelet *daemon
}

const containerdConfig = `version = 2
root = "%[1]s/containerd/root"
state = "%[1]s/containerd/state"
[grpc]
  address = "%[1]s/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "%[2]s/usr/sbin/runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[2]s/usr/lib/cni"
    conf_dir = "%[1]s/cni"
`

const cniConfig = `{
  "cniVersion": "0.4.0", "name": "pods",
  "plugins": [{
    "type": "bridge", "bridge": "pods0", "isDefaultGateway": true, "ipMasq": false,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + podNetwork + `"}]], "dataDir": "%s/cni-addresses"}
  }]
}
`

// The kubelet's cgroup manager is the kernel's files, and pods are not sorted into
// classes: a machine of a test has no systemd, and limits stand on containers anyway.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: ` + hostAddress + `
healthzBindAddress: 127.0.0.1
healthzPort: 10248
containerRuntimeEndpoint: unix://%[1]s/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupsPerQOS: false
failCgroupV1: false
enforceNodeAllocatable: []
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
clusterDNS: [` + dnsAddress + `]
clusterDomain: ` + clusterDomain + `
resolvConf: /etc/resolv.conf
podLogsDir: %[1]s/pods
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, nodefs.inodesFree: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
failSwapOn: false
makeIPTablesUtilChains: false
registerWithTaints: []
`

// startNode starts containerd, loads the images, and starts the kubelet.
func startNode(ctx context.Context, box sandbox, kubeconfig string, images []image) (*node, error) {
	ctx, cancel := within(ctx, 2*time.Minute)
	defer cancel()
	n := &node{dir: box.Dir, tools: box.Assets.Tools}
	files := map[string]string{
		"containerd.toml":      fmt.Sprintf(containerdConfig, n.dir, n.tools),
		"cni/10-pods.conflist": fmt.Sprintf(cniConfig, n.dir),
		"kubelet.yaml":         fmt.Sprintf(kubeletConfig, n.dir),
	}
	for name, text := range files {
		path := filepath.Join(n.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return nil, err
		}
	}
	env := append(os.Environ(),
		"PATH="+filepath.Join(n.tools, "usr/bin")+":"+filepath.Join(n.tools, "usr/sbin")+":/usr/sbin:/usr/bin:/sbin:/bin",
		"LD_LIBRARY_PATH="+filepath.Join(n.tools, "usr/lib/x86_64-linux-gnu"))
	n.containerd = &daemon{
		name: "containerd", env: env, log: logFile(n.dir, "containerd"),
		args: []string{filepath.Join(n.tools, "usr/bin/containerd"), "--config", filepath.Join(n.dir, "containerd.toml")},
	}
	if err := n.containerd.start(); err != nil {
		return nil, err
	}
	if err := n.containerd.await(ctx, func(ctx context.Context) error {
		_, err := n.ctr(ctx, "version")
		return err
	}); err != nil {
		return nil, err
	}
	for _, i := range images {
		if err := n.load(ctx, i); err != nil {
			return nil, err
		}
	}
	n.kubelet = &daemon{
		name: "kubelet", env: env, log: logFile(n.dir, "kubelet"),
		args: []string{
			box.Assets.Kubelet, "--config=" + filepath.Join(n.dir, "kubelet.yaml"), "--kubeconfig=" + kubeconfig,
			"--root-dir=" + filepath.Join(n.dir, "kubelet"), "--cert-dir=" + filepath.Join(n.dir, "kubelet-certs"),
			"--hostname-override=" + nodeName, "--node-ip=" + hostAddress,
			"--node-labels=devcluster.c5c3.io/kubelet=true,topology.kubernetes.io/zone=zone-a",
		},
	}
	if err := n.kubelet.start(); err != nil {
		return nil, err
	}
	return n, n.kubelet.await(ctx, healthy)
}

// healthy asks the kubelet how it is.
func healthy(ctx context.Context) error {
	return get(ctx, "http://127.0.0.1:10248/healthz")
}

// ctr runs containerd's own client.
func (n *node) ctr(ctx context.Context, args ...string) (string, error) {
	all := append([]string{"--address", filepath.Join(n.dir, "containerd/containerd.sock"), "--namespace", "k8s.io"}, args...)
	return output(ctx, n.dir, filepath.Join(n.tools, "usr/bin/ctr"), all...)
}

// stop ends the kubelet and every container. What is left goes with the namespaces; this
// spares the disk the writes of services that would otherwise be killed in the middle.
func (n *node) stop() {
	if n.kubelet != nil {
		n.kubelet.stop(syscall.SIGTERM, 10*time.Second)
	}
	if n.containerd == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if tasks, err := n.ctr(ctx, "tasks", "ls", "--quiet"); err == nil {
		for _, task := range strings.Fields(tasks) {
			_, _ = n.ctr(ctx, "tasks", "kill", "--signal", "SIGKILL", task)
		}
	}
	n.containerd.stop(syscall.SIGTERM, 10*time.Second)
}
