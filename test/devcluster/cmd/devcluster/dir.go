package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dirPattern names the folder of a running cluster. It holds its data and logs
// and a file that the running devcluster keeps locked.
const dirPattern = "nova-devcluster-*"

// newDir makes the folder of a cluster, after removing those whose devcluster was
// killed before it could do so itself.
func newDir() (dir string, remove func(), err error) {
	sweep()
	dir, err = os.MkdirTemp("", "starting-"+dirPattern)
	if err != nil {
		return "", nil, fmt.Errorf("make cluster folder: %w", err)
	}
	held, err := hold(dir)
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("lock cluster folder: %w", err)
	}
	// Only now does the name match the pattern: a sweep never sees it unlocked.
	final := filepath.Join(filepath.Dir(dir), filepath.Base(dir)[len("starting-"):])
	if err := os.Rename(dir, final); err != nil {
		held.Close()
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("name cluster folder: %w", err)
	}
	return final, func() {
		os.RemoveAll(final)
		held.Close()
	}, nil
}

// hold locks the folder until the returned file is closed or the process ends.
// Children don't inherit it: Go opens files close-on-exec.
func hold(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// sweep removes the folders nobody holds any more.
func sweep() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPattern))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		file, err := hold(dir)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrPermission) {
			continue
		}
		os.RemoveAll(dir)
		if err == nil {
			file.Close()
		}
	}
}
