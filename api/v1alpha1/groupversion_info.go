// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of both kinds.
const GroupName = "nova.openstack.c5c3.io"

// The kinds of this package, as they stand in manifests and owner references.
const (
	KindNova        = "Nova"
	KindNovaCompute = "NovaCompute"
)

var (
	// GroupVersion is the group and version every type here is registered under.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers both kinds and their lists.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Nova{}, &NovaList{}, &NovaCompute{}, &NovaComputeList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
