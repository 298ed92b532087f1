package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
)

func key(gvk schema.GroupVersionKind, name string) render.Key {
	return render.Key{GroupVersionKind: gvk, Namespace: "openstack", Name: name}
}

// object is one of a kind with fields beside its identity.
func object(gvk schema.GroupVersionKind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range fields {
		u.Object[field] = value
	}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace("openstack")
	u.SetName(name)
	return u
}

// deployment runs an image in a number of pods; 0 leaves the number to others.
func deployment(name, image string, replicas int64) *unstructured.Unstructured {
	spec := map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "x", "image": image}}}}}
	if replicas != 0 {
		spec["replicas"] = replicas
	}
	return object(render.KindDeployment, name, map[string]any{"spec": spec})
}

func daemonSet(name, image, strategy string) *unstructured.Unstructured {
	return object(render.KindDaemonSet, name, map[string]any{
		"spec": map[string]any{
			"updateStrategy": map[string]any{"type": strategy},
			"template":       map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "x", "image": image}}}},
		},
		"status": map[string]any{"desiredNumberScheduled": int64(4)},
	})
}

// passes makes a forecast of decisions.
func passes(list ...pipeline.Decision) *foresee.Forecast {
	return &foresee.Forecast{First: list[0], Last: list[len(list)-1], Passes: list}
}

func wants(objects ...*unstructured.Unstructured) (d pipeline.Decision) {
	for _, u := range objects {
		d.Set.Desired = append(d.Set.Desired, render.Object{Content: u})
	}
	return d
}

func removes(absent ...render.Absent) pipeline.Decision {
	return pipeline.Decision{Set: render.Set{Absent: absent}}
}

func turns(d pipeline.Decision, to string, aborted bool) pipeline.Decision {
	d.Turn = &pipeline.Turn{To: to, Aborted: aborted}
	return d
}

func live(objects ...*unstructured.Unstructured) (out []diff.Result) {
	for _, u := range objects {
		out = append(out, diff.Result{Key: render.KeyOf(u), Before: u})
	}
	return out
}

// job is one that ran, by UID.
func job(uid string) *unstructured.Unstructured {
	return object(render.KindJob, "sync", map[string]any{"metadata": map[string]any{"uid": uid}})
}

// An upgrade that is taken back is not one that is complete.
func TestSequence_TellsHowAnUpgradeEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		aborted bool
		want    string
	}{
		"it is complete":   {false, "the upgrade is complete"},
		"it is taken back": {true, "the upgrade is taken back"},
	} {
		t.Run(name, func(t *testing.T) {
			out := Of(Input{
				Before: &v1alpha1.Nova{}, After: &v1alpha1.Nova{},
				Forecast: passes(turns(pipeline.Decision{}, "Expanding", false), turns(pipeline.Decision{}, "", tc.aborted)),
			})
			var got []string
			for _, step := range out.Sequence {
				got = append(got, step.sentence())
			}
			if diff := cmp.Diff([]string{"upgrade phase Expanding", tc.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSequence(t *testing.T) {
	old, next := deployment("api", "a:1", 2), deployment("api", "a:2", 2)
	for name, tc := range map[string]struct {
		live     []diff.Result
		forecast *foresee.Forecast
		want     []Run
	}{
		"what is new starts": {nil, passes(wants(next, job(""))), []Run{
			{Kind: RunStart, Object: "Deployment/api", Pods: 2}, {Kind: RunJob, Object: "Job/sync"},
		}},
		"what stays does nothing":       {live(old, job("1")), passes(wants(old, job("2")), wants(old)), nil},
		"what runs nothing is left out": {nil, passes(wants(object(render.KindSecret, "s", nil), object(render.KindCronJob, "c", nil))), nil},
		"it rolls once, however often it is wanted": {live(old), passes(wants(next), wants(next)), []Run{
			{Kind: RunRollout, Object: "Deployment/api", Why: []string{"image a:1 to a:2"}, Pods: 2},
		}},
		"it rolls in every pass that changes it": {live(old), passes(wants(next), wants(deployment("api", "a:3", 2))), []Run{
			{Kind: RunRollout, Object: "Deployment/api", Why: []string{"image a:1 to a:2"}, Pods: 2},
			{Kind: RunRollout, Object: "Deployment/api", Why: []string{"image a:2 to a:3"}, Pods: 2},
		}},
		"it scales": {live(old), passes(wants(deployment("api", "a:1", 3))), []Run{
			{Kind: RunScale, Object: "Deployment/api", Why: []string{"replicas 2 to 3"}},
		}},
		"a roll says more than a scale": {live(old), passes(wants(deployment("api", "a:2", 3))), []Run{
			{Kind: RunRollout, Object: "Deployment/api", Why: []string{"image a:1 to a:2"}, Pods: 3},
		}},
		"a number that others hold stays": {live(old), passes(wants(deployment("api", "a:2", 0))), []Run{
			{Kind: RunRollout, Object: "Deployment/api", Why: []string{"image a:1 to a:2"}, Pods: 2},
		}},
		"what goes stops": {live(old), passes(removes(render.Absent{Key: render.KeyOf(old), Reason: "off"}), removes(render.Absent{Key: render.KeyOf(old)})), []Run{
			{Kind: RunStop, Object: "Deployment/api", Why: []string{"off"}, Pods: 2},
		}},
		"what is not there stops not": {nil, passes(removes(render.Absent{Key: render.KeyOf(old), Reason: "off"})), nil},
		"a Job that goes runs again": {
			live(job("1")), passes(removes(render.Absent{Key: key(render.KindJob, "sync"), UID: "1", Reason: "its template changed; the next pass runs it"}), wants(job(""))),
			[]Run{{Kind: RunJob, Object: "Job/sync", Why: []string{"its template changed"}}},
		},
		"a Job of another run stays": {
			live(job("2")), passes(removes(render.Absent{Key: key(render.KindJob, "sync"), UID: "1", Reason: "x"}), wants(job(""))), nil,
		},
		"a Job whose run is unknown goes": {
			live(job("")), passes(removes(render.Absent{Key: key(render.KindJob, "sync"), UID: "1", Reason: "x"}), wants(job(""))),
			[]Run{{Kind: RunJob, Object: "Job/sync", Why: []string{"x"}}},
		},
		"a phase comes after what led to it, the end before what it lets roll": {
			live(old), passes(turns(wants(job("")), "Migrating", false), turns(wants(next), "", false)),
			[]Run{
				{Kind: RunJob, Object: "Job/sync"},
				{Kind: RunPhase, Phase: "Migrating"},
				{Kind: RunPhase, Phase: "Done"},
				{Kind: RunRollout, Object: "Deployment/api", Why: []string{"image a:1 to a:2"}, Pods: 2},
			},
		},
		"a DaemonSet rolls on its nodes": {live(daemonSet("kvm", "a:1", "RollingUpdate")), passes(wants(daemonSet("kvm", "a:2", "RollingUpdate"))), []Run{
			{Kind: RunRollout, Object: "DaemonSet/kvm", Why: []string{"image a:1 to a:2"}, Pods: 4},
		}},
		"a DaemonSet that waits for somebody rolls not": {live(daemonSet("kvm", "a:1", "OnDelete")), passes(wants(daemonSet("kvm", "a:2", "OnDelete"))), nil},
		"nobody saw the nodes of a new DaemonSet":       {nil, passes(wants(daemonSet("kvm", "a:1", "OnDelete"))), []Run{{Kind: RunStart, Object: "DaemonSet/kvm"}}},
		"what is deleted stops":                         {live(old, job("1"), daemonSet("kvm", "a:1", "OnDelete")), nil, []Run{{Kind: RunStop, Object: "Deployment/api", Pods: 2}, {Kind: RunStop, Object: "DaemonSet/kvm", Pods: 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &builder{in: Input{Results: tc.live, Forecast: tc.forecast}}
			b.sequence()
			if diff := cmp.Diff(tc.want, b.out.Sequence); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCauses(t *testing.T) {
	const template = "spec.template."
	for name, tc := range map[string]struct {
		changes []diff.Change
		why     []string
		scaled  string
	}{
		"outside of the template": {[]diff.Change{{Path: "metadata.labels[a]"}, {Path: "spec.strategy.type"}}, nil, ""},
		"their number":            {[]diff.Change{{Path: "spec.replicas", From: int64(1), To: nil}}, nil, "replicas 1 to (none)"},
		"an image":                {[]diff.Change{{Path: template + "spec.containers[name=api].image", From: "a", To: "b"}}, []string{"image a to b"}, ""},
		"the configuration":       {[]diff.Change{{Path: template + "spec.volumes[name=config].configMap.name"}}, []string{"configuration"}, ""},
		"a credential":            {[]diff.Change{{Path: template + "metadata.annotations[" + v1alpha1.AnnotationAuthtokenHash + "]"}}, []string{"password of the service user"}, ""},
		"the installed release": {
			[]diff.Change{{Path: template + "metadata.annotations[" + v1alpha1.AnnotationInstalledRelease + "]", From: "1", To: "2"}},
			[]string{"installed release 1 to 2"},
			"",
		},
		"any field, each once": {
			[]diff.Change{
				{Path: template + "spec.containers[name=api].env[name=A].value"},
				{Path: template + "spec.containers[name=api].env[name=B].value"},
				{Path: template + "spec.tolerations"},
				{Path: template + "spec.containers[name=api].resources.limits.cpu"},
				{Path: template + "spec.containers[name=new]"},
			},
			[]string{"env", "tolerations", "resources", "containers"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			why, scaled := causes(tc.changes)
			if diff := cmp.Diff(tc.why, why); diff != "" || scaled != tc.scaled {
				t.Error(diff, scaled)
			}
		})
	}
}

func TestSummary_CountsASequence(t *testing.T) {
	var got Summary
	got.tally([]Run{
		{Kind: RunPhase, Phase: "Expanding"},
		{Kind: RunJob, Object: "Job/a"},
		{Kind: RunJob, Object: "Job/b"},
		{Kind: RunRollout, Object: "Deployment/a", Pods: 2},
		{Kind: RunRollout, Object: "Deployment/a", Pods: 2},
		{Kind: RunRollout, Object: "DaemonSet/a", Pods: 5},
		{Kind: RunScale, Object: "Deployment/b"},
		{Kind: RunStart, Object: "Deployment/c", Pods: 3},
		{Kind: RunStop, Object: "Deployment/d", Pods: 1},
	})
	want := Summary{Jobs: 2, Rollouts: 3, Deployments: 1, DaemonSets: 1, Pods: 9, Started: 3, Stopped: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPodsOf(t *testing.T) {
	scaler := func(target string) diff.Result {
		return diff.Result{Key: key(render.KindHPA, target), Live: object(render.KindHPA, target, map[string]any{
			"spec": map[string]any{"minReplicas": int64(3), "scaleTargetRef": map[string]any{"name": target}},
		})}
	}
	for name, tc := range map[string]struct {
		workload *unstructured.Unstructured
		results  []diff.Result
		want     int
	}{
		"its own count":               {deployment("nova", "", 2), []diff.Result{scaler("nova")}, 2},
		"the least of its autoscaler": {deployment("nova", "", 0), []diff.Result{scaler("other"), scaler("nova")}, 3},
		"another's autoscaler":        {deployment("nova", "", 0), []diff.Result{scaler("other")}, 1},
		"an autoscaler that goes":     {deployment("nova", "", 0), []diff.Result{{Key: key(render.KindHPA, "nova")}}, 1},
		"the nodes of a DaemonSet":    {daemonSet("kvm", "", ""), live(daemonSet("other", "", ""), daemonSet("kvm", "", "")), 4},
		"the nodes of nobody's":       {daemonSet("kvm", "", ""), live(daemonSet("other", "", "")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := &builder{in: Input{Results: tc.results}}
			if got := b.podsOf(tc.workload); got != tc.want {
				t.Errorf("%d pods, want %d", got, tc.want)
			}
		})
	}
}
