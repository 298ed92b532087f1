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
	// path is where in the tree.
	path string
	// name is what findings and errors call it.
	name string
}

// locate finds what a user named.
func locate(spec string) (place, error) {
	if revision, ok := strings.CutPrefix(spec, GitPrefix); ok {
		return locateInGit(spec, revision)
	}
	if _, err := os.Stat(spec); err != nil {
		return place{}, err
	}
	return place{filesys.MakeFsOnDisk(), spec, spec}, nil
}

// join is a file of a directory.
func (p place) join(name string) place {
	return place{p.tree, filepath.Join(p.path, name), p.named(name)}
}

// named is what a file of a directory is called. The root of a repository ends in the
// colon after its revision.
func (p place) named(name string) string {
	if p.name == "" || strings.HasSuffix(p.name, ":") {
		return p.name + name
	}
	return filepath.Join(p.name, name)
}

// kustomized reports whether a directory holds a kustomization.
func (p place) kustomized() bool {
	return p.kustomizationFile() != ""
}

// kustomizationFile is the name of the file that makes a directory a kustomization, ""
// without one.
func (p place) kustomizationFile() string {
	names := konfig.RecognizedKustomizationFileNames()
	if i := slices.IndexFunc(names, func(name string) bool { return p.tree.Exists(filepath.Join(p.path, name)) }); i >= 0 {
		return names[i]
	}
	return ""
}
