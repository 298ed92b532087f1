package nova

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

const badRegion = "RegionOne\n[DEFAULT]\ndebug = true"

func extraConfig(section, key string, values ...string) func(*v1alpha1.Nova) {
	return func(n *v1alpha1.Nova) {
		n.Spec.ExtraConfig = v1alpha1.ExtraConfig{section: {key: {Values: values, List: len(values) != 1}}}
	}
}

// mounted makes the ConfigMap of the ready world a live one.
func mounted(in *Input) {
	name := in.Observed.Deployments["nova"].ConfigMap
	in.Observed.ConfigMaps = []facts.ConfigMap{{Name: name, Keys: []string{"conductor.conf", "logging.ini", "metadata.conf", "nova.conf", "novncproxy.conf", "scheduler.conf"}}}
}

var configCases = map[string]stepCase{
	"a value that would break out of its line keeps the last good configuration": {
		change: all(mounted, func(in *Input) { in.Nova.Spec.Region = badRegion }),
		want: outcome{
			Reason: v1alpha1.ReasonConfigError, Message: `section "glance" holds a control character in its name, an option or a value`,
			Held: []string{"compute-config", "remote-compute-config"},
		},
	},
	"an option that must not be set keeps the last good configuration": {
		change: all(mounted, func(in *Input) { extraConfig("vnc", "novncproxy_port", "1")(in.Nova) }),
		want: outcome{
			Reason:  v1alpha1.ReasonConfigError,
			Message: "spec.extraConfig[vnc][novncproxy_port]: novncproxy_port is managed via operator-computed and must not be set in extraConfig (the Service would route to a port nothing listens on)",
		},
	},
	"a live ConfigMap that nothing mounts is no last good one": {
		change: all(mounted, func(in *Input) {
			in.Nova.Spec.Region = badRegion
			in.Observed.Deployments = nil
		}),
		want: outcome{
			Reason: v1alpha1.ReasonConfigError, Message: `section "glance" holds a control character in its name, an option or a value`,
			Requeue: pollDatabase, Last: stepDatabase, Held: []string{"compute-config", "remote-compute-config", "db-sync"},
		},
	},
}

func TestConfig(t *testing.T) { runCases(t, v1alpha1.ConditionSecretsReady, configCases) }

// A pod template of the last good configuration mounts what that ConfigMap holds, not
// what a fresh one would.
func TestConfig_TheLastGoodOneKeepsItsKeys(t *testing.T) {
	in := readyWorld(t, nil)
	mounted(&in)
	last := in.Observed.ConfigMaps[0].Name
	// The API's is the last good one, whatever the others still run.
	for _, other := range []string{"nova-metadata", "nova-scheduler", "nova-conductor", "nova-novncproxy"} {
		deploymentOf(other, func(d *facts.Deployment) { d.ConfigMap = "nova-config-older" })(&in)
	}
	in.Nova.Spec.Region = badRegion
	// The run of db-sync for this template is still good: its ConfigMap is the same.
	r := Decide(in)
	want := map[string][]string{
		"nova":            {"nova.conf", "logging.ini"},
		"nova-metadata":   {"nova.conf", "logging.ini", "metadata.conf"},
		"nova-scheduler":  {"nova.conf", "logging.ini"},
		"nova-conductor":  {"nova.conf", "logging.ini"},
		"nova-novncproxy": {"nova.conf", "logging.ini"},
	}
	got := map[string][]string{}
	for _, o := range r.Set.Desired {
		switch o.Key().GroupVersionKind {
		case render.KindConfigMap:
			t.Errorf("a ConfigMap is desired: %s", o.Key())
		case render.KindDeployment:
			volumes, _, _ := unstructured.NestedSlice(o.Content.Object, "spec", "template", "spec", "volumes")
			source := volumes[0].(map[string]any)["configMap"].(map[string]any)
			if source["name"] != last {
				t.Errorf("%s mounts %v", o.Key(), source["name"])
			}
			for _, item := range source["items"].([]any) {
				got[o.Content.GetName()] = append(got[o.Content.GetName()], item.(map[string]any)["key"].(string))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	held := render.Held{Key: render.Key{GroupVersionKind: render.KindConfigMap, Namespace: "openstack", Name: last}, Gate: v1alpha1.ReasonConfigError}
	if !contains(r.Set.Held, held) || len(r.Set.Prunable) > 0 {
		t.Errorf("held %v, prunable %v", r.Set.Held, r.Set.Prunable)
	}
}

func contains[T comparable](list []T, item T) bool {
	for _, v := range list {
		if v == item {
			return true
		}
	}
	return false
}

const overridden = "spec.extraConfig overrides operator-owned keys: [DEFAULT] debug"

var extraConfigCases = map[string]stepCase{
	"nothing is overridden": {
		nova: extraConfig("DEFAULT", "cpu_allocation_ratio", "2"),
		want: outcome{Ready: true, Reason: v1alpha1.ReasonNoOwnedKeysOverridden, Message: "spec.extraConfig overrides no operator-owned keys"},
	},
	"an owned key is reported once": {
		nova: extraConfig("DEFAULT", "debug", "true"),
		want: outcome{Reason: v1alpha1.ReasonOwnedKeysOverridden, Message: overridden},
	},
	"an owned key is reported when it appears": {
		change: func(in *Input) {
			extraConfig("DEFAULT", "debug", "true")(in.Nova)
			in.Nova.Status.Conditions = nil
		},
		want: outcome{
			Reason: v1alpha1.ReasonOwnedKeysOverridden, Message: overridden,
			Events: []string{"Warning ExtraConfigOwnedKeyOverride: " + overridden},
		},
	},
	"another owned key is reported again": {
		nova: extraConfig("DEFAULT", "debug", "true"),
		change: func(in *Input) {
			meta.FindStatusCondition(in.Nova.Status.Conditions, v1alpha1.ConditionExtraConfigHealthy).Message = "spec.extraConfig overrides operator-owned keys: [cache] backend"
		},
		want: outcome{
			Reason: v1alpha1.ReasonOwnedKeysOverridden, Message: overridden,
			Events: []string{"Warning ExtraConfigOwnedKeyOverride: " + overridden},
		},
	},
}

func TestExtraConfigHealthy(t *testing.T) {
	for name, tc := range extraConfigCases {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, tc.nova)
			if tc.change != nil {
				tc.change(&in)
			}
			r := Decide(in)
			got := outcomeOf(t, in, r, v1alpha1.ConditionExtraConfigHealthy)
			// A changed file runs db-sync again; that is another table's subject.
			got.Last, got.Requeue, got.Held, got.Gone = "", 0, nil, nil
			if diff := cmp.Diff(tc.want, got, equateEmpty); diff != "" {
				t.Error(diff)
			}
		})
	}
}
