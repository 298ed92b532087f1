// SPDX-License-Identifier: Apache-2.0

// Package apitest holds resources with what is wrong with them, for every test of the
// rules: the pure functions, and the webhooks that serve them on a real API server.
//
// A case is a change of the smallest valid resource. Its key says what the case is about
// and is unique within its table. Nothing but tests imports this package.
package apitest

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// NovaCase is a Nova and what its author is told.
type NovaCase struct {
	// Old changes the smallest resource into the stored one of an update, Change into the
	// one that is sent; nil changes nothing.
	Old, Change func(*v1alpha1.Nova)
	// Want are the violations as "path: message".
	Want     []string
	Warnings []string
}

// ComputeCase is a NovaCompute and what its author is told.
type ComputeCase struct {
	Old, Change func(*v1alpha1.NovaCompute)
	// Release is the one of the Nova the pool joins; there is none when it is empty.
	Release        string
	Want, Warnings []string
}

// NovaCreate are new Novas.
var NovaCreate = merged(novaSuffixes(), novaBacking, novaWorkload, novaText, novaOptions, novaAutoscaling)

// merged panics when two tables share a key.
func merged(tables ...map[string]NovaCase) map[string]NovaCase {
	all := map[string]NovaCase{}
	for _, table := range tables {
		for name := range table {
			if _, found := all[name]; found {
				panic("two cases are called " + name)
			}
		}
		maps.Copy(all, table)
	}
	return all
}

// Why a text may not have a line break.
const (
	inServiceConfig = "value must not contain a newline or carriage return: it is rendered verbatim into the service configuration file, so a newline injects arbitrary config lines"
	inNovaConf      = "value must not contain a newline or carriage return: it is rendered verbatim into nova.conf and nova-compute.conf, so a newline injects arbitrary config lines"
)

// MinimalNova is the smallest valid Nova, as Default leaves it.
func MinimalNova() *v1alpha1.Nova {
	nova := SmallestNova()
	nova.Default()
	return nova
}

// SmallestNova is the smallest Nova somebody can write.
func SmallestNova() *v1alpha1.Nova {
	return &v1alpha1.Nova{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "nova"},
		Spec: v1alpha1.NovaSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "ghcr.io/c5c3/nova", Tag: "2026.1"},
			APIDatabase: v1alpha1.DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "db"}, Database: "nova_api",
				SecretRef: v1alpha1.SecretRefSpec{Name: "nova-api-db"},
			},
			Database: v1alpha1.DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "db"}, Database: "nova",
				SecretRef: v1alpha1.SecretRefSpec{Name: "nova-db"},
			},
			Cache:            v1alpha1.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}},
			Messaging:        v1alpha1.MessagingSpec{ClusterRef: &corev1.LocalObjectReference{Name: "rabbitmq"}},
			Metadata:         v1alpha1.NovaMetadataSpec{SharedSecretRef: v1alpha1.SecretRefSpec{Name: "metadata"}},
			KeystoneEndpoint: "http://keystone.openstack.svc:5000/v3",
			ServiceUser:      v1alpha1.ServiceUserSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "nova-user"}},
		},
	}
}

// MinimalCompute is the smallest valid NovaCompute.
func MinimalCompute() *v1alpha1.NovaCompute {
	return &v1alpha1.NovaCompute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "pool"},
		Spec: v1alpha1.NovaComputeSpec{
			NovaRef:      v1alpha1.NovaRefSpec{Name: "nova"},
			NodeSelector: map[string]string{"pool": "a"},
		},
	}
}

// Complaints are errors as "path: message", without the value.
func Complaints(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		detail := err.Detail
		if err.Type == field.ErrorTypeNotSupported {
			detail = "unsupported, " + detail
		}
		lines = append(lines, err.Field+": "+detail)
	}
	return lines
}

// Resources are requests and limits of a container.
func Resources(requests, limits corev1.ResourceList) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{Requests: requests, Limits: limits}
}

func cpu(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
}

func memory(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}
}
