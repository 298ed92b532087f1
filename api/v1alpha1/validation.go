// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// novaRules hold on create and on update. Each returns every violation it finds.
var novaRules = []func(*Nova, *field.Path) field.ErrorList{
	validateNovaImage,
	validateDatabases,
	validateCache,
	validateMessaging,
	validateDeployments,
	validateUWSGI,
	validateWorkers,
	validateConsoleProxy,
	validateJobs,
	validateKeystone,
	validateRemoteCompute,
	validateRenderedText,
	validateSecretRefs,
	validateEndpoints,
	validateDBArchive,
	validateGateways,
	validateNetworkPolicy,
	validateAutoscaling,
	validateLogging,
	validateNovaExtraConfig,
	validateSecretStore,
	validateNovaTargetCluster,
}

// ValidateNova returns every violation of a Nova and the warnings for its author. Nova
// is the resource as Default leaves it; old is nil on create.
//
// It holds the rules of the validating webhook that need no cluster, and repeats the
// CEL rules of the schema so that a file can be checked offline. Patterns and enums of
// plain fields stay with the schema. An update of a resource that is being deleted and
// whose spec did not change is admitted as it is: it removes a finalizer.
func ValidateNova(nova, old *Nova) (field.ErrorList, []string) {
	if old != nil && nova.DeletionTimestamp != nil && equality.Semantic.DeepEqual(nova.Spec, old.Spec) {
		return nil, nil
	}
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if old == nil {
		errs = append(errs, validateNovaName(nova.Name)...)
	}
	for _, rule := range novaRules {
		errs = append(errs, rule(nova, spec)...)
	}
	var warnings []string
	if old != nil {
		errs = append(errs, validateNovaUpdate(nova, old, spec)...)
		warnings = append(warnings, retentionWarnings(nova.Spec.DBArchive, old.Spec.DBArchive)...)
	}
	if old == nil || nova.Spec.OpenStackRelease != old.Spec.OpenStackRelease ||
		!equality.Semantic.DeepEqual(nova.Spec.ExtraConfig, old.Spec.ExtraConfig) {
		optionErrs, optionWarnings := novaOptions(nova, spec)
		errs, warnings = append(errs, optionErrs...), append(warnings, optionWarnings...)
	}
	return errs, warnings
}

// nameLimit keeps {name}-db-archive within the 52 characters of a CronJob's name.
const nameLimit = 41

// childSuffixes are the endings of a Nova's children that another Nova could be named like.
var childSuffixes = []string{"-api", "-metadata", "-scheduler", "-conductor", "-novncproxy", "-console"}

// cell0Suffix can end the name of the MariaDB objects of cell0.
const cell0Suffix = "-cell0"

// validateNovaName holds on create only: on an update it would keep a finalizer from
// being removed.
func validateNovaName(name string) field.ErrorList {
	path := field.NewPath("metadata", "name")
	var errs field.ErrorList
	if len(name) > nameLimit {
		errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
			"name must be at most %d characters: the db-archive CronJob appends \"-db-archive\" and Kubernetes caps CronJob names at 52 characters", nameLimit)))
	}
	if messages := validation.IsDNS1035Label(name); name != "" && len(name) <= nameLimit && len(messages) > 0 {
		errs = append(errs, field.Invalid(path, name, "name must be one a Service accepts: "+strings.Join(messages, "; ")))
	}
	for _, suffix := range childSuffixes {
		if rest, found := strings.CutSuffix(name, suffix); found {
			errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
				"name must not end in %q: a Nova named %q in this namespace names one of its own children %q, so the two CRs would share and delete each other's objects",
				suffix, rest, name)))
		}
	}
	if strings.HasSuffix(name, cell0Suffix) {
		errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
			"name must not end in %q: a Nova in this namespace names its cell0 MariaDB Database and Grant <name>-<database>-cell0, which can be %q, so the two CRs would share and delete each other's objects",
			cell0Suffix, name)))
	}
	return errs
}

// validateNovaUpdate holds what may not change.
func validateNovaUpdate(nova, old *Nova, spec *field.Path) field.ErrorList {
	errs := validateTargetClusterUpdate(nova.Spec.TargetClusterRef, old.Spec.TargetClusterRef, spec.Child("targetClusterRef"))
	for _, block := range []struct {
		name     string
		new, old *DatabaseSpec
		why      string
	}{
		{"apiDatabase", &nova.Spec.APIDatabase, &old.Spec.APIDatabase, "the schema holds the cell map and every instance mapping"},
		{"database", &nova.Spec.Database, &old.Spec.Database, "the cell mappings store the schema name"},
	} {
		path := spec.Child(block.name)
		if block.new.Database != block.old.Database {
			errs = append(errs, field.Invalid(path, block.new.Database, block.name+".database is immutable: "+block.why))
		}
		if block.new.Managed() != block.old.Managed() {
			errs = append(errs, field.Forbidden(path, block.name+" mode (managed clusterRef vs brownfield host) is immutable"))
		}
	}
	return errs
}

// validateTargetClusterUpdate refuses to move the children to another cluster.
func validateTargetClusterUpdate(ref, old *TargetClusterRefSpec, path *field.Path) field.ErrorList {
	switch {
	case (ref == nil) != (old == nil):
		return field.ErrorList{field.Forbidden(path, "targetClusterRef is immutable (adding or removing it after creation is not permitted)")}
	case ref != nil && ref.Name != old.Name:
		return field.ErrorList{field.Invalid(path.Child("name"), ref.Name, "targetClusterRef is immutable (the children already exist on the previously named cluster)")}
	}
	return nil
}

// required reports a text that is empty.
func required(path *field.Path, value, message string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, message)}
	}
	return nil
}

// atLeast reports a number below a floor. A nil number is not set.
func atLeast[T int32 | int64](path *field.Path, value *T, floor T, message string) field.ErrorList {
	if value != nil && *value < floor {
		return field.ErrorList{field.Invalid(path, *value, message)}
	}
	return nil
}

// oneOf reports a text that is not in a list. An empty one is not set.
func oneOf(path *field.Path, value string, supported ...string) field.ErrorList {
	if value != "" && !slices.Contains(supported, value) {
		return field.ErrorList{field.NotSupported(path, value, supported)}
	}
	return nil
}

// noLineBreak reports a text that would break out of its line.
func noLineBreak(path *field.Path, value, message string) field.ErrorList {
	if strings.ContainsAny(value, "\n\r") {
		return field.ErrorList{field.Invalid(path, value, message)}
	}
	return nil
}
