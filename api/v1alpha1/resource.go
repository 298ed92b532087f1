// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Resource is a custom resource of this group, for code that serves every kind of it.
//
// +kubebuilder:object:generate=false
type Resource interface {
	metav1.Object
	runtime.Object
	// GetSpec returns a pointer to the spec; read only.
	GetSpec() any
	// GetConditions returns the conditions of the status; shared, not copied.
	GetConditions() []metav1.Condition
	SetConditions(conditions []metav1.Condition)
	// TakeStatus copies the status of another resource of the same kind.
	TakeStatus(from Resource)
	// GetObservedGeneration is the generation of the spec that the status is about.
	GetObservedGeneration() int64
	// TargetCluster names the cluster that holds the children; empty for the one that holds
	// the resource.
	TargetCluster() string
}

// Copy returns a deep copy of a resource.
func Copy[R Resource](r R) R { return r.DeepCopyObject().(R) }

var (
	_ Resource = &Nova{}
	_ Resource = &NovaCompute{}
)

// GetSpec implements Resource.
func (n *Nova) GetSpec() any { return &n.Spec }

// GetConditions implements Resource.
func (n *Nova) GetConditions() []metav1.Condition { return n.Status.Conditions }

// SetConditions implements Resource.
func (n *Nova) SetConditions(conditions []metav1.Condition) { n.Status.Conditions = conditions }

// TakeStatus implements Resource.
func (n *Nova) TakeStatus(from Resource) { from.(*Nova).Status.DeepCopyInto(&n.Status) }

// GetObservedGeneration implements Resource.
func (n *Nova) GetObservedGeneration() int64 { return n.Status.ObservedGeneration }

// TargetCluster implements Resource.
func (n *Nova) TargetCluster() string { return n.Spec.TargetClusterRef.clusterName() }

// GetSpec implements Resource.
func (c *NovaCompute) GetSpec() any { return &c.Spec }

// GetConditions implements Resource.
func (c *NovaCompute) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements Resource.
func (c *NovaCompute) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// TakeStatus implements Resource.
func (c *NovaCompute) TakeStatus(from Resource) { from.(*NovaCompute).Status.DeepCopyInto(&c.Status) }

// GetObservedGeneration implements Resource.
func (c *NovaCompute) GetObservedGeneration() int64 { return c.Status.ObservedGeneration }

// TargetCluster implements Resource.
func (c *NovaCompute) TargetCluster() string { return c.Spec.TargetClusterRef.clusterName() }

func (r *TargetClusterRefSpec) clusterName() string {
	if r == nil {
		return ""
	}
	return r.Name
}
