// SPDX-License-Identifier: Apache-2.0

// Command gen turns the option lists of source/ into the catalogs the operator embeds.
//
// It runs in the folder of package catalog, reads source/<release>.json, checks every
// fact in it and writes data/<release>.json: sorted, one option per line, with the
// remark about a deprecated name taken apart. It writes nothing when a check fails.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/c5c3/nova-operator/api/catalog/option"
)

func main() {
	if err := run("source", "data"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(source, target string) error {
	paths, err := filepath.Glob(filepath.Join(source, "*.json"))
	if err != nil {
		return err
	}
	outputs := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		output, err := convert(strings.TrimSuffix(filepath.Base(path), ".json"), data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		outputs[filepath.Base(path)] = output
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if err := os.WriteFile(filepath.Join(target, name), outputs[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// list is the form of a source file.
type list struct {
	Release           string                             `json:"release"`
	Sections          map[string]map[string]sourceOption `json:"sections"`
	DynamicSections   []string                           `json:"dynamicSections"`
	SectionReferences map[string]string                  `json:"sectionReferences"`
}

// sourceOption is an option as a source file has it: choices may be numbers, and the remark
// about a deprecated name is a phrase.
type sourceOption struct {
	option.Option
	Choices    []any         `json:"choices"`
	Items      *sourceOption `json:"items"`
	Deprecated string        `json:"deprecated"`
}

// convert checks a source file of a release and returns the embedded form.
func convert(release string, data []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var in list
	if err := decoder.Decode(&in); err != nil {
		return nil, err
	}
	out := option.List{
		Release:    in.Release,
		Sections:   map[string]map[string]option.Option{},
		Dynamic:    in.DynamicSections,
		References: in.SectionReferences,
	}
	for section, options := range in.Sections {
		out.Sections[section] = map[string]option.Option{}
		for name, o := range options {
			converted, err := o.convert()
			if err != nil {
				return nil, fmt.Errorf("[%s] %s: %w", section, name, err)
			}
			out.Sections[section][name] = converted
		}
	}
	if err := check(release, &out); err != nil {
		return nil, err
	}
	text, err := encode(&out)
	if err != nil {
		return nil, err
	}
	_, err = option.Decode(text)
	return text, err
}

func (o sourceOption) convert() (option.Option, error) {
	out := o.Option
	for _, choice := range o.Choices {
		out.Choices = append(out.Choices, fmt.Sprint(choice))
	}
	if o.Items != nil {
		items, err := o.Items.convert()
		if err != nil {
			return out, err
		}
		out.Items = &items
	}
	switch targets, isAlias := strings.CutPrefix(o.Deprecated, "use "); {
	case isAlias:
		out.ReplacedBy = strings.Split(targets, " or ")
	case o.Deprecated == "for removal":
		out.Removal = true
	case o.Deprecated != "":
		return out, fmt.Errorf("unknown remark %q", o.Deprecated)
	}
	return out, nil
}

// encode writes one option per line, so that a change reads well.
func encode(c *option.List) ([]byte, error) {
	var b bytes.Buffer
	var failed error
	line := func(value any) string {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		failed = errors.Join(failed, encoder.Encode(value))
		return strings.TrimSpace(text.String())
	}
	fmt.Fprintf(&b, "{\n\"release\": %s,\n\"sections\": {\n", line(c.Release))
	sections := slices.Sorted(maps.Keys(c.Sections))
	for i, section := range sections {
		fmt.Fprintf(&b, "%s: {\n", line(section))
		names := slices.Sorted(maps.Keys(c.Sections[section]))
		for j, name := range names {
			fmt.Fprintf(&b, "%s: %s%s\n", line(name), line(c.Sections[section][name]), comma(j, names))
		}
		fmt.Fprintf(&b, "}%s\n", comma(i, sections))
	}
	fmt.Fprintf(&b, "},\n\"dynamicSections\": %s,\n\"sectionReferences\": %s\n}\n", line(c.Dynamic), line(c.References))
	return b.Bytes(), failed
}

func comma(i int, names []string) string {
	if i == len(names)-1 {
		return ""
	}
	return ","
}
