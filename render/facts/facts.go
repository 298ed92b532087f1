// Package facts is what any kind observes of a cluster, as plain data, and how it is read
// from an object.
//
// Input: objects as the API server gives them. Output: the few fields that decisions read.
// An observation is a document: every type here has a JSON form. Nothing here reaches a
// cluster.
package facts

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/nova-operator/render"
)

// Readiness is the state of an object that reports a Ready condition.
type Readiness struct {
	Ready bool `json:"ready,omitempty"`
	// Deleting is true with a deletion timestamp.
	Deleting bool `json:"deleting,omitempty"`
}

// ReadinessOf reads the Ready condition.
func ReadinessOf(u *unstructured.Unstructured) (Readiness, error) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return Readiness{Ready: conditionTrue(conditions, "Ready"), Deleting: u.GetDeletionTimestamp() != nil}, nil
}

func conditionTrue(conditions []any, kind string) bool {
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == kind && m["status"] == "True"
	})
}

// SecretData is the content of a Secret, by key.
type SecretData map[string]render.Sensitive

// SecretKey is how an observation names a Secret: by name in the namespace of the resource,
// home, and by namespace/name elsewhere.
func SecretKey(home, namespace, name string) string {
	if namespace == home {
		return name
	}
	return namespace + "/" + name
}

// SecretDataOf decodes the data of a Secret. No error quotes a value.
func SecretDataOf(u *unstructured.Unstructured) (SecretData, error) {
	encoded, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("decode Secret %s/%s: data is no map of strings", u.GetNamespace(), u.GetName())
	}
	data := SecretData{}
	for key, value := range encoded {
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("decode Secret %s/%s: key %s is not base64", u.GetNamespace(), u.GetName(), key)
		}
		data[key] = render.Sensitive(raw)
	}
	return data, nil
}

// Capability tells whether a cluster serves an optional kind.
type Capability struct {
	Served bool `json:"served,omitempty"`
	// Error is why the question could not be answered.
	Error string `json:"error,omitempty"`
}

// ConfigMap is one generation of a configuration.
type ConfigMap struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created,omitzero"`
	// Keys of its data, sorted.
	Keys []string `json:"keys,omitempty"`
}

// ConfigMapOf reads a generation of a configuration.
func ConfigMapOf(u *unstructured.Unstructured) ConfigMap {
	out := ConfigMap{Name: u.GetName(), Created: u.GetCreationTimestamp().UTC()}
	data, _, _ := unstructured.NestedMap(u.Object, "data")
	for key := range data {
		out.Keys = append(out.Keys, key)
	}
	slices.Sort(out.Keys)
	return out
}

// Where the volumes of a workload stand.
var (
	templateVolumes    = []string{"spec", "template", "spec", "volumes"}
	podVolumes         = []string{"spec", "volumes"}
	jobTemplateVolumes = []string{"spec", "jobTemplate", "spec", "template", "spec", "volumes"}
)

// configVolume is the volume through which every pod of ours reads its configuration.
const configVolume = "config"

// MountedConfigMap is the ConfigMap behind volume `config` of the pods of a workload; empty
// for none.
func MountedConfigMap(u *unstructured.Unstructured) string {
	path := templateVolumes
	switch u.GroupVersionKind() {
	case render.KindCronJob:
		path = jobTemplateVolumes
	case render.KindPod:
		path = podVolumes
	}
	volumes, _, _ := unstructured.NestedSlice(u.Object, path...)
	for _, v := range volumes {
		if m, ok := v.(map[string]any); ok && m["name"] == configVolume {
			name, _, _ := unstructured.NestedString(m, "configMap", "name")
			return name
		}
	}
	return ""
}

// KeepsConfig reports whether what a workload mounts is still needed. A ReplicaSet that
// neither wants nor has pods is history, and so is what has ended: it mounts nothing again.
func KeepsConfig(u *unstructured.Unstructured) bool {
	switch u.GroupVersionKind() {
	case render.KindReplicaSet:
		wants, found, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
		has, _, _ := unstructured.NestedInt64(u.Object, "status", "replicas")
		return !found || wants > 0 || has > 0
	case render.KindPod:
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed)
	case render.KindJob:
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return !conditionTrue(conditions, "Complete") && !conditionTrue(conditions, "Failed")
	}
	return true
}

// Route is the state of a live HTTPRoute.
type Route struct {
	// Accepted is true when any parent accepted it.
	Accepted bool `json:"accepted,omitempty"`
}

// RouteOf reads an HTTPRoute.
func RouteOf(u *unstructured.Unstructured) (Route, error) {
	parents, _, _ := unstructured.NestedSlice(u.Object, "status", "parents")
	return Route{Accepted: slices.ContainsFunc(parents, func(p any) bool {
		m, ok := p.(map[string]any)
		if !ok {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(m, "conditions")
		return conditionTrue(conditions, "Accepted")
	})}, nil
}

// RabbitmqCluster names the Secret of the broker's default user, empty while the broker
// has not made one.
type RabbitmqCluster struct {
	UserSecret string `json:"userSecret,omitempty"`
	// UserSecretNamespace is that of the broker when empty.
	UserSecretNamespace string `json:"userSecretNamespace,omitempty"`
}

// RabbitmqClusterOf reads a broker.
func RabbitmqClusterOf(u *unstructured.Unstructured) (c RabbitmqCluster) {
	c.UserSecret, _, _ = unstructured.NestedString(u.Object, "status", "defaultUser", "secretReference", "name")
	c.UserSecretNamespace, _, _ = unstructured.NestedString(u.Object, "status", "defaultUser", "secretReference", "namespace")
	return c
}

// typed converts an object to its Go type.
func typed[T any](u *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("decode %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	return out, nil
}
