package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// notify has the signals delivered that end a run.
func notify(signals chan<- os.Signal) {
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// daemon is a process that runs beside the pods: a service, containerd or the kubelet.
type daemon struct {
	name string
	args []string
	env  []string
	// root is the folder it is confined to; empty for none.
	root string
	log  string

	cmd    *exec.Cmd
	exited chan struct{}
}

// starts is served by one goroutine that keeps its thread: the kernel sends Pdeathsig
// when the thread ends that forked.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// start runs the daemon as the leader of a session of its own.
func (d *daemon) start() error {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", d.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(d.args[0], d.args[1:]...)
	cmd.Env = d.env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Chroot: d.root}
	if d.root != "" {
		cmd.Dir = "/"
	}
	failed := make(chan error)
	starts <- func() { failed <- cmd.Start() }
	if err := <-failed; err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state is in cmd.ProcessState
		close(exited)
	}()
	d.cmd, d.exited = cmd, exited
	return nil
}

// stop ends it with a signal, and with SIGKILL after grace.
func (d *daemon) stop(s syscall.Signal, grace time.Duration) {
	if d.cmd == nil {
		return
	}
	_ = syscall.Kill(-d.cmd.Process.Pid, s)
	select {
	case <-d.exited:
	case <-time.After(grace):
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		<-d.exited
	}
}

// await asks until ready says yes, and gives up when the daemon or ctx ends.
func (d *daemon) await(ctx context.Context, ready func(context.Context) error) error {
	var last error
	for {
		if last = ready(ctx); last == nil {
			return nil
		}
		select {
		case <-d.exited:
			return fmt.Errorf("%s ended: %s\n%s", d.name, d.cmd.ProcessState, d.tail(15))
		case <-ctx.Done():
			return fmt.Errorf("%s isn't ready: %w\n%s", d.name, errors.Join(context.Cause(ctx), last), d.tail(15))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (d *daemon) tail(lines int) string {
	out, _ := os.ReadFile(d.log)
	return "  " + strings.ReplaceAll(tail(out, lines), "\n", "\n  ")
}

// listening is ready once something accepts connections at the address.
func listening(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// within gives a start its time.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("not there after %s", limit))
}

func logFile(dir, name string) string { return filepath.Join(dir, "logs", name+".log") }
