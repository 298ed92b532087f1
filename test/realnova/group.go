package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// groupRoot is where control groups are mounted.
const groupRoot = "/sys/fs/cgroup"

// podsGroup is the control group of containers, after containerd's namespace; the
// services are beside it.
const (
	podsGroup     = "k8s.io"
	servicesGroup = "services"
)

// hierarchy is one tree of control groups: each controller's own, or one of all.
type hierarchy struct {
	path, kind string
	// options name the tree to mount(2).
	options string
}

func hierarchies() []hierarchy {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	var found []hierarchy
	for line := range strings.Lines(string(mounts)) {
		field := strings.Fields(line)
		if len(field) < 4 || (field[2] != "cgroup" && field[2] != "cgroup2") {
			continue
		}
		h := hierarchy{path: field[1], kind: field[2]}
		if h.kind == "cgroup" {
			controllers := slices.DeleteFunc(strings.Split(field[3], ","), func(option string) bool {
				return slices.Contains([]string{"rw", "ro", "relatime", "noatime", "nosuid", "nodev", "noexec"}, option)
			})
			if strings.HasPrefix(controllers[0], "name=") {
				controllers = append([]string{"none"}, controllers...)
			}
			h.options = strings.Join(controllers, ",")
		}
		found = append(found, h)
	}
	return found
}

// confineGroups puts this process into a control group of its own, everywhere, and makes
// that the root of all it and its children see. They can then use fixed names, as
// containerd does, and leave nothing outside.
func confineGroups(name string) error {
	all := hierarchies()
	if len(all) == 0 {
		return errors.New("no control groups are mounted at " + groupRoot)
	}
	for _, h := range all {
		if err := join(h.path, name); err != nil {
			return err
		}
	}
	if err := syscall.Unshare(syscall.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make a control group namespace: %w", err)
	}
	for _, h := range all {
		// Mounted anew, a hierarchy shows what the namespace may see; the kernel refuses to
		// mount one over itself.
		if err := syscall.Unmount(h.path, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", h.path, err)
		}
		if err := syscall.Mount(h.kind, h.path, h.kind, 0, h.options); err != nil {
			return fmt.Errorf("mount %s: %w", h.path, err)
		}
		// A group that delegates to others may hold no process itself.
		if err := join(h.path, servicesGroup); err != nil {
			return err
		}
	}
	return nil
}

// join makes a group in a hierarchy and moves this process into it.
func join(root, name string) error {
	group := filepath.Join(root, name)
	if err := os.MkdirAll(group, 0o755); err != nil {
		return fmt.Errorf("make control group %s: %w", group, err)
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} { // empty in a new group of version 1
		if inherited, err := os.ReadFile(filepath.Join(root, file)); err == nil {
			_ = os.WriteFile(filepath.Join(group, file), inherited, 0o644)
		}
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0o644); err != nil {
		return fmt.Errorf("join control group %s: %w", group, err)
	}
	return nil
}

// memoryOf is the anonymous memory of a control group and those below it, in bytes.
func memoryOf(group string) (int64, error) {
	root := filepath.Join(groupRoot, "memory")
	if _, err := os.Stat(root); err != nil {
		root = groupRoot
	}
	text, err := os.ReadFile(filepath.Join(root, group, "memory.stat"))
	if err != nil {
		return 0, fmt.Errorf("read memory of %s: %w", group, err)
	}
	for line := range strings.Lines(string(text)) {
		// The names of versions 1 and 2 of control groups.
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == "total_rss" || name == "anon" {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("read memory of %s: no figure", group)
}
