package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// stopGrace is how long a component may take after SIGTERM before it is killed.
// Nothing of a test cluster is worth a longer wait.
const stopGrace = 5 * time.Second

// process is one component: how to start it, and the running instance.
type process struct {
	name string
	path string
	args []string
	env  []string
	log  string

	// died is told when an instance ends that nobody stopped.
	died func(error)

	cmd     *exec.Cmd
	exited  chan struct{} // closed once the instance is reaped
	stopped *atomic.Bool  // this instance was told to end
}

// starts is served by one goroutine that owns its thread for good. The kernel
// sends Pdeathsig when the *thread* that forked ends, and Go ends threads at will.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// start runs the component in a process group of its own, so that a ^C at the
// terminal reaches only devcluster, which then stops everything in order. The
// kernel kills the component when devcluster dies without having done so.
func (p *process) start() error {
	if p.running() {
		return nil
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", p.name, err)
	}
	defer log.Close()

	cmd := exec.Command(p.path, p.args...)
	// The heaps are small, and nearly all the work of a collector is for nothing.
	cmd.Env = append(append([]string{"GOGC=400"}, os.Environ()...), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	failed := make(chan error)
	starts <- func() { failed <- cmd.Start() }
	if err := <-failed; err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	exited, stopped := make(chan struct{}), new(atomic.Bool)
	go func() {
		_ = cmd.Wait() // the state is in cmd.ProcessState
		close(exited)
		if !stopped.Load() {
			p.died(fmt.Errorf("%s ended: %s\n%s", p.name, cmd.ProcessState, tail(p.log, 15)))
		}
	}()
	p.cmd, p.exited, p.stopped = cmd, exited, stopped
	return nil
}

func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func (p *process) pid() int {
	if !p.running() {
		return 0
	}
	return p.cmd.Process.Pid
}

// stop asks the component to end, kills it after grace if it hasn't, and returns
// once it is reaped.
func (p *process) stop(grace time.Duration) {
	if !p.running() {
		return
	}
	p.stopped.Store(true)
	group := -p.cmd.Process.Pid
	if grace > 0 {
		_ = syscall.Kill(group, syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.exited:
			return
		case <-timer.C:
		}
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-p.exited
}

// poll asks every 20 ms until ready says yes, fails, or ctx ends.
func poll(ctx context.Context, what string, ready func() (bool, error)) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := ready()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// tail returns the last lines of a file, indented, or a note that it can't.
func tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "  (no log: " + err.Error() + ")"
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	all = all[max(0, len(all)-lines):]
	return "  " + strings.Join(all, "\n  ")
}
