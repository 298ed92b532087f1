package live_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// point is a preview and what was there when it was made.
type point struct {
	name    string
	printed preview.Resource
	before  map[string]object
}

// still waits until the controllers of Deployments have caught up, so that the count of
// rollouts is that of what stands there.
func (s *stage) still() {
	s.T.Helper()
	cluster.Eventually(s.T, "Deployments that were seen", func(ctx context.Context) (bool, error) {
		list := &appsv1.DeploymentList{}
		if err := s.Client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			if d := &list.Items[i]; d.Status.ObservedGeneration != d.Generation || d.Annotations[revisionAnnotation] == "" {
				return false, nil
			}
		}
		return true, nil
	})
}

// look takes a preview where the world stands still.
func (s *stage) look(name string, manifest *unstructured.Unstructured) point {
	s.T.Helper()
	s.still()
	p := point{name: name, printed: s.preview(manifest), before: s.snapshot()}
	if len(p.printed.Errors)+len(p.printed.NotReady)+p.printed.Summary.Refused > 0 {
		s.T.Errorf("%s: errors %v, not ready %v:\n%s", name, p.printed.Errors, p.printed.NotReady, textOf(s.T, p.printed))
	}
	return p
}

// quiet reports that nothing is to come for a manifest.
func (s *stage) quiet(manifest *unstructured.Unstructured) func() bool {
	return func() bool {
		if !s.up() {
			return false
		}
		r := s.preview(manifest)
		return len(r.Objects)+len(r.NotReady) == 0
	}
}

// walk lets the operator make one write after the other until it is done, with a preview
// before each that is a multiple of stride, and holds all of them to the end.
func (s *stage) walk(manifest *unstructured.Unstructured, held *ask, stride int, points ...point) {
	s.T.Helper()
	quiet := s.quiet(manifest)
	for i := 0; ; i++ {
		a := held
		if held = nil; a == nil {
			a = s.next(quiet)
		}
		if a == nil {
			break
		}
		if i%stride == 0 {
			n := s.MustLive()
			points = append(points, s.look(fmt.Sprintf("before write %d (%s, phase %q)", i, a.what, n.Status.UpgradePhase), manifest))
		}
		a.pass()
	}
	s.still()
	s.judge(points, s.snapshot())
	s.T.Logf("%d previews", len(points))
}

func (s *stage) judge(points []point, after map[string]object) {
	s.T.Helper()
	for _, p := range points {
		for _, problem := range s.compare(p.printed, p.before, after) {
			s.T.Errorf("%s: %s", p.name, problem)
		}
	}
}

// close holds every write back.
func (s *stage) close() { s.open.Store(false) }

// comesUp applies a manifest and waits until all is ready, with all writes let through.
func (s *stage) comesUp(manifest *unstructured.Unstructured) {
	s.T.Helper()
	s.open.Store(true)
	s.apply(manifest)
	s.settle(manifest)
}

var (
	upgrade = map[string]any{"openStackRelease": "2026.1", "image": map[string]any{"tag": "2026.1"}}
	back    = map[string]any{"openStackRelease": "2025.2", "image": map[string]any{"tag": "2025.2"}}
)

// phase is the phase the status shows.
func (s *stage) phase() v1alpha1.UpgradePhase { return s.MustLive().Status.UpgradePhase }

// rolled counts the Deployments that run an image with the tag.
func (s *stage) rolled(tag string) int {
	s.T.Helper()
	list := &appsv1.DeploymentList{}
	if err := s.Client.List(s.T.Context(), list, client.InNamespace(s.Namespace)); err != nil {
		s.T.Fatal(err)
	}
	count := 0
	for i := range list.Items {
		if strings.HasSuffix(list.Items[i].Spec.Template.Spec.Containers[0].Image, ":"+tag) {
			count++
		}
	}
	return count
}

// Before every write of an installation and of an upgrade, a preview of the manifest that
// was applied says what is still to come.
func TestStates_WhatIsStillToCome(t *testing.T) {
	for name, tc := range map[string]struct {
		start, edit map[string]any
		stride      int
	}{
		"an installation": {stride: 2},
		"an upgrade":      {start: back, edit: upgrade, stride: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			manifest := s.manifest(tc.start)
			if tc.edit != nil {
				s.comesUp(manifest)
				manifest = patched(t, manifest, tc.edit)
			}
			s.close()
			var points []point
			if tc.edit != nil {
				points = append(points, s.look("at first", manifest))
			}
			s.apply(manifest)
			s.walk(manifest, nil, tc.stride, points...)
		})
	}
}

// An edit in the middle of something.
func TestStates_AnEditInBetween(t *testing.T) {
	in := func(phase v1alpha1.UpgradePhase, job string) func(*stage, *ask) bool {
		return func(s *stage, _ *ask) bool {
			return s.phase() == phase && (job == "" || s.Get(render.KindJob, job) != nil)
		}
	}
	for name, tc := range map[string]struct {
		start, first, second map[string]any
		at                   func(*stage, *ask) bool
	}{
		"an upgrade taken back in Expanding": {back, upgrade, back, in(v1alpha1.UpgradePhaseExpanding, "nova-db-expand")},
		"an upgrade taken back in Migrating": {back, upgrade, back, in(v1alpha1.UpgradePhaseMigrating, "")},
		"an upgrade taken back in the roll": {back, upgrade, back, func(s *stage, _ *ask) bool {
			return s.phase() == v1alpha1.UpgradePhaseRollingUpdate && s.rolled("2026.1") == 2
		}},
		"an upgrade taken back in Contracting": {back, upgrade, back, in(v1alpha1.UpgradePhaseContracting, "nova-db-contract")},
		"an image in the roll of an upgrade": {back, upgrade, map[string]any{"image": map[string]any{"tag": "2026.1-p1"}}, func(s *stage, _ *ask) bool {
			return s.phase() == v1alpha1.UpgradePhaseRollingUpdate && s.rolled("2026.1") == 3
		}},
		"an option in Expanding":       {back, upgrade, map[string]any{"extraConfig": map[string]any{"DEFAULT": map[string]any{"cpu_allocation_ratio": "3.0"}}}, in(v1alpha1.UpgradePhaseExpanding, "nova-db-expand")},
		"the console off in Migrating": {back, upgrade, map[string]any{"consoleProxy": map[string]any{"enabled": false}}, in(v1alpha1.UpgradePhaseMigrating, "nova-db-migrate")},
		"an image while another rolls": {nil, map[string]any{"image": map[string]any{"tag": "2026.1-a"}}, map[string]any{"image": map[string]any{"tag": "2026.1-b"}}, func(s *stage, _ *ask) bool {
			return s.rolled("2026.1-a") == 2
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			manifest := s.manifest(tc.start)
			s.comesUp(manifest)
			s.close()
			manifest = patched(t, manifest, tc.first)
			s.apply(manifest)
			held := s.until(func(a *ask) bool { return tc.at(s, a) })
			manifest = patched(t, manifest, tc.second)
			edited := s.look("the edit", manifest)
			aborted := slices.ContainsFunc(edited.printed.Sequence, func(step preview.Run) bool { return step.Phase == "Aborted" })
			if want := strings.Contains(name, "taken back"); aborted != want {
				t.Errorf("printed as taken back: %v", aborted)
			}
			s.apply(manifest)
			s.walk(manifest, s.fresh(held), 5, edited)
		})
	}
}

// blocked is a state in which something is wrong, and what is done then.
type blocked struct {
	// without lists Secrets that are missing from the beginning, fresh tells that nothing
	// was installed before.
	fresh bool
	start map[string]any
	// wrong brings the state about while the operator writes nothing.
	wrong func(*stage)
	// way edits the Nova before the state, and at is the write before which it is reached.
	way map[string]any
	at  func(*stage, *ask) bool
	// failing is the Job that the edit before makes fail.
	failing string
	// edit is the edit that is previewed; nil applies the same manifest again.
	edit map[string]any
	// ends are the reasons that remain; none is Ready.
	ends []string
	// refused is what can't be written.
	refused []string
	// notes are what the preview says about itself, then opens what it waits for.
	notes []string
	then  func(*stage)
}

func tag(name string) map[string]any {
	return map[string]any{"image": map[string]any{"tag": name}}
}

var blockedStates = map[string]blocked{
	"drift of every kind":             {wrong: (*stage).drift},
	"drift of every kind and an edit": {wrong: (*stage).drift, edit: tag("2026.1-next")},
	"an autoscaler that scaled, and an image": {
		start: map[string]any{"autoscaling": map[string]any{"minReplicas": int64(2), "maxReplicas": int64(9), "targetCPUUtilization": int64(70)}},
		wrong: func(s *stage) { s.scaleTo("nova", 5) }, edit: tag("2026.1-next"),
	},
	"an autoscaler that scaled and goes": {
		start: map[string]any{"autoscaling": map[string]any{"minReplicas": int64(2), "maxReplicas": int64(9), "targetCPUUtilization": int64(70)}},
		wrong: func(s *stage) { s.scaleTo("nova", 5) }, edit: map[string]any{"autoscaling": nil},
	},
	"a Deployment deleted by hand": {wrong: func(s *stage) { s.removes(render.KindDeployment, "nova-scheduler") }, edit: tag("2026.1-next")},
	"the configuration deleted by hand": {wrong: func(s *stage) {
		s.removes(render.KindConfigMap, s.config())
	}},
	"the db-sync Job deleted by hand": {wrong: func(s *stage) { s.removes(render.KindJob, "nova-db-sync") }},
	"a Secret is missing": {
		wrong: func(s *stage) { s.removes(render.KindSecret, "nova-db") }, edit: patchOf(tag("2026.1-next"), map[string]any{"conductor": map[string]any{"workers": int64(7)}}),
		ends: []string{v1alpha1.ReasonWaitingForDBCredentials},
	},
	"a password that was rotated": {wrong: func(s *stage) { s.rotate("nova-db", "password") }},
	"a shared secret that was emptied": {
		wrong: func(s *stage) { s.put("nova-shared", "shared_secret", "") }, edit: tag("2026.1-next"),
		ends: []string{v1alpha1.ReasonMetadataSharedSecretEmpty},
	},
	"the console off while the database server is away": {
		wrong: func(s *stage) { s.Report(render.KindMariaDB, "mariadb", world.ReadyIs(metav1.ConditionFalse)) }, edit: map[string]any{"consoleProxy": map[string]any{"enabled": false}},
		ends: []string{v1alpha1.ReasonClusterNotReady},
	},
	"a database grant that is not ready": {
		wrong: func(s *stage) {
			s.open.Store(true)
			s.Report(render.KindGrant, "nova-api", world.ReadyIs(metav1.ConditionFalse))
			s.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonWaitingForDatabase)
			s.close()
		},
		edit:  tag("2026.1-next"),
		notes: []string{"DatabaseReady is False now (WaitingForDatabase: MariaDB User or Grant CR is not ready); this assumes that the wait ends"},
		then:  func(s *stage) { s.Report(render.KindGrant, "nova-api", world.ReadyIs(metav1.ConditionTrue)) },
	},
	"an installation without a Secret": {fresh: true, wrong: func(s *stage) { s.removes(render.KindSecret, "nova-shared") }, ends: []string{v1alpha1.ReasonWaitingForMetadataSharedSecret}},
	"an installation without a broker": {fresh: true, start: map[string]any{"messaging": map[string]any{"clusterRef": map[string]any{"name": "none"}}}, ends: []string{v1alpha1.ReasonWaitingForMessagingCredentials}},
	"a Service of somebody else":       {fresh: true, wrong: func(s *stage) { s.theirs(render.KindService, "nova-metadata") }, refused: []string{"Service/nova-metadata"}, ends: []string{v1alpha1.ReasonApplyError}},
	"a Secret of somebody else":        {fresh: true, wrong: func(s *stage) { s.theirs(render.KindSecret, "nova-transport-url") }, refused: []string{"Secret/nova-transport-url"}, ends: []string{v1alpha1.ReasonConfigError, v1alpha1.ReasonWaitingForDatabase}},
	"an autoscaler of somebody else": {
		wrong: func(s *stage) { s.theirs(render.KindHPA, "nova") },
		edit:  map[string]any{"autoscaling": map[string]any{"minReplicas": int64(2), "maxReplicas": int64(9), "targetCPUUtilization": int64(70)}}, refused: []string{"HorizontalPodAutoscaler/nova"}, ends: []string{v1alpha1.ReasonApplyError},
	},
	"a failed expand": {
		start: back, way: map[string]any{"openStackRelease": "2026.1", "image": map[string]any{"tag": "2026.1-fail-db-expand"}}, failing: "nova-db-expand",
		ends: []string{v1alpha1.ReasonExpandFailed},
	},
	"a failed expand that is repaired": {
		start: back, way: map[string]any{"openStackRelease": "2026.1", "image": map[string]any{"tag": "2026.1-fail-db-expand"}}, failing: "nova-db-expand",
		edit: tag("2026.1"),
	},
	"a failed expand that is taken back": {
		start: back, way: map[string]any{"openStackRelease": "2026.1", "image": map[string]any{"tag": "2026.1-fail-db-expand"}}, failing: "nova-db-expand",
		edit: back,
	},
	"a failed db-sync":                  {way: tag("2026.1-fail-db-sync"), failing: "nova-db-sync", ends: []string{v1alpha1.ReasonDBSyncFailed}},
	"a failed db-sync that is repaired": {way: tag("2026.1-fail-db-sync"), failing: "nova-db-sync", edit: tag("2026.1-fixed")},
	"a third release in Expanding": {
		start: back, way: upgrade, at: func(s *stage, _ *ask) bool {
			return s.phase() == v1alpha1.UpgradePhaseExpanding && s.Get(render.KindJob, "nova-db-expand") != nil
		},
		edit: map[string]any{"openStackRelease": "2026.2", "image": map[string]any{"tag": "2026.2"}}, ends: []string{v1alpha1.ReasonUpgradeTargetChanged},
	},
	"a third release in the roll": {
		start: back, way: upgrade, at: func(s *stage, _ *ask) bool { return s.rolled("2026.1") == 2 },
		edit: map[string]any{"openStackRelease": "2026.2", "image": map[string]any{"tag": "2026.2"}}, ends: []string{v1alpha1.ReasonUpgradeTargetChanged},
	},
	"a downgrade":                 {edit: map[string]any{"openStackRelease": "2025.2", "image": map[string]any{"tag": "2025.2"}}, ends: []string{v1alpha1.ReasonDowngradeNotSupported}},
	"a release without its image": {start: back, edit: map[string]any{"openStackRelease": "2026.1"}, ends: []string{v1alpha1.ReasonImageReleaseMismatch}},
}

// patchOf joins patches of different fields.
func patchOf(patches ...map[string]any) map[string]any {
	out := map[string]any{}
	for _, p := range patches {
		maps.Copy(out, p)
	}
	return out
}

// Where something is wrong, a preview says what happens all the same, what can't be
// written, and what it ends at.
func TestStates_WhereSomethingIsWrong(t *testing.T) {
	for name, tc := range blockedStates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			start := s.manifest(tc.start)
			if !tc.fresh {
				s.comesUp(start)
			} else {
				s.played()
			}
			manifest, held := s.gets(tc, start)
			if tc.wrong != nil {
				tc.wrong(s)
			}
			manifest = patched(t, manifest, tc.edit)
			s.still()
			before, printed := map[string]object{}, s.preview(manifest)
			if !tc.fresh {
				before = s.snapshot()
			}
			if diff := cmp.Diff(append([]string{}, tc.notes...), printed.Notes); diff != "" {
				t.Errorf("notes: %s", diff)
			}
			if diff := cmp.Diff(tc.ends, reasons(printed)); diff != "" {
				t.Errorf("ends at: %s", diff)
			}
			if diff := cmp.Diff(tc.refused, refusedBy(printed)); diff != "" {
				t.Errorf("refused: %s", diff)
			}
			s.apply(manifest)
			if !tc.fresh {
				s.decidesAnew(held, tc.edit != nil)
			}
			s.release()
			if tc.then != nil {
				tc.then(s)
			}
			s.ends(manifest, tc)
			s.still()
			s.judge([]point{{name, written(printed), before}}, s.snapshot())
			tree := s.explain()
			if blocks := tree.Blocker != nil; blocks != (len(tc.ends) > 0) || blocks && tree.Blocker.Reason != tc.ends[0] || tree.Ready == blocks {
				t.Errorf("explained as ready %v, held by %+v", tree.Ready, tree.Blocker)
			}
			if t.Failed() {
				t.Log(textOf(t, printed))
			}
		})
	}
}

// gets brings about the state a case starts from and holds the operator there. It returns
// the manifest by then, and the write that is held back, if one is.
func (s *stage) gets(tc blocked, manifest *unstructured.Unstructured) (*unstructured.Unstructured, *ask) {
	s.T.Helper()
	if tc.way == nil {
		s.close()
		return manifest, nil
	}
	manifest = patched(s.T, manifest, tc.way)
	if tc.at != nil {
		s.close()
		s.apply(manifest)
		return manifest, s.until(func(a *ask) bool { return tc.at(s, a) })
	}
	s.apply(manifest)
	cluster.Eventually(s.T, "the Job to fail", func(ctx context.Context) (bool, error) {
		job := &batchv1.Job{}
		if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: tc.failing}, job); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if !strings.Contains(job.Spec.Template.Spec.Containers[0].Image, "fail") {
			return false, nil
		}
		if *job.Spec.BackoffLimit != 0 {
			return false, s.Client.Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"backoffLimit":0}}`)))
		}
		c := meta.FindStatusCondition(s.MustLive().Status.Conditions, v1alpha1.ConditionDatabaseReady)
		return c != nil && strings.HasSuffix(c.Reason, "Failed"), nil
	})
	s.close()
	return manifest, nil
}

// decidesAnew turns away what the operator decided before the last edit, or without one
// the first write there is.
func (s *stage) decidesAnew(held *ask, edited bool) {
	s.T.Helper()
	if edited {
		s.fresh(held).pass()
		return
	}
	if held == nil {
		select {
		case held = <-s.asks:
		case <-time.After(3 * time.Second): // nothing is to be done
			return
		}
	}
	held.verdict <- errTurnedAway
}

// ends waits until the operator has nothing more to do about a manifest.
func (s *stage) ends(manifest *unstructured.Unstructured, tc blocked) {
	s.T.Helper()
	last := preview.Resource{}
	cluster.Eventually(s.T, "the end", func(context.Context) (bool, error) {
		n := s.MustLive()
		ready := meta.IsStatusConditionTrue(n.Status.Conditions, v1alpha1.ConditionReady)
		stuck := false
		for _, c := range n.Status.Conditions {
			stuck = stuck || slices.Contains(tc.ends, c.Reason)
		}
		if n.Status.ObservedGeneration != n.Generation || !ready && !stuck || len(tc.ends) == 0 && len(tc.refused) == 0 && n.Status.UpgradePhase != "" {
			return false, nil
		}
		last = s.preview(manifest)
		return len(written(last).Objects) == 0, nil
	})
}

// written is a preview of what is written.
func written(r preview.Resource) preview.Resource {
	r.Objects = slices.DeleteFunc(slices.Clone(r.Objects), func(o preview.Object) bool { return o.Action == preview.ActionRefused })
	return r
}

func reasons(r preview.Resource) []string {
	var out []string
	for _, c := range r.NotReady {
		if !slices.Contains(out, c.Reason) {
			out = append(out, c.Reason)
		}
	}
	return out
}

func refusedBy(r preview.Resource) []string {
	var out []string
	for i := range r.Objects {
		if o := &r.Objects[i]; o.Action == preview.ActionRefused {
			out = append(out, o.Kind+"/"+o.Name)
		}
	}
	return out
}

func textOf(t *testing.T, r preview.Resource) string {
	t.Helper()
	var b bytes.Buffer
	if err := preview.New(preview.ModeLive, "", "", []preview.Resource{r}).Text(&b, preview.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// played waits until what is around a Nova is ready.
func (s *stage) played() {
	s.T.Helper()
	cluster.Eventually(s.T, "the broker's user", func(context.Context) (bool, error) {
		r := s.preview(s.manifest(nil))
		return len(r.NotReady) == 0, nil
	})
}

// drift edits children as other managers do.
func (s *stage) drift() {
	s.T.Helper()
	s.scaleTo("nova-scheduler", 4)
	s.patches(render.KindService, "nova-metadata", `{"metadata":{"labels":{"app.kubernetes.io/component":"mine","team":"blue"}}}`)
	s.patches(render.KindDeployment, "nova-conductor", `{"spec":{"template":{"spec":{"containers":[{"name":"conductor","env":[{"name":"HTTP_PROXY","value":"http://proxy"}]}]}}}}`)
	s.patches(render.KindDeployment, "nova-metadata", `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":7}}}}`)
	s.patches(render.KindSecret, "nova-transport-url", `{"data":{"foreign":"Zm9yZWlnbg=="}}`)
	s.patches(render.KindPDB, "nova", `{"spec":{"minAvailable":2}}`)
}

// patches edits an object as kubectl does.
func (s *stage) patches(gvk schema.GroupVersionKind, name, patch string) {
	s.T.Helper()
	kind := types.MergePatchType
	if gvk == render.KindDeployment {
		kind = types.StrategicMergePatchType
	}
	if err := s.Client.Patch(s.T.Context(), s.Object(gvk, name), client.RawPatch(kind, []byte(patch)), client.FieldOwner("kubectl-edit")); err != nil {
		s.T.Fatal(err)
	}
}

func (s *stage) scaleTo(name string, replicas int32) {
	s.T.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	err := s.Client.SubResource("scale").Update(s.T.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}},
		client.WithSubResourceBody(scale), client.FieldOwner("kubectl"))
	if err != nil {
		s.T.Fatal(err)
	}
}

// removes deletes an object and waits until it is gone.
func (s *stage) removes(gvk schema.GroupVersionKind, name string) {
	s.T.Helper()
	s.Remove(gvk, name, client.PropagationPolicy(metav1.DeletePropagationBackground))
	cluster.Eventually(s.T, name+" to go", func(context.Context) (bool, error) { return s.Get(gvk, name) == nil, nil })
}

// config is the generation of the configuration in use.
func (s *stage) config() string {
	s.T.Helper()
	d := &appsv1.Deployment{}
	if err := s.Client.Get(s.T.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "nova"}, d); err != nil {
		s.T.Fatal(err)
	}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Name == "config" {
			return v.ConfigMap.Name
		}
	}
	s.T.Fatal("the API mounts no configuration")
	return ""
}

func (s *stage) put(secret, key, value string) {
	s.T.Helper()
	patch := fmt.Sprintf(`{"data":{%q:%q}}`, key, base64.StdEncoding.EncodeToString([]byte(value)))
	s.patches(render.KindSecret, secret, patch)
}

func (s *stage) rotate(secret, key string) { s.put(secret, key, world.Mark+"-rotated") }

// theirs makes an object that somebody else controls.
func (s *stage) theirs(gvk schema.GroupVersionKind, name string) {
	s.T.Helper()
	u := s.Object(gvk, name)
	switch gvk {
	case render.KindService:
		u.Object["spec"] = map[string]any{"ports": []any{map[string]any{"port": int64(8775)}}}
	case render.KindHPA:
		u.Object["spec"] = map[string]any{"maxReplicas": int64(3), "scaleTargetRef": map[string]any{"kind": "Deployment", "name": "theirs", "apiVersion": "apps/v1"}}
	}
	s.Theirs(u)
}

// A Nova that is being deleted takes an edit, and nothing comes of it.
func TestStates_ANovaThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	manifest := s.manifest(nil)
	s.comesUp(manifest)
	n := s.MustLive()
	n.Finalizers = append(n.Finalizers, "example.com/kept")
	if err := s.Client.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	s.close()
	if err := s.Client.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	manifest = patched(t, manifest, tag("2026.1-next"))
	s.still()
	printed, before := s.preview(manifest), s.snapshot()
	want := []string{"the resource is being deleted: its children follow it, whatever its spec says"}
	if diff := cmp.Diff(want, printed.Notes); diff != "" {
		t.Error(diff)
	}
	s.apply(manifest)
	s.judge([]point{{"the edit", printed, before}}, s.snapshot())
	s.release()
	cluster.Eventually(t, "our finalizer to go", func(context.Context) (bool, error) { return len(s.MustLive().Finalizers) == 1, nil })
	n = s.MustLive()
	n.Finalizers = nil
	if err := s.Client.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}
