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
	// parsed are files by their name.
	parsed map[string]parsed
}

// parsed is one file: its documents, and those patches that are none.
type parsed struct{ documents, patches []Document }

// origin is where a resource that was built came from.
type origin struct {
	*build
	// file is the manifest the build started from; nil for a generated resource.
	file *place
}

// find returns where a field of a built resource stands: in the manifest it started
// from, or else in the one patch that gives it this value. What a transformer made has no
// line; the answer is then the kustomization's own file.
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
	var found []Position
	for _, patch := range o.others(d) {
		if there, ok := patch.source.spot(path); ok && there.rest == "" && built.rest == "" && same(there.value, built.value) {
			found = append(found, patch.position(there.at))
		}
	}
	if len(found) == 1 {
		return found[0]
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
	all := ofKind(o.parse(*o.file).documents, built)
	if len(all) < 2 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(d Document) bool {
		return !strings.Contains(built.Object.GetName(), d.Object.GetName())
	})
}

// others are the documents of the kind in every other file of the build, and the patches
// of all files.
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
		content := o.parse(file)
		out = append(out, content.patches...)
		if o.file == nil || file.path != o.file.path {
			out = append(out, ofKind(content.documents, built)...)
		}
	}
	return out
}

// parse reads a file once.
func (b *build) parse(file place) parsed {
	if known, ok := b.parsed[file.path]; ok {
		return known
	}
	var out parsed
	if raw, err := file.tree.ReadFile(file.path); err == nil {
		var content collection
		content.parse(file.String(), raw)
		out.documents = content.documents
		for _, patch := range patches(file.path, raw) {
			out.patches = append(out.patches, Document{File: file.String(), source: source{text: patch}})
		}
	}
	b.parsed[file.path] = out
	return out
}

// ofKind keeps the documents of a built one's kind.
func ofKind(documents []Document, built Document) []Document {
	return slices.DeleteFunc(slices.Clone(documents), func(d Document) bool {
		return d.Err != nil || d.Object.GroupVersionKind() != built.Object.GroupVersionKind()
	})
}

// same reports whether two nodes hold the same value.
func same(a, b *yaml.Node) bool {
	var left, right any
	return a.Decode(&left) == nil && b.Decode(&right) == nil && reflect.DeepEqual(left, right)
}
