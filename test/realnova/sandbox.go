package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The command runs three times over: outside, as the first process of the sandbox's
// namespaces (init), and inside, where the work is done.
const (
	initArgument = "sandbox-init"
	insideFlag   = "inside"
)

// runPattern names the folder of a run. It holds every file the run makes, and a lock.
const runPattern = "nova-realnova-*"

// stopGrace is how long the inside may take to end in order.
const stopGrace = 90 * time.Second

// sandbox is what the inside is told.
type sandbox struct {
	// Root is the repository, Dir the folder of this run. The control group of the run has
	// the folder's name.
	Root, Dir string
	Assets    assets
}

// runOutside builds what is missing, runs the inside in namespaces of its own, and
// removes what a namespace doesn't take along: the folder and the control groups.
func runOutside(ctx context.Context, o options) error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("a kubelet and root file systems take root on Linux")
	}
	root, err := repository()
	if err != nil {
		return err
	}
	made, err := ensureAssets(ctx, root, o.refresh)
	if err != nil || o.buildRef {
		return err
	}
	sweep()
	dir, lock, err := newRun()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	box := sandbox{Root: root, Dir: dir, Assets: made}
	defer clean(dir)
	return box.run(ctx, o)
}

// newRun makes and locks the folder of a run. Writable layers of containers lie in it,
// which takes a real file system, so it isn't in memory.
func newRun() (string, *os.File, error) {
	dir, err := os.MkdirTemp("/var/tmp", runPattern)
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the run: %w", err)
	}
	lock, err := hold(dir)
	if err != nil {
		return "", nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return dir, lock, os.Chmod(dir, 0o755) // services under other users read from it
}

func hold(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// sweep removes what runs left that were killed before they could clean up.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join("/var/tmp", runPattern))
	for _, dir := range dirs {
		if lock, err := hold(dir); err == nil {
			clean(dir)
			_ = lock.Close()
		}
	}
}

// clean removes a run's control groups and folder. Its processes are gone: the kernel
// ended them with the process namespace, and the mounts went with the last of them.
func clean(dir string) {
	for _, h := range hierarchies() {
		var found []string
		_ = filepath.WalkDir(filepath.Join(h.path, filepath.Base(dir)), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				found = append(found, path)
			}
			return nil
		})
		slices.Reverse(found) // children first
		for _, path := range found {
			removeGroup(path)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		say("remove %s: %v", dir, err)
	}
}

// removeGroup removes one control group, once the kernel has taken its last process out.
func removeGroup(path string) {
	deadline := time.Now().Add(5 * time.Second)
	for {
		err := syscall.Rmdir(path)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			return
		}
		if time.Now().After(deadline) {
			say("remove %s: %v", path, err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// run starts the init of the sandbox and waits for its end.
func (b sandbox) run(ctx context.Context, o options) error {
	about, err := json.Marshal(b)
	if err != nil {
		return err
	}
	file := filepath.Join(b.Dir, "sandbox.json")
	if err := os.WriteFile(file, about, 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{initArgument, self, "-" + insideFlag + "=" + file, "-checks=" + o.only}
	if o.keep {
		args = append(args, "-keep")
	}
	// The kernel sends Pdeathsig when the thread that forked ends, so it must not.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(self, args...)
	cmd.Dir = b.Root
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(b.Dir, "tmp"), "KEEP=", "CHECKS=")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Setpgid:    true, // a ^C reaches only us
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	context.AfterFunc(ctx, func() {
		say("ending")
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(stopGrace):
			_ = cmd.Process.Kill()
		}
	})
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		return errReported
	} else if err != nil {
		return fmt.Errorf("run the sandbox: %w", err)
	}
	return nil
}

// runInit is the first process of the namespaces. It starts the inside, buries whatever
// is orphaned to it, passes signals on, and ends with the inside's code; with it goes
// every process of the namespace.
func runInit(args []string) int {
	signals := make(chan os.Signal, 8)
	notify(signals)
	// Namespaces are a thread's: what is forked must come from this one.
	runtime.LockOSThread()
	if err := prepare(filepath.Dir(strings.TrimPrefix(args[1], "-"+insideFlag+"="))); err != nil {
		say("prepare the sandbox: %v", err)
		return 1
	}
	child, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		say("start inside: %v", err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = syscall.Kill(child, s.(syscall.Signal))
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1
		case pid == child && status.Exited():
			return status.ExitStatus()
		case pid == child:
			say("the inside was killed: %v", status.Signal())
			return 1
		}
	}
}

// prepare makes the mounts of the sandbox: its own processes in /proc, and layers over
// the folders that containerd, the kubelet and CNI plugins write to by fixed names.
func prepare(dir string) error {
	none := uintptr(0)
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", none, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", none, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o777); err != nil {
		return err
	}
	for _, path := range []string{"/etc", "/opt", "/var/lib", "/var/log"} {
		layer := filepath.Join(dir, "layers", strings.ReplaceAll(path[1:], "/", "-"))
		if err := overlay(path, path, layer); err != nil {
			return err
		}
	}
	return errors.Join(confineGroups("/"+filepath.Base(dir)), syscall.Sethostname([]byte("realnova")))
}

// overlay mounts a folder with a writable layer on it at a place.
func overlay(lower, at, layer string) error {
	upper, work := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755), os.MkdirAll(at, 0o755)); err != nil {
		return err
	}
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)
	if err := syscall.Mount("overlay", at, "overlay", 0, data); err != nil {
		return fmt.Errorf("mount a layer over %s (a run needs a real file system below /var/tmp): %w", at, err)
	}
	return nil
}
