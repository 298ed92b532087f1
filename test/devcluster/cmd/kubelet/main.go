// Command kubelet is the upstream kubelet with its upstream flags. It stands beside kube
// as a binary of its own, because only a cluster that runs real containers needs it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := cli.Run(app.NewKubeletCommand(ctx))
	stop()
	os.Exit(code)
}
