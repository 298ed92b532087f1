package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// nova reads the Nova.
func (r *rig) nova(ctx context.Context) (*v1alpha1.Nova, error) {
	n := &v1alpha1.Nova{}
	return n, r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "nova"}, n)
}

// await asks until done says yes. An error is one of the moment: it is what is said when
// time is up.
func await(ctx context.Context, what string, done func() (bool, error)) error {
	var last error
	for {
		ok, err := done()
		if ok && err == nil {
			return nil
		}
		last = err
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(context.Cause(ctx), last))
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// awaitReady waits for the Nova to be Ready for its present generation, and says each
// condition that turns on the way.
func (r *rig) awaitReady(ctx context.Context) error {
	shown := map[string]string{}
	var open string
	err := await(ctx, "the Nova to be Ready", func() (bool, error) {
		n, err := r.nova(ctx)
		if err != nil {
			return false, err
		}
		open = ""
		for _, c := range n.Status.Conditions {
			line := fmt.Sprintf("%-22s %-5s %s", c.Type, c.Status, c.Reason)
			if c.Status != metav1.ConditionTrue {
				open += fmt.Sprintf("\n  %s: %s", c.Reason, c.Message)
			}
			if shown[c.Type] != line && c.Type != v1alpha1.ConditionReady {
				shown[c.Type] = line
				say("    %s", line)
			}
		}
		c := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == n.Generation, nil
	})
	if err != nil {
		return fmt.Errorf("%w%s%s", err, open, r.podStates(context.WithoutCancel(ctx)))
	}
	return nil
}

// podStates says of each pod that isn't well why.
func (r *rig) podStates(ctx context.Context) string {
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return "\n  " + err.Error()
	}
	var text strings.Builder
	for _, p := range pods.Items {
		for _, s := range p.Status.ContainerStatuses {
			switch {
			case s.State.Waiting != nil:
				fmt.Fprintf(&text, "\n  pod %s: %s %s", p.Name, s.State.Waiting.Reason, s.State.Waiting.Message)
			case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
				fmt.Fprintf(&text, "\n  pod %s: exit %d %s", p.Name, s.State.Terminated.ExitCode, s.State.Terminated.Message)
			case !s.Ready && s.State.Running != nil:
				fmt.Fprintf(&text, "\n  pod %s: running, not ready, %d restarts", p.Name, s.RestartCount)
			}
		}
		if len(p.Status.ContainerStatuses) == 0 {
			fmt.Fprintf(&text, "\n  pod %s: %s %s", p.Name, p.Status.Phase, p.Status.Message)
		}
	}
	return text.String()
}

// checkReady applies the fixture and waits.
func checkReady(ctx context.Context, r *rig) (string, error) {
	if err := r.apply(ctx); err != nil {
		return "", err
	}
	if err := r.awaitReady(ctx); err != nil {
		return "", err
	}
	took := time.Since(r.since)
	memory, err := memoryOf("/")
	if err != nil {
		return "", err
	}
	pods, err := memoryOf(podsGroup)
	if err != nil {
		return "", err
	}
	list := &corev1.PodList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	var restarts int32
	for _, p := range list.Items {
		for _, s := range p.Status.ContainerStatuses {
			restarts += s.RestartCount
		}
	}
	note := fmt.Sprintf("Ready %.0f s after apply; %d MiB in all, %d MiB of it in pods; %d restarts", took.Seconds(), memory>>20, pods>>20, restarts)
	if restarts > 0 {
		return note, fmt.Errorf("containers were restarted %d times", restarts)
	}
	return note, nil
}

// mappedCells are the cells of the database, as name=uuid.
func (r *rig) mappedCells(ctx context.Context) ([]string, error) {
	rows, err := r.base.sql(ctx, "select name, uuid from "+r.credentials.APIDatabase.Schema+".cell_mappings order by name;")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.ReplaceAll(rows, "\t", "="), "\n"), nil
}

// checkCells compares the status with the database.
func checkCells(ctx context.Context, r *rig) (string, error) {
	mapped, err := r.mappedCells(ctx)
	if err != nil {
		return "", err
	}
	n, err := r.nova(ctx)
	if err != nil {
		return "", err
	}
	var said []string
	for _, c := range n.Status.Cells {
		said = append(said, c.Name+"="+c.UUID)
	}
	if !slices.Equal(said, mapped) || len(mapped) != 2 {
		return "", fmt.Errorf("status.cells are %v, the database maps %v", said, mapped)
	}
	return strings.Join(said, ", "), nil
}
