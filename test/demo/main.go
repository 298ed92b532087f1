// Command demo brings a Nova from an empty cluster to Ready and shows how: it builds
// the operator, starts a real control plane with simulated nodes, installs the
// definitions and the permissions, runs the manager as a process under them with its
// webhooks registered, plays the surroundings, applies a fixture, and prints each
// condition as it turns.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/world"
)

// managerLog is where the manager's log goes.
const managerLog = "bin/demo-manager.log"

// readyLimit bounds the way to Ready on a slow machine.
const readyLimit = 3 * time.Minute

func main() {
	// A set of its own: a library of the operator has a flag kubeconfig in the common one.
	flags := flag.NewFlagSet("demo", flag.ExitOnError)
	once := flags.Bool("once", os.Getenv("ONCE") != "", "exit when the Nova is Ready")
	fixture := flags.String("f", "fixtures/nova/minimal/nova.yaml", "the Nova to apply")
	kubeconfig := flags.String("kubeconfig", filepath.Join("bin", "demo.kubeconfig"), "where to write the admin's kubeconfig")
	_ = flags.Parse(os.Args[1:]) // exits by itself
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *fixture, *kubeconfig, *once); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// clock prints steps with the time since the start.
type clock struct{ start time.Time }

func (c clock) say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(c.start).Seconds(), fmt.Sprintf(format, args...))
}

func run(ctx context.Context, fixture, kubeconfig string, once bool) error {
	c := clock{start: time.Now()}
	c.say("building bin/nova-operator")
	binary, err := process.Build(ctx, ".")
	if err != nil {
		return err
	}

	c.say("starting a control plane with three nodes")
	control, err := cluster.Start(ctx, cluster.Options{Nodes: 3, CRDs: world.Definitions(".")})
	if err != nil {
		return err
	}
	defer func() { _ = control.Stop() }()
	if err := copyFile(control.Kubeconfig, kubeconfig); err != nil {
		return err
	}

	c.say("playing the surroundings: MariaDB, secret store, RabbitMQ, Gateway, network")
	played, err := surroundings.Start(ctx, control.Config)
	if err != nil {
		return err
	}
	scene, err := newScene(control.Config, fixture)
	if err != nil {
		return err
	}
	c.say("installing the permissions, starting the manager under them, registering its webhooks")
	if err := process.InstallRole(ctx, control.Config, scene.client, "."); err != nil {
		return err
	}
	operator, err := process.Start(ctx, process.Options{
		Binary: binary, Config: control.Config, Network: played.Network, Log: managerLog, Dir: control.Dir, Webhooks: true,
		Args: []string{"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0"},
	})
	if err != nil {
		return err
	}
	defer func() { _ = operator.Stop() }()

	c.say("applying %s", fixture)
	if err := scene.apply(ctx); err != nil {
		return err
	}
	if err := scene.follow(ctx, c, readyLimit); err != nil {
		return err
	}
	scene.table(ctx, os.Stdout)
	fmt.Printf("\nLook around with: kubectl --kubeconfig %s -n %s get novas,deployments,jobs,secrets,configmaps\n", kubeconfig, scene.nova.Namespace)
	if once {
		return nil
	}
	fmt.Println("Everything stays up until ^C.")
	<-ctx.Done()
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, bufio.NewReader(in))
	return errors.Join(err, out.Close())
}

// cut shortens a line for the table.
func cut(s string, width int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) <= width {
		return s
	}
	return s[:width-1] + "…"
}
