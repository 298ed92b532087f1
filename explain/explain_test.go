package explain

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/docs"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/workload"
	"github.com/c5c3/nova-operator/test/golden"
)

// turned is when the stored conditions turned.
var turned = metav1.NewTime(time.Date(2026, 3, 1, 3, 0, 0, 0, time.FixedZone("CET", 3600)))

func key(gvk schema.GroupVersionKind, name string) render.Key {
	return render.Key{GroupVersionKind: gvk, Namespace: "openstack", Name: name}
}

// about is a kind of three steps: one makes configuration, one the Jobs, and the last one
// the rest.
func about() pipeline.Kind {
	return pipeline.Kind{
		GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova),
		Conditions:       []string{v1alpha1.ConditionConfigReady, v1alpha1.ConditionDatabaseReady, v1alpha1.ConditionConductorReady},
		Steps: []pipeline.StepInfo{
			{Name: "Config", Condition: v1alpha1.ConditionConfigReady},
			{Name: "Database", Condition: v1alpha1.ConditionDatabaseReady},
			{Name: "Conductor", Condition: v1alpha1.ConditionConductorReady},
		},
		Release: func(r v1alpha1.Resource) pipeline.Release {
			status := r.(*v1alpha1.Nova).Status
			return pipeline.Release{Installed: status.InstalledRelease, Target: status.TargetRelease, Phase: string(status.UpgradePhase)}
		},
		StepOf: func(_ v1alpha1.Resource, key render.Key) string {
			switch key.GroupVersionKind {
			case render.KindConfigMap, render.KindSecret:
				return "Config"
			case render.KindJob:
				return "Database"
			default:
				return "Conductor"
			}
		},
	}
}

// input is a Nova at rest: every condition was stored as True, and nothing is decided.
func input() Input {
	n := &v1alpha1.Nova{ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "nova", Generation: 7}}
	n.Status.ObservedGeneration, n.Status.InstalledRelease = 7, "2025.2"
	for _, name := range append(about().Conditions, v1alpha1.ConditionReady) {
		n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: "Fine", LastTransitionTime: turned})
	}
	return Input{Kind: about(), Resource: n, Decision: pipeline.Decision{After: n, Reached: []string{"Config", "Database", "Conductor"}}}
}

func unready(condition, reason, message string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// During the roll of an upgrade the role that rolls is what a reader has to look at: the
// database waits for it.
func TestOf_NamesTheBlocker(t *testing.T) {
	rolls := unready(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonUpgradeRollingUpdate, "2 of 5 roles")
	conductor := unready(v1alpha1.ConditionConductorReady, v1alpha1.ReasonWaitingForConductor, "1 of 2 pods")
	config := unready(v1alpha1.ConditionConfigReady, v1alpha1.ReasonConfigError, "no")
	for name, tc := range map[string]struct {
		decided []metav1.Condition
		want    *Blocker
	}{
		"everything is ready": {nil, nil},
		"the first in the order of a pass": {
			[]metav1.Condition{conductor, config},
			&Blocker{Condition: v1alpha1.ConditionConfigReady, Reason: v1alpha1.ReasonConfigError, Message: "no", NeedsPerson: true},
		},
		"the role that rolls": {
			[]metav1.Condition{rolls, conductor},
			&Blocker{Condition: v1alpha1.ConditionConductorReady, Reason: v1alpha1.ReasonWaitingForConductor, Message: "1 of 2 pods"},
		},
		"a roll of which no role says anything": {
			[]metav1.Condition{rolls},
			&Blocker{Condition: v1alpha1.ConditionDatabaseReady, Reason: v1alpha1.ReasonUpgradeRollingUpdate, Message: "2 of 5 roles"},
		},
		"what is before the roll": {
			[]metav1.Condition{config, rolls, conductor},
			&Blocker{Condition: v1alpha1.ConditionConfigReady, Reason: v1alpha1.ReasonConfigError, Message: "no", NeedsPerson: true},
		},
		"any other wait of the database": {
			[]metav1.Condition{unready(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonMigrateInProgress, "runs"), conductor},
			&Blocker{Condition: v1alpha1.ConditionDatabaseReady, Reason: v1alpha1.ReasonMigrateInProgress, Message: "runs"},
		},
		"unknown is not ready": {
			[]metav1.Condition{{Type: v1alpha1.ConditionConductorReady, Status: metav1.ConditionUnknown, Reason: "X"}},
			&Blocker{Condition: v1alpha1.ConditionConductorReady, Reason: "X"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Decision.Conditions = tc.decided
			got := Of(in).Blocker
			if got != nil {
				if got.Next == "" {
					t.Error("it says no next step")
				}
				got.Next = ""
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A condition that this decision repeats turned when it was stored, one that it turns
// has not been written yet.
func TestOf_KeepsTheTimeOfWhatDidNotTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		stored metav1.ConditionStatus
		want   string
	}{
		"it was False before":  {metav1.ConditionFalse, "2026-03-01T02:00:00Z"},
		"it is False just now": {metav1.ConditionTrue, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Resource.(*v1alpha1.Nova).Status.Conditions[0].Status = tc.stored
			in.Decision.Conditions = []metav1.Condition{unready(v1alpha1.ConditionConfigReady, v1alpha1.ReasonConfigError, "no")}
			if got := Of(in).Blocker.Since; got != tc.want {
				t.Errorf("since %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOf_SaysWhatTheNextStepIs(t *testing.T) {
	in := input()
	in.Decision.Conditions = []metav1.Condition{unready(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonMigrateFailed, "")}
	page := docs.Remedy(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonMigrateFailed)
	if got := Of(in).Blocker.Next; got != page || page == "" {
		t.Errorf("next is %q, the page says %q", got, page)
	}
	in.Decision.Conditions[0].Reason = "NobodyKnows"
	if got, want := Of(in).Blocker.Next, "the message says what is wrong"; got != want {
		t.Errorf("next is %q, want %q", got, want)
	}
}

func TestOf_SaysWhereTheResourceIs(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		want   Tree
	}{
		"at rest": {func(*Input) {}, Tree{Ready: true, Installed: "2025.2"}},
		"a spec that nobody has seen": {
			func(in *Input) { in.Resource.(*v1alpha1.Nova).Generation++ },
			Tree{Ready: true, Stale: true, Installed: "2025.2"},
		},
		"being deleted": {
			func(in *Input) { in.Resource.SetDeletionTimestamp(&turned) },
			Tree{Ready: true, Deleting: true, Installed: "2025.2"},
		},
		"Ready counts as this decision says": {
			func(in *Input) {
				in.Decision.Conditions = []metav1.Condition{unready(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady, "")}
			},
			Tree{Installed: "2025.2"},
		},
		"the release as this decision leaves it": {
			func(in *Input) {
				in.Decision.After = &v1alpha1.Nova{Status: v1alpha1.NovaStatus{
					InstalledRelease: "2025.2", TargetRelease: "2026.1", UpgradePhase: v1alpha1.UpgradePhaseMigrating,
				}}
			},
			Tree{Ready: true, Installed: "2025.2", Target: "2026.1", Phase: "Migrating"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			tc.change(&in)
			got := Of(in)
			tc.want.Kind, tc.want.Namespace, tc.want.Name = "Nova", "openstack", "nova"
			got.Steps, got.Notes = nil, nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOf_SaysTheStateOfEachChild(t *testing.T) {
	leaving := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
	leaving.SetDeletionTimestamp(&turned)
	there := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
	image := diff.Change{Path: "spec.template.spec.containers[name=api].image", From: "a", To: "b"}
	taken := diff.Change{Path: "spec.replicas", From: 1, To: 2, Manager: "kubectl"}
	for name, tc := range map[string]struct {
		result diff.Result
		want   Child
	}{
		"current":                      {diff.Result{Action: diff.ActionUnchanged, Live: there}, Child{State: Current}},
		"unchanged, but being deleted": {diff.Result{Action: diff.ActionUnchanged, Live: leaving}, Child{State: Leaving}},
		"missing":                      {diff.Result{Action: diff.ActionCreate}, Child{State: Missing}},
		"not tried":                    {diff.Result{Action: diff.ActionSkipped, Reason: "an earlier wave is not done"}, Child{State: Missing, Detail: "an earlier wave is not done"}},
		"changing":                     {diff.Result{Action: diff.ActionUpdate, Changes: []diff.Change{image}}, Child{State: Changing, Detail: image.Path}},
		"drifted": {
			diff.Result{Action: diff.ActionUpdate, Changes: []diff.Change{image, taken}},
			Child{State: Drifted, Detail: image.Path + ", spec.replicas (held by kubectl)"},
		},
		"many fields": {
			diff.Result{Action: diff.ActionUpdate, Changes: []diff.Change{{Path: "a"}, {Path: "b"}, {Path: "c"}, {Path: "d"}, {Path: "e"}, {Path: "f"}}},
			Child{State: Changing, Detail: "a, b, c, d and 2 more"},
		},
		"replaced":          {diff.Result{Action: diff.ActionRecreate, Reason: "immutable"}, Child{State: Replaced, Detail: "immutable"}},
		"pruned":            {diff.Result{Action: diff.ActionDelete, Reason: "off"}, Child{State: Pruned, Detail: "off"}},
		"waited for":        {diff.Result{Action: diff.ActionWait, Reason: "is being deleted"}, Child{State: Leaving, Detail: "is being deleted"}},
		"held":              {diff.Result{Action: diff.ActionHeld, Reason: "ConfigError"}, Child{State: HeldBack, Detail: "ConfigError"}},
		"kept as history":   {diff.Result{Action: diff.ActionHeld, Reason: workload.GateHistory}, Child{State: Kept, Detail: workload.GateHistory}},
		"kept for a mount":  {diff.Result{Action: diff.ActionHeld, Reason: workload.GateMounted}, Child{State: Kept, Detail: workload.GateMounted}},
		"somebody else's":   {diff.Result{Action: diff.ActionForeign, Reason: "owned by x"}, Child{State: Foreign, Detail: "owned by x"}},
		"refused":           {diff.Result{Action: diff.ActionRefused, Err: errors.New("owned by x")}, Child{State: Refused, Detail: "owned by x"}},
		"an error wins":     {diff.Result{Action: diff.ActionFailed, Reason: "r", Err: errors.New("forbidden")}, Child{State: Refused, Detail: "forbidden"}},
		"an error of a try": {diff.Result{Action: diff.ActionUpdate, Changes: []diff.Change{taken}, Err: errors.New("forbidden")}, Child{State: Changing, Detail: "forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			tc.result.Key = key(render.KindJob, "nova-db-sync")
			in.Report = &diff.Report{Results: []diff.Result{tc.result}}
			tc.want.Object = "Job/nova-db-sync"
			got := Of(in).Steps
			if diff := cmp.Diff([]Child{tc.want}, got[1].Children); diff != "" {
				t.Error(diff)
			}
			if len(got[0].Children)+len(got[2].Children) != 0 {
				t.Errorf("it stands under another step: %+v", got)
			}
		})
	}
}

// decided is a set with an object of every list.
func decided() render.Set {
	object := func(gvk schema.GroupVersionKind, name string) render.Object {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(gvk)
		u.SetName(name)
		return render.Object{Content: u}
	}
	return render.Set{
		Desired: []render.Object{object(render.KindConfigMap, "nova-config-2")},
		Absent: []render.Absent{
			{Key: key(render.KindJob, "nova-db-sync"), UID: "1", Reason: "its pod template changed"},
			{Key: key(render.KindHPA, "nova"), Reason: "off"},
		},
		Held: []render.Held{
			{Key: key(render.KindDeployment, "nova-conductor"), Gate: "DBSyncInProgress"},
			{Key: key(render.KindConfigMap, "nova-config-1"), Gate: workload.GateHistory},
		},
	}
}

// Without a cluster nobody knows what is there: only what the decision names is told.
func TestOf_WithoutAClusterSaysWhatTheDecisionKnows(t *testing.T) {
	in := input()
	in.Decision.Set = decided()
	var got [][]Child
	for _, s := range Of(in).Steps {
		got = append(got, s.Children)
	}
	want := [][]Child{
		{{Object: "ConfigMap/nova-config-2", State: Wanted}, {Object: "ConfigMap/nova-config-1", State: Kept, Detail: workload.GateHistory}},
		{{Object: "Job/nova-db-sync", State: Pruned, Detail: "its pod template changed"}},
		{{Object: "Deployment/nova-conductor", State: HeldBack, Detail: "DBSyncInProgress"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// whole is a tree with every kind of line.
func whole() Tree {
	in := input()
	in.Resource.(*v1alpha1.Nova).Generation++
	in.Resource.(*v1alpha1.Nova).Status.Conditions[1] = metav1.Condition{
		Type: v1alpha1.ConditionDatabaseReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonMigrateFailed, LastTransitionTime: turned,
	}
	in.Decision.After = &v1alpha1.Nova{Status: v1alpha1.NovaStatus{
		InstalledRelease: "2025.2", TargetRelease: "2026.1", UpgradePhase: v1alpha1.UpgradePhaseMigrating,
	}}
	in.Decision.Conditions = []metav1.Condition{
		unready(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonMigrateFailed, "Job nova-db-migrate failed:\n<exit 1>"),
		unready(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady, ""),
	}
	in.Decision.Reached = []string{"Config", "Database"}
	in.Decision.Set = decided()
	in.Notes = []string{"the API was not asked\nfor its health"}
	tree := Of(in)
	tree.Blocker.Next = "read the log" // a page says it, and may say it better
	return tree
}

func TestTree_Golden(t *testing.T) {
	tree := whole()
	for name, form := range map[string]func(io.Writer) error{"tree.txt": tree.Text, "tree.json": tree.JSON} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := form(&got); err != nil {
				t.Fatal(err)
			}
			golden.Same(t, filepath.Join("testdata", name), got.Bytes())
		})
	}
}

func TestTree_Headline(t *testing.T) {
	for name, tc := range map[string]struct {
		tree Tree
		want string
	}{
		"ready":                 {Tree{Ready: true, Installed: "2026.1"}, "ready; release 2026.1"},
		"never installed":       {Tree{}, "not ready"},
		"a wait":                {Tree{Blocker: &Blocker{}}, "not ready"},
		"a person":              {Tree{Blocker: &Blocker{NeedsPerson: true}}, "not ready, and needs a person"},
		"deletion comes first":  {Tree{Ready: true, Deleting: true, Blocker: &Blocker{NeedsPerson: true}}, "being deleted"},
		"ready without a stall": {Tree{Ready: true, Blocker: &Blocker{NeedsPerson: true}}, "ready"},
		"an upgrade":            {Tree{Installed: "2025.2", Target: "2026.1", Phase: "Migrating"}, "not ready; upgrades 2025.2 to 2026.1, phase Migrating"},
		"stale":                 {Tree{Ready: true, Stale: true}, "ready; the operator has not seen the newest spec"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.tree.headline(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// broken is a writer that takes nothing.
type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestTree_TellsThatItCouldNotPrint(t *testing.T) {
	tree := whole()
	for name, err := range map[string]error{"text": tree.Text(broken{}), "JSON": tree.JSON(broken{})} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
