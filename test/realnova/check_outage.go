package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// outageLength is how long something stays away: longer than probes and polls take to
// notice it.
const outageLength = 45 * time.Second

// outage is something that dies and comes back.
type outage struct {
	name     string
	down, up func(context.Context, *rig) error
}

var outages = []outage{
	{"broker", func(_ context.Context, r *rig) error {
		r.base.rabbitmq.stop(syscall.SIGKILL, 10*time.Second)
		return nil
	}, func(ctx context.Context, r *rig) error {
		return errors.Join(r.base.rabbitmq.start(), r.base.rabbitmq.await(ctx, listening(at(portBus))))
	}},
	{"database", func(_ context.Context, r *rig) error {
		r.base.mariadb.stop(syscall.SIGKILL, 10*time.Second)
		return nil
	}, func(ctx context.Context, r *rig) error {
		return errors.Join(r.base.mariadb.start(), r.base.mariadb.await(ctx, listening(at(portMariaDB))))
	}},
	{
		"API server", func(ctx context.Context, r *rig) error { return r.control.StopAPIServer(ctx) },
		func(ctx context.Context, r *rig) error { return r.control.StartAPIServer(ctx) },
	},
}

// checkOutage kills the broker, the database and the API server, one at a time. Nobody
// does anything but start them again.
func checkOutage(ctx context.Context, r *rig) (string, error) {
	var notes []string
	for _, o := range outages {
		note, err := r.endure(ctx, o)
		if err != nil {
			return strings.Join(notes, "; "), fmt.Errorf("%s: %w%s", o.name, err, r.podStates(context.WithoutCancel(ctx)))
		}
		say("    %s", note)
		notes = append(notes, note)
	}
	return strings.Join(notes, "; "), nil
}

func (r *rig) endure(ctx context.Context, o outage) (string, error) {
	restarts, err := r.restarts(ctx)
	if err != nil {
		return "", err
	}
	if err := o.down(ctx, r); err != nil {
		return "", err
	}
	said := map[string]string{}
	until := time.Now().Add(outageLength)
	for time.Now().Before(until) && ctx.Err() == nil {
		if n, err := r.nova(ctx); err == nil {
			for _, c := range n.Status.Conditions {
				if c.Status != "True" && c.Type != "Ready" && c.Type != "Stalled" {
					said[c.Type] = c.Reason
				}
			}
		}
		time.Sleep(time.Second)
	}
	back := time.Now()
	if err := o.up(ctx, r); err != nil {
		return "", err
	}
	if err := errors.Join(r.awaitReady(ctx), r.awaitComputes(ctx), r.awaitScheduling(ctx)); err != nil {
		return "", err
	}
	if err := await(ctx, "a server to boot", func() (bool, error) {
		limited, cancel := within(ctx, time.Minute)
		defer cancel()
		err := r.serves(limited, "after-outage")
		return err == nil, err
	}); err != nil {
		return "", err
	}
	took := time.Since(back)
	again, err := r.restarts(ctx)
	if err != nil {
		return "", err
	}
	var conditions []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		conditions = append(conditions, name+" "+said[name])
	}
	if len(conditions) == 0 {
		conditions = []string{"no condition turned"}
	}
	return fmt.Sprintf("%s: %s; all well %.0f s after its return, %d containers restarted", o.name, strings.Join(conditions, ", "), took.Seconds(), again-restarts), nil
}

// awaitScheduling starts a pod. After an outage of the API server the controllers watch
// again with growing pauses; until the scheduler does, a pod that goes and comes back
// under its name makes it give up.
func (r *rig) awaitScheduling(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "probe"}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: new(false),
		Containers:                   []corev1.Container{{Name: "probe", Image: pauseImage, ImagePullPolicy: corev1.PullNever}},
	}}
	if err := r.client.Create(ctx, pod); err != nil {
		return err
	}
	if err := await(ctx, "a pod to run", func() (bool, error) {
		err := r.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return pod.Status.Phase == corev1.PodRunning, err
	}); err != nil {
		return err
	}
	if err := r.client.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return await(ctx, "the pod to go", func() (bool, error) {
		err := r.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// restarts counts those of the Nova's own containers.
func (r *rig) restarts(ctx context.Context) (int32, error) {
	var sum int32
	for _, component := range []string{"api", "metadata", "scheduler", "conductor", "novncproxy"} {
		pods, err := r.pods(ctx, component)
		if err != nil {
			return 0, err
		}
		for _, p := range pods {
			for _, s := range p.Status.ContainerStatuses {
				sum += s.RestartCount
			}
		}
	}
	return sum, nil
}
