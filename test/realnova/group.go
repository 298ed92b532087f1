package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// joinGroup moves this process into a control group that accounts for memory. What it
// starts from here on is in the group as well.
func joinGroup(path string) error {
	root, err := memoryRoot()
	if err != nil {
		return err
	}
	group := filepath.Join(root, path)
	if err := os.MkdirAll(group, 0o755); err != nil {
		return fmt.Errorf("make control group %s: %w", path, err)
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0o644); err != nil {
		return fmt.Errorf("join control group %s: %w", path, err)
	}
	return nil
}

// memoryRoot is where memory is accounted for: the controller's own hierarchy, or the
// one of all controllers.
func memoryRoot() (string, error) {
	const root = "/sys/fs/cgroup"
	for _, path := range []string{filepath.Join(root, "memory"), root} {
		if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no control groups are mounted at " + root)
}

// memoryOf is the anonymous memory of a control group and those below it, in bytes.
func memoryOf(path string) (int64, error) {
	root, err := memoryRoot()
	if err != nil {
		return 0, err
	}
	var sum int64
	err = filepath.WalkDir(filepath.Join(root, path), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "memory.stat" {
			return nil // a container that just ended
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name == "rss" || name == "anon" {
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return err
				}
				sum += n
			}
		}
		return nil
	})
	return sum, err
}
