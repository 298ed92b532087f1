package manifest

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// build is one kustomization and what it read.
type build struct {
	kustomization place
	tree          *offline
	// parsed are the documents of files, by the name of the file.
	parsed map[string][]Document
}

// origin is where a resource that was built came from.
type origin struct {
	*build
	// file is the manifest the build started from; nil for a generated resource.
	file *place
}

// find returns where a field of a built resource stands: in the manifest it started
// from, or in the one other file of the build that gives it this value, a patch. What a
// transformer made has no line; the answer is then the kustomization's own file.
func (o *origin) find(d Document, path string) Position {
	fallback := Position{File: o.kustomization.join(o.kustomization.kustomizationFile()).String()}
	built, ok := d.source.spot(path)
	if !ok {
		return fallback
	}
	if o.file != nil {
		if starts := o.starts(d); len(starts) == 1 {
			start := starts[0]
			if there, ok := start.source.spot(path); ok && there.rest == built.rest && (built.rest != "" || same(there.value, built.value)) {
				return start.position(there.at)
			}
		}
	}
	var patches []Position
	for _, patch := range o.others(d) {
		if there, ok := patch.source.spot(path); ok && there.rest == "" && built.rest == "" && same(there.value, built.value) {
			patches = append(patches, patch.position(there.at))
		}
	}
	if len(patches) == 1 {
		return patches[0]
	}
	return fallback
}

// position is where a node of a document stands.
func (d Document) position(node *yaml.Node) Position {
	out := Position{File: d.File}
	out.Line, out.Column = d.source.text.position(node)
	return out
}

// starts are the documents of the file that a built one can have started as: those of
// its kind, and of its name when there are several. A build adds to names, in front and
// behind.
func (o *origin) starts(built Document) []Document {
	all := o.documents(*o.file, built)
	if len(all) < 2 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(d Document) bool {
		return !strings.Contains(built.Object.GetName(), d.Object.GetName())
	})
}

// others are the documents of the kind in every other file of the build.
func (o *origin) others(built Document) []Document {
	root, _, err := o.tree.CleanedAbs(o.kustomization.path)
	if err != nil {
		return nil
	}
	var out []Document
	for _, name := range o.tree.read {
		relative, err := filepath.Rel(root.String(), name)
		if err != nil {
			continue
		}
		file := o.kustomization.join(relative)
		if o.file == nil || file.path != o.file.path {
			out = append(out, o.documents(file, built)...)
		}
	}
	return out
}

// documents are those of a built one's kind in a file, which is parsed once.
func (b *build) documents(file place, built Document) []Document {
	all, ok := b.parsed[file.path]
	if !ok {
		var content collection
		if raw, err := file.tree.ReadFile(file.path); err == nil {
			content.parse(file.String(), raw)
		}
		all = content.documents
		b.parsed[file.path] = all
	}
	return slices.DeleteFunc(slices.Clone(all), func(d Document) bool {
		return d.Err != nil || d.Object.GroupVersionKind() != built.Object.GroupVersionKind()
	})
}

// same reports whether two nodes hold the same value.
func same(a, b *yaml.Node) bool {
	var left, right any
	return a.Decode(&left) == nil && b.Decode(&right) == nil && reflect.DeepEqual(left, right)
}
