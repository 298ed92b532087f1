package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// roles are the Deployments in the order an upgrade rolls them.
var roles = []string{"nova-conductor", "nova-scheduler", "nova-metadata", "nova-novncproxy", "nova"}

// journal is what an upgrade was seen to do.
type journal struct {
	mu     sync.Mutex
	phases []string
	rolled []string
}

// follow writes down each phase as it begins, and each Deployment as it takes an image.
func (r *rig) follow(ctx context.Context, image string) (*journal, error) {
	j := &journal{}
	novas, err := r.client.Watch(ctx, &v1alpha1.NovaList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	deployments, err := r.client.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, novas.Stop)
	context.AfterFunc(ctx, deployments.Stop)
	go func() {
		for e := range novas.ResultChan() {
			if n, ok := e.Object.(*v1alpha1.Nova); ok {
				j.add(&j.phases, string(n.Status.UpgradePhase))
			}
		}
	}()
	go func() {
		for e := range deployments.ResultChan() {
			if d, ok := e.Object.(*appsv1.Deployment); ok && d.Spec.Template.Spec.Containers[0].Image == image {
				j.add(&j.rolled, d.Name)
			}
		}
	}()
	return j, nil
}

// add appends an entry that differs from the last; a Deployment comes once.
func (j *journal) add(list *[]string, entry string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if list == &j.rolled && slices.Contains(*list, entry) {
		return
	}
	if len(*list) == 0 || (*list)[len(*list)-1] != entry {
		*list = append(*list, entry)
		if entry != "" {
			say("    %s", entry)
		}
	}
}

func (j *journal) read() (phases, rolled []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.phases), slices.Clone(j.rolled)
}

// edit is `kubectl patch --type merge` on the Nova.
func (r *rig) edit(ctx context.Context, patch string) error {
	n := &v1alpha1.Nova{}
	n.Namespace, n.Name = namespace, "nova"
	return r.client.Patch(ctx, n, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl"))
}

// setRelease edits release and image together.
func (r *rig) setRelease(ctx context.Context, release string) error {
	return r.edit(ctx, fmt.Sprintf(`{"spec": {"openStackRelease": %q, "image": {"tag": %q}}}`, release, release))
}

// pairMissing says why there is no upgrade to do, if so.
func (r *rig) pairMissing() error {
	older, newer := r.box.Assets.Older, r.box.Assets.Newer
	if older.Release == newer.Release {
		return fmt.Errorf("%w: %s and %s both hold Nova of %s today", errNotRun, older.Suite, newer.Suite, older.Release)
	}
	return nil
}

// awaitPhase waits for a phase of the upgrade.
func (r *rig) awaitPhase(ctx context.Context, phase v1alpha1.UpgradePhase) error {
	return await(ctx, "phase "+string(phase), func() (bool, error) {
		n, err := r.nova(ctx)
		return n.Status.UpgradePhase == phase, err
	})
}

// checkUpgrade takes the Nova to the next release while it is in use.
func checkUpgrade(ctx context.Context, r *rig) (string, error) {
	if err := r.pairMissing(); err != nil {
		return "", err
	}
	to := r.box.Assets.Newer.Release
	j, err := r.follow(ctx, r.fixture.imageName(to))
	if err != nil {
		return "", err
	}
	use, err := r.startLoad(ctx)
	if err != nil {
		return "", err
	}
	start := time.Now()
	err = errors.Join(r.setRelease(ctx, to), await(ctx, "the release to be installed", func() (bool, error) {
		n, err := r.nova(ctx)
		return n.Status.InstalledRelease == to, err
	}))
	if err == nil {
		err = errors.Join(r.awaitSecondRoll(ctx, to), r.awaitReady(ctx))
	}
	took := time.Since(start)
	note, failures := use.stop()
	if err != nil {
		return note, fmt.Errorf("%w%s", err, r.podStates(context.WithoutCancel(ctx)))
	}
	note = fmt.Sprintf("%.0f s; %s", took.Seconds(), note)
	phases, rolled := j.read()
	if want := []string{"", "Expanding", "Migrating", "RollingUpdate", "Contracting", ""}; !slices.Equal(phases, want) {
		return note, fmt.Errorf("the phases were %q", phases)
	}
	if !slices.Equal(rolled, roles) {
		return note, fmt.Errorf("the image was taken in the order %q", rolled)
	}
	if failures > 0 {
		return note, fmt.Errorf("%d calls or boots failed: %s", failures, note)
	}
	return note, r.afterUpgrade(ctx)
}

// awaitSecondRoll waits until every role but the API runs pods that know the release.
func (r *rig) awaitSecondRoll(ctx context.Context, release string) error {
	return await(ctx, "the second roll", func() (bool, error) {
		for _, name := range roles[:len(roles)-1] {
			d := &appsv1.Deployment{}
			if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d); err != nil {
				return false, err
			}
			s := d.Status
			if d.Spec.Template.Annotations["nova.c5c3.io/installed-release"] != release || s.ObservedGeneration != d.Generation ||
				s.UpdatedReplicas != *d.Spec.Replicas || s.ReadyReplicas != *d.Spec.Replicas || s.Replicas != *d.Spec.Replicas {
				return false, fmt.Errorf("%s hasn't rolled", name)
			}
		}
		return true, nil
	})
}

// afterUpgrade looks at what the upgrade left: the contract Job, a compute of the older
// release that still serves, and nothing to migrate.
func (r *rig) afterUpgrade(ctx context.Context) error {
	job := &batchv1.Job{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "nova-db-contract"}, job); err != nil {
		return err
	}
	if job.Status.Succeeded != 1 || job.Status.Failed != 0 {
		return fmt.Errorf("the contract Job succeeded %d times and failed %d times", job.Status.Succeeded, job.Status.Failed)
	}
	if out, err := r.exec(ctx, "conductor", "nova-manage", "--config-dir", "/etc/nova/nova.conf.d", "db", "online_data_migrations", "--max-count", "50"); err != nil {
		return fmt.Errorf("the contract wasn't complete: %w\n%s", err, out)
	}
	admin, err := r.admin(ctx)
	if err != nil {
		return err
	}
	s, err := admin.boot(ctx, "after-upgrade")
	if err != nil {
		return err
	}
	if s.Host != "compute-1" {
		return fmt.Errorf("the server runs on %s, not on the compute of the older release", s.Host)
	}
	return nil
}

// checkAbort starts an upgrade and takes it back in Migrating.
func checkAbort(ctx context.Context, r *rig) (string, error) {
	if err := r.pairMissing(); err != nil {
		return "", err
	}
	older := r.box.Assets.Older.Release
	j, err := r.follow(ctx, r.fixture.imageName(r.box.Assets.Newer.Release))
	if err != nil {
		return "", err
	}
	use, err := r.startLoad(ctx)
	if err != nil {
		return "", err
	}
	err = errors.Join(r.setRelease(ctx, r.box.Assets.Newer.Release), r.awaitPhase(ctx, v1alpha1.UpgradePhaseMigrating))
	if err == nil {
		err = errors.Join(r.setRelease(ctx, older), r.awaitReady(ctx))
	}
	note, failures := use.stop()
	if err != nil {
		return note, err
	}
	phases, rolled := j.read()
	n, err := r.nova(ctx)
	switch {
	case err != nil:
		return note, err
	case len(rolled) > 0 || slices.Contains(phases, "RollingUpdate"):
		return note, fmt.Errorf("phases %q, image taken by %q", phases, rolled)
	case n.Status.InstalledRelease != older || n.Status.TargetRelease != "" || n.Status.UpgradePhase != "":
		return note, fmt.Errorf("installed %s, target %s, phase %s", n.Status.InstalledRelease, n.Status.TargetRelease, n.Status.UpgradePhase)
	case failures > 0:
		return note, fmt.Errorf("%d calls or boots failed: %s", failures, note)
	}
	// The schema is ahead of the image now. A change of the configuration runs the older
	// db-sync against it.
	if err := errors.Join(r.edit(ctx, `{"spec": {"logging": {"perLoggerLevels": {"nova.db": "INFO"}}}}`), r.awaitReady(ctx)); err != nil {
		return note, fmt.Errorf("a change of the configuration after the abort: %w", err)
	}
	return strings.Join(phases[1:], ", ") + "; then a change of the configuration; " + note, nil
}

// checkExpandFails starts an upgrade that the check of the new release finds wrong:
// Placement is away. Then the cause goes, and the Job, as docs/upgrade.md says.
func checkExpandFails(ctx context.Context, r *rig) (string, error) {
	if err := r.pairMissing(); err != nil {
		return "", err
	}
	older := r.box.Assets.Older.Release
	r.base.placement.stop(syscall.SIGTERM, 15*time.Second)
	if err := r.setRelease(ctx, r.box.Assets.Newer.Release); err != nil {
		return "", err
	}
	job := &batchv1.Job{}
	key := client.ObjectKey{Namespace: namespace, Name: "nova-db-expand"}
	if err := await(ctx, "the expand Job", func() (bool, error) {
		err := r.client.Get(ctx, key, job)
		return err == nil, client.IgnoreNotFound(err)
	}); err != nil {
		return "", err
	}
	// Its five tries take minutes to fail in the same way.
	if err := r.client.Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"backoffLimit": 0}}`))); err != nil {
		return "", err
	}
	if err := r.awaitReason(ctx, v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonExpandFailed); err != nil {
		return "", err
	}
	n, err := r.nova(ctx)
	if err != nil {
		return "", err
	}
	said := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionDatabaseReady).Message
	if n.Status.UpgradePhase != v1alpha1.UpgradePhaseExpanding || n.Status.InstalledRelease != older {
		return said, fmt.Errorf("phase %q, installed %s", n.Status.UpgradePhase, n.Status.InstalledRelease)
	}
	if err := get(ctx, serviceURL("nova", "8774")+"/"); err != nil {
		return said, err
	}
	if err := errors.Join(r.base.placement.start(), r.base.placement.await(ctx, answers("http://"+at(portPlacement)+"/"))); err != nil {
		return said, err
	}
	if err := r.client.Delete(ctx, job, client.PropagationPolicy("Background")); err != nil {
		return said, err
	}
	if err := r.awaitPhase(ctx, v1alpha1.UpgradePhaseMigrating); err != nil {
		return said, err
	}
	return said, errors.Join(r.setRelease(ctx, older), r.awaitReady(ctx), r.serves(ctx, "after-expand"))
}
