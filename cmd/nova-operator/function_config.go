package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/c5c3/nova-operator/render"
)

// Values of functionConfig.Objects and functionConfig.Secrets.
const (
	objectsAdd         = "Add"
	objectsReplace     = "Replace"
	objectsOmit        = "Omit"
	secretsOmit        = "Omit"
	secretsPlaceholder = "Placeholder"
)

// functionConfig is the spec of a RenderNova, or the data of a ConfigMap.
type functionConfig struct {
	Objects                string `json:"objects"`
	Secrets                string `json:"secrets"`
	Namespace              string `json:"namespace"`
	OperatorNamespace      string `json:"operatorNamespace"`
	DefaultImagePullPolicy string `json:"defaultImagePullPolicy"`
}

// readFunctionConfig reads the configuration; nil stands for the defaults. Errors name
// fields.
func readFunctionConfig(node *kyaml.RNode) (functionConfig, error) {
	out := functionConfig{Objects: objectsAdd, Secrets: secretsOmit, Namespace: "default"}
	if node == nil || node.IsNilOrEmpty() {
		return out, nil
	}
	if !isObject(node) {
		return out, errors.New("functionConfig: is no object")
	}
	raw, err := node.MarshalJSON()
	if err != nil {
		return out, errors.New("functionConfig: does not parse")
	}
	var config struct {
		Spec json.RawMessage `json:"spec"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return out, errors.New("functionConfig: does not parse")
	}
	fields, name := config.Spec, "spec"
	switch group, _, _ := strings.Cut(node.GetApiVersion(), "/"); {
	case node.GetKind() == "ConfigMap" && node.GetApiVersion() == "v1":
		fields, name = config.Data, "data"
	case node.GetKind() != functionKind || group != functionGroup:
		return out, fmt.Errorf("functionConfig: must be a %s of %s/v1alpha1 or a ConfigMap, not %s of %s", functionKind, functionGroup, node.GetKind(), node.GetApiVersion())
	}
	if len(fields) > 0 {
		strict, err := kjson.UnmarshalStrict(fields, &out)
		if err := errors.Join(append(strict, err)...); err != nil {
			return out, fmt.Errorf("functionConfig: %s: %w", name, err)
		}
	}
	return out, out.check(name)
}

func (c *functionConfig) check(name string) error {
	var errs []error
	for _, field := range []struct {
		name, value string
		allowed     []string
	}{
		{"objects", c.Objects, []string{objectsAdd, objectsReplace, objectsOmit}},
		{"secrets", c.Secrets, []string{secretsOmit, secretsPlaceholder}},
		{"defaultImagePullPolicy", c.DefaultImagePullPolicy, pullPolicies},
	} {
		if !slices.Contains(field.allowed, field.value) {
			named := slices.DeleteFunc(slices.Clone(field.allowed), func(s string) bool { return s == "" })
			errs = append(errs, fmt.Errorf("functionConfig: %s.%s: must be %s", name, field.name, strings.Join(named, ", ")))
		}
	}
	return errors.Join(errs...)
}

// settings are those of the operator.
func (c *functionConfig) settings() render.Settings {
	return render.Settings{OperatorNamespace: c.OperatorNamespace, PullPolicy: corev1.PullPolicy(c.DefaultImagePullPolicy)}
}
