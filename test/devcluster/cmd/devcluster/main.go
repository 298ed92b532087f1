// Command devcluster runs a real Kubernetes control plane as plain processes:
// etcd, API server, controller manager, scheduler, and kwok, which plays nodes
// and pods. It prints one line of JSON once everything is ready, stays until it
// is told to end, and leaves nothing behind.
//
// It links the standard library only; the binaries it starts are built from this
// module into a cache at the first start.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const usage = `Usage: devcluster [FLAGS]        start a cluster and stay until SIGINT or SIGTERM
       devcluster build          build the binaries only, print their folder
       devcluster build kubelet  build the kubelet, print its path

Flags:
`

// report is the line on standard output.
type report struct {
	Kubeconfig string         `json:"kubeconfig"`
	APIServer  string         `json:"apiServer"`
	CA         string         `json:"ca"` // PEM
	AdminToken string         `json:"adminToken"`
	Control    string         `json:"control"` // see control.go
	Dir        string         `json:"dir"`
	PIDs       map[string]int `json:"pids"`
}

func main() {
	ctx, release := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends devcluster at once, and the kernel its children.
	context.AfterFunc(ctx, release)
	if err := run(ctx, os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(2)
		}
		say("%v", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == "build" {
		a, err := ensureAssets(ctx)
		if err == nil {
			fmt.Println(a)
		}
		return err
	}
	if slices.Equal(args, []string{"build", "kubelet"}) {
		path, err := ensureKubelet(ctx)
		if err == nil {
			fmt.Println(path)
		}
		return err
	}
	var o options
	var crds string
	var withStdin bool
	flags := flag.NewFlagSet("devcluster", flag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "write the kubeconfig to this `file`, removed at the end")
	flags.IntVar(&o.nodes, "nodes", 3, "`number` of nodes, spread over three zones")
	flags.StringVar(&crds, "crds", "all", "definitions to install: a comma `list` of all, none, gateway, vpa, mariadb, external-secrets, rabbitmq, hypervisor, and files or folders, written with a slash")
	flags.Func("stages", "kwok Stage documents to add, a `file or folder`; may be repeated", func(path string) error {
		o.stages = append(o.stages, path)
		return nil
	})
	flags.BoolVar(&withStdin, "exit-with-stdin", false, "end when standard input is closed, so that the cluster ends with the process that started it")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", strings.Join(flags.Args(), " "))
	}
	var err error
	if o.crds, err = crdSets(crds); err != nil {
		return err
	}
	if o.kubeconfig != "" {
		if o.kubeconfig, err = filepath.Abs(o.kubeconfig); err != nil {
			return fmt.Errorf("find kubeconfig: %w", err)
		}
	}
	if withStdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	a, err := ensureAssets(ctx)
	if err != nil {
		return err
	}
	return serve(ctx, a, o)
}

// serve runs one cluster until ctx ends or a component dies.
func serve(ctx context.Context, a assets, o options) error {
	dir, remove, err := newDir()
	if err != nil {
		return err
	}
	defer remove()
	c, err := newCluster(ctx, dir, a, o)
	if err != nil {
		return err
	}
	defer c.stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before stop, which would wait for a control call under way
	control, err := c.serveControl(ctx)
	if err != nil {
		return err
	}
	line, err := json.Marshal(report{
		Kubeconfig: c.kubeconfig, APIServer: c.apiServer, CA: string(c.caPEM), AdminToken: c.token,
		Control: control, Dir: dir, PIDs: c.pids(),
	})
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	fmt.Println(string(line))
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.died:
		return err
	}
}

// say writes one line for people; standard output is for the report.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "devcluster: "+format+"\n", args...)
}
