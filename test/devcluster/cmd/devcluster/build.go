package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// assetsEnv names a folder with ready assets, as `devcluster build` prints one;
// nothing is built then.
const assetsEnv = "DEVCLUSTER_ASSETS"

// kwokModule is built as a binary of its own and brings the default stages.
const kwokModule = "sigs.k8s.io/kwok"

// kwokStages are the documents of the kwok module that make up its "fast" life
// cycle; kwok has none built in.
var kwokStages = []string{
	"kustomize/stage/node/fast/node-initialize.yaml",
	"kustomize/stage/node/heartbeat/node-heartbeat.yaml",
	"kustomize/stage/pod/fast/pod-ready.yaml",
	"kustomize/stage/pod/fast/pod-complete.yaml",
	"kustomize/stage/pod/fast/pod-delete.yaml",
}

// assets is what a cluster is started from.
type assets string

func (a assets) kube() string   { return filepath.Join(string(a), "kube") }
func (a assets) kwok() string   { return filepath.Join(string(a), "kwok") }
func (a assets) stages() string { return filepath.Join(string(a), "kwok-stages.yaml") }

func (a assets) complete() bool {
	for _, path := range []string{a.kube(), a.kwok(), a.stages()} {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}

// sourceDir is the folder of this module, known from where this file was compiled.
func sourceDir() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("the folder of the sources is unknown: build devcluster without -trimpath")
	}
	return filepath.Join(filepath.Dir(file), "..", ".."), nil
}

// ensureAssets returns the assets and builds them first if the cache lacks them.
func ensureAssets(ctx context.Context) (assets, error) {
	if dir := os.Getenv(assetsEnv); dir != "" {
		if a := assets(dir); a.complete() {
			return a, nil
		}
		return "", fmt.Errorf("%s=%s lacks kube, kwok or kwok-stages.yaml", assetsEnv, dir)
	}
	dir, err := ensure(ctx, "kube", "", func(dir string) bool { return assets(dir).complete() }, buildAssets)
	return assets(dir), err
}

// ensureKubelet returns the kubelet's binary and builds it first if the cache lacks it.
// It is no part of the assets: only clusters with real nodes need it.
func ensureKubelet(ctx context.Context) (string, error) {
	complete := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "kubelet"))
		return err == nil
	}
	dir, err := ensure(ctx, "kubelet", "-kubelet", complete, func(ctx context.Context, src, dir string) error {
		say("building the kubelet: 3 minutes on two idle cores the first time, seconds afterwards")
		stamp, err := versionStamp(ctx, src)
		if err != nil {
			return err
		}
		return goBuild(ctx, src, filepath.Join(dir, "kubelet"), "./cmd/kubelet", stamp)
	})
	return filepath.Join(dir, "kubelet"), err
}

// ensure returns the folder in the cache that build fills from the sources in
// cmd/command, under a name that ends in suffix. Of two callers one builds and the
// other waits.
func ensure(ctx context.Context, command, suffix string, complete func(dir string) bool,
	build func(ctx context.Context, src, dir string) error,
) (string, error) {
	src, err := sourceDir()
	if err != nil {
		return "", err
	}
	key, err := cacheKey(ctx, src, command)
	if err != nil {
		return "", err
	}
	userCache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	cache := filepath.Join(userCache, "nova-operator-devcluster")
	target := filepath.Join(cache, key+suffix)
	if complete(target) {
		return target, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	unlock, err := lock(ctx, target+".lock")
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", target, err)
	}
	defer unlock()
	if complete(target) {
		return target, nil
	}
	return target, publish(ctx, src, target, build)
}

// cacheKey names a build by everything that goes into it: the modules, the
// sources of the command and the toolchain with its platform.
func cacheKey(ctx context.Context, src, command string) (string, error) {
	goEnv, err := goOutput(ctx, src, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	inputs, err := filepath.Glob(filepath.Join(src, "cmd", command, "*.go"))
	if err != nil {
		return "", fmt.Errorf("list sources: %w", err)
	}
	inputs = append(inputs, filepath.Join(src, "go.mod"), filepath.Join(src, "go.sum"))
	hash := sha256.New()
	fmt.Fprintln(hash, goEnv, kwokStages)
	for _, path := range inputs {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("hash sources: %w", err)
		}
		fmt.Fprintln(hash, filepath.Base(path), len(data))
		hash.Write(data)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// publish builds in a folder beside target and renames it at the end, so that a
// folder of that name is always whole.
func publish(ctx context.Context, src, target string, build func(ctx context.Context, src, dir string) error) error {
	began := time.Now()
	work, err := os.MkdirTemp(filepath.Dir(target), "building-*")
	if err != nil {
		return fmt.Errorf("make build folder: %w", err)
	}
	defer os.RemoveAll(work)
	if err := build(ctx, src, work); err != nil {
		return err
	}
	if err := os.Chmod(work, 0o755); err != nil { // MkdirTemp made it private
		return fmt.Errorf("open build folder: %w", err)
	}
	if err := os.Rename(work, target); err != nil {
		return fmt.Errorf("publish build: %w", err)
	}
	say("built into %s in %s", target, time.Since(began).Round(time.Second))
	return nil
}

// versionStamp are the linker flags that give Kubernetes commands their version.
func versionStamp(ctx context.Context, src string) (string, error) {
	version, err := goOutput(ctx, src, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	const pkg = "-X k8s.io/component-base/version."
	return fmt.Sprintf("%sgitVersion=%s %sgitMajor=%s %sgitMinor=%s", pkg, version, pkg, parts[0], pkg, parts[1]), nil
}

// buildAssets fills a folder with kube, kwok and kwok's stages.
func buildAssets(ctx context.Context, src, work string) error {
	made := assets(work)
	stamp, err := versionStamp(ctx, src)
	if err != nil {
		return err
	}
	say("building etcd and Kubernetes: about 4 minutes on two idle cores the first time, seconds afterwards")
	if err := goBuild(ctx, src, made.kube(), "./cmd/kube", stamp); err != nil {
		return err
	}
	say("building kwok: about 15 seconds the first time")
	if err := goBuild(ctx, src, made.kwok(), kwokModule+"/cmd/kwok", ""); err != nil {
		return err
	}
	dir, err := goOutput(ctx, src, "list", "-m", "-f", "{{.Dir}}", kwokModule)
	if err != nil {
		return err
	}
	var stages strings.Builder
	for _, name := range kwokStages {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("read stages of kwok: %w", err)
		}
		fmt.Fprintf(&stages, "---\n# %s\n%s\n", name, data)
	}
	if err := os.WriteFile(made.stages(), []byte(stages.String()), 0o644); err != nil {
		return fmt.Errorf("write stages of kwok: %w", err)
	}
	return nil
}

// goBuild compiles one binary. Every half minute it says that it is still at it,
// because a silent wait of minutes looks like a hang.
func goBuild(ctx context.Context, src, out, pkg, stamp string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-ldflags", "-s -w "+stamp, "-o", out, pkg)
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	progress, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w

	// With -v every package is a line as it is compiled; lines that aren't package
	// paths are what went wrong.
	var compiled atomic.Int64
	var messages strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(progress)
		for lines.Scan() {
			line := lines.Text()
			compiled.Add(1)
			if strings.ContainsAny(line, " :#") && !strings.HasPrefix(line, "go: downloading ") {
				fmt.Fprintln(&messages, line)
			}
		}
		_, _ = io.Copy(io.Discard, progress)
	}()
	began := time.Now()
	ticker := time.NewTicker(30 * time.Second)
	defer ticker.Stop()
	done := make(chan error, 1)
	go func() {
		done <- cmd.Run()
		w.Close()
	}()
	for {
		select {
		case err := <-done:
			<-read
			if err != nil {
				return fmt.Errorf("build %s: %w\n%s", pkg, err, messages.String())
			}
			return nil
		case <-ticker.C:
			say("  still building %s: %d packages so far, %s", filepath.Base(out), compiled.Load(),
				time.Since(began).Round(time.Second))
		}
	}
}

// goOutput runs the go command in the folder of this module.
func goOutput(ctx context.Context, src string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// lock takes the file lock at path, waiting for another holder.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	said := false
	err = poll(ctx, "the binaries are unlocked", func() (bool, error) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if !said {
				say("another process is building the cluster's binaries; waiting for it")
			}
			said = true
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}
