package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/c5c3/nova-operator/api/catalog"
)

//go:embed recipe
var recipe embed.FS

// role names what a tree is made for; recipe/<role>.sh makes it.
const (
	roleNova = "nova"
	roleBase = "base"
)

// The suites the trees come from. Suites move on, so a tree's release is never read off
// this list.
const (
	olderSuite = "forky"
	newerSuite = "sid"
)

// hostPackages are unpacked, never installed: they start, join and make containers.
var hostPackages = []string{"debootstrap", "containerd", "runc", "libseccomp2", "containernetworking-plugins"}

// assets is what a run is started from.
type assets struct {
	// Tools is the folder the host packages are unpacked in.
	Tools string
	// Kubelet and Operator are binaries.
	Kubelet, Operator string
	// Base is the tree of the services.
	Base tree
	// Older and Newer are the trees of Nova; they may be of one release.
	Older, Newer tree
}

// tree is a root file system.
type tree struct {
	Path, Suite string
	// Version is what nova-manage --version says, Release the OpenStack release of it;
	// both are empty for the services.
	Version, Release string
}

// ensureAssets builds what the cache lacks. A tree is found again by its recipe and
// suite and carries the versions of its packages in its name; refresh makes new ones.
func ensureAssets(ctx context.Context, root string, refresh bool) (assets, error) {
	var a assets
	userCache, err := os.UserCacheDir()
	if err != nil {
		return a, fmt.Errorf("find cache folder: %w", err)
	}
	cache := filepath.Join(userCache, "nova-operator-realnova")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return a, fmt.Errorf("make cache folder: %w", err)
	}
	lock, err := hold(cache)
	if err != nil {
		return a, fmt.Errorf("another run is building in %s: %w", cache, err)
	}
	defer func() { _ = lock.Close() }()

	say("building the control plane, the kubelet and the operator, where the cache lacks them")
	if _, err := output(ctx, root, "go", "run", "-C", "test/devcluster", "./cmd/devcluster", "build"); err != nil {
		return a, err
	}
	if a.Kubelet, err = output(ctx, root, "go", "run", "-C", "test/devcluster", "./cmd/devcluster", "build", "kubelet"); err != nil {
		return a, err
	}
	a.Operator = filepath.Join(root, "bin", "nova-operator")
	if _, err := output(ctx, root, "go", "build", "-o", a.Operator, "./cmd/nova-operator"); err != nil {
		return a, err
	}
	if a.Tools, err = ensureTools(ctx, cache); err != nil {
		return a, err
	}
	for _, want := range []struct {
		tree        *tree
		role, suite string
	}{{&a.Base, roleBase, newerSuite}, {&a.Older, roleNova, olderSuite}, {&a.Newer, roleNova, newerSuite}} {
		if *want.tree, err = ensureTree(ctx, cache, a.Tools, want.role, want.suite, refresh); err != nil {
			return a, err
		}
	}
	say("images: Nova %s of %s (%s) and %s of %s (%s)",
		a.Older.Version, a.Older.Release, a.Older.Suite, a.Newer.Version, a.Newer.Release, a.Newer.Suite)
	return a, nil
}

// ensureTools unpacks the host packages at the versions apt would install.
func ensureTools(ctx context.Context, cache string) (string, error) {
	policy, err := output(ctx, cache, "apt-cache", append([]string{"policy"}, hostPackages...)...)
	if err != nil {
		return "", err
	}
	var versions []string
	for line := range strings.Lines(policy) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok && version != "(none)" {
			versions = append(versions, version)
		}
	}
	if len(versions) != len(hostPackages) {
		return "", fmt.Errorf("apt doesn't know all of %s: run apt-get update", strings.Join(hostPackages, ", "))
	}
	target := filepath.Join(cache, "tools-"+digest([]byte(strings.Join(versions, " "))))
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	say("unpacking %s", strings.Join(hostPackages, ", "))
	return target, publish(target, func(work string) error {
		debs := filepath.Join(work, "debs")
		if err := os.MkdirAll(debs, 0o777); err != nil {
			return err
		}
		if _, err := output(ctx, debs, "apt-get", append([]string{"download"}, hostPackages...)...); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if _, err := output(ctx, work, "dpkg-deb", "-x", file, work); err != nil {
				return err
			}
		}
		return os.RemoveAll(debs)
	})
}

// ensureTree returns the newest tree of this recipe and suite, or makes one.
func ensureTree(ctx context.Context, cache, tools, role, suite string, refresh bool) (tree, error) {
	key, err := recipeKey(role)
	if err != nil {
		return tree{}, err
	}
	prefix := filepath.Join(cache, fmt.Sprintf("%s-%s-%s-", role, suite, key))
	found, err := filepath.Glob(prefix + "*")
	if err != nil {
		return tree{}, err
	}
	slices.SortFunc(found, func(a, b string) int { return modified(b).Compare(modified(a)) })
	for _, path := range found {
		if refresh {
			break
		}
		t, err := inspect(ctx, path, role, suite)
		if err == nil {
			return t, nil
		}
		say("%s is not whole: %v", path, err)
	}
	say("making the %s image from %s: about two minutes", role, suite)
	mirror, err := debianMirror(ctx, cache)
	if err != nil {
		return tree{}, err
	}
	work, err := os.MkdirTemp(cache, "making-*")
	if err != nil {
		return tree{}, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	made := filepath.Join(work, "tree")
	if err := debootstrap(ctx, work, made, tools, role, suite, mirror); err != nil {
		return tree{}, err
	}
	packages, err := packageList(ctx, made)
	if err != nil {
		return tree{}, err
	}
	target := prefix + digest([]byte(packages))
	if err := os.RemoveAll(target); err != nil {
		return tree{}, err
	}
	if err := os.Rename(made, target); err != nil {
		return tree{}, fmt.Errorf("publish %s: %w", target, err)
	}
	return inspect(ctx, target, role, suite)
}

// debootstrap runs the recipe in namespaces of its own.
func debootstrap(ctx context.Context, work, made, tools, role, suite, mirror string) error {
	scripts, err := fs.Sub(recipe, "recipe")
	if err != nil {
		return err
	}
	folder := filepath.Join(work, "recipe")
	if err := os.CopyFS(folder, scripts); err != nil {
		return fmt.Errorf("write the recipe: %w", err)
	}
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child",
		"sh", filepath.Join(folder, "build.sh"), role, suite, made, mirror)
	cmd.Env = append(os.Environ(),
		"PATH="+filepath.Join(tools, "usr/sbin")+":/usr/sbin:/usr/bin:/sbin:/bin",
		"DEBOOTSTRAP_DIR="+filepath.Join(tools, "usr/share/debootstrap"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the %s image from %s: %w\n%s", role, suite, errors.Join(err, context.Cause(ctx)), tail(out, 25))
	}
	return nil
}

// recipeKey names what goes into a tree of a role beside its packages.
func recipeKey(role string) (string, error) {
	names := []string{"recipe/build.sh", "recipe/" + role + ".sh"}
	if role == roleNova {
		files, err := fs.Glob(recipe, "recipe/files/*")
		if err != nil {
			return "", err
		}
		names = append(names, files...)
	}
	var all bytes.Buffer
	for _, name := range names {
		data, err := recipe.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&all, name, len(data))
		all.Write(data)
	}
	return digest(all.Bytes()), nil
}

// inspect checks that a tree holds what its name says, and reads its release.
func inspect(ctx context.Context, path, role, suite string) (tree, error) {
	packages, err := packageList(ctx, path)
	if err != nil {
		return tree{}, err
	}
	if !strings.HasSuffix(path, "-"+digest([]byte(packages))) {
		return tree{}, errors.New("its packages are not those it was named after")
	}
	t := tree{Path: path, Suite: suite}
	if role != roleNova {
		return t, nil
	}
	out, err := chroot(ctx, path, "nova-manage", "--version")
	if err != nil {
		return tree{}, err
	}
	t.Version = strings.TrimSpace(out)
	t.Release, err = releaseOf(t.Version)
	return t, err
}

// packageList are the packages of a tree with their versions and states.
func packageList(ctx context.Context, path string) (string, error) {
	return chroot(ctx, path, "dpkg-query", "--show", "--showformat=${db:Status-Abbrev} ${Package} ${Version}\n")
}

// chroot runs a command in a tree and returns its standard output. It must not write.
func chroot(ctx context.Context, path, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "chroot", append([]string{path, "/usr/bin/env", "-i", imagePath, "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", name}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w\n%s", name, path, err, tail(stderr.Bytes(), 10))
	}
	return string(out), nil
}

// firstMajor is the major version of Nova in release 2025.1; it grows by one a release.
const firstMajor = 31

// releaseOf is the OpenStack release of a version of Nova: 33.0.2 is of 2026.1.
func releaseOf(version string) (string, error) {
	text, _, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(text)
	if err != nil || major < firstMajor {
		return "", fmt.Errorf("nova-manage --version says %q, which is no version from %d on", version, firstMajor)
	}
	release := catalog.Release{Year: 2025, Number: 1}
	for range major - firstMajor {
		release = release.Next()
	}
	return release.String(), nil
}

// debianMirror is where this machine takes its Debian packages from.
func debianMirror(ctx context.Context, dir string) (string, error) {
	targets, err := output(ctx, dir, "apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)", "Created-By: Packages")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(targets) {
		if mirror, ok := strings.CutPrefix(strings.TrimSpace(line), "Debian|Debian|"); ok {
			return mirror, nil
		}
	}
	return "", errors.New("apt's sources name no mirror of Debian")
}

// publish fills a folder under another name first, so that one of its name is whole.
func publish(target string, fill func(work string) error) error {
	work, err := os.MkdirTemp(filepath.Dir(target), "making-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := errors.Join(os.Chmod(work, 0o755), fill(work)); err != nil {
		return err
	}
	return os.Rename(work, target)
}

// output runs a command and returns what it says, without the last line break.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail(stderr.Bytes(), 15))
	}
	return strings.TrimSpace(string(out)), nil
}

// tail is the end of an output.
func tail(out []byte, lines int) string {
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:12]
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
