package facts

import (
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// Job is the part of a live Job that decisions read.
type Job struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
	// TemplateHash is the annotation it was created with.
	TemplateHash string `json:"templateHash,omitempty"`
	// Databases are the incarnations it was created for, UID by name of the Database; nil
	// when nothing says so.
	Databases map[string]string `json:"databases,omitempty"`
	// Complete and Failed are the terminal conditions; Failed wins.
	Complete bool `json:"complete,omitempty"`
	Failed   bool `json:"failed,omitempty"`
	// Failure is the reason and message of the Failed condition.
	Failure  string `json:"failure,omitempty"`
	Deleting bool   `json:"deleting,omitempty"`
	// Unstarted is true when it is known that no container of it ever started: such a Job
	// changed nothing.
	Unstarted bool `json:"unstarted,omitempty"`
	// Created and Finished bound its duration; Finished is zero while it runs.
	Created  time.Time `json:"created,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// ConfigMap is what its pods mount.
	ConfigMap string `json:"configMap,omitempty"`
	// Message is the termination message of its pod; empty when unread or unreadable.
	Message string `json:"report,omitempty"`
}

// JobOf reads a Job, without the termination message of its pod.
func JobOf(u *unstructured.Unstructured) (Job, error) {
	j, err := typed[batchv1.Job](u)
	if err != nil {
		return Job{}, err
	}
	out := Job{
		Name: j.Name, UID: string(j.UID), TemplateHash: j.Annotations[v1alpha1.AnnotationPodSpecHash], Databases: databasesOf(j.Annotations),
		Deleting: j.DeletionTimestamp != nil, Created: j.CreationTimestamp.UTC(), ConfigMap: MountedConfigMap(u),
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

// Unstarted reports whether a Job and all its pods say that no container of it ever
// started. A pod that is gone left its count in the status.
func Unstarted(u *unstructured.Unstructured, pods []corev1.Pod) (bool, error) {
	j, err := typed[batchv1.Job](u)
	if err != nil {
		return false, err
	}
	s := j.Status
	if s.Failed > 0 || s.Succeeded > 0 || s.Ready != nil && *s.Ready > 0 || s.Terminating != nil && *s.Terminating > 0 {
		return false, nil
	}
	for i := range pods {
		p := &pods[i].Status
		for _, c := range slices.Concat(p.InitContainerStatuses, p.ContainerStatuses) {
			if c.State.Waiting == nil || c.LastTerminationState != (corev1.ContainerState{}) || c.RestartCount > 0 {
				return false, nil
			}
		}
		if p.Phase != corev1.PodPending {
			return false, nil
		}
	}
	return true, nil
}

// Ended reports whether the Job has ended, in whatever way.
func (j Job) Ended() bool { return j.Complete || j.Failed }

// assumedUID stands in for the UID of a Job that was only assumed to run.
const assumedUID = "assumed"

// RanThrough is an applied Job that ran to completion.
func RanThrough(payload *unstructured.Unstructured) Job {
	return Job{
		Name: payload.GetName(), UID: assumedUID, Complete: true,
		TemplateHash: payload.GetAnnotations()[v1alpha1.AnnotationPodSpecHash], Databases: databasesOf(payload.GetAnnotations()),
		ConfigMap: MountedConfigMap(payload),
	}
}

// DatabasesAnnotation writes down incarnations of Database objects, UID by name; empty for
// none.
func DatabasesAnnotation(uids map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(uids)) {
		pairs = append(pairs, name+"="+uids[name])
	}
	return strings.Join(pairs, ",")
}

// databasesOf reads what DatabasesAnnotation wrote. A pair that is none is left out.
func databasesOf(annotations map[string]string) map[string]string {
	var uids map[string]string
	for pair := range strings.SplitSeq(annotations[v1alpha1.AnnotationDatabases], ",") {
		name, uid, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		if uids == nil {
			uids = map[string]string{}
		}
		uids[name] = uid
	}
	return uids
}
