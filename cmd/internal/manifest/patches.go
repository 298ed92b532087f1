package manifest

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
)

// patches are the texts of a file that change resources without being documents of
// their kind: JSON patches, and every patch that stands in a kustomization.
func patches(file string, raw []byte) []*text {
	var out []*text
	for _, part := range split(raw) {
		root := part.root()
		switch {
		case root == nil:
		case root.Kind == yaml.SequenceNode:
			out = append(out, jsonPatch(part)...)
		case slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(file)):
			for _, scalar := range literals(root) {
				out = append(out, inline(part, scalar)...)
			}
		}
	}
	return out
}

// literals are the block scalars of a kustomization: patches, and plugins.
func literals(node *yaml.Node) []*yaml.Node {
	if node.Kind == yaml.ScalarNode && node.Style&yaml.LiteralStyle != 0 {
		return []*yaml.Node{node}
	}
	var out []*yaml.Node
	for _, inner := range node.Content {
		out = append(out, literals(inner)...)
	}
	return out
}

// inline reads a block scalar, whose lines follow the one of its mark.
func inline(around *text, scalar *yaml.Node) []*text {
	content := newText([]byte(scalar.Value), around.line+scalar.Line, 0)
	lines := bytes.Split(around.raw, []byte("\n"))
	if scalar.Line < len(lines) {
		first, _, _ := strings.Cut(scalar.Value, "\n")
		content.indent = len(bytes.TrimRight(lines[scalar.Line], "\r")) - len(first)
	}
	if root := content.root(); root != nil && root.Kind == yaml.SequenceNode {
		return jsonPatch(content)
	}
	return []*text{content}
}

// jsonPatch turns each operation with a value into the tree it makes: the keys of the
// path, which stand where the path does, with the value at their end.
func jsonPatch(patch *text) []*text {
	var out []*text
	for _, operation := range patch.root().Content {
		var pointer, value *yaml.Node
		for i := 0; operation.Kind == yaml.MappingNode && i+1 < len(operation.Content); i += 2 {
			switch operation.Content[i].Value {
			case "path":
				pointer = operation.Content[i+1]
			case "value":
				value = operation.Content[i+1]
			}
		}
		if pointer == nil || value == nil {
			continue
		}
		tree := value
		parts := strings.Split(strings.TrimPrefix(pointer.Value, "/"), "/")
		for _, part := range slices.Backward(parts) {
			key := *pointer
			key.Value = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
			tree = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&key, tree}}
		}
		made := *patch
		made.root = func() *yaml.Node { return tree }
		out = append(out, &made)
	}
	return out
}
