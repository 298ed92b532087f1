package nova_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// roles are the Deployments in the order an upgrade rolls them.
var roles = []string{"nova-conductor", "nova-scheduler", "nova-metadata", "nova-novncproxy", "nova"}

// follow notes, in order, each phase the status shows and each Deployment that takes
// another image, until stopped.
func (w *novaWorld) follow(ctx context.Context) (stop func() []string) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(ctx)
	novas, apps := w.watch(ctx, &v1alpha1.NovaList{}), w.watch(ctx, &appsv1.DeploymentList{})
	done := make(chan []string, 1)
	go func() {
		var steps []string
		images := map[string]string{}
		open := 2
		for open > 0 {
			select {
			case e, ok := <-novas.ResultChan():
				if !ok {
					novas, open = closed{}, open-1
					continue
				}
				if n, ok := e.Object.(*v1alpha1.Nova); ok && n.Status.UpgradePhase != "" {
					steps = append(steps, string(n.Status.UpgradePhase))
				}
			case e, ok := <-apps.ResultChan():
				if !ok {
					apps, open = closed{}, open-1
					continue
				}
				d, ok := e.Object.(*appsv1.Deployment)
				if !ok {
					continue
				}
				image := d.Spec.Template.Spec.Containers[0].Image
				if before := images[d.Name]; before != "" && before != image {
					steps = append(steps, d.Name+" takes "+image[strings.LastIndexByte(image, ':')+1:])
				}
				images[d.Name] = image
			}
		}
		done <- slices.Compact(steps)
	}()
	return func() []string {
		cancel()
		return <-done
	}
}

// closed is a watch that says nothing any more.
type closed struct{}

func (closed) Stop()                          {}
func (closed) ResultChan() <-chan watch.Event { return nil }

// to edits release and tag in one.
func (w *novaWorld) to(release, tag string) {
	w.T.Helper()
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.OpenStackRelease, n.Spec.Image.Tag = release, tag })
}

// noRetries makes the next failure of a Job its last: the Job controller's own pauses
// between five tries add up to minutes.
func (w *novaWorld) noRetries(name string) {
	w.T.Helper()
	cluster.Eventually(w.T, "Job "+name, func(ctx context.Context) (bool, error) {
		job := w.Get(render.KindJob, name)
		if job == nil {
			return false, nil
		}
		return true, w.Client.Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"backoffLimit":0}}`)))
	})
}

// awaitRelease waits until a release is installed, no upgrade runs and all is Ready.
func (w *novaWorld) awaitRelease(release string) {
	w.T.Helper()
	cluster.Eventually(w.T, "release "+release, func(ctx context.Context) (bool, error) {
		n, err := w.Live(ctx)
		if err != nil {
			return false, err
		}
		if n.Status.InstalledRelease != release || n.Status.UpgradePhase != "" {
			return false, fmt.Errorf("installed %s, phase %q", n.Status.InstalledRelease, n.Status.UpgradePhase)
		}
		return true, nil
	})
	w.AwaitReady()
}

func TestUpgrade_OnARealAPIServer(t *testing.T) {
	t.Parallel()
	w := ready(t, func(n *v1alpha1.Nova) { n.Spec.OpenStackRelease, n.Spec.Image.Tag = "2025.2", "2025.2" })

	// Taken back in the middle of the roll: the conductor never gets ready.
	w.to("2026.1", "2026.1-never-ready-conductor")
	w.AwaitReason(v1alpha1.ConditionConductorReady, v1alpha1.ReasonWaitingForConductor)
	cluster.Eventually(t, "the conductor to hang", func(context.Context) (bool, error) {
		return strings.HasSuffix(w.deployment("nova-conductor").Spec.Template.Spec.Containers[0].Image, "conductor"), nil
	})
	if image := w.deployment("nova-scheduler").Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, ":2025.2") {
		t.Errorf("the scheduler runs %s while the conductor hangs", image)
	}
	w.to("2025.2", "2025.2")
	w.AwaitEvent(v1alpha1.EventUpgradeAborted)
	w.awaitRelease("2025.2")
	for _, name := range []string{"nova-db-expand", "nova-db-migrate", "nova-db-contract"} {
		if w.Get(render.KindJob, name) != nil {
			t.Errorf("%s outlived the abort", name)
		}
	}

	// A failed expand: nothing moves, and another image repairs it.
	w.to("2026.1", "2026.1-fail-db-expand")
	w.noRetries("nova-db-expand")
	c := w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonExpandFailed)
	if !strings.Contains(c.Message, "nova-db-expand") {
		t.Errorf("message %q names no Job", c.Message)
	}
	w.AwaitEvent(v1alpha1.EventExpandFailed)
	w.AwaitEvent(v1alpha1.EventUpgradeCheckWarnings, "exit 2")
	for _, name := range roles {
		if image := w.deployment(name).Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, ":2025.2") {
			t.Errorf("%s runs %s behind a failed expand", name, image)
		}
	}

	stop := w.follow(t.Context())
	w.to("2026.1", "2026.1")
	w.awaitRelease("2026.1")
	steps := stop()
	want := []string{"Expanding", "Migrating", "RollingUpdate"}
	for _, name := range roles {
		want = append(want, name+" takes 2026.1")
	}
	want = append(want, "Contracting")
	// The watches of two kinds are not ordered among each other.
	if got := phasesOf(steps); !slices.Equal(got, phasesOf(want)) {
		t.Errorf("phases %q", got)
	}
	if got := rollsOf(steps); !slices.Equal(got, rollsOf(want)) {
		t.Errorf("rolls %q, want %q", got, rollsOf(want))
	}
	for _, reason := range []string{
		v1alpha1.EventUpgradeInitiated, v1alpha1.EventExpandComplete, v1alpha1.EventMigrateComplete,
		v1alpha1.EventDeploymentRolloutComplete, v1alpha1.EventUpgradeComplete,
	} {
		w.AwaitEvent(reason)
	}
	// The second roll: every role but the API announces the new release.
	for _, name := range roles {
		got := w.deployment(name).Spec.Template.Annotations[v1alpha1.AnnotationInstalledRelease]
		if want := map[bool]string{true: "", false: "2026.1"}[name == "nova"]; got != want {
			t.Errorf("%s announces %q, want %q", name, got, want)
		}
	}
	t.Logf("observed in order: %s", strings.Join(steps, "; "))
}

// phasesOf are the phases alone; one is seen again between two rolls.
func phasesOf(steps []string) []string {
	return slices.Compact(slices.DeleteFunc(slices.Clone(steps), func(s string) bool { return strings.Contains(s, " takes ") }))
}

func rollsOf(steps []string) []string {
	return slices.DeleteFunc(slices.Clone(steps), func(s string) bool { return !strings.Contains(s, " takes ") })
}
