package nova

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/openstack"
)

func gateway(host string) *v1alpha1.GatewaySpec {
	return &v1alpha1.GatewaySpec{ParentRef: v1alpha1.GatewayParentRefSpec{Name: "public"}, Hostname: host}
}

func openPolicy() *v1alpha1.NetworkPolicySpec {
	return &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{NamespaceSelector: metav1.LabelSelector{}}}}
}

func apiGateway(n *v1alpha1.Nova)      { n.Spec.Gateway = gateway("compute.example.com") }
func metadataGateway(n *v1alpha1.Nova) { n.Spec.Metadata.Gateway = gateway("metadata.example.com") }
func consoleGateway(n *v1alpha1.Nova)  { n.Spec.ConsoleProxy.Gateway = gateway("console.example.com") }

func placedOnEdge(n *v1alpha1.Nova) {
	n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "edge"}
}

func noGatewayAPI(in *Input) { in.Observed.GatewayAPI = facts.Capability{} }

// routeCases are the branches of the three routes; noun and field word them.
func routeCases(set func(*v1alpha1.Nova), noun, field, name string) map[string]stepCase {
	notInstalled := field + " is set but the cluster does not serve gateway.networking.k8s.io/v1 HTTPRoute; install the Gateway API and restart the operator"
	return map[string]stepCase{
		"not wanted": {want: outcome{
			Ready: true, Reason: v1alpha1.ReasonHTTPRouteNotRequired,
			Message: "External " + noun + " exposure via Gateway API is not configured",
		}},
		"not wanted where the kind is not served": {
			change: noGatewayAPI,
			want: outcome{
				Ready: true, Reason: v1alpha1.ReasonHTTPRouteNotRequired,
				Message: "External " + noun + " exposure via Gateway API is not configured",
				Held:    []string{"api/route", "metadata/route", "console/route"},
			},
		},
		"accepted": {nova: set, want: outcome{Ready: true, Reason: v1alpha1.ReasonHTTPRouteAccepted, Message: "HTTPRoute accepted by Gateway"}},
		"not accepted yet": {
			nova: set, change: func(in *Input) { in.Observed.Routes[name] = facts.Route{} },
			want: outcome{Reason: v1alpha1.ReasonHTTPRouteNotAccepted, Message: "HTTPRoute not yet accepted by Gateway", Requeue: pollDeployment},
		},
		"not created yet": {
			nova: set, change: func(in *Input) { in.Observed.Routes = nil },
			want: outcome{Reason: v1alpha1.ReasonHTTPRouteNotAccepted, Message: "HTTPRoute not yet accepted by Gateway", Requeue: pollDeployment},
		},
		"the kind is not served": {
			nova: set, change: noGatewayAPI,
			want: outcome{Reason: v1alpha1.ReasonGatewayAPINotInstalled, Message: notInstalled, Held: []string{"api/route", "metadata/route", "console/route"}},
		},
		"a target cluster does not serve the kind": {
			nova: func(n *v1alpha1.Nova) { set(n); placedOnEdge(n) }, change: noGatewayAPI,
			want: outcome{
				Reason: v1alpha1.ReasonGatewayAPINotInstalled, Held: []string{"api/route", "metadata/route", "console/route"},
				Message: field + " is set but the cluster does not serve gateway.networking.k8s.io/v1 HTTPRoute; install the Gateway API; it is looked for again in every pass",
			},
		},
		"nobody knows whether the kind is served": {
			nova: set, change: func(in *Input) { in.Observed.GatewayAPI.Error = "timeout" },
			want: outcome{
				Reason: v1alpha1.ReasonCapabilityProbeFailed, Message: "ask for gateway.networking.k8s.io/v1 HTTPRoute: timeout",
				Err:  strings.TrimSuffix(strings.Repeat("ask for gateway.networking.k8s.io/v1 HTTPRoute: timeout\n", 3), "\n"),
				Held: []string{"api/route", "metadata/route", "console/route"},
			},
		},
	}
}

var (
	apiRouteCases      = routeCases(apiGateway, "Nova API", "spec.gateway", "nova")
	metadataRouteCases = routeCases(metadataGateway, "Nova metadata API", "spec.metadata.gateway", "nova-metadata")
	consoleRouteCases  = routeCases(consoleGateway, "Nova console proxy", "spec.consoleProxy.gateway", "nova-console")
)

func TestHTTPRoute(t *testing.T) { runCases(t, v1alpha1.ConditionHTTPRouteReady, apiRouteCases) }

func TestMetadataHTTPRoute(t *testing.T) {
	runCases(t, v1alpha1.ConditionMetadataHTTPRouteReady, metadataRouteCases)
}

func TestConsoleHTTPRoute(t *testing.T) {
	runCases(t, v1alpha1.ConditionConsoleHTTPRouteReady, consoleRouteCases)
}

func TestConsoleHTTPRoute_GoesWithTheProxy(t *testing.T) {
	in := readyWorld(t, func(n *v1alpha1.Nova) { consoleGateway(n); consoleOff(n) })
	r := Decide(in)
	if !goneIDs(in, r)["console/route"] {
		t.Error("the route stays")
	}
}

var hpaCases = map[string]stepCase{
	"not wanted": {want: outcome{Ready: true, Reason: v1alpha1.ReasonHPANotRequired, Message: "Autoscaling is not configured"}},
	"wanted": {
		nova: func(n *v1alpha1.Nova) {
			n.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5, TargetMemoryUtilization: new(int32(80))}
		},
		want: outcome{Ready: true, Reason: v1alpha1.ReasonHPAReady, Message: "HorizontalPodAutoscaler is configured"},
	},
}

func TestHPA(t *testing.T) { runCases(t, v1alpha1.ConditionHPAReady, hpaCases) }

func sizedByVPA(n *v1alpha1.Nova) {
	vpa := &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Off"}
	n.Spec.API.Deployment.VerticalAutoscaling, n.Spec.Scheduler.Deployment.VerticalAutoscaling = vpa, vpa
}

var everyVPA = []string{"conductor/vpa", "scheduler/vpa", "metadata/vpa", "console/vpa", "api/vpa"}

var vpaCases = map[string]stepCase{
	"not wanted": {want: outcome{Ready: true, Reason: v1alpha1.ReasonVPANotRequired, Message: "no workload opts into vertical autoscaling"}},
	"not wanted where the kind is not served": {
		change: func(in *Input) { in.Observed.VPA = facts.Capability{} },
		want:   outcome{Ready: true, Reason: v1alpha1.ReasonVPANotRequired, Message: "no workload opts into vertical autoscaling", Held: everyVPA},
	},
	"wanted": {nova: sizedByVPA, want: outcome{Ready: true, Reason: v1alpha1.ReasonVPAReady, Message: "VerticalPodAutoscalers are configured: nova-scheduler, nova"}},
	"the kind is not served": {
		nova: sizedByVPA, change: func(in *Input) { in.Observed.VPA = facts.Capability{} },
		want: outcome{
			Reason: v1alpha1.ReasonVPANotInstalled, Held: everyVPA,
			Message: "nova-scheduler, nova opt into vertical autoscaling but the cluster does not serve autoscaling.k8s.io/v1 VerticalPodAutoscaler; install it and restart the operator",
		},
	},
	"nobody knows whether the kind is served": {
		nova: sizedByVPA, change: func(in *Input) { in.Observed.VPA.Error = "timeout" },
		want: outcome{
			Reason: v1alpha1.ReasonCapabilityProbeFailed, Held: everyVPA,
			Message: "ask for autoscaling.k8s.io/v1 VerticalPodAutoscaler: timeout", Err: "ask for autoscaling.k8s.io/v1 VerticalPodAutoscaler: timeout",
		},
	},
	"an opt-in that is dropped": {
		nova: sizedByVPA, change: func(in *Input) { in.Nova.Spec.API.Deployment.VerticalAutoscaling = nil },
		want: outcome{Ready: true, Reason: v1alpha1.ReasonVPAReady, Message: "VerticalPodAutoscalers are configured: nova-scheduler", Gone: []string{"api/vpa"}},
	},
}

func TestVPA(t *testing.T) { runCases(t, v1alpha1.ConditionVPAReady, vpaCases) }

var networkPolicyCases = map[string]stepCase{
	"not wanted": {want: outcome{Ready: true, Reason: v1alpha1.ReasonNetworkPolicyNotRequired, Message: "Network isolation is not configured"}},
	"wanted": {
		nova: func(n *v1alpha1.Nova) { n.Spec.NetworkPolicy = openPolicy() },
		want: outcome{Ready: true, Reason: v1alpha1.ReasonNetworkPolicyReady, Message: "NetworkPolicy is configured"},
	},
	"dropped": {
		nova: func(n *v1alpha1.Nova) { n.Spec.NetworkPolicy = openPolicy() }, change: func(in *Input) { in.Nova.Spec.NetworkPolicy = nil },
		want: outcome{
			Ready: true, Reason: v1alpha1.ReasonNetworkPolicyNotRequired, Message: "Network isolation is not configured",
			Gone: []string{"network-policy", "console/network-policy"},
		},
	},
}

func TestNetworkPolicy(t *testing.T) {
	runCases(t, v1alpha1.ConditionNetworkPolicyReady, networkPolicyCases)
}

// An empty list of peers lets everybody in, so it must not become a policy.
func TestNetworkPolicy_RefusesAnEmptyList(t *testing.T) {
	in := readyWorld(t, func(n *v1alpha1.Nova) { n.Spec.NetworkPolicy = openPolicy() })
	in.Nova.Spec.NetworkPolicy.Ingress = nil
	r := Decide(in)
	const want = "spec.networkPolicy.ingress must not be empty: refusing to create NetworkPolicy that would allow all ingress"
	if r.Err == nil || r.Err.Error() != want || !heldIDs(in, r)["network-policy"] || !heldIDs(in, r)["console/network-policy"] {
		t.Errorf("error %v, held %v", r.Err, r.Set.Held)
	}
}

func TestPorts(t *testing.T) {
	for raw, want := range map[string]int32{
		"http://a":                              80,
		"https://a/v3":                          443,
		"http://a:5000/v3":                      5000,
		"https://[fd00::1]:8776/":               8776,
		"http://a:99999":                        80,
		"https://c:8776/v3/%(project_id)s":      8776,
		"http://c.example.com/v3/%(tenant_id)s": 80,
		"\x00":                                  443,
	} {
		if got := urlPort(raw); got != want {
			t.Errorf("urlPort(%q) = %d, want %d", raw, got, want)
		}
	}
	n := parse(t, minimalYAML)
	n.Spec.Cache = v1alpha1.CacheSpec{Servers: []string{"a:11212", "b", "[fd00::1]:11212", "[fd00::2]", "c:x"}}
	got := cachePorts(n)
	if len(got) != 2 || got[0] != 11212 || got[1] != 11211 {
		t.Errorf("cache ports %v", got)
	}
	n.Spec.Cache = v1alpha1.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}}
	if got := cachePorts(n); len(got) != 1 || got[0] != 11211 {
		t.Errorf("cache ports %v", got)
	}
}

// A failing member of the group does not keep the others from running.
func TestGroup_AMemberThatFailsStopsNoOther(t *testing.T) {
	in := readyWorld(t, apiGateway)
	in.Observed.GatewayAPI.Error = "timeout"
	in.Observed.Health = &openstack.Answer{Code: 500}
	r := Decide(in)
	if len(r.Reached) != len(index.Steps) || r.Requeue != pollHealth {
		t.Errorf("ran %v, requeue %v", r.Reached, r.Requeue)
	}
}
