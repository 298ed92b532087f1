// Package manifest reads Kubernetes manifests for the offline commands: YAML and JSON
// streams from files, directories and standard input, or what a kustomization builds.
//
// Output: documents in the order they were read, each with where it came from. A
// document that does not parse is reported beside the others and stops none of them.
// No error quotes a value: the input may hold Secrets.
package manifest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Source says where manifests come from: files or one kustomization.
type Source struct {
	// Files are paths of files and directories, and - for standard input. Of a
	// directory, the *.yaml, *.yml and *.json files directly in it are read.
	Files []string
	// Kustomization is a directory with a kustomization file.
	Kustomization string
	// Namespace is given to documents that name none.
	Namespace string
}

// Read returns every document of the source. The error is about the source itself: a
// file that can't be opened, or a kustomization that does not build.
func (s Source) Read(stdin io.Reader) ([]Document, error) {
	var out collection
	var err error
	if s.Kustomization != "" {
		err = out.kustomize(s.Kustomization)
	} else {
		err = out.files(s.Files, stdin)
	}
	if err != nil {
		return nil, err
	}
	for _, d := range out.documents {
		if d.Err == nil && d.Object.GetNamespace() == "" {
			d.Object.SetNamespace(s.Namespace)
		}
	}
	return out.documents, nil
}

// collection is what was read so far.
type collection struct{ documents []Document }

// files reads every path, and reports every one it can't read.
func (c *collection) files(paths []string, stdin io.Reader) error {
	var errs []error
	for _, path := range paths {
		expanded, err := expand(path)
		errs = append(errs, err)
		for _, name := range expanded {
			errs = append(errs, c.file(name, stdin))
		}
	}
	return errors.Join(errs...)
}

func (c *collection) file(name string, stdin io.Reader) error {
	if name == "-" {
		raw, err := io.ReadAll(stdin)
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		c.parse("-", raw)
		return nil
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	c.parse(name, raw)
	return nil
}

// expand turns a directory into its manifests, in name order.
func expand(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			names = append(names, filepath.Join(path, entry.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s holds no manifest", path)
	}
	return names, nil
}

// kustomize builds a kustomization in this process. Its plugins stay off.
func (c *collection) kustomize(path string) error {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	if err != nil {
		return fmt.Errorf("build %s: %w", path, err)
	}
	raw, err := built.AsYaml()
	if err != nil {
		return fmt.Errorf("print %s: %w", path, err)
	}
	c.parse(path, raw)
	return nil
}
