package nova

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/apply/diff"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// absorb puts one live child into an observation. A child of somebody else is not
// ours to observe: the applier refuses its name.
func absorb(seen *rendernova.Observed, owner apply.Owner, u *unstructured.Unstructured) error {
	if !owner.Owns(u) {
		return nil
	}
	switch u.GroupVersionKind() {
	case rendernova.KindDatabase:
		put(&seen.Databases, u.GetName(), readiness(u))
	case rendernova.KindUser:
		put(&seen.Users, u.GetName(), readiness(u))
	case rendernova.KindGrant:
		put(&seen.Grants, u.GetName(), readiness(u))
	case rendernova.KindHTTPRoute:
		put(&seen.Routes, u.GetName(), rendernova.Route{Accepted: routeAccepted(u)})
	case rendernova.KindDeployment:
		d, err := deploymentOf(u)
		if err != nil {
			return err
		}
		put(&seen.Deployments, u.GetName(), d)
	case rendernova.KindJob:
		j, err := jobOf(u)
		if err != nil {
			return err
		}
		j.Report = seen.Jobs[u.GetName()].Report
		put(&seen.Jobs, u.GetName(), j)
	}
	return nil
}

func put[V any](m *map[string]V, name string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = value
}

func deploymentOf(u *unstructured.Unstructured) (rendernova.Deployment, error) {
	d, err := typed[appsv1.Deployment](u)
	if err != nil {
		return rendernova.Deployment{}, err
	}
	out := rendernova.Deployment{
		Generation: d.Generation, ObservedGeneration: d.Status.ObservedGeneration,
		Replicas: d.Spec.Replicas, OwnsReplicas: ownsReplicas(d.ManagedFields),
		TotalReplicas: d.Status.Replicas, UpdatedReplicas: d.Status.UpdatedReplicas,
		ReadyReplicas: d.Status.ReadyReplicas, AvailableReplicas: d.Status.AvailableReplicas,
		ConfigMap: mountedConfigMap(u.Object, "spec", "template", "spec", "volumes"),
	}
	for _, c := range d.Status.Conditions {
		out.Available = out.Available || c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue
	}
	if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
		out.Image = containers[0].Image
	}
	return out, nil
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
		if e.Manager == diff.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			ours = true
		} else {
			others = true
		}
	}
	return ours && !others
}

func jobOf(u *unstructured.Unstructured) (rendernova.Job, error) {
	j, err := typed[batchv1.Job](u)
	if err != nil {
		return rendernova.Job{}, err
	}
	out := rendernova.Job{
		Name: j.Name, UID: string(j.UID), TemplateHash: j.Annotations[v1alpha1.AnnotationPodSpecHash],
		Deleting: j.DeletionTimestamp != nil, Created: j.CreationTimestamp.UTC(),
		ConfigMap: mountedConfigMap(u.Object, "spec", "template", "spec", "volumes"),
	}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobFailed:
			out.Failed, out.Complete = true, false
			out.Failure, out.Finished = c.Reason+": "+c.Message, c.LastTransitionTime.UTC()
		case batchv1.JobComplete:
			out.Complete = !out.Failed
			out.Finished = c.LastTransitionTime.UTC()
		case batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet:
		}
	}
	return out, nil
}

// mountedConfigMap is the ConfigMap behind volume `config` of a pod template.
func mountedConfigMap(object map[string]any, path ...string) string {
	volumes, _, _ := unstructured.NestedSlice(object, path...)
	for _, v := range volumes {
		m, ok := v.(map[string]any)
		if !ok || m["name"] != "config" {
			continue
		}
		name, _, _ := unstructured.NestedString(m, "configMap", "name")
		return name
	}
	return ""
}

func configMapOf(u *unstructured.Unstructured) rendernova.ConfigMap {
	out := rendernova.ConfigMap{Name: u.GetName(), Created: u.GetCreationTimestamp().UTC()}
	data, _, _ := unstructured.NestedMap(u.Object, "data")
	for key := range data {
		out.Keys = append(out.Keys, key)
	}
	slices.Sort(out.Keys)
	return out
}

// routeAccepted reports whether any parent accepted the route.
func routeAccepted(u *unstructured.Unstructured) bool {
	parents, _, _ := unstructured.NestedSlice(u.Object, "status", "parents")
	for _, p := range parents {
		m, ok := p.(map[string]any)
		if !ok {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(m, "conditions")
		if conditionTrue(conditions, "Accepted") {
			return true
		}
	}
	return false
}

// report reads the termination message of a Job's pod: the succeeded one, else the
// newest. Pods are read past the cache, because nothing may start an informer for
// them.
func (o *observer) report(ctx context.Context, namespace string, job rendernova.Job) (string, error) {
	pods := &corev1.PodList{}
	if err := o.uncached.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return "", err
	}
	var picked *corev1.Pod
	for i := range pods.Items {
		p := &pods.Items[i]
		owner := metav1.GetControllerOf(p)
		if owner == nil || string(owner.UID) != job.UID {
			continue
		}
		better := picked == nil || p.Status.Phase == corev1.PodSucceeded ||
			picked.Status.Phase != corev1.PodSucceeded && picked.CreationTimestamp.Before(&p.CreationTimestamp)
		if better {
			picked = p
		}
	}
	if picked == nil || len(picked.Status.ContainerStatuses) == 0 {
		return "", nil
	}
	state := picked.Status.ContainerStatuses[0]
	switch {
	case state.State.Terminated != nil:
		return state.State.Terminated.Message, nil
	case state.LastTerminationState.Terminated != nil:
		return state.LastTerminationState.Terminated.Message, nil
	default:
		return "", nil
	}
}
