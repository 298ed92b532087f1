// Command confine writes the Role of a namespaced installation: the generated
// ClusterRole without the resources no namespace contains.
//
//go:generate go run . -from ../role.yaml -to ../../overlays/namespaced/role.yaml
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// clusterScoped lists the resources without a namespace that the operator asks for. A
// test compares it with what a cluster says.
var clusterScoped = []string{
	"clustersecretstores.external-secrets.io",
	"hypervisors.kvm.cloud.sap",
	"nodes",
	"priorityclasses.scheduling.k8s.io",
}

const header = `# Generated from ../../rbac/role.yaml by rbac/confine.
`

func main() {
	from := flag.String("from", "", "file with the ClusterRole")
	to := flag.String("to", "", "file for the Role")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "confine:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	out, err := confine(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, out, 0o644)
}

// confine turns a file with one ClusterRole, and perhaps Roles, into one with a Role.
func confine(raw []byte) ([]byte, error) {
	for _, document := range bytes.Split(raw, []byte("\n---\n")) {
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(document, &role); err != nil {
			return nil, err
		}
		if role.Kind != "ClusterRole" {
			continue
		}
		// A map, because the type would print an empty creationTimestamp.
		out, err := yaml.Marshal(map[string]any{
			"apiVersion": rbacv1.SchemeGroupVersion.String(),
			"kind":       "Role",
			"metadata":   map[string]any{"name": role.Name, "namespace": "nova-operator-system"},
			"rules":      namespaced(role.Rules),
		})
		return append([]byte(header), out...), err
	}
	return nil, fmt.Errorf("no ClusterRole")
}

// namespaced drops resources without a namespace, and rules left without any.
func namespaced(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(resource string) bool {
			return slices.ContainsFunc(rule.APIGroups, func(group string) bool {
				name := resource
				if group != "" {
					name += "." + group
				}
				return slices.Contains(clusterScoped, name)
			})
		})
		if len(rule.Resources) > 0 {
			out = append(out, rule)
		}
	}
	return out
}
