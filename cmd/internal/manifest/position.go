package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Position is where something stands in the sources.
type Position struct {
	// File is the path as it was given.
	File string
	// Line and Column count from 1; 0 is not known.
	Line, Column int
}

// String is FILE:LINE, or the file when the line is not known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Built reports whether a kustomization made the document.
func (d Document) Built() bool { return d.source.origin != nil }

// source is where a document comes from.
type source struct {
	text *text
	// inside is the path of the object in the text, for an item of a List.
	inside string
	// origin is set for what a kustomization built.
	origin *origin
}

// Find returns where a field of the document stands, or, for one that is absent, the
// nearest one above that is there. The path is one of a finding, such as
// spec.extraConfig[DEFAULT][debug] or spec.tolerations[0]; "" is the document.
func (d Document) Find(path string) Position {
	if d.source.origin != nil {
		return d.source.origin.find(d, path)
	}
	out := Position{File: d.File}
	if d.source.text == nil {
		return out
	}
	var problem *syntaxProblem
	if errors.As(d.Err, &problem) && problem.line > 0 {
		// What is missing at the end is told on the line behind it.
		last := bytes.Count(bytes.TrimRight(d.source.text.raw, " \t\r\n"), []byte("\n")) + 1
		out.Line = d.source.text.line + min(problem.line, last)
		return out
	}
	if spot, found := d.source.spot(path); found {
		out.Line, out.Column = d.source.text.position(spot.at)
		return out
	}
	out.Line, out.Column = d.source.text.firstLine()
	return out
}

// position is where a node stands in the file.
func (t *text) position(node *yaml.Node) (line, column int) {
	if node.Line == 1 {
		return t.line + 1, t.column + t.indent + node.Column
	}
	return t.line + node.Line, t.indent + node.Column
}

// firstLine is where a document that does not parse starts: its first line that is
// neither blank nor a comment.
func (t *text) firstLine() (line, column int) {
	number := t.line
	for content := range strings.Lines(string(t.raw)) {
		number++
		if trimmed := strings.TrimSpace(content); trimmed != "" && trimmed[0] != '#' {
			return number, 0
		}
	}
	return t.line + 1, 0
}

// spot is the end of a path, as far as it exists.
type spot struct {
	// at is what a reader looks for: the key of a field, or the item of a list.
	at *yaml.Node
	// value is what stands there.
	value *yaml.Node
	// rest is the part of the path that is absent.
	rest string
}

// spot follows a path from the object. It reports false when the text does not parse.
func (s source) spot(path string) (spot, bool) {
	root := s.text.root()
	if root == nil {
		return spot{}, false
	}
	object := follow(spot{root, root, dotted(s.inside)})
	if object.rest != "" {
		return object, true
	}
	object.rest = dotted(path)
	return follow(object), true
}

// dotted puts a dot before the first field of a path, as there is before each other.
func dotted(path string) string {
	if path == "" || path[0] == '.' || path[0] == '[' {
		return path
	}
	return "." + path
}

// follow goes down as far as the path exists. Keys may hold dots and brackets, so that a
// path can be read in more than one way: the one that leads furthest counts.
func follow(from spot) spot {
	if from.rest == "" {
		return from
	}
	value := resolve(from.value)
	best := from
	for _, next := range children(value, from.rest) {
		if end := follow(next); len(end.rest) < len(best.rest) {
			best = end
		}
	}
	return best
}

// children are the fields or items a path may name next.
func children(value *yaml.Node, path string) []spot {
	if value.Kind == yaml.SequenceNode {
		index, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(index); ok && err == nil && i >= 0 && i < len(value.Content) {
			return []spot{{value.Content[i], value.Content[i], rest}}
		}
	}
	var out []spot
	if value.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(value.Content); i += 2 {
			key, inner := value.Content[i], value.Content[i+1]
			if key.Tag == "!!merge" {
				out = append(out, merged(inner, path)...)
				continue
			}
			if rest, ok := strings.CutPrefix(path, "."+key.Value); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				out = append(out, spot{key, inner, rest})
			}
			if rest, ok := strings.CutPrefix(path, "["+key.Value+"]"); ok {
				out = append(out, spot{key, inner, rest})
			}
		}
	}
	return out
}

// merged are the fields that << brings in, from a map or a list of them. A map that
// merges itself ends with the document, which does not parse then.
func merged(value *yaml.Node, path string) []spot {
	value = resolve(value)
	if value.Kind != yaml.SequenceNode {
		return children(value, path)
	}
	var out []spot
	for _, item := range value.Content {
		out = append(out, children(resolve(item), path)...)
	}
	return out
}

// resolve follows an alias to its anchor.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}
