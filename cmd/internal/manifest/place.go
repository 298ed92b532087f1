package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// GitPrefix starts a place at a git revision.
const GitPrefix = "git:"

// place is a file or a directory that exists.
type place struct {
	// tree holds it: the disk, or a commit.
	tree filesys.FileSystem
	// prefix is git:REV: for a commit.
	prefix string
	// path is where in the tree.
	path string
}

// locate finds what a user named.
func locate(spec string) (place, error) {
	if revision, ok := strings.CutPrefix(spec, GitPrefix); ok {
		return locateInGit(spec, revision)
	}
	if _, err := os.Stat(spec); err != nil {
		return place{}, err
	}
	return place{filesys.MakeFsOnDisk(), "", spec}, nil
}

// String is what findings and errors call a place.
func (p place) String() string {
	if p.prefix != "" && p.path == "." {
		return p.prefix
	}
	return p.prefix + p.path
}

// join is a file named from a directory.
func (p place) join(name string) place {
	return place{p.tree, p.prefix, filepath.Join(p.path, name)}
}

// kustomized reports whether a directory holds a kustomization.
func (p place) kustomized() bool {
	return p.kustomizationFile() != ""
}

// kustomizationFile is the name of the file that makes a directory a kustomization, ""
// without one.
func (p place) kustomizationFile() string {
	names := konfig.RecognizedKustomizationFileNames()
	if i := slices.IndexFunc(names, func(name string) bool { return p.tree.Exists(p.join(name).path) }); i >= 0 {
		return names[i]
	}
	return ""
}
