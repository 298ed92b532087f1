// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NovaCompute runs nova-compute on one pool of nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=novacomputes,scope=Namespaced
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.desiredNumberScheduled`
// +kubebuilder:printcolumn:name="Ready pods",type=integer,JSONPath=`.status.numberReady`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NovaCompute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the owner wants.
	Spec NovaComputeSpec `json:"spec"`

	// Status is what the operator saw last. Until its first pass the observed generation
	// is none, so that nobody takes a new resource for one that is up.
	//
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status NovaComputeStatus `json:"status,omitzero"`
}

// NovaComputeList is a list of NovaCompute.
//
// +kubebuilder:object:root=true
type NovaComputeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NovaCompute `json:"items"`
}

// NovaComputeSpec is the wanted pool.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetClusterRef) == has(oldSelf.targetClusterRef)",message="targetClusterRef is immutable"
type NovaComputeSpec struct {
	// NovaRef names the Nova the pool joins, in the same namespace. Immutable.
	NovaRef NovaRefSpec `json:"novaRef"`

	// NodeSelector selects the nodes of the pool. A node that stops matching is drained.
	//
	// +kubebuilder:validation:MinProperties=1
	NodeSelector map[string]string `json:"nodeSelector"`

	// Tolerations of the pods.
	//
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Image of nova-compute. Unset is ghcr.io/c5c3/nova-compute with the release the
	// Nova has installed as tag.
	//
	// +optional
	Image *ImageSpec `json:"image,omitempty"`

	// Libvirt options of the pool.
	//
	// +optional
	// +kubebuilder:default={}
	Libvirt LibvirtSpec `json:"libvirt,omitzero"`

	// UpdateStrategy of the DaemonSet.
	//
	// +optional
	// +kubebuilder:default={}
	UpdateStrategy NovaComputeUpdateStrategy `json:"updateStrategy,omitzero"`

	// Resources of every container. Each of CPU and memory that is named neither as
	// request nor as limit is sized when the pod is rendered.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// VerticalAutoscaling opts the DaemonSet into a VerticalPodAutoscaler.
	//
	// +optional
	VerticalAutoscaling *VerticalAutoscalingSpec `json:"verticalAutoscaling,omitempty"`

	// ExtraConfig is laid over the rendered compute-pool.conf: INI section → option →
	// value. A value is a string, a boolean, a number, or a list of these for an option
	// that may be repeated.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ExtraConfig ExtraConfig `json:"extraConfig,omitempty"`

	// Traits every node of the pool carries in Placement.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^CUSTOM_[A-Z0-9_]+$`
	Traits []string `json:"traits,omitempty"`

	// HostTraits adjusts the traits of single nodes.
	//
	// +optional
	// +listType=map
	// +listMapKey=nodeName
	// +kubebuilder:validation:MaxItems=1000
	HostTraits []HostTraitsSpec `json:"hostTraits,omitempty"`

	// TargetClusterRef is the cluster that receives the children. Unset is the cluster
	// of this resource. Immutable.
	//
	// +optional
	TargetClusterRef *TargetClusterRefSpec `json:"targetClusterRef,omitempty"`
}

// NovaRefSpec names a Nova in the same namespace.
type NovaRefSpec struct {
	// Name of the Nova.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="novaRef is immutable"
	Name string `json:"name"`
}

// Values of LibvirtSpec.
const (
	VirtTypeKVM   = "kvm"
	CPUModeCustom = "custom"
)

// LibvirtSpec holds the [libvirt] options of a pool.
//
// +kubebuilder:validation:XValidation:rule="(has(self.cpuMode) && self.cpuMode == 'custom') == (has(self.cpuModels) && size(self.cpuModels) > 0)",message="cpuModels is required when cpuMode is custom and must be empty otherwise"
type LibvirtSpec struct {
	// VirtType of the domains.
	//
	// +optional
	// +kubebuilder:default=kvm
	// +kubebuilder:validation:Enum=kvm;qemu
	VirtType string `json:"virtType,omitempty"`

	// CPUMode of the domains. Unset leaves it to nova.
	//
	// +optional
	// +kubebuilder:validation:Enum=host-model;host-passthrough;custom;none
	CPUMode string `json:"cpuMode,omitempty"`

	// CPUModels of the domains, with cpuMode custom only.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.-]+$`
	CPUModels []string `json:"cpuModels,omitempty"`

	// ImagesType of the disks. Unset leaves it to nova.
	//
	// +optional
	// +kubebuilder:validation:Enum=default;qcow2;raw;flat
	ImagesType string `json:"imagesType,omitempty"`
}

// Values of NovaComputeUpdateStrategy.Type. Empty reads as RollingUpdate.
const (
	UpdateStrategyRollingUpdate = "RollingUpdate"
	UpdateStrategyOnDelete      = "OnDelete"
)

// NovaComputeUpdateStrategy is the pace of a rollout of the DaemonSet.
type NovaComputeUpdateStrategy struct {
	// Type of the strategy.
	//
	// +optional
	// +kubebuilder:default=RollingUpdate
	// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
	Type string `json:"type,omitempty"`

	// MaxUnavailable is how many pods, or which share of them, may be down at once.
	// Unset is 1. There is no surge: two nova-compute on one node would share libvirt.
	//
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// Values of HostTraitsSpec.Mode.
const (
	HostTraitsAppend  = "Append"
	HostTraitsReplace = "Replace"
)

// HostTraitsSpec adjusts the traits of one node.
//
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'Replace') || (has(self.traits) && size(self.traits) > 0)",message="traits must not be empty unless mode is Replace"
type HostTraitsSpec struct {
	// NodeName of the node, also the name of its Hypervisor. The pool need not hold it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName"`

	// Traits of the node.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^CUSTOM_[A-Z0-9_]+$`
	Traits []string `json:"traits,omitempty"`

	// Mode says whether the traits come on top of the pool's or instead of them.
	//
	// +optional
	// +kubebuilder:default=Append
	// +kubebuilder:validation:Enum=Append;Replace
	Mode string `json:"mode,omitempty"`
}

// NodePhase is where a node stands in the pool.
//
// +kubebuilder:validation:Enum=Pending;Active;Draining;Releasing;Conflict
type NodePhase string

// The phases of a node.
const (
	// NodePhasePending waits for its compute service or for its host mapping.
	NodePhasePending NodePhase = "Pending"
	// NodePhaseActive is registered and mapped.
	NodePhaseActive NodePhase = "Active"
	// NodePhaseDraining has left the selection and still counts servers.
	NodePhaseDraining NodePhase = "Draining"
	// NodePhaseReleasing is empty; its pod goes, then its service.
	NodePhaseReleasing NodePhase = "Releasing"
	// NodePhaseConflict is held by another pool of the same Nova.
	NodePhaseConflict NodePhase = "Conflict"
)

// NovaComputeStatus is what the operator saw last.
type NovaComputeStatus struct {
	// Conditions, one per step of a pass plus their aggregate.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration of the last pass, even of one that stopped early.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// InstalledImage is the image every node ran a ready pod of last.
	//
	// +optional
	InstalledImage string `json:"installedImage,omitempty"`

	// DesiredNumberScheduled of the DaemonSet.
	//
	// +optional
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled,omitempty"`

	// NumberReady of the DaemonSet.
	//
	// +optional
	NumberReady int32 `json:"numberReady,omitempty"`

	// Nodes is the ledger, sorted by name. An entry outlives the selection until the
	// node's compute service is deleted.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Nodes []NodeStatus `json:"nodes,omitempty"`

	// CreatedTraits are the traits this pool created in Placement and has not deleted.
	//
	// +optional
	// +listType=set
	CreatedTraits []string `json:"createdTraits,omitempty"`
}

// NodeStatus is one node of the ledger.
type NodeStatus struct {
	// Name of the node, also the host name in nova.
	Name string `json:"name"`

	// Phase of the node.
	Phase NodePhase `json:"phase"`

	// Zone of the node, from its zone label.
	//
	// +optional
	Zone string `json:"zone,omitempty"`

	// ServiceID is the UUID of the node's compute service.
	//
	// +optional
	ServiceID string `json:"serviceID,omitempty"`

	// ServiceStatus is enabled or disabled.
	//
	// +optional
	ServiceStatus string `json:"serviceStatus,omitempty"`

	// ServiceState is up or down.
	//
	// +optional
	ServiceState string `json:"serviceState,omitempty"`

	// DisabledReason of the service.
	//
	// +optional
	DisabledReason string `json:"disabledReason,omitempty"`

	// Instances on the node while it drains.
	//
	// +optional
	Instances *int32 `json:"instances,omitempty"`

	// HeldBy says what keeps a draining node from being released.
	//
	// +optional
	HeldBy *NodeHold `json:"heldBy,omitempty"`

	// ConflictsWith is the pool that holds the node.
	//
	// +optional
	ConflictsWith string `json:"conflictsWith,omitempty"`

	// Traits on the node, or on their way to it.
	//
	// +optional
	// +listType=atomic
	Traits []string `json:"traits,omitempty"`
}

// NodeHold counts what makes nova refuse to delete a node's compute service.
type NodeHold struct {
	// Servers on the node that are not deleted.
	//
	// +optional
	Servers int32 `json:"servers,omitempty"`

	// SoftDeleted servers on the node.
	//
	// +optional
	SoftDeleted int32 `json:"softDeleted,omitempty"`

	// Migrations in progress there, unconfirmed resizes included.
	//
	// +optional
	Migrations int32 `json:"migrations,omitempty"`
}
