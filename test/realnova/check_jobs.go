package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// checkSecondSync changes the configuration, so that db-sync runs once more on a database
// that is in use.
func checkSecondSync(ctx context.Context, r *rig) (string, error) {
	before, err := r.mappedCells(ctx)
	if err != nil {
		return "", err
	}
	job := &batchv1.Job{}
	key := client.ObjectKey{Namespace: namespace, Name: "nova-db-sync"}
	if err := r.client.Get(ctx, key, job); err != nil {
		return "", err
	}
	first := job.UID
	start := time.Now()
	if err := r.edit(ctx, `{"spec": {"logging": {"format": "json"}}}`); err != nil {
		return "", err
	}
	if err := await(ctx, "db-sync to run again", func() (bool, error) {
		err := r.client.Get(ctx, key, job)
		return err == nil && job.UID != first && job.Status.Succeeded == 1, client.IgnoreNotFound(err)
	}); err != nil {
		return "", fmt.Errorf("%w%s", err, r.podStates(context.WithoutCancel(ctx)))
	}
	if err := r.awaitReady(ctx); err != nil {
		return "", err
	}
	after, err := r.mappedCells(ctx)
	if err != nil {
		return "", err
	}
	if !slices.Equal(before, after) {
		return "", fmt.Errorf("the cells were %v and are %v", before, after)
	}
	return fmt.Sprintf("the same %d cells; Ready again after %.0f s", len(after), time.Since(start).Seconds()), nil
}

// archiveRun is `kubectl create job --from=cronjob/nova-db-archive`, with the retries of
// a person in a hurry.
func (r *rig) archiveRun(ctx context.Context, name string, env ...corev1.EnvVar) (*batchv1.Job, error) {
	cron := &batchv1.CronJob{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "nova-db-archive"}, cron); err != nil {
		return nil, err
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: cron.Spec.JobTemplate.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
	}, Spec: *cron.Spec.JobTemplate.Spec.DeepCopy()}
	job.Spec.BackoffLimit = new(int32(0))
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	container := &job.Spec.Template.Spec.Containers[0]
	for _, e := range env {
		container.Env = slices.DeleteFunc(container.Env, func(old corev1.EnvVar) bool { return old.Name == e.Name })
		container.Env = append(container.Env, e)
	}
	if err := r.client.Create(ctx, job); err != nil {
		return nil, err
	}
	return job, await(ctx, name+" to end", func() (bool, error) {
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err
		}
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
		}), nil
	})
}

// awaitReason waits for a condition to give a reason.
func (r *rig) awaitReason(ctx context.Context, condition, reason string) error {
	var last string
	err := await(ctx, condition+" to say "+reason, func() (bool, error) {
		n, err := r.nova(ctx)
		if err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(n.Status.Conditions, condition)
		if c == nil {
			return false, nil
		}
		last = c.Reason + ": " + c.Message
		return c.Reason == reason, nil
	})
	if err != nil {
		return fmt.Errorf("%w; it says %s", err, last)
	}
	return nil
}

// checkArchive deletes servers and archives their rows, then has runs fail in each way
// nova-manage tells apart.
func checkArchive(ctx context.Context, r *rig) (string, error) {
	admin, err := r.admin(ctx)
	if err != nil {
		return "", err
	}
	for i := range 3 {
		s, err := admin.boot(ctx, fmt.Sprintf("short-lived-%d", i))
		if err != nil {
			return "", err
		}
		if err := admin.compute(ctx, http.MethodDelete, "/servers/"+s.ID, nil, nil); err != nil {
			return "", err
		}
	}
	deleted := "select count(*) from " + r.credentials.Database.Schema + ".instances where deleted != 0;"
	if err := await(ctx, "three deleted rows", func() (bool, error) {
		count, err := r.count(ctx, deleted)
		return count >= 3, err
	}); err != nil {
		return "", err
	}
	job, err := r.archiveRun(ctx, "archive-good")
	if err != nil {
		return "", err
	}
	if job.Status.Succeeded != 1 {
		return "", errors.New("the run failed")
	}
	left, err := r.count(ctx, deleted)
	if err != nil {
		return "", err
	}
	moved, err := r.count(ctx, "select count(*) from "+r.credentials.Database.Schema+".shadow_instances;")
	if err != nil {
		return "", err
	}
	if left != 0 || moved < 3 {
		return "", fmt.Errorf("%d rows are left, %d were moved", left, moved)
	}
	if err := r.awaitReason(ctx, v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveScheduled); err != nil {
		return "", err
	}
	// Of nova-manage's ways to fail these can happen to a run: no value of the spec leads to
	// the others.
	var seen []string
	for _, one := range []struct {
		name string
		env  []corev1.EnvVar
	}{
		{"archive-bad-cap", []corev1.EnvVar{{Name: "MAX_ROWS", Value: "-1"}}},
		{"archive-no-login", []corev1.EnvVar{
			{Name: "OS_API_DATABASE__CONNECTION", Value: "mysql+pymysql://nobody:nothing@mariadb." + namespace + ".svc:3306/nova_api"},
			{Name: "OS_API_DATABASE__MAX_RETRIES", Value: "0"}, // else it asks for minutes
		}},
	} {
		if _, err := r.archiveRun(ctx, one.name, one.env...); err != nil {
			return "", err
		}
		code, err := r.exitCode(ctx, one.name)
		if err != nil {
			return "", err
		}
		seen = append(seen, fmt.Sprint(code))
		if err := r.awaitReason(ctx, v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveJobFailed); err != nil {
			return "", fmt.Errorf("after exit %d: %w", code, err)
		}
	}
	if err := r.edit(ctx, `{"spec": {"dbArchive": {"suspend": true}}}`); err != nil {
		return "", err
	}
	if err := r.awaitReason(ctx, v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveSuspended); err != nil {
		return "", err
	}
	if err := r.edit(ctx, `{"spec": {"dbArchive": {"suspend": false}}}`); err != nil {
		return "", err
	}
	if _, err := r.archiveRun(ctx, "archive-again"); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d rows moved; failed runs ended with %s", moved, strings.Join(seen, ", ")),
		r.awaitReason(ctx, v1alpha1.ConditionDBArchiveReady, v1alpha1.ReasonDBArchiveScheduled)
}

// count is the number a query gives.
func (r *rig) count(ctx context.Context, query string) (int, error) {
	text, err := r.base.sql(ctx, query)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// exitCode is that of the newest pod of a Job.
func (r *rig) exitCode(ctx context.Context, job string) (int32, error) {
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"batch.kubernetes.io/job-name": job}); err != nil {
		return 0, err
	}
	for _, p := range pods.Items {
		for _, s := range p.Status.ContainerStatuses {
			if s.State.Terminated != nil {
				return s.State.Terminated.ExitCode, nil
			}
		}
	}
	return 0, apierrors.NewNotFound(corev1.Resource("pods"), job)
}
