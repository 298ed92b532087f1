package render

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stage is the wave in which an object is applied. A wave starts when the one
// before it is done; objects of one wave are independent of each other.
type Stage int

// The waves in the order they are applied.
const (
	// StageConfig holds configuration and Secrets, which everything later reads.
	StageConfig Stage = iota
	// StageDatabase holds schemas, users and grants.
	StageDatabase
	// StageJobs holds run-once Jobs.
	StageJobs
	// StageWorkloads holds Deployments, DaemonSets and CronJobs.
	StageWorkloads
	// StageNetwork holds Services, routes, policies, budgets and autoscalers.
	StageNetwork
)

// Stages lists every wave in apply order.
var Stages = []Stage{StageConfig, StageDatabase, StageJobs, StageWorkloads, StageNetwork}

var stageNames = map[Stage]string{
	StageConfig:    "config",
	StageDatabase:  "database",
	StageJobs:      "jobs",
	StageWorkloads: "workloads",
	StageNetwork:   "network",
}

// String is the wave's name as users read it in render and diff output.
func (s Stage) String() string {
	if n, ok := stageNames[s]; ok {
		return n
	}
	return fmt.Sprintf("stage(%d)", int(s))
}

// Key names one object on one cluster.
type Key struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// String is "Kind namespace/name", with the group behind the kind where there is one.
func (k Key) String() string {
	kind := k.Kind
	if k.Group != "" {
		kind += "." + k.Group
	}
	if k.Namespace == "" {
		return kind + " " + k.Name
	}
	return kind + " " + k.Namespace + "/" + k.Name
}

// Resource is what a builder returns: an apply configuration or anything else that
// marshals to the JSON of a server-side apply payload.
type Resource any

// Policy says how the applier treats an object beyond a plain server-side apply.
// The zero value is a plain apply that refuses to replace the object.
type Policy struct {
	// CreateOnly is for objects whose name carries the hash of their content: an
	// existing object of that name that we own is left as it is, but for its marks.
	CreateOnly bool `json:"createOnly,omitempty"`
	// Recreate allows delete and create when the API server calls a changed field
	// immutable, after a dry-run create proved the new object.
	Recreate bool `json:"recreate,omitempty"`
	// ExactData demands that the live `data` holds the desired keys and no other:
	// keys another manager added are removed.
	ExactData bool `json:"exactData,omitempty"`
	// Unreferenced is for an object that must outlive its owner: only labels mark it,
	// because the garbage collector deletes what refers to an owner that is gone, in a
	// foreground deletion even before the owner's finalizer runs. Where the owner's name
	// is too long for a label, the reference stays.
	Unreferenced bool `json:"unreferenced,omitempty"`
	// Yields is a field, such as spec.replicas, that is given up to another manager who
	// claims it: the value was carried on only until somebody does. Empty yields none.
	Yields string `json:"yields,omitempty"`
}

// Object is one desired object: the exact apply payload without ownership marks,
// which the applier stamps.
type Object struct {
	Stage   Stage
	Policy  Policy
	Content *unstructured.Unstructured
}

// Key returns the object's identity.
func (o Object) Key() Key { return KeyOf(o.Content) }

// KeyOf returns the identity of an unstructured object.
func KeyOf(u *unstructured.Unstructured) Key {
	return Key{GroupVersionKind: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Forms remembers canonical forms by payload, for decisions that are taken again and
// again. Objects from it share their content: read only. A nil one remembers nothing.
type Forms map[string]*unstructured.Unstructured

// NewObject turns a builder's result into a desired object in canonical form. It
// returns an error for a payload without apiVersion, kind or name.
func NewObject(stage Stage, policy Policy, r Resource) (Object, error) {
	return Forms(nil).NewObject(stage, policy, r)
}

// NewObject is the function of this name, which looks the payload up first.
func (f Forms) NewObject(stage Stage, policy Policy, r Resource) (Object, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return Object{}, fmt.Errorf("encode %T: %w", r, err)
	}
	if known := f[string(raw)]; known != nil {
		return Object{Stage: stage, Policy: policy, Content: known}, nil
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return Object{}, fmt.Errorf("decode %T: %w", r, err)
	}
	if u.GetName() == "" {
		return Object{}, fmt.Errorf("%s without a name", u.GetKind())
	}
	if err := Canonical(u); err != nil {
		return Object{}, fmt.Errorf("%s: %w", KeyOf(u), err)
	}
	if f != nil {
		f[string(raw)] = u
	}
	return Object{Stage: stage, Policy: policy, Content: u}, nil
}

// DeepCopy returns an independent copy.
func (o Object) DeepCopy() Object {
	o.Content = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(o.Content.Object)}
	return o
}
