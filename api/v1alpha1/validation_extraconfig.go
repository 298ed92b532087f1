// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/nova-operator/api/catalog"
)

// validateNovaExtraConfig holds what no release makes right. novaOptions, which compares
// with the release's catalog, runs only when the comparison can change.
func validateNovaExtraConfig(nova *Nova, spec *field.Path) field.ErrorList {
	findings := catalog.CheckKeys(catalog.NovaKeys, nova.Spec.ExtraConfig.Catalog())
	return extraConfigErrors(findings, nova.Spec.ExtraConfig, spec)
}

func novaOptions(nova *Nova, spec *field.Path) (field.ErrorList, []string) {
	findings := catalog.CheckOptions(nova.Spec.OpenStackRelease, catalog.NovaKeys, nova.Spec.ExtraConfig.Catalog())
	return extraConfigErrors(findings, nova.Spec.ExtraConfig, spec), findings.Warnings
}

// extraConfigErrors gives each finding its path. A credential or an owned key is
// forbidden, so that its value is not quoted.
func extraConfigErrors(findings catalog.Findings, extra ExtraConfig, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, finding := range findings.Errors {
		path := spec.Child("extraConfig")
		name := finding.Section
		if finding.Section != "" {
			path = path.Key(finding.Section)
		}
		if finding.Key != "" {
			path, name = path.Key(finding.Key), finding.Key
		}
		switch finding.Kind {
		case catalog.KindOwned, catalog.KindSecret:
			errs = append(errs, field.Forbidden(path, finding.Message))
		case catalog.KindValue:
			errs = append(errs, field.Invalid(path, extra[finding.Section][finding.Key].bad(), finding.Message))
		case catalog.KindName, catalog.KindUnknown:
			errs = append(errs, field.Invalid(path, name, finding.Message))
		}
	}
	return errs
}

// bad is the value as an error prints it.
func (v ConfigValue) bad() any {
	if !v.List && len(v.Values) == 1 {
		return v.Values[0]
	}
	return v.Values
}
