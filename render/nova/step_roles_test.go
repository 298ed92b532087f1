package nova

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
)

func deploymentOf(name string, change func(*facts.Deployment)) func(*Input) {
	return func(in *Input) {
		d := in.Observed.Deployments[name]
		change(&d)
		in.Observed.Deployments[name] = d
	}
}

func notAvailable(d *facts.Deployment) { d.Available = false }

// roleCases are one table for each role, by condition.
var roleCases = map[string]map[string]stepCase{
	v1alpha1.ConditionConductorReady: {
		"available": {want: outcome{Ready: true, Reason: v1alpha1.ReasonConductorReady, Message: "Nova conductor deployment is available"}},
		"not available, and the pass goes on": {
			change: deploymentOf("nova-conductor", notAvailable),
			want:   outcome{Reason: v1alpha1.ReasonWaitingForConductor, Message: "Nova conductor deployment is not yet available"},
		},
		"missing": {
			change: func(in *Input) { delete(in.Observed.Deployments, "nova-conductor") },
			want:   outcome{Reason: v1alpha1.ReasonWaitingForConductor, Message: "Nova conductor deployment is not yet available"},
		},
	},
	v1alpha1.ConditionSchedulerReady: {
		"available": {want: outcome{Ready: true, Reason: v1alpha1.ReasonSchedulerReady, Message: "Nova scheduler deployment is available"}},
		"fewer pods than wanted": {
			change: deploymentOf("nova-scheduler", func(d *facts.Deployment) { d.ReadyReplicas = 0 }),
			want:   outcome{Reason: v1alpha1.ReasonWaitingForScheduler, Message: "Nova scheduler deployment is not yet available"},
		},
		"old pods that serve count": {
			change: deploymentOf("nova-scheduler", func(d *facts.Deployment) { d.UpdatedReplicas, d.TotalReplicas = 0, 2 }),
			want:   outcome{Ready: true, Reason: v1alpha1.ReasonSchedulerReady, Message: "Nova scheduler deployment is available"},
		},
	},
	v1alpha1.ConditionMetadataReady: {
		"available": {want: outcome{Ready: true, Reason: v1alpha1.ReasonMetadataReady, Message: "Nova metadata API deployment is available"}},
		"not seen by its controller yet": {
			change: deploymentOf("nova-metadata", func(d *facts.Deployment) { d.Generation = 2 }),
			want:   outcome{Reason: v1alpha1.ReasonWaitingForMetadata, Message: "Nova metadata API deployment is not yet available"},
		},
	},
	v1alpha1.ConditionConsoleProxyReady: {
		"available": {want: outcome{Ready: true, Reason: v1alpha1.ReasonConsoleProxyReady, Message: "Nova console proxy deployment is available"}},
		"not available": {
			change: deploymentOf("nova-novncproxy", notAvailable),
			want:   outcome{Reason: v1alpha1.ReasonWaitingForConsoleProxy, Message: "Nova console proxy deployment is not yet available"},
		},
		"off from the start": {
			nova: consoleOff,
			want: outcome{Ready: true, Reason: v1alpha1.ReasonConsoleProxyDisabled, Message: "spec.consoleProxy.enabled is false; the console proxy is not rendered"},
		},
	},
	v1alpha1.ConditionDeploymentReady: {
		"available": {want: outcome{Ready: true, Reason: v1alpha1.ReasonDeploymentReady, Message: "Nova API deployment is available"}},
		"not available, and the pass ends": {
			change: deploymentOf("nova", notAvailable),
			want: outcome{
				Reason: v1alpha1.ReasonWaitingForDeployment, Message: "Nova API deployment is not yet available",
				Requeue: pollDeployment, Last: stepDeployment,
			},
		},
		"an unset count means one pod": {
			change: deploymentOf("nova", func(d *facts.Deployment) { d.Replicas, d.ReadyReplicas = nil, 1 }),
			want:   outcome{Ready: true, Reason: v1alpha1.ReasonDeploymentReady, Message: "Nova API deployment is available"},
		},
	},
}

func consoleOff(n *v1alpha1.Nova) { n.Spec.ConsoleProxy.Enabled = new(false) }

func TestRoles(t *testing.T) {
	for condition, cases := range roleCases {
		t.Run(condition, func(t *testing.T) { runCases(t, condition, cases) })
	}
}

func TestConsoleProxy_SwitchedOffRemovesExactlyItsObjects(t *testing.T) {
	in := readyWorld(t, func(n *v1alpha1.Nova) {
		n.Spec.ConsoleProxy.Gateway = gateway("console.example.com")
		n.Spec.NetworkPolicy = openPolicy()
		n.Spec.ConsoleProxy.Deployment = &v1alpha1.DeploymentSpec{VerticalAutoscaling: &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Off"}}
	})
	before := Decide(in)
	in.Nova.Spec.ConsoleProxy.Deployment = nil
	consoleOff(in.Nova)
	// The file says so too; the run of db-sync for it is another test's subject.
	settled, _ := Settle(Input{Nova: in.Nova, Settings: in.Settings})
	want := []string{"console/deployment", "console/service", "console/route", "console/vpa", "console/network-policy"}
	if diff := cmp.Diff(want, extra(settled, goneIDs(in, settled), goneIDs(in, before))); diff != "" {
		t.Error(diff)
	}
}

func TestEndpoint_IsSetOnceTheAPIServes(t *testing.T) {
	in := readyWorld(t, nil)
	in.Nova.Status.Endpoint = ""
	if got := statusOf(Decide(in)).Endpoint; got != "http://nova.openstack.svc.cluster.local:8774" {
		t.Errorf("served at %q", got)
	}
	deploymentOf("nova", notAvailable)(&in)
	if got := statusOf(Decide(in)).Endpoint; got != "" {
		t.Errorf("before it serves: %q", got)
	}
	in = readyWorld(t, func(n *v1alpha1.Nova) { n.Spec.Gateway = gateway("compute.example.com") })
	if got := statusOf(Decide(in)).Endpoint; got != "https://compute.example.com/" {
		t.Errorf("behind a gateway: %q", got)
	}
}

func TestReplicas_UnderAnAutoscaler(t *testing.T) {
	autoscaled := func(n *v1alpha1.Nova) {
		n.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 9, TargetCPUUtilization: new(int32(70))}
	}
	for name, tc := range map[string]struct {
		nova   func(*v1alpha1.Nova)
		change func(*Input)
		want   int64
	}{
		"without one the block decides":         {nil, nil, 3},
		"a new Deployment leaves the count out": {autoscaled, func(in *Input) { delete(in.Observed.Deployments, "nova") }, 0},
		"a count we still own is carried on":    {autoscaled, deploymentOf("nova", func(d *facts.Deployment) { d.OwnsReplicas, d.Replicas = true, new(int32(7)) }), 7},
		"a count somebody else owns is theirs":  {autoscaled, deploymentOf("nova", func(d *facts.Deployment) { d.Replicas = new(int32(7)) }), 0},
		"an autoscaler that is gone":            {nil, deploymentOf("nova", func(d *facts.Deployment) { d.Replicas = new(int32(7)) }), 3},
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, tc.nova)
			if tc.change != nil {
				tc.change(&in)
			}
			for _, o := range Decide(in).Set.Desired {
				if o.Key().Kind == "Deployment" && o.Content.GetName() == "nova" {
					if got, _, _ := unstructured.NestedInt64(o.Content.Object, "spec", "replicas"); got != tc.want {
						t.Errorf("replicas %d, want %d", got, tc.want)
					}
				}
			}
		})
	}
}

// The budget follows the smallest count the API may be scaled to.
func TestBudget_FollowsTheLowerBound(t *testing.T) {
	scaled := func(replicas int32, bounds ...int32) func(*v1alpha1.Nova) {
		return func(n *v1alpha1.Nova) {
			n.Spec.API.Deployment.Replicas = replicas
			if len(bounds) > 0 {
				n.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 9, TargetCPUUtilization: new(int32(70))}
			}
			for _, bound := range bounds {
				if bound > 0 {
					n.Spec.Autoscaling.MinReplicas = new(bound)
				}
			}
		}
	}
	for name, tc := range map[string]struct {
		nova func(*v1alpha1.Nova)
		want string
	}{
		"three pods":                          {scaled(3), "minAvailable"},
		"one pod":                             {scaled(1), "maxUnavailable"},
		"scaled down to one of three":         {scaled(3, 1), "maxUnavailable"},
		"scaled up from one, two at least":    {scaled(1, 2), "minAvailable"},
		"scaled from the block's own count":   {scaled(3, 0), "minAvailable"},
		"scaled from a block of one pod only": {scaled(1, 0), "maxUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range Decide(readyWorld(t, tc.nova)).Set.Desired {
				if o.Key().GroupVersionKind != render.KindPDB {
					continue
				}
				for _, field := range []string{"minAvailable", "maxUnavailable"} {
					value, set, _ := unstructured.NestedInt64(o.Content.Object, "spec", field)
					if set != (field == tc.want) || set && value != 1 {
						t.Errorf("%s is %d", field, value)
					}
				}
			}
		})
	}
}

// A credential that changes rolls the pods that read it; a release that is complete
// rolls every role but the API.
func TestDeployments_RollWithWhatTheyRead(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		want   []string
	}{
		"nothing":              {func(*Input) {}, nil},
		"the API login":        {setKey("nova-api-db", "password", "new"), everyRole},
		"the cell login":       {setKey("nova-db", "password", "new"), everyRole},
		"the service user":     {setKey("nova-service-user", "password", "new"), everyRole},
		"the bus":              {setKey("rabbitmq-default-user", "password", "new"), everyRole},
		"the shared secret":    {setKey("nova-metadata", "shared_secret", "new"), []string{"nova-metadata"}},
		"a completed release":  {func(in *Input) { in.Nova.Status.InstalledRelease = "2026.1-p1" }, everyRole[1:]},
		"a newline at its end": {setKey("nova-service-user", "password", "placeholder-password\n"), nil},
		"an ignored user name": {setKey("nova-db", "username", "new"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := readyWorld(t, nil)
			after := readyWorld(t, nil)
			tc.change(&after)
			was, is := templates(Decide(before)), templates(Decide(after))
			var rolled []string
			for _, role := range everyRole {
				if !cmp.Equal(was[role], is[role]) {
					rolled = append(rolled, role)
				}
			}
			if diff := cmp.Diff(tc.want, rolled); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var everyRole = []string{"nova", "nova-conductor", "nova-metadata", "nova-novncproxy", "nova-scheduler"}

func templates(r pipeline.Decision) map[string]any {
	out := map[string]any{}
	for _, o := range r.Set.Desired {
		if o.Key().GroupVersionKind == render.KindDeployment {
			out[o.Content.GetName()], _, _ = unstructured.NestedFieldNoCopy(o.Content.Object, "spec", "template")
		}
	}
	return out
}
