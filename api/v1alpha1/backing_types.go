// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CacheSpec is the memcached of the token middleware and of nova's own cache.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != (has(self.servers) && size(self.servers) > 0)",message="exactly one of clusterRef or servers must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterRef) || !has(self.clusterRef.name) || (!self.clusterRef.name.contains('\\n') && !self.clusterRef.name.contains('\\r'))",message="clusterRef.name must not contain a newline or carriage return"
type CacheSpec struct {
	// ClusterRef names the memcached Service in the resource's namespace, port 11211.
	//
	// +optional
	ClusterRef *corev1.LocalObjectReference `json:"clusterRef,omitempty"`

	// Servers are host:port pairs of a memcached somebody else runs.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^[^\n\r]*$`
	Servers []string `json:"servers,omitempty"`

	// Backend of the dogpile cache. The mutating webhook stores
	// dogpile.cache.pymemcache for an empty one.
	Backend string `json:"backend"`

	// Replicas is part of the type shared between operators and has no effect here.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas,omitempty"`
}

// MessagingSpec is the RabbitMQ bus: either a RabbitmqCluster (clusterRef) or a Secret
// with a complete rabbit:// URL (secretRef).
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != has(self.secretRef)",message="exactly one of clusterRef or secretRef must be set"
type MessagingSpec struct {
	// ClusterRef names the RabbitmqCluster in the resource's namespace on the children
	// cluster.
	//
	// +optional
	ClusterRef *corev1.LocalObjectReference `json:"clusterRef,omitempty"`

	// SecretRef names the Secret with the transport URL. An empty key is transport_url.
	//
	// +optional
	SecretRef *SecretRefSpec `json:"secretRef,omitempty"`

	// TLS of the bus; its presence switches TLS on.
	//
	// +optional
	TLS *MessagingTLSSpec `json:"tls,omitempty"`
}

// MessagingTLSSpec is TLS to the broker.
type MessagingTLSSpec struct {
	// CABundleSecretRef names the Secret with the broker's CA bundle. An empty key is
	// ca.crt.
	CABundleSecretRef SecretRefSpec `json:"caBundleSecretRef"`
}

// GatewaySpec publishes a Service through a Gateway API HTTPRoute.
type GatewaySpec struct {
	// ParentRef is the Gateway the route attaches to.
	ParentRef GatewayParentRefSpec `json:"parentRef"`

	// Hostname of the route.
	//
	// +kubebuilder:validation:MinLength=1
	Hostname string `json:"hostname"`

	// Path prefix of the route. Unset is /; a missing leading slash is added.
	//
	// +optional
	Path string `json:"path,omitempty"`

	// Annotations are copied onto the route.
	//
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// GatewayParentRefSpec names a Gateway.
type GatewayParentRefSpec struct {
	// Name of the Gateway.
	//
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Namespace of the Gateway. Unset is the resource's own.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// SectionName is one listener of the Gateway. Unset is every listener.
	//
	// +optional
	SectionName string `json:"sectionName,omitempty"`
}

// NetworkPolicySpec isolates the pods.
type NetworkPolicySpec struct {
	// Ingress lists who may reach the pods. It must name at least one source, because a
	// rule without one allows everybody.
	//
	// +listType=atomic
	// +kubebuilder:validation:XValidation:rule="size(self) > 0",message="at least one ingress source must be specified"
	Ingress []NetworkPolicyIngressSource `json:"ingress"`

	// AdditionalEgress is appended to the egress rules of the operator.
	//
	// +optional
	// +listType=atomic
	AdditionalEgress []networkingv1.NetworkPolicyEgressRule `json:"additionalEgress,omitempty"`
}

// NetworkPolicyIngressSource is a set of pods that may reach the service.
type NetworkPolicyIngressSource struct {
	// NamespaceSelector selects the namespaces the pods are in.
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`

	// PodSelector narrows the set to some pods of these namespaces.
	//
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
}

// LoggingSpec holds the settings of oslo.log.
//
// +kubebuilder:validation:XValidation:rule="!has(self.perLoggerLevels) || self.perLoggerLevels.all(l, size(l) > 0)",message="logger name must not be empty"
// +kubebuilder:validation:XValidation:rule="!has(self.perLoggerLevels) || self.perLoggerLevels.all(l, self.perLoggerLevels[l] in ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'])",message="per-logger level must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL"
type LoggingSpec struct {
	// Format of a line.
	//
	// +optional
	// +kubebuilder:default=text
	// +kubebuilder:validation:Enum=text;json
	Format string `json:"format,omitempty"`

	// Level of the root logger; it has an effect with format json only.
	//
	// +optional
	// +kubebuilder:default=INFO
	// +kubebuilder:validation:Enum=DEBUG;INFO;WARNING;ERROR;CRITICAL
	Level string `json:"level,omitempty"`

	// Debug is nova's debug switch.
	//
	// +optional
	Debug *bool `json:"debug,omitempty"`

	// PerLoggerLevels is logger name → level.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	PerLoggerLevels map[string]string `json:"perLoggerLevels,omitempty"`
}

// Values of LoggingSpec.Format.
const (
	LoggingFormatText = "text"
	LoggingFormatJSON = "json"
)
