// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConvert_EmbeddedCatalogsAreCurrent(t *testing.T) {
	paths, err := filepath.Glob("../source/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("sources: %v, %v", paths, err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := convert(strings.TrimSuffix(name, ".json"), source)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := os.ReadFile(filepath.Join("../data", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is stale: run go generate ./api/catalog", name)
		}
	}
}

func TestConvert_RefusesFactsThatCannotBeRight(t *testing.T) {
	for name, tc := range map[string]struct{ option, want string }{
		"a good option":                     {`"b": {"type": "int", "min": 1, "max": 2}`, ""},
		"an unknown type":                   {`"b": {"type": "bit"}`, "unknown type"},
		"a name with a dash":                {`"b-c": {"type": "str"}`, "not a name"},
		"bounds of a text":                  {`"b": {"type": "str", "min": 1}`, "bounds on a type without an order"},
		"bounds the wrong way round":        {`"b": {"type": "int", "min": 2, "max": 1}`, "min above max"},
		"unsorted choices":                  {`"b": {"type": "str", "choices": ["b", "a"]}`, "choices are not sorted"},
		"a choice twice":                    {`"b": {"type": "str", "choices": ["a", "a"]}`, "listed twice"},
		"choices of a boolean":              {`"b": {"type": "bool", "choices": ["a"]}`, "choices on another type"},
		"case of nothing":                   {`"b": {"type": "str", "ignoreCase": true}`, "ignoreCase without choices"},
		"a pattern of a number":             {`"b": {"type": "int", "regex": "x"}`, "text rules on another type"},
		"a pattern that does not compile":   {`"b": {"type": "str", "regex": "("}`, "error parsing regexp"},
		"schemes of a text":                 {`"b": {"type": "str", "schemes": ["x"]}`, "schemes on another type"},
		"items of a text":                   {`"b": {"type": "str", "items": {"type": "str"}}`, "items on a type without items"},
		"a wrong item":                      {`"b": {"type": "list", "items": {"type": "int", "min": 2, "max": 1}}`, "min above max"},
		"a negative length":                 {`"b": {"type": "str", "maxLength": -1}`, "negative maxLength"},
		"a replacement that does not exist": {`"b": {"type": "str", "deprecated": "use a.c"}`, "a.c does not exist"},
		"a replacement without a section":   {`"b": {"type": "str", "deprecated": "use c"}`, "is not section.option"},
		"a replacement that is replaced":    {`"b": {"type": "str", "deprecated": "use a.c"}, "c": {"type": "str", "deprecated": "use a.d"}, "d": {"type": "str"}`, "is itself replaced"},
		"a remark nobody knows":             {`"b": {"type": "str", "deprecated": "soon"}`, "unknown remark"},
		"a field nobody knows":              {`"b": {"type": "str", "help": "x"}`, "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := convert("2026.1", []byte(`{"release": "2026.1", "sections": {"a": {`+tc.option+`}}}`))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestConvert_RefusesAListThatCannotBeRight(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"another release":             {`{"release": "2025.1"}`, "names release"},
		"a section that is no name":   {`{"release": "2026.1", "sections": {"A b": {}}}`, "neither a name"},
		"a dynamic section unlisted":  {`{"release": "2026.1", "dynamicSections": ["a_*"]}`, "must end in its only *"},
		"a dynamic section in middle": {`{"release": "2026.1", "sections": {"a_*b": {}}, "dynamicSections": ["a_*b"]}`, "must end in its only *"},
		"a reference to nothing":      {`{"release": "2026.1", "sectionReferences": {"x": "<x>"}}`, "no section [<x>]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := convert("2026.1", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
