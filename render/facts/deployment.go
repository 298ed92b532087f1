package facts

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/c5c3/nova-operator/render"
)

// Deployment is the part of a live Deployment that decisions read.
type Deployment struct {
	Generation         int64 `json:"generation,omitempty"`
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Replicas is the live spec; nil reads as 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// OwnsReplicas is true while the operator is the only owner of spec.replicas: an
	// apply without it would reset the count to 1.
	OwnsReplicas bool `json:"ownsReplicas,omitempty"`
	// TotalReplicas, UpdatedReplicas, ReadyReplicas and AvailableReplicas are counts
	// of pods, Available the condition of that name.
	TotalReplicas     int32 `json:"totalReplicas,omitempty"`
	UpdatedReplicas   int32 `json:"updatedReplicas,omitempty"`
	ReadyReplicas     int32 `json:"readyReplicas,omitempty"`
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	Available         bool  `json:"available,omitempty"`
	// Image of the first container.
	Image string `json:"image,omitempty"`
	// ConfigMap is what volume `config` mounts.
	ConfigMap string `json:"configMap,omitempty"`
}

// DeploymentOf reads a Deployment.
func DeploymentOf(u *unstructured.Unstructured) (Deployment, error) {
	d, err := typed[appsv1.Deployment](u)
	if err != nil {
		return Deployment{}, err
	}
	out := Deployment{
		Generation: d.Generation, ObservedGeneration: d.Status.ObservedGeneration,
		Replicas: d.Spec.Replicas, OwnsReplicas: ownsReplicas(d.ManagedFields),
		TotalReplicas: d.Status.Replicas, UpdatedReplicas: d.Status.UpdatedReplicas,
		ReadyReplicas: d.Status.ReadyReplicas, AvailableReplicas: d.Status.AvailableReplicas,
		Image: firstImage(d), ConfigMap: MountedConfigMap(u),
	}
	for _, c := range d.Status.Conditions {
		out.Available = out.Available || c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue
	}
	return out, nil
}

func firstImage(d *appsv1.Deployment) string {
	if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
		return containers[0].Image
	}
	return ""
}

// ownsReplicas reports whether spec.replicas would be reset if the operator stopped
// applying it: it is the field's only manager.
func ownsReplicas(entries []metav1.ManagedFieldsEntry) bool {
	ours, others := false, false
	for _, e := range entries {
		if e.FieldsV1 == nil {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil || !set.Has(fieldpath.MakePathOrDie("spec", "replicas")) {
			continue
		}
		if e.Manager == render.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			ours = true
		} else {
			others = true
		}
	}
	return ours && !others
}

// Wanted is the count of pods that the live spec asks for.
func (d Deployment) Wanted() int32 {
	if d.Replicas == nil {
		return 1
	}
	return *d.Replicas
}

// Serves is the steady-state test: the live Deployment is at its generation, has the pods
// it wants and says so. Old pods count: they serve.
func (d Deployment) Serves() bool {
	return d.ObservedGeneration >= d.Generation && d.ReadyReplicas >= d.Wanted() && d.Available
}

// RolledOut is the strict test: every pod is new, ready and available, on an image. A
// Deployment that does not exist is not rolled out.
func (d Deployment) RolledOut(image string) bool {
	want := d.Wanted()
	return d.ObservedGeneration >= d.Generation && d.Image == image &&
		d.UpdatedReplicas == want && d.ReadyReplicas == want && d.TotalReplicas == want && d.AvailableReplicas == want
}

// CameUp is an applied Deployment whose pods all came up. A count that the payload leaves
// to others stays as it was before; there tells whether there was a before.
func CameUp(payload *unstructured.Unstructured, before Deployment, there bool) (Deployment, error) {
	d, err := typed[appsv1.Deployment](payload)
	if err != nil {
		return Deployment{}, err
	}
	replicas, owns := before.Wanted(), false
	if d.Spec.Replicas != nil {
		replicas, owns = *d.Spec.Replicas, before.OwnsReplicas || !there
	}
	return Deployment{
		Generation: 1, ObservedGeneration: 1, Replicas: &replicas, OwnsReplicas: owns, TotalReplicas: replicas,
		UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas, Available: true,
		Image: firstImage(d), ConfigMap: MountedConfigMap(payload),
	}, nil
}
