// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// Values of DatabaseSpec.CredentialsMode. Empty reads as Static.
const (
	CredentialsModeStatic  = "Static"
	CredentialsModeDynamic = "Dynamic"
)

// Values of DatabaseTLSSpec.Mode.
const (
	DatabaseTLSDisabled   = "disabled"
	DatabaseTLSPrefer     = "prefer"
	DatabaseTLSRequire    = "require"
	DatabaseTLSVerifyCA   = "verify-ca"
	DatabaseTLSVerifyFull = "verify-full"
)

// DatabaseSpec is one schema: either on a MariaDB the operator provisions it in
// (clusterRef, managed mode) or on a server somebody else runs (host, brownfield mode).
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != has(self.host)",message="exactly one of clusterRef or host must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.credentialsMode) || self.credentialsMode != 'Dynamic' || has(self.clusterRef)",message="credentialsMode Dynamic requires clusterRef (managed mode)"
type DatabaseSpec struct {
	// ClusterRef names the MariaDB in the resource's namespace on the children cluster.
	//
	// +optional
	ClusterRef *corev1.LocalObjectReference `json:"clusterRef,omitempty"`

	// Host of a server the operator does not provision.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._:-]+$`
	Host string `json:"host,omitempty"`

	// Port of the server in both modes. Unset is 3306.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// Database is the schema name. Immutable.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]+$`
	Database string `json:"database"`

	// SecretRef names the Secret with keys username and password. Its key field is unused.
	SecretRef SecretRefSpec `json:"secretRef"`

	// CredentialsMode says who makes the login: the operator (Static, also when unset)
	// or a secrets engine (Dynamic).
	//
	// +optional
	// +kubebuilder:validation:Enum=Static;Dynamic
	CredentialsMode string `json:"credentialsMode,omitempty"`

	// TLS of the connection. Unset is plain text.
	//
	// +optional
	TLS *DatabaseTLSSpec `json:"tls,omitempty"`

	// Replicas is part of the type shared between operators and has no effect here.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas,omitempty"`

	// StorageSize is part of the type shared between operators and has no effect here.
	//
	// +optional
	// +kubebuilder:default="100Gi"
	// +kubebuilder:validation:Pattern=`^[0-9]+(Mi|Gi|Ti)$`
	StorageSize string `json:"storageSize,omitempty"`
}

// DatabaseTLSSpec is mutual TLS to the database server.
type DatabaseTLSSpec struct {
	// Mode of the verification. The mutating webhook stores require for an empty one.
	//
	// +optional
	// +kubebuilder:validation:Enum=disabled;prefer;require;verify-ca;verify-full
	Mode string `json:"mode,omitempty"`

	// CABundleSecretRef names the Secret whose key ca.crt holds the CA bundle.
	CABundleSecretRef SecretRefSpec `json:"caBundleSecretRef"`

	// ClientCertSecretRef names the Secret whose keys tls.crt and tls.key hold the
	// client certificate.
	ClientCertSecretRef SecretRefSpec `json:"clientCertSecretRef"`
}

// EffectiveMode is the mode with an empty one read as require: a block somebody wrote
// must not mean plain text. A nil block is disabled.
func (t *DatabaseTLSSpec) EffectiveMode() string {
	switch {
	case t == nil:
		return DatabaseTLSDisabled
	case t.Mode == "":
		return DatabaseTLSRequire
	default:
		return t.Mode
	}
}

// Enabled reports whether connections use TLS.
func (t *DatabaseTLSSpec) Enabled() bool {
	return t.EffectiveMode() != DatabaseTLSDisabled
}

// Managed reports whether the operator provisions the schema on a MariaDB.
func (d *DatabaseSpec) Managed() bool {
	return d.ClusterRef != nil
}

// EffectiveCredentialsMode is the mode with an empty one read as Static.
func (d *DatabaseSpec) EffectiveCredentialsMode() string {
	if d.CredentialsMode == "" {
		return CredentialsModeStatic
	}
	return d.CredentialsMode
}
