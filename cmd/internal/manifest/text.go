package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
)

// text is the text of one document.
type text struct {
	raw []byte
	// line and column of its first byte in the file, from 0.
	line, column int
	// indent is in front of each line.
	indent int
	// root is the value of the document, nil when it has none. It is parsed when a
	// position is asked for, which a document without findings never is.
	root func() *yaml.Node
}

func newText(raw []byte, line, column int) *text {
	return &text{raw: raw, line: line, column: column, root: sync.OnceValue(func() *yaml.Node {
		var document yaml.Node
		if yaml.Unmarshal(raw, &document) != nil || len(document.Content) == 0 {
			return nil
		}
		return document.Content[0]
	})}
}

// split cuts a stream at the lines that start or end a document. What follows the three
// dashes on their line belongs to the document: the dashes are blanked, in place, so
// that its columns stay.
func split(raw []byte) []*text {
	var out []*text
	start, startLine := 0, 0
	add := func(end int) {
		part := raw[start:end]
		// Directives stand before the dashes, and change nothing here.
		if !bytes.HasPrefix(bytes.TrimSpace(part), []byte("%")) {
			out = append(out, newText(part, startLine, 0))
		}
	}
	offset, number := 0, 0
	for line := range bytes.Lines(raw) {
		switch marker := string(bytes.TrimRight(line[:min(len(line), 4)], " \t\r\n")); marker {
		case "---", "...":
			add(offset)
			start, startLine = offset, number
			copy(line, "   ")
		}
		offset += len(line)
		number++
	}
	add(offset)
	return out
}

// values splits JSON objects that follow each other without a separator. Anything else
// is one value.
func (t *text) values() []*text {
	if trimmed := bytes.TrimSpace(t.raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return []*text{t}
	}
	var out []*text
	decoder := kjson.NewDecoderCaseSensitivePreserveInts(bytes.NewReader(t.raw))
	line, column, counted := t.line, t.column, 0
	for {
		var value map[string]any
		start := int(decoder.InputOffset())
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			return []*text{t}
		}
		before := t.raw[counted:start]
		line, counted = line+bytes.Count(before, []byte("\n")), start
		if last := bytes.LastIndexByte(before, '\n'); last >= 0 {
			column = len(before) - last - 1
		} else {
			column += len(before)
		}
		out = append(out, newText(t.raw[start:decoder.InputOffset()], line, column))
	}
}

// syntaxProblem is a document that does not parse, and the line it is told at.
type syntaxProblem struct {
	// line in the document, from 1; 0 when it is not known.
	line    int
	message string
}

func (p *syntaxProblem) Error() string { return p.message }

var (
	lineNumber = regexp.MustCompile(`line (\d+): `)
	duplicate  = regexp.MustCompile(`key "[^"]*" already set in map`)
	// The library counts the lines of these from 0, and of all others from 1.
	fromZero = regexp.MustCompile(`did not find expected (<|node content|'-' indicator|key|',' or)|found (duplicate|incompatible|undefined) `)
)

// syntaxError says where a document does not parse. The parser's own words can quote
// the text at hand, which may be a credential.
func syntaxError(text []byte, err error) error {
	out := &syntaxProblem{message: "does not parse as YAML"}
	if found := lineNumber.FindStringSubmatch(err.Error()); found != nil {
		out.line, _ = strconv.Atoi(found[1])
		if fromZero.MatchString(err.Error()) {
			out.line++
		}
	}
	if found := duplicate.FindString(err.Error()); found != "" {
		out.message = found
	} else if before, _, found := bytes.Cut(text, []byte("{{")); found {
		out.message += ": it holds {{, and templates are not expanded here"
		if out.line == 0 {
			out.line = bytes.Count(before, []byte("\n")) + 1
		}
	}
	return out
}

// located is a problem of a file that is read alone, with its line.
func located(err error) error {
	var problem *syntaxProblem
	if errors.As(err, &problem) && problem.line > 0 {
		return fmt.Errorf("line %d: %w", problem.line, err)
	}
	return err
}
