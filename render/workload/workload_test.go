package workload_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/workload"
)

// pass is that of a kind of one step, which a test gives, and one Job.
type pass struct {
	*pipeline.Pass
	run func(*pipeline.Pass)
}

const condition = "StepReady"

var index = pipeline.Index[*v1alpha1.Nova, *pass]{
	Conditions: []string{condition},
	Steps:      []pipeline.Step[*pass]{{Name: "Step", Condition: condition, Run: func(p *pass) { p.run(p.Pass) }}},
	Children: []pipeline.Child[*v1alpha1.Nova, *pass]{{
		ID: "job", Step: "Step", Kind: render.KindJob, Name: func(*v1alpha1.Nova) string { return "nova-job" },
		Build: func(*pass) (render.Resource, error) {
			return workload.RunOnceJob("nova-job", "openstack", map[string]string{"a": "b"}, template("a:1"))
		},
	}},
}

// decide takes a decision with one step; last are the conditions of the pass before.
func decide(run func(*pipeline.Pass), last ...metav1.Condition) pipeline.Decision {
	n := &v1alpha1.Nova{ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "nova"}, Status: v1alpha1.NovaStatus{Conditions: last}}
	p := &pass{index.New(n, nil), run}
	index.Run(p.Pass, n, p)
	return p.Decision
}

// said is what a decision says, in short.
func said(d pipeline.Decision) (out []string) {
	for _, c := range d.Conditions {
		out = append(out, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	for _, e := range d.Events {
		out = append(out, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
	for _, o := range d.Set.Desired {
		out = append(out, "makes "+o.Content.GetName())
	}
	for _, a := range d.Set.Absent {
		out = append(out, fmt.Sprintf("removes %s %s: %s", a.Name, a.UID, a.Reason))
	}
	for _, h := range d.Set.Held {
		out = append(out, fmt.Sprintf("holds %s: %s", h.Name, h.Gate))
	}
	if d.Err != nil {
		out = append(out, "error "+d.Err.Error())
	}
	return out
}

func template(image string) *corev1ac.PodTemplateSpecApplyConfiguration {
	return corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("x").WithImage(image)))
}

// hash is that of a template, as its Job carries it.
func hash(t *testing.T, image string) string {
	t.Helper()
	job, err := workload.RunOnceJob("nova-job", "openstack", nil, template(image))
	if err != nil {
		t.Fatal(err)
	}
	object, err := render.NewObject(render.StageJobs, render.Policy{}, job)
	if err != nil {
		t.Fatal(err)
	}
	return object.Content.GetAnnotations()[v1alpha1.AnnotationPodSpecHash]
}

func TestRunOnce(t *testing.T) {
	this, other := hash(t, "a:1"), hash(t, "a:2")
	if this == other || len(this) != 64 {
		t.Fatalf("the hashes are %s and %s", this, other)
	}
	for name, tc := range map[string]struct {
		live  facts.Job
		state workload.JobState
		want  []string
	}{
		"it runs":                             {facts.Job{TemplateHash: this}, workload.JobRunning, []string{"holds nova-job: the Job is running"}},
		"another template that never started": {facts.Job{TemplateHash: other, Unstarted: true, UID: "1"}, workload.JobRunning, []string{"removes nova-job 1: none of its containers ever started and its pod template changed; the next pass runs the new one"}},
		"this template has not started yet":   {facts.Job{TemplateHash: this, Unstarted: true}, workload.JobRunning, []string{"holds nova-job: the Job is running"}},
		"one that never started goes away":    {facts.Job{TemplateHash: other, Unstarted: true, Deleting: true}, workload.JobRunning, []string{"holds nova-job: the Job is running"}},
		"it runs another template":            {facts.Job{TemplateHash: other}, workload.JobRunning, []string{"holds nova-job: the Job is running"}},
		"it ran this very template":           {facts.Job{TemplateHash: this, Complete: true}, workload.JobDone, []string{"makes nova-job"}},
		"this very template failed":           {facts.Job{TemplateHash: this, Failed: true}, workload.JobFailed, []string{"makes nova-job"}},
		"it ran another template":             {facts.Job{TemplateHash: other, Complete: true, UID: "1"}, workload.JobRunning, []string{"removes nova-job 1: its pod template changed; the next pass runs the new one"}},
		"another template failed":             {facts.Job{TemplateHash: other, Failed: true, UID: "1"}, workload.JobRunning, []string{"removes nova-job 1: its pod template changed; the next pass runs the new one"}},
		"a finished one that is going away":   {facts.Job{TemplateHash: this, Complete: true, Deleting: true}, workload.JobRunning, []string{"holds nova-job: the Job is running"}},
	} {
		t.Run(name, func(t *testing.T) {
			var state workload.JobState
			d := decide(func(p *pipeline.Pass) { state = workload.RunOnce(p, "job", tc.live, template("a:1")) })
			if diff := cmp.Diff(tc.want, said(d)); diff != "" || state != tc.state {
				t.Errorf("state %d\n%s", state, diff)
			}
		})
	}
}

func TestRunOnceJob(t *testing.T) {
	d := decide(func(*pipeline.Pass) {})
	want := map[string]any{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{
			"name": "nova-job", "namespace": "openstack", "labels": map[string]any{"a": "b"},
			"annotations": map[string]any{v1alpha1.AnnotationPodSpecHash: hash(t, "a:1")},
		},
		"spec": map[string]any{
			"backoffLimit": int64(4),
			"template":     map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "x", "image": "a:1"}}}},
		},
	}
	if diff := cmp.Diff(want, d.Set.Desired[0].Content.Object); diff != "" {
		t.Error(diff)
	}
}

// The name of a generation depends on every key and value, and on where one ends.
func TestContentHash(t *testing.T) {
	seen := map[string]string{}
	for name, data := range map[string]map[string]string{
		"nothing": nil, "an empty value": {"a": ""}, "a value": {"a": "b"}, "another key": {"c": "b"}, "another value": {"a": "c"},
		"a longer key": {"ab": ""}, "two": {"a": "b", "c": "d"}, "two as one": {"a": "b\n1:c=1:d"}, "swapped": {"a": "d", "c": "b"},
	} {
		got := workload.ContentHash(data)
		if len(got) != 8 || got != workload.ContentHash(data) {
			t.Errorf("%s: %q is no hash", name, got)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[got] = name
	}
	// Every installed Nova has ConfigMaps of such names: a change of the rule rolls all pods.
	if got, want := workload.ContentHash(map[string]string{"nova.conf": "[DEFAULT]\n"}), "fc7c4d13"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOlder(t *testing.T) {
	at := func(name string, minute int) facts.ConfigMap {
		return facts.ConfigMap{Name: name, Created: time.Date(2026, 3, 1, 0, minute, 0, 0, time.UTC)}
	}
	for name, tc := range map[string]struct {
		live    []facts.ConfigMap
		current string
		mounted []string
		want    []string
	}{
		"none": {nil, "c", nil, nil},
		"the three newest before the current one": {
			[]facts.ConfigMap{at("a", 1), at("d", 4), at("c", 3), at("b", 2), at("now", 5)}, "now", nil, []string{"d: history", "c: history", "b: history"},
		},
		"whatever is mounted": {
			[]facts.ConfigMap{at("a", 1), at("b", 2), at("c", 3), at("d", 4), at("e", 5)},
			"e",
			[]string{"a", "d", "elsewhere"},
			[]string{"d: a live pod or pod template mounts it", "c: history", "b: history", "a: a live pod or pod template mounts it"},
		},
		"a rollback makes an old one the current one": {
			[]facts.ConfigMap{at("a", 1), at("b", 2)}, "a", nil, []string{"b: history"},
		},
		"the current one is mounted": {[]facts.ConfigMap{at("a", 1)}, "a", []string{"a"}, nil},
		"of one age, by name":        {[]facts.ConfigMap{at("a", 1), at("b", 1)}, "c", nil, []string{"b: history", "a: history"}},
		"one that was seen twice":    {[]facts.ConfigMap{at("a", 1), at("a", 1)}, "c", nil, []string{"a: history"}},
		"one without a name":         {[]facts.ConfigMap{at("", 1)}, "c", []string{""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			mounted := map[string]bool{}
			for _, name := range tc.mounted {
				mounted[name] = true
			}
			before := append([]facts.ConfigMap{}, tc.live...)
			var got []string
			for _, h := range workload.Older(tc.live, "openstack", tc.current, mounted) {
				if h.GroupVersionKind != render.KindConfigMap || h.Namespace != "openstack" || !workload.Retained(h.Gate) {
					t.Errorf("it holds %+v", h)
				}
				got = append(got, h.Name+": "+h.Gate)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, tc.live, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the input is changed:\n%s", diff)
			}
		})
	}
	if workload.Retained("DBSyncInProgress") || workload.Retained("") {
		t.Error("any gate keeps a generation")
	}
}

func TestLabels(t *testing.T) {
	l := workload.Labels{App: "nova", Instance: "n1", ManagedBy: "op"}
	const app, instance, component, managed = v1alpha1.LabelName, v1alpha1.LabelInstance, v1alpha1.LabelComponent, v1alpha1.LabelManagedBy
	for name, tc := range map[string]struct{ got, want map[string]string }{
		"every child":          {l.Common(), map[string]string{app: "nova", instance: "n1", managed: "op"}},
		"a child of a role":    {l.Component("api"), map[string]string{app: "nova", instance: "n1", managed: "op", component: "api"}},
		"the pods of a role":   {l.Selector("api"), map[string]string{app: "nova", instance: "n1", component: "api"}},
		"the pods of all":      {l.Pods(), map[string]string{app: "nova", instance: "n1"}},
		"after the others ran": {l.Pods(), map[string]string{app: "nova", instance: "n1"}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestExtraConfigHealth(t *testing.T) {
	const of = v1alpha1.ConditionExtraConfigHealthy
	const message = "spec.extraConfig overrides operator-owned keys: DEFAULT.debug"
	condition := func(status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: of, Status: status, Message: message}
	}
	unhealthy := of + " False OwnedKeysOverridden: " + message
	warning := "Warning " + v1alpha1.EventExtraConfigOwnedKeyOverride + ": " + message
	for name, tc := range map[string]struct {
		overridden string
		last       []metav1.Condition
		want       []string
	}{
		"none":                   {"", nil, []string{of + " True NoOwnedKeysOverridden: spec.extraConfig overrides no operator-owned keys"}},
		"for the first time":     {"DEFAULT.debug", nil, []string{unhealthy, warning}},
		"it was healthy before":  {"DEFAULT.debug", []metav1.Condition{condition("True", message)}, []string{unhealthy, warning}},
		"other keys were before": {"DEFAULT.debug", []metav1.Condition{condition("False", "x")}, []string{unhealthy, warning}},
		"again":                  {"DEFAULT.debug", []metav1.Condition{condition("False", message)}, []string{unhealthy}},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(func(p *pipeline.Pass) { workload.ExtraConfigHealth(p, tc.overridden); p.Hold("job", "x") }, tc.last...)
			if diff := cmp.Diff(append(tc.want, "holds nova-job: x"), said(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVPAHealth(t *testing.T) {
	const makes = "makes nova-job"
	for name, tc := range map[string]struct {
		capability facts.Capability
		optedIn    []string
		want       []string
	}{
		"nobody knows whether it is served": {facts.Capability{Served: true, Error: "no answer"}, []string{"api"}, []string{
			"StepReady False CapabilityProbeFailed: ask for autoscaling.k8s.io/v1 VerticalPodAutoscaler: no answer",
			"holds nova-job: CapabilityProbeFailed",
			"error ask for autoscaling.k8s.io/v1 VerticalPodAutoscaler: no answer",
		}},
		"wanted, and not served": {facts.Capability{}, []string{"api", "metadata"}, []string{
			"StepReady False VPANotInstalled: api, metadata opt into vertical autoscaling but the cluster does not serve autoscaling.k8s.io/v1 VerticalPodAutoscaler; install it, and again",
			"holds nova-job: VPANotInstalled",
		}},
		"not wanted, and not served": {facts.Capability{}, nil, []string{
			"StepReady True VPANotRequired: no workload opts into vertical autoscaling", "holds nova-job: the cluster does not serve the kind",
		}},
		"not wanted": {facts.Capability{Served: true}, nil, []string{"StepReady True VPANotRequired: no workload opts into vertical autoscaling", makes}},
		"wanted":     {facts.Capability{Served: true}, []string{"api", "metadata"}, []string{"StepReady True VPAReady: VerticalPodAutoscalers are configured: api, metadata", makes}},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(func(p *pipeline.Pass) { workload.VPAHealth(p, tc.capability, tc.optedIn, ", and again") })
			if diff := cmp.Diff(tc.want, said(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVPA(t *testing.T) {
	cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	policy := func(more map[string]any) map[string]any {
		out := map[string]any{"containerName": "*", "controlledValues": "RequestsOnly", "controlledResources": []any{"cpu", "memory"}}
		for key, value := range more {
			out[key] = value
		}
		return out
	}
	for name, tc := range map[string]struct {
		spec           v1alpha1.VerticalAutoscalingSpec
		update, policy map[string]any
	}{
		"a mode alone": {v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Initial"}, map[string]any{"updateMode": "Initial"}, policy(nil)},
		"everything": {
			v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Recreate", MinReplicas: new(int32(2)), MinAllowed: cpu, MaxAllowed: cpu},
			map[string]any{"updateMode": "Recreate", "minReplicas": int64(2)},
			policy(map[string]any{"minAllowed": map[string]any{"cpu": "100m"}, "maxAllowed": map[string]any{"cpu": "100m"}}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render.NewObject(render.StageNetwork, render.Policy{},
				workload.VPA(render.KindDeployment, "nova", "openstack", map[string]string{"a": "b"}, &tc.spec))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
				"metadata": map[string]any{"name": "nova", "namespace": "openstack", "labels": map[string]any{"a": "b"}},
				"spec": map[string]any{
					"targetRef":      map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nova"},
					"updatePolicy":   tc.update,
					"resourcePolicy": map[string]any{"containerPolicies": []any{tc.policy}},
				},
			}
			if diff := cmp.Diff(want, got.Content.Object); diff != "" {
				t.Error(diff)
			}
		})
	}
}
