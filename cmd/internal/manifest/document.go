package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Document is one object of a source. Each item of a List is one too, under the number
// of the List.
type Document struct {
	// File is the path as it was given, or the kustomization.
	File string
	// Number counts the documents of a file from 1; empty ones do not count.
	Number int
	// Object holds integers as int64, as the API server reads them; nil with Err.
	Object *unstructured.Unstructured
	// Err is why the document does not parse.
	Err error
}

// String is "FILE: document N Kind/name", or without the object's name when it did not
// parse.
func (d Document) String() string {
	place := fmt.Sprintf("%s: document %d", d.File, d.Number)
	if d.Err != nil {
		return place
	}
	return fmt.Sprintf("%s %s/%s", place, d.Object.GetKind(), d.Object.GetName())
}

// parse splits a stream and reads each of its documents.
func (c *collection) parse(file string, raw []byte) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	next := Document{File: file}
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			next.Number++
			next.Err = errors.New("the stream does not split into documents")
			c.documents = append(c.documents, next)
			return
		}
		for _, part := range values(text) {
			object, err := decode(part)
			if err == nil && object == nil {
				continue
			}
			next.Number++
			c.add(next, object, err)
		}
	}
}

// add keeps a document, or the items of a List.
func (c *collection) add(d Document, object map[string]any, err error) {
	d.Err = err
	if err == nil {
		d.Object = &unstructured.Unstructured{Object: object}
	}
	items, isList := object["items"].([]any)
	if err != nil || !isList || d.Object.GetAPIVersion() != "v1" || d.Object.GetKind() != "List" {
		c.documents = append(c.documents, d)
		return
	}
	for i, item := range items {
		fields, isObject := item.(map[string]any)
		if !isObject || fields["kind"] == nil || fields["apiVersion"] == nil {
			c.add(d, nil, fmt.Errorf("items[%d] has no apiVersion or no kind", i))
			continue
		}
		c.add(d, fields, nil)
	}
}

// values splits JSON objects that follow each other without a separator. Anything
// else is one value.
func values(text []byte) [][]byte {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return [][]byte{text}
	}
	var out [][]byte
	decoder := kjson.NewDecoderCaseSensitivePreserveInts(bytes.NewReader(text))
	for {
		var value map[string]any
		start := decoder.InputOffset()
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			return [][]byte{text}
		}
		out = append(out, text[start:decoder.InputOffset()])
	}
}

// decode reads one document; nil stands for an empty one. A key given twice is an
// error.
func decode(text []byte) (map[string]any, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, syntaxError(err)
	}
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
		return nil, errors.New("does not parse")
	}
	object, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, errors.New("is not an object")
	}
	if ok && (object["kind"] == nil || object["apiVersion"] == nil) {
		return nil, errors.New("has no apiVersion or no kind")
	}
	return object, nil
}

var (
	line      = regexp.MustCompile(`line \d+`)
	duplicate = regexp.MustCompile(`(line \d+): (key "[^"]*" already set in map)`)
)

// syntaxError says where a document does not parse. The parser's own words can quote
// the text at hand, which may be a credential.
func syntaxError(err error) error {
	if found := duplicate.FindStringSubmatch(err.Error()); found != nil {
		return fmt.Errorf("%s of the document: %s", found[1], found[2])
	}
	if found := line.FindString(err.Error()); found != "" {
		return fmt.Errorf("does not parse as YAML: see %s of the document", found)
	}
	return errors.New("does not parse as YAML")
}
