// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// DeploymentSpec sizes and places one Deployment of the control plane.
//
// +kubebuilder:validation:XValidation:rule="(has(self.preStopSleepSeconds) ? self.preStopSleepSeconds : 5) < (has(self.terminationGracePeriodSeconds) ? self.terminationGracePeriodSeconds : 30)",message="preStopSleepSeconds must be strictly less than terminationGracePeriodSeconds"
type DeploymentSpec struct {
	// Replicas is the pod count. The schema default reaches a block that is present;
	// for an absent one the mutating webhook stores 3 (API) or 1 (the other roles).
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas,omitempty"`

	// Resources of the container. Each of CPU and memory that is named neither as
	// request nor as limit is sized when the pod is rendered.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// TerminationGracePeriodSeconds of the pods. Unset follows nova's own graceful
	// shutdown time of the release.
	//
	// +optional
	// +kubebuilder:validation:Minimum=10
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// PreStopSleepSeconds is how long a pod keeps serving after it left the endpoints.
	// Unset is 5.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	PreStopSleepSeconds *int64 `json:"preStopSleepSeconds,omitempty"`

	// Strategy of a rollout. Unset is a rolling update, one pod more and none less.
	//
	// +optional
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`

	// TopologySpreadConstraints of the pods. Unset spreads over zones and hosts; an
	// empty list spreads nothing.
	//
	// +optional
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitzero"`

	// PriorityClassName of the pods.
	//
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`

	NodePlacementSpec `json:",inline"`

	// VerticalAutoscaling opts the Deployment into a VerticalPodAutoscaler.
	//
	// +optional
	VerticalAutoscaling *VerticalAutoscalingSpec `json:"verticalAutoscaling,omitempty"`
}

// UWSGISpec tunes the uWSGI server of a WSGI role.
//
// +kubebuilder:validation:XValidation:rule="!has(self.httpKeepAliveTimeout) || !has(self.httpKeepAlive) || self.httpKeepAlive",message="httpKeepAliveTimeout may only be set when httpKeepAlive is true"
type UWSGISpec struct {
	// Processes is the number of worker processes.
	//
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	Processes int32 `json:"processes,omitempty"`

	// Threads is the number of threads of each worker.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	Threads int32 `json:"threads,omitempty"`

	// HTTPKeepAlive keeps client connections open. Unset is true.
	//
	// +optional
	HTTPKeepAlive *bool `json:"httpKeepAlive,omitempty"`

	// HTTPKeepAliveTimeout closes an idle connection after so many seconds.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	HTTPKeepAliveTimeout *int32 `json:"httpKeepAliveTimeout,omitempty"`

	// Harakiri kills a worker whose request takes longer than so many seconds.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	Harakiri *int32 `json:"harakiri,omitempty"`
}

// AutoscalingSpec scales the API Deployment with a HorizontalPodAutoscaler.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetCPUUtilization) || has(self.targetMemoryUtilization)",message="at least one of targetCPUUtilization or targetMemoryUtilization must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas must not exceed maxReplicas"
type AutoscalingSpec struct {
	// MinReplicas is the lower bound. Unset is api.deployment.replicas.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the upper bound.
	//
	// +kubebuilder:validation:Minimum=1
	MaxReplicas int32 `json:"maxReplicas"`

	// TargetCPUUtilization in percent of the request.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetCPUUtilization *int32 `json:"targetCPUUtilization,omitempty"`

	// TargetMemoryUtilization in percent of the request.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetMemoryUtilization *int32 `json:"targetMemoryUtilization,omitempty"`

	// Behavior is copied onto the autoscaler.
	//
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}

// JobSpec sizes and places the pods of every Job and CronJob. A field that is unset
// falls back to the API block; an empty value opts out of the fallback.
type JobSpec struct {
	// Resources of every container. There is no fallback: each of CPU and memory that
	// is named neither way takes the operator's figure.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// PriorityClassName of the pods; "" opts out.
	//
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`

	// NodeSelector of the pods; {} opts out.
	//
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitzero"`

	// Tolerations of the pods; [] opts out.
	//
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitzero"`

	// Affinity of the pods; {} opts out. The fallback takes only the API block's node
	// affinity.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
}
