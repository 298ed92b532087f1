package manifest

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// commitTree is the tree of a commit as a file system for kustomize: read-only, rooted
// at the root of the repository, and read object by object as it is asked for.
type commitTree struct {
	storer storer.EncodedObjectStorer
	root   plumbing.Hash
}

var _ filesys.FileSystem = (*commitTree)(nil)

// maxLinks is how many symbolic links a path may lead through, as on Linux.
const maxLinks = 40

// find follows a path from the root, links included. It returns the path without links,
// and what is there. The error is fs.ErrNotExist when nothing is.
func (t *commitTree) find(name string) (string, object.TreeEntry, error) {
	at := path.Clean("/" + filepath.ToSlash(name))
	for range maxLinks {
		entry, link, err := t.walk(at)
		if err != nil {
			return "", object.TreeEntry{}, err
		}
		if link == "" {
			return at, entry, nil
		}
		at = link
	}
	return "", object.TreeEntry{}, fmt.Errorf("%s: too many symbolic links", name)
}

// walk goes down a cleaned, absolute path. At the first link it stops and returns the
// path to go on with.
func (t *commitTree) walk(name string) (entry object.TreeEntry, link string, err error) {
	entry = object.TreeEntry{Mode: filemode.Dir, Hash: t.root}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	for i, part := range parts {
		if entry.Mode != filemode.Dir {
			return entry, "", missing(name)
		}
		entries, err := t.entries(entry.Hash)
		if err != nil {
			return entry, "", fmt.Errorf("%s: %w", name, err)
		}
		found := false
		for _, e := range entries {
			if e.Name == part {
				entry, found = e, true
			}
		}
		switch {
		case !found:
			return entry, "", missing(name)
		case entry.Mode == filemode.Submodule:
			return entry, "", fmt.Errorf("%s is a submodule: its files are in another repository", path.Join(parts[:i+1]...))
		case entry.Mode == filemode.Symlink:
			link, err := t.target(entry, path.Join(parts[:i]...))
			return entry, path.Join(append([]string{link}, parts[i+1:]...)...), err
		}
	}
	return entry, "", nil
}

// target is where a link in a directory leads, as an absolute path.
func (t *commitTree) target(link object.TreeEntry, directory string) (string, error) {
	raw, err := t.content(link.Hash)
	if err != nil {
		return "", err
	}
	to := path.Join(directory, string(raw))
	if path.IsAbs(string(raw)) || to == ".." || strings.HasPrefix(to, "../") {
		return "", fmt.Errorf("the link %s leaves the repository", path.Join(directory, link.Name))
	}
	return "/" + to, nil
}

func (t *commitTree) entries(tree plumbing.Hash) ([]object.TreeEntry, error) {
	found, err := object.GetTree(t.storer, tree)
	if err != nil {
		return nil, absent(err)
	}
	return found.Entries, nil
}

func (t *commitTree) content(blob plumbing.Hash) ([]byte, error) {
	found, err := object.GetBlob(t.storer, blob)
	if err != nil {
		return nil, absent(err)
	}
	reader, err := found.Reader()
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(reader)
	return raw, errors.Join(err, reader.Close())
}

// absent says what an object that is not in the clone means.
func absent(err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return errors.New("its content is not in this clone, which is a partial one: clone without --filter")
	}
	return err
}

// ReadFile returns the content of a file.
func (t *commitTree) ReadFile(name string) ([]byte, error) {
	_, entry, err := t.find(name)
	if err != nil {
		return nil, err
	}
	if entry.Mode == filemode.Dir {
		return nil, fmt.Errorf("%s is a directory", name)
	}
	raw, err := t.content(entry.Hash)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return raw, nil
}

// ReadDir returns the names in a directory.
func (t *commitTree) ReadDir(name string) ([]string, error) {
	_, entry, err := t.find(name)
	if err != nil {
		return nil, err
	}
	if entry.Mode != filemode.Dir {
		return nil, fmt.Errorf("%s is not a directory", name)
	}
	entries, err := t.entries(entry.Hash)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return names, nil
}

// Exists reports whether something is at a path.
func (t *commitTree) Exists(name string) bool {
	_, _, err := t.find(name)
	return err == nil
}

// IsDir reports whether a directory is at a path.
func (t *commitTree) IsDir(name string) bool {
	_, entry, err := t.find(name)
	return err == nil && entry.Mode == filemode.Dir
}

// CleanedAbs splits a path without its links into directory and file.
func (t *commitTree) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	at, entry, err := t.find(name)
	switch {
	case err != nil:
		return "", "", err
	case entry.Mode == filemode.Dir:
		return filesys.ConfirmedDir(at), "", nil
	}
	return filesys.ConfirmedDir(path.Dir(at)), path.Base(at), nil
}

// A build reads with the functions above alone.
var errReadOnly = errors.New("a commit can't be written or searched")

// Create is refused.
func (t *commitTree) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir is refused.
func (t *commitTree) Mkdir(string) error { return errReadOnly }

// MkdirAll is refused.
func (t *commitTree) MkdirAll(string) error { return errReadOnly }

// RemoveAll is refused.
func (t *commitTree) RemoveAll(string) error { return errReadOnly }

// Open is refused.
func (t *commitTree) Open(string) (filesys.File, error) { return nil, errReadOnly }

// Glob is refused.
func (t *commitTree) Glob(string) ([]string, error) { return nil, errReadOnly }

// WriteFile is refused.
func (t *commitTree) WriteFile(string, []byte) error { return errReadOnly }

// Walk is refused.
func (t *commitTree) Walk(string, filepath.WalkFunc) error { return errReadOnly }
