package facts

import (
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
	// Complete and Failed are the terminal conditions; Failed wins.
	Complete bool `json:"complete,omitempty"`
	Failed   bool `json:"failed,omitempty"`
	// Failure is the reason and message of the Failed condition.
	Failure  string `json:"failure,omitempty"`
	Deleting bool   `json:"deleting,omitempty"`
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
		Name: j.Name, UID: string(j.UID), TemplateHash: j.Annotations[v1alpha1.AnnotationPodSpecHash],
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

// Ended reports whether the Job has ended, in whatever way.
func (j Job) Ended() bool { return j.Complete || j.Failed }

// assumedUID stands in for the UID of a Job that was only assumed to run.
const assumedUID = "assumed"

// RanThrough is an applied Job that ran to completion.
func RanThrough(payload *unstructured.Unstructured) Job {
	return Job{
		Name: payload.GetName(), UID: assumedUID, Complete: true,
		TemplateHash: payload.GetAnnotations()[v1alpha1.AnnotationPodSpecHash], ConfigMap: MountedConfigMap(payload),
	}
}
