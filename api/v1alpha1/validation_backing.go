// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateNovaImage(nova *Nova, spec *field.Path) field.ErrorList {
	return validateImage(&nova.Spec.Image, spec.Child("image"))
}

func validateImage(image *ImageSpec, path *field.Path) field.ErrorList {
	errs := required(path.Child("repository"), image.Repository, "repository must be set")
	if (image.Tag == "") == (image.Digest == "") {
		errs = append(errs, field.Invalid(path, image.Tag, "exactly one of image.tag or image.digest must be set"))
	}
	return errs
}

// maxCellDatabase leaves room for _cell0 under the 64 characters of a schema name.
const maxCellDatabase = 58

func validateDatabases(nova *Nova, spec *field.Path) field.ErrorList {
	api, cell := &nova.Spec.APIDatabase, &nova.Spec.Database
	errs := validateDatabase(api, spec.Child("apiDatabase"))
	errs = append(errs, validateDatabase(cell, spec.Child("database"))...)
	switch api.Database {
	case cell.Database:
		errs = append(errs, field.Invalid(spec, api.Database, "apiDatabase and database must name different schemas"))
	case cell.Database + "_cell0":
		errs = append(errs, field.Invalid(spec, api.Database, "apiDatabase must not name the cell0 schema derived from database"))
	}
	if api.EffectiveCredentialsMode() != cell.EffectiveCredentialsMode() {
		errs = append(errs, field.Invalid(spec, cell.EffectiveCredentialsMode(), "apiDatabase and database must use the same credentialsMode"))
	}
	if len(cell.Database) > maxCellDatabase {
		errs = append(errs, field.Invalid(spec.Child("database"), cell.Database,
			"database.database must be at most 58 characters: cell0 is provisioned as <database>_cell0 under the 64-character schema limit"))
	}
	return errs
}

func validateDatabase(database *DatabaseSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if database.Managed() == (database.Host != "") {
		errs = append(errs, field.Invalid(path, database.Host, "exactly one of clusterRef or host must be set"))
	}
	if database.CredentialsMode == CredentialsModeDynamic && !database.Managed() {
		errs = append(errs, field.Invalid(path, database.CredentialsMode, "credentialsMode Dynamic requires clusterRef (managed mode)"))
	}
	if database.Managed() {
		errs = append(errs, required(path.Child("clusterRef", "name"), database.ClusterRef.Name, "clusterRef.name must be set")...)
	}
	return errs
}

// lineInServiceConfig is why a text may not have a line break.
const lineInServiceConfig = "value must not contain a newline or carriage return: it is rendered verbatim into the service configuration file, so a newline injects arbitrary config lines"

func validateCache(nova *Nova, spec *field.Path) field.ErrorList {
	cache, path := &nova.Spec.Cache, spec.Child("cache")
	errs := noLineBreak(path.Child("backend"), cache.Backend, lineInServiceConfig)
	if (cache.ClusterRef == nil) == (len(cache.Servers) == 0) {
		errs = append(errs, field.Invalid(path, cache.Servers, "exactly one of clusterRef or servers must be set"))
	}
	if cache.ClusterRef != nil {
		name := path.Child("clusterRef", "name")
		errs = append(errs, required(name, cache.ClusterRef.Name, "clusterRef.name must be set")...)
		errs = append(errs, noLineBreak(name, cache.ClusterRef.Name, lineInServiceConfig)...)
	}
	for i, server := range cache.Servers {
		errs = append(errs, noLineBreak(path.Child("servers").Index(i), server, lineInServiceConfig)...)
	}
	return errs
}

func validateMessaging(nova *Nova, spec *field.Path) field.ErrorList {
	messaging, path := &nova.Spec.Messaging, spec.Child("messaging")
	var errs field.ErrorList
	if (messaging.ClusterRef == nil) == (messaging.SecretRef == nil) {
		errs = append(errs, field.Invalid(path, "", "exactly one of clusterRef or secretRef must be set"))
	}
	if messaging.ClusterRef != nil {
		errs = append(errs, required(path.Child("clusterRef", "name"), messaging.ClusterRef.Name, "clusterRef.name must be set")...)
	}
	if messaging.TLS != nil {
		errs = append(errs, required(path.Child("tls", "caBundleSecretRef", "name"), messaging.TLS.CABundleSecretRef.Name,
			"caBundleSecretRef.name must be set when spec.messaging.tls is configured")...)
	}
	return errs
}

func validateSecretRefs(nova *Nova, spec *field.Path) field.ErrorList {
	errs := required(spec.Child("serviceUser", "secretRef", "name"), nova.Spec.ServiceUser.SecretRef.Name,
		"secretRef.name must be set: it carries the Keystone service-user password")
	return append(errs, required(spec.Child("metadata", "sharedSecretRef", "name"), nova.Spec.Metadata.SharedSecretRef.Name,
		"sharedSecretRef.name must be set: it carries the secret the Neutron metadata agent signs proxied requests with")...)
}

func validateSecretStore(nova *Nova, spec *field.Path) field.ErrorList {
	ref, path := nova.Spec.SecretStoreRef, spec.Child("secretStoreRef")
	if ref == nil {
		return nil
	}
	errs := required(path.Child("name"), ref.Name, "store name must be set")
	return append(errs, oneOf(path.Child("kind"), ref.Kind, SecretStoreKindCluster, SecretStoreKindNamespaced)...)
}

func validateNovaTargetCluster(nova *Nova, spec *field.Path) field.ErrorList {
	return validateTargetCluster(nova.Spec.TargetClusterRef, spec.Child("targetClusterRef"))
}

func validateTargetCluster(ref *TargetClusterRefSpec, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	return required(path.Child("name"), ref.Name, "target cluster name must be set")
}
