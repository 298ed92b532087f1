// SPDX-License-Identifier: Apache-2.0

// Command crdtrim drops from generated definitions the descriptions of fields that
// belong to Kubernetes' own types: the field that holds such a type keeps its text,
// everything below it loses it. A definition stays small enough for a client-side apply
// that way, and kubectl explain still describes every field of ours.
//
// Usage: crdtrim FILE...
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// foreign are the fields of both kinds whose type is Kubernetes' own.
var foreign = map[string]bool{
	"additionalEgress":             true,
	"affinity":                     true,
	"behavior":                     true,
	"clusterRef":                   true,
	"computeConfigSecretRef":       true,
	"conditions":                   true,
	"namespaceSelector":            true,
	"podSelector":                  true,
	"remoteComputeConfigSecretRef": true,
	"resources":                    true,
	"strategy":                     true,
	"tolerations":                  true,
	"topologySpreadConstraints":    true,
}

// maxApplied is what kubectl can put into its last-applied annotation, in bytes.
const maxApplied = 262144

func main() {
	var errs []error
	for _, path := range os.Args[1:] {
		if err := trimFile(path); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func trimFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var definition map[string]any
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return err
	}
	trim(definition, false)
	out, err := yaml.Marshal(definition)
	if err != nil {
		return err
	}
	applied, err := yaml.YAMLToJSON(out)
	if err != nil {
		return err
	}
	if len(applied) > maxApplied {
		return fmt.Errorf("%d bytes do not fit into a client-side apply (%d)", len(applied), maxApplied)
	}
	return os.WriteFile(path, append([]byte("---\n"), out...), 0o644)
}

// trim walks a schema. Inside says that the schema is part of a foreign type.
func trim(node any, inside bool) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			properties, isMap := value.(map[string]any)
			switch {
			case key == "properties" && isMap:
				for name, property := range properties {
					trimProperty(property, inside, foreign[name])
				}
			case key == "description" && inside && isText(value):
				delete(node, key)
			default:
				trim(value, inside)
			}
		}
	case []any:
		for _, item := range node {
			trim(item, inside)
		}
	}
}

// trimProperty keeps the text of a field of ours, also when what is below is foreign.
func trimProperty(property any, inside, foreign bool) {
	schema, isMap := property.(map[string]any)
	if !isMap {
		return
	}
	description, described := schema["description"]
	trim(schema, inside || foreign)
	if described && !inside {
		schema["description"] = description
	}
}

func isText(value any) bool {
	text, ok := value.(string)
	return ok && strings.TrimSpace(text) != ""
}
