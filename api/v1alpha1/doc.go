// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the two custom resources of the operator, Nova and
// NovaCompute, in group nova.openstack.c5c3.io.
//
// It is the bottom of the import graph: types, condition types and reasons, the
// defaults of the mutating webhook as pure methods, and validation as pure
// functions. It reaches no cluster, reads no clock and depends on apimachinery,
// the Kubernetes API types and api/catalog only.
//
// A default is stored by the API server only where a field carries a
// kubebuilder default, and by the mutating webhook only where Default says so.
// Every other default is resolved when the desired objects are rendered, so
// that an unset field keeps following the operator.
//
// +kubebuilder:object:generate=true
// +groupName=nova.openstack.c5c3.io
package v1alpha1

//go:generate go tool -modfile=../../tools/go.mod controller-gen object:headerFile=../../hack/boilerplate.go.txt paths=.
//go:generate go tool -modfile=../../tools/go.mod controller-gen crd paths=. output:crd:dir=../../kustomize/crd
//go:generate go -C ../../tools run ./crdtrim ../kustomize/crd/nova.openstack.c5c3.io_novacomputes.yaml ../kustomize/crd/nova.openstack.c5c3.io_novas.yaml
//go:generate go -C ../../tools run ./reference ../kustomize/crd/nova.openstack.c5c3.io_novas.yaml ../docs/reference-nova.md
//go:generate go -C ../../tools run ./reference ../kustomize/crd/nova.openstack.c5c3.io_novacomputes.yaml ../docs/reference-novacompute.md
