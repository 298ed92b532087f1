package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// locateInGit finds REV:PATH in the repository of the working directory. Spec is the
// whole place, for errors.
func locateInGit(spec, revision string) (place, error) {
	revision, inside, ok := strings.Cut(revision, ":")
	if !ok || revision == "" {
		return place{}, fmt.Errorf("%s: must be %sREV:PATH; an empty PATH is the root of the repository", spec, GitPrefix)
	}
	working, err := os.Getwd()
	if err != nil {
		return place{}, err
	}
	// As git does: a shell may be in a link to a folder of the repository.
	if working, err = filepath.EvalSymlinks(working); err != nil {
		return place{}, err
	}
	repository, err := openRepository(working)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", spec, err)
	}
	inside, err = repository.rooted(inside, working)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", spec, err)
	}
	tree, err := repository.tree(revision)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", spec, err)
	}
	if _, _, err := tree.find(inside); err != nil {
		return place{}, fmt.Errorf("%s: %w", spec, err)
	}
	return place{tree, GitPrefix + revision + ":", inside}, nil
}

// repository is a clone on disk, read and never written.
type repository struct {
	*git.Repository
	// root is the top of the working tree, "" for a bare clone.
	root string
}

// openRepository opens the clone a directory belongs to.
func openRepository(directory string) (repository, error) {
	root, gitDir, err := findRepository(directory)
	if err != nil {
		return repository{}, err
	}
	var common billy.Filesystem
	if raw, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		common = osfs.New(against(gitDir, strings.TrimSpace(string(raw))))
	}
	storage := filesystem.NewStorageWithOptions(
		dotgit.NewRepositoryFilesystem(osfs.New(gitDir), common), cache.NewObjectLRUDefault(),
		filesystem.Options{AlternatesFS: osfs.New("/")})
	opened, err := git.Open(readOnly{storage}, nil)
	if err != nil {
		return repository{}, fmt.Errorf("open the repository %s: %w", gitDir, err)
	}
	return repository{opened, root}, nil
}

// findRepository walks up to the root of a working tree, and to its git directory. A
// bare clone has no root.
func findRepository(directory string) (root, gitDir string, err error) {
	for at := directory; ; at = filepath.Dir(at) {
		if isGitDir(at) {
			return "", at, nil
		}
		dot := filepath.Join(at, git.GitDirName)
		if info, err := os.Stat(dot); err == nil && info.IsDir() {
			return at, dot, nil
		}
		// A linked working tree has a file that names its git directory.
		if raw, err := os.ReadFile(dot); err == nil {
			if target, ok := strings.CutPrefix(string(raw), "gitdir:"); ok {
				return at, against(at, strings.TrimSpace(target)), nil
			}
		}
		if at == filepath.Dir(at) {
			return "", "", errors.New("the working directory is in no git repository")
		}
	}
}

func isGitDir(directory string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(directory, name)); err != nil {
			return false
		}
	}
	return true
}

// against resolves a path that may be relative to a directory.
func against(directory, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(directory, name)
}

// readOnly is a storage whose configuration leaves out extensions that do not change
// how a commit is read, and that the library would refuse.
type readOnly struct{ *filesystem.Storage }

func (s readOnly) Config() (*config.Config, error) {
	out, err := s.Storage.Config()
	if err != nil || !out.Raw.HasSection("extensions") {
		return out, err
	}
	for _, harmless := range []string{"worktreeConfig", "partialClone", "preciousObjects", "relativeWorktrees"} {
		out.Raw.Section("extensions").RemoveOption(harmless)
	}
	return out, nil
}

// rooted turns a path of a user into one from the root of the repository, "." for the
// root itself.
func (r repository) rooted(name, working string) (string, error) {
	slashed := filepath.ToSlash(name)
	if first, _, _ := strings.Cut(slashed, "/"); first == "." || first == ".." {
		if r.root == "" {
			return "", errors.New("a bare clone has no working directory that a path could start at")
		}
		relative, err := filepath.Rel(r.root, filepath.Join(working, name))
		if err != nil {
			return "", err
		}
		slashed = filepath.ToSlash(relative)
	}
	cleaned := path.Clean(slashed)
	switch {
	case path.IsAbs(cleaned):
		return "", errors.New("the path starts at the root of the repository, without a slash")
	case cleaned == ".." || strings.HasPrefix(cleaned, "../"):
		return "", errors.New("the path leaves the repository")
	}
	return cleaned, nil
}

// tree returns the files of a revision.
func (r repository) tree(revision string) (*commitTree, error) {
	// The library reads past these, and would answer with another commit.
	if strings.Contains(revision, "@{") || strings.ContainsRune("~^", rune(revision[0])) {
		return nil, fmt.Errorf("revision %s: name a branch, a tag or a hash, with ~N or ^N behind it", revision)
	}
	hash, err := r.ResolveRevision(plumbing.Revision(revision))
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("revision %s: the history ends before it", revision)
	case errors.Is(err, plumbing.ErrReferenceNotFound), errors.Is(err, plumbing.ErrObjectNotFound):
		return nil, fmt.Errorf("revision %s is not in this clone: fetch it first, in a pipeline with fetch-depth: 0 or git fetch --unshallow", revision)
	case err != nil:
		return nil, fmt.Errorf("revision %s: %w", revision, err)
	}
	commit, err := r.CommitObject(*hash)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision, err)
	}
	return &commitTree{storer: r.Storer, root: commit.TreeHash}, nil
}

// missing is a path that is not in a commit.
func missing(name string) error {
	return &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
}

// RepositoryRoot is the root of the working tree a directory is in, or the directory
// when it is in none.
func RepositoryRoot(directory string) string {
	if root, _, err := findRepository(directory); err == nil && root != "" {
		return root
	}
	return directory
}
