// Package manifest reads Kubernetes manifests for the offline commands: YAML and JSON
// streams from files, directories and standard input, what a kustomization builds, and
// all of these at a git revision.
//
// Output: documents in the order they were read, each with where it came from. A
// document that does not parse is reported beside the others and stops none of them.
// No error quotes a value: the input may hold Secrets. Nothing is written, and nothing
// is fetched: a kustomization with a remote part is refused.
package manifest

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
)

// Source says where manifests come from: places, or one kustomization.
type Source struct {
	// Places are the arguments of -f, each as Open takes it.
	Places []string
	// Kustomization is a place that must be a directory with a kustomization.
	Kustomization string
	// Namespace is given to documents that name none.
	Namespace string
}

// Read returns every document of the source. The error is about the source itself: a
// file that can't be opened, or a kustomization that does not build.
func (s Source) Read(stdin io.Reader) ([]Document, error) {
	out := collection{stdin: stdin}
	var errs []error
	if s.Kustomization != "" {
		errs = append(errs, out.kustomization(s.Kustomization))
	}
	for _, spec := range s.Places {
		errs = append(errs, out.open(spec))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out.in(s.Namespace), nil
}

// Parse returns the documents of a text. File is what they are said to come from.
func Parse(file string, raw []byte, namespace string) []Document {
	var out collection
	out.parse(file, raw)
	return out.in(namespace)
}

// in gives documents without a namespace one.
func (c *collection) in(namespace string) []Document {
	for _, d := range c.documents {
		if d.Err == nil && d.Object.GetNamespace() == "" {
			d.Object.SetNamespace(namespace)
		}
	}
	return c.documents
}

// Open returns every document of one place, and gives those without a namespace the one
// named. A place is a file, a directory, or - for standard input; git:REV:PATH stands
// for a file or a directory at a revision. A directory with a kustomization is built;
// of any other, the *.yaml, *.yml and *.json files directly in it are read.
//
// REV is what git calls a commit: a branch, a tag, a hash, HEAD~1. PATH starts at the
// root of the repository, or, with ./ or ../ in front, at the working directory.
//
// The error is fs.ErrNotExist when PATH, or the file, is not there; it is not when the
// revision is unknown, or when something inside of the place is missing.
func Open(spec, namespace string, stdin io.Reader) ([]Document, error) {
	return Source{Places: []string{spec}, Namespace: namespace}.Read(stdin)
}

// collection is what was read so far.
type collection struct {
	stdin     io.Reader
	documents []Document
}

// open reads one place, whatever is there.
func (c *collection) open(spec string) error {
	if spec == "-" {
		raw, err := io.ReadAll(c.stdin)
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		c.parse("-", raw)
		return nil
	}
	at, err := locate(spec)
	switch {
	case err != nil:
		return err
	case !at.tree.IsDir(at.path):
		return c.file(at)
	case at.kustomized():
		return c.kustomize(at)
	}
	return c.directory(at)
}

// kustomization reads a place that must be one.
func (c *collection) kustomization(spec string) error {
	at, err := locate(spec)
	if err != nil {
		return err
	}
	if !at.kustomized() {
		return fmt.Errorf("%s holds no kustomization: it needs a file named %s", spec, konfig.DefaultKustomizationFileName())
	}
	return c.kustomize(at)
}

func (c *collection) file(at place) error {
	raw, err := at.tree.ReadFile(at.path)
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	c.parse(at.String(), raw)
	return nil
}

// directory reads the manifests directly in a directory, in name order, and reports
// every one it can't read.
func (c *collection) directory(at place) error {
	names, err := at.tree.ReadDir(at.path)
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	var errs []error
	var found bool
	for _, name := range slices.Sorted(slices.Values(names)) {
		file := at.join(name)
		if isManifest(name) && !at.tree.IsDir(file.path) {
			found = true
			errs = append(errs, c.file(file))
		}
	}
	if !found {
		return fmt.Errorf("%s holds no manifest", at)
	}
	return errors.Join(errs...)
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}
