// Command reference writes the reference page of a kind from its generated
// definition: every field with its type, default, bounds and meaning.
//
// Usage: reference DEFINITION PAGE
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// definition is the part of a CustomResourceDefinition that the page shows.
type definition struct {
	Spec struct {
		Names    struct{ Kind string }
		Group    string
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema schema }
		}
	}
}

type schema struct {
	Type        string
	Description string
	Default     any
	Enum        []any
	Pattern     string
	Minimum     *float64
	Maximum     *float64
	MinLength   *int64
	MaxLength   *int64
	MaxItems    *int64
	Required    []string
	Properties  map[string]schema
	Items       *schema
	// AdditionalProperties is a schema, or a boolean.
	AdditionalProperties any
	IntOrString          bool                       `json:"x-kubernetes-int-or-string"`
	Preserve             bool                       `json:"x-kubernetes-preserve-unknown-fields"`
	Rules                []struct{ Message string } `json:"x-kubernetes-validations"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: reference DEFINITION PAGE")
		os.Exit(1)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var d definition
	if err := yaml.Unmarshal(raw, &d); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	version := d.Spec.Versions[0]
	root := version.Schema.OpenAPIV3Schema
	var b strings.Builder
	fmt.Fprintf(&b, "# %s (%s/%s)\n\n%s\n\nMade from the types by `make generate`. A field without a default is absent unless you set it; what an\nabsent field means stands in its text. Rules are refusals of the API server.\n",
		d.Spec.Names.Kind, d.Spec.Group, version.Name, sentence(root.Description))
	for _, part := range []string{"spec", "status"} {
		fmt.Fprintf(&b, "\n## %s\n", part)
		table(&b, part, root.Properties[part])
	}
	return os.WriteFile(to, []byte(b.String()), 0o644)
}

// table writes one object's fields, then a table for each object below it.
func table(b *strings.Builder, path string, s schema) {
	if rules := messages(s); len(rules) > 0 {
		b.WriteString("\nRules:\n")
		for _, r := range rules {
			fmt.Fprintf(b, "- %s\n", r)
		}
	}
	b.WriteString("\n| Field | Type | Default | Bounds | Meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f := s.Properties[name]
		label := "`" + name + "`"
		if slices.Contains(s.Required, name) {
			label += " (required)"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", label, kind(f), value(f.Default), bounds(f), cell(sentence(f.Description)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f, below := s.Properties[name], path+"."+name
		if f.Items != nil && len(f.Items.Properties) > 0 {
			f, below = *f.Items, below+"[]"
		}
		if len(f.Properties) > 0 && described(f) {
			fmt.Fprintf(b, "\n### %s\n", below)
			table(b, below, f)
		}
	}
}

// described tells our own types from Kubernetes', whose fields carry no text here.
func described(s schema) bool {
	for _, f := range s.Properties {
		if f.Description == "" {
			return false
		}
	}
	return true
}

func messages(s schema) []string {
	var out []string
	for _, r := range s.Rules {
		out = append(out, r.Message)
	}
	return out
}

func kind(s schema) string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.Type == "array" && s.Items != nil:
		return "list of " + kind(*s.Items)
	case s.Type == "object" && s.AdditionalProperties != nil:
		return "map"
	case s.Preserve:
		return "free object"
	default:
		return s.Type
	}
}

func value(v any) string {
	if v == nil {
		return ""
	}
	raw, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return "`" + strings.TrimSpace(string(raw)) + "`"
}

func bounds(s schema) string {
	var out []string
	for _, v := range s.Enum {
		out = append(out, value(v))
	}
	if s.Pattern != "" {
		out = append(out, "`"+strings.ReplaceAll(s.Pattern, "|", "\\|")+"`")
	}
	number := func(format string, n *float64) {
		if n != nil {
			out = append(out, fmt.Sprintf(format, *n))
		}
	}
	number("at least %v", s.Minimum)
	number("at most %v", s.Maximum)
	for format, n := range map[string]*int64{"1 at least %d characters": s.MinLength, "2 at most %d characters": s.MaxLength, "3 at most %d items": s.MaxItems} {
		if n != nil && *n > 1 {
			out = append(out, fmt.Sprintf(format[2:], *n))
		}
	}
	if len(s.Properties) == 0 { // those of an object stand above its own table
		out = append(out, messages(s)...)
	}
	slices.Sort(out)
	return cell(strings.Join(out, "; "))
}

// sentence joins the lines of a description.
func sentence(s string) string { return strings.Join(strings.Fields(s), " ") }

// cell keeps text inside one cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "\n", " ") }
