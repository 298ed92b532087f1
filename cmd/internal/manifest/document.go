package manifest

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

	source source
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
	next := Document{File: file}
	for _, whole := range split(raw) {
		for _, part := range whole.values() {
			object, err := decode(part.raw)
			if err == nil && object == nil {
				continue
			}
			next.Number++
			next.source = source{text: part}
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
	inside := d.source.inside
	for i, item := range items {
		d.source.inside = fmt.Sprintf("%s.items[%d]", inside, i)
		fields, isObject := item.(map[string]any)
		if !isObject || fields["kind"] == nil || fields["apiVersion"] == nil {
			c.add(d, nil, fmt.Errorf("items[%d] has no apiVersion or no kind", i))
			continue
		}
		c.add(d, fields, nil)
	}
}

// decode reads one document; nil stands for an empty one. A key given twice is an
// error.
func decode(text []byte) (map[string]any, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, syntaxError(text, err)
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
