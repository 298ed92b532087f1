// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ImageSpec names a container image by tag or by digest.
//
// +kubebuilder:validation:XValidation:rule="has(self.tag) != has(self.digest)",message="exactly one of image.tag or image.digest must be set"
type ImageSpec struct {
	// Repository of the image, without tag and digest.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+([._:/-][a-z0-9]+)*$`
	Repository string `json:"repository"`

	// Tag of the image; excludes digest.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`
	Tag string `json:"tag,omitempty"`

	// Digest of the image; excludes tag.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[a-f0-9]{64}$`
	Digest string `json:"digest,omitempty"`

	// PullPolicy of the containers. Unset follows the operator's flag, then
	// IfNotPresent for a digest and Always for a tag.
	//
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// Reference is the image reference of a container: by digest when one is set, else by tag.
func (i ImageSpec) Reference() string {
	if i.Digest != "" {
		return i.Repository + "@" + i.Digest
	}
	return i.Repository + ":" + i.Tag
}

// SecretRefSpec names a Secret and, where the field says so, one of its keys.
type SecretRefSpec struct {
	// Name of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// Key inside the Secret. What an empty key means is up to the field.
	//
	// +optional
	Key string `json:"key,omitempty"`
}

// SecretStoreRefSpec names the External Secrets store the credentials come from.
type SecretStoreRefSpec struct {
	// Kind of the store. A SecretStore is looked up in the resource's namespace.
	//
	// +optional
	// +kubebuilder:default=ClusterSecretStore
	// +kubebuilder:validation:Enum=ClusterSecretStore;SecretStore
	Kind string `json:"kind,omitempty"`

	// Name of the store.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// Kinds of a SecretStoreRefSpec.
const (
	SecretStoreKindCluster    = "ClusterSecretStore"
	SecretStoreKindNamespaced = "SecretStore"
)

// TargetClusterRefSpec names the registered cluster that receives the children.
type TargetClusterRefSpec struct {
	// Name of the cluster, equal to the name of its registration Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="targetClusterRef is immutable"
	Name string `json:"name"`
}

// VerticalAutoscalingSpec opts a workload into a VerticalPodAutoscaler.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minAllowed) || self.minAllowed.all(r, r in ['cpu', 'memory'])",message="minAllowed may only name cpu and memory"
// +kubebuilder:validation:XValidation:rule="!has(self.maxAllowed) || self.maxAllowed.all(r, r in ['cpu', 'memory'])",message="maxAllowed may only name cpu and memory"
type VerticalAutoscalingSpec struct {
	// UpdateMode of the autoscaler: when recommendations reach the pods.
	//
	// +kubebuilder:validation:Enum=Off;Initial;Recreate;Auto
	UpdateMode string `json:"updateMode"`

	// MinReplicas the workload must have before a pod is evicted for a new size.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MinAllowed is the lower bound of a recommendation.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=2
	MinAllowed map[corev1.ResourceName]resource.Quantity `json:"minAllowed,omitempty"`

	// MaxAllowed is the upper bound of a recommendation.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=2
	MaxAllowed map[corev1.ResourceName]resource.Quantity `json:"maxAllowed,omitempty"`
}

// NodePlacementSpec decides which nodes a pod may run on. It is copied onto the pod.
type NodePlacementSpec struct {
	// NodeSelector of the pods.
	//
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the pods.
	//
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity of the pods.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
}
